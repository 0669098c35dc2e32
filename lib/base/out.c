/* See out.h. */
#include "base/out.h"

#include <assert.h>
#include <string.h>

#include "base/require.h"

#define ROOM_MIN 1024

static void give_back(struct rl_out *out, const redlock_allocator *memory) {
    if (out->bytes != NULL && out->is_secret) {
        rl_wipe(out->bytes, out->room);
    }
    rl_free(memory, out->bytes);
}

/* Doubles the needed room, so that moves are rare. */
static bool grow(struct rl_out *out, const redlock_allocator *memory, size_t needed) {
    size_t waits = rl_out_length(out);
    assert(needed >= waits);
    if (needed > SIZE_MAX / 2) {
        return false;
    }
    size_t room = needed < ROOM_MIN / 2 ? ROOM_MIN : 2 * needed;
    char *bytes = rl_alloc(memory, 1, room);
    if (bytes == NULL) {
        return false;
    }
    if (waits > 0) {
        memcpy(bytes, out->bytes + out->from, waits);
    }
    give_back(out, memory);
    out->bytes = bytes;
    out->room = room;
    return true;
}

bool rl_out_reserve(struct rl_out *out, const redlock_allocator *memory, size_t length) {
    size_t waits = rl_out_length(out);
    if (length <= out->room - out->to) {
        return true;
    }
    if (waits + length <= out->room && waits <= out->from) {
        memcpy(out->bytes, out->bytes + out->from, waits);
    } else if (length > SIZE_MAX - waits || !grow(out, memory, waits + length)) {
        return false;
    }
    out->from = 0;
    out->to = waits;
    assert(length <= out->room - out->to);
    return true;
}

bool rl_out_add(struct rl_out *out, const redlock_allocator *memory, const char *bytes,
                size_t length) {
    if (!rl_out_reserve(out, memory, length)) {
        return false;
    }
    memcpy(out->bytes + out->to, bytes, length);
    out->to += length;
    return true;
}

void rl_out_free(struct rl_out *out, const redlock_allocator *memory) {
    give_back(out, memory);
    *out = (struct rl_out){0};
}

void rl_out_took(struct rl_out *out, const redlock_allocator *memory, size_t length) {
    RL_REQUIRE(length <= rl_out_length(out)); /* else memory beyond the room would be sent next */
    out->from += length;
    if (out->from < out->to) {
        return;
    }
    if (out->is_secret || out->room > RL_OUT_KEPT) {
        rl_out_free(out, memory);
    } else {
        out->from = out->to = 0;
    }
}
