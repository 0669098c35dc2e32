/* What everything on one loop shares: the loop, the memory, and a count of handles and requests
 * that libuv still knows, so that the client can tell when nothing is left. */
#ifndef RL_REDIS_IO_H
#define RL_REDIS_IO_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "fork.h"
#include "memory.h"

struct rl_io {
    uv_loop_t *loop;
    const redlock_allocator *memory;
    struct rl_fork fork;                /* of the process that opened it */
    uint32_t open;                      /* handles and requests that libuv will call back */
    void (*all_closed)(struct rl_io *); /* called whenever open comes down to 0 */
    bool has_more;                      /* a node said more than the last poll has read */
    char *wire;                         /* a command is written here, and copied at once */
    size_t wire_room;                   /* enough for every target that there is */
};

/* In a child after fork(): the sockets and what is in their buffers are the parent's. */
static inline bool rl_io_is_forked(const struct rl_io *io) {
    return rl_fork_is_child(&io->fork);
}

static inline void rl_io_opened(struct rl_io *io) {
    io->open++;
}

static inline void rl_io_closed(struct rl_io *io) {
    assert(io->open > 0);
    if (--io->open == 0) {
        io->all_closed(io);
    }
}

#endif
