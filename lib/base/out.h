/* Bytes that wait to be written to a connection.
 *
 * Happy path: rl_out_add() for each command of a turn, one write of all of it, rl_out_took().
 *
 * Can a peer that takes little at a time make us move the waiting bytes each time? No: sent bytes
 * are skipped. The rest is moved only when the end of the room is reached and the free part at the
 * front is at least as large, so each byte costs O(1). The owner limits how much may wait.
 *
 * Can a secret stay in memory? No: while the buffer may contain one, its memory is zeroed before it
 * is freed, and freed when everything is sent. */
#ifndef RL_BASE_OUT_H
#define RL_BASE_OUT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"

#define RL_OUT_KEPT (256u << 10) /* room that is kept for the next turn when everything is sent */

struct rl_out { /* all zero: empty */
    char *bytes;
    size_t room;
    size_t from; /* waiting bytes: from here to `to` */
    size_t to;
    bool is_secret;
};

static inline size_t rl_out_length(const struct rl_out *out) {
    assert(out->from <= out->to && out->to <= out->room);
    return out->to - out->from;
}

/* Reserves room for length more bytes. False: no memory, and nothing has changed. */
bool rl_out_reserve(struct rl_out *out, const redlock_allocator *memory, size_t length);

/* Appends a copy of the bytes. False: no memory, and nothing was added. */
bool rl_out_add(struct rl_out *out, const redlock_allocator *memory, const char *bytes,
                size_t length);

/* The first length bytes were sent. */
void rl_out_took(struct rl_out *out, const redlock_allocator *memory, size_t length);

/* Drops the waiting bytes, and frees the memory. */
void rl_out_free(struct rl_out *out, const redlock_allocator *memory);

#endif
