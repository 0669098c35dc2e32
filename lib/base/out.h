/* Bytes that wait to be written to a connection.
 *
 * Happy path: rl_out_add() for each command of a turn, one write of all of it, rl_out_took().
 *
 * Can a peer that takes little at a time make us move what waits for it each time? No: what is out
 * is skipped. It is moved only when the end of the room is reached and at least as much lies free
 * at the front as is moved: each byte costs O(1). How much may wait is the owner's question.
 *
 * Can a secret stay behind? No: while there may be one, room is zeroed before it is given up, and
 * when all is out it is given up. */
#ifndef RL_BASE_OUT_H
#define RL_BASE_OUT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"

#define RL_OUT_KEPT (256u << 10) /* room that stays for the next turn when all is out */

struct rl_out { /* all zero: empty */
    char *bytes;
    size_t room;
    size_t from; /* what waits: from here to `to` */
    size_t to;
    bool is_secret;
};

static inline size_t rl_out_length(const struct rl_out *out) {
    assert(out->from <= out->to && out->to <= out->room);
    return out->to - out->from;
}

/* Room for length bytes more. False: no memory, and nothing has changed. */
bool rl_out_reserve(struct rl_out *out, const redlock_allocator *memory, size_t length);

/* Copies bytes behind the others. False: no memory, and nothing was added. */
bool rl_out_add(struct rl_out *out, const redlock_allocator *memory, const char *bytes,
                size_t length);

/* The first length bytes are out. */
void rl_out_took(struct rl_out *out, const redlock_allocator *memory, size_t length);

/* Drops what waits, and gives the memory back. */
void rl_out_free(struct rl_out *out, const redlock_allocator *memory);

#endif
