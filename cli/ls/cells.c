/* See cells.h. */
#include "ls/cells.h"

#include <inttypes.h>
#include <stdio.h>

#include "say.h"
#include "tool/utf8.h"

const char *const rl_cell_heads[RL_CELLS] = {"set", "mode", "holder",  "votes",  "fence",
                                             "age", "left", "waiting", "longest"};

const char *rl_cells_mode(enum rl_lock_mode mode) {
    return mode == RL_LOCK_SHARED ? "shared" : mode == RL_LOCK_PERMITS ? "permits" : "exclusive";
}

static void fill_mode(char out[RL_CELL_MAX], const struct rl_lock *lock) {
    if (lock->class == RL_LOCK_FOREIGN || lock->class == RL_LOCK_KICKED) {
        snprintf(out, RL_CELL_MAX, "-");
    } else if (lock->mode == RL_LOCK_SHARED && lock->class == RL_LOCK_HELD) {
        snprintf(out, RL_CELL_MAX, "%" PRIu64 " reader%s", lock->holders,
                 lock->holders == 1 ? "" : "s");
    } else if (lock->mode == RL_LOCK_PERMITS && lock->permits > 0) {
        snprintf(out, RL_CELL_MAX, "%" PRIu64 "/%" PRIu32 " permits", lock->holders, lock->permits);
    } else {
        snprintf(out, RL_CELL_MAX, "%s", rl_cells_mode(lock->mode));
    }
}

/* The first, and how many there are besides. */
static void fill_holder(char out[RL_CELL_MAX], const struct rl_lock *lock) {
    uint64_t n = lock->class == RL_LOCK_HELD ? lock->holders : lock->n_holdings;
    char more[32] = "";
    if (lock->n_holdings == 0) {
        snprintf(out, RL_CELL_MAX, "%s", lock->mode == RL_LOCK_SHARED ? "readers" : "-");
        return;
    }
    const struct rl_holding *first = &lock->holdings[0];
    if (n > 1) {
        snprintf(more, sizeof more, " +%" PRIu64, n - 1);
    }
    if (first->token[0] == '\0') {
        bool is_type = first->holder[0] == '(';
        snprintf(out, RL_CELL_MAX, is_type ? "%s%s" : "\"%s\"%s", first->holder, more);
    } else {
        snprintf(out, RL_CELL_MAX, "%s%s", first->holder[0] != '\0' ? first->holder : "no name",
                 more);
    }
}

void rl_cells_fill(struct rl_cells *cells, const struct rl_lock *lock) {
    char(*text)[RL_CELL_MAX] = cells->text;
    tool_utf8_clean(lock->name, lock->length, cells->name, sizeof cells->name);
    for (size_t i = 0; i < RL_CELLS; i++) {
        text[i][0] = '\0';
    }
    snprintf(text[RL_CELL_SET], RL_CELL_MAX, "%s", lock->set);
    fill_mode(text[RL_CELL_MODE], lock);
    fill_holder(text[RL_CELL_HOLDER], lock);
    if (lock->votes > 0) {
        snprintf(text[RL_CELL_VOTES], RL_CELL_MAX, "%" PRIu32 "/%" PRIu32, lock->votes,
                 lock->nodes);
    }
    if (lock->votes > 0 || lock->remaining_ms == RL_SEEN_FOR_EVER) {
        rl_say_left(lock->remaining_ms, text[RL_CELL_LEFT], RL_CELL_MAX);
    }
    if (lock->fence > 0) {
        snprintf(text[RL_CELL_FENCE], RL_CELL_MAX, "%" PRIu64, lock->fence);
    }
    if (lock->age_ms >= 0) {
        rl_say_left(lock->age_ms, text[RL_CELL_AGE], RL_CELL_MAX);
    }
    if (lock->waiting > 0) {
        snprintf(text[RL_CELL_WAITING], RL_CELL_MAX, "%" PRIu64, lock->waiting);
        rl_say_left(lock->waited_ms, text[RL_CELL_LONGEST], RL_CELL_MAX);
    }
}
