/* What all connections of one client share. */
#ifndef RL_REDIS_IO_H
#define RL_REDIS_IO_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/world.h"

struct rl_io {
    struct rl_world *world;
    const redlock_allocator *memory;
    char *wire;       /* a command is written here, and copied at once; room for two */
    size_t wire_room; /* enough for every existing target, for each of the two */
    uint64_t read_ns; /* when the replies that are being read had arrived; 0: none are */
};

static inline uint64_t rl_io_now_ns(const struct rl_io *io) {
    return io->world->ops->now_ns(io->world);
}

/* The time for the steps of locks: all replies of one read arrived at the same time, and no user
 * code runs in between that could make it outdated for a callback. Times that are reported to the
 * user, or by which a callback is judged, use rl_io_now_ns(). */
static inline uint64_t rl_io_step_ns(const struct rl_io *io) {
    return io->read_ns != 0 ? io->read_ns : rl_io_now_ns(io);
}

/* In a child after fork(): the sockets and the contents of their buffers are the parent's. */
static inline bool rl_io_is_forked(const struct rl_io *io) {
    return io->world->ops->is_forked(io->world);
}

#endif
