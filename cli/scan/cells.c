/* The order and texts of locks in ls and top. Pure. */
#include "scan/room.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"
#include "tool/utf8.h"

/* -- Order -- */

/* A free lock with waiters is listed among the held ones. */
static int class_of(const struct rl_lock *lock) {
    return lock->class == RL_LOCK_FREE ? RL_LOCK_HELD : (int)lock->class;
}

static const char *holder_of(const struct rl_lock *lock) {
    return lock->n_holdings > 0 ? lock->holdings[0].holder : "";
}

/* The lowest comes first. */
static uint64_t rank_of(const struct rl_lock *lock, enum rl_list_order order) {
    switch (order) {
        case RL_ORDER_VOTES:
            return lock->votes;
        case RL_ORDER_FENCE:
            return ~lock->fence;
        case RL_ORDER_AGE:
            return ~(uint64_t)(lock->age_ms + 1);
        case RL_ORDER_LEFT:
            return (uint64_t)lock->remaining_ms; /* "for ever" comes last */
        case RL_ORDER_WAITING:
            return ~lock->waiting;
        case RL_ORDER_LONGEST:
            return ~(uint64_t)lock->waited_ms;
        default:
            return 0;
    }
}

static int compare_locks(const void *a, const void *b, void *data) {
    const struct rl_lock *x = a, *y = b;
    const enum rl_list_order order = *(const enum rl_list_order *)data;
    const uint64_t x_rank = rank_of(x, order), y_rank = rank_of(y, order);
    int found = class_of(x) - class_of(y);
    found = found != 0 ? found : (x_rank > y_rank) - (x_rank < y_rank);
    if (found == 0 && order == RL_ORDER_HOLDER) {
        found = strcmp(holder_of(x), holder_of(y));
    }
    found = found != 0 ? found : rl_list_compare_names(x->name, x->length, y->name, y->length);
    return found != 0 ? found : (int)x->mode - (int)y->mode;
}

void rl_list_sort(struct rl_list *list, enum rl_list_order order) {
    assert(order < RL_ORDERS);
    if (list->n > 0) {
        qsort_r(list->locks, list->n, sizeof *list->locks, compare_locks, &order);
    }
}

/* -- Texts -- */

const char *const rl_cell_heads[RL_CELLS] = {"set", "mode", "holder",  "votes",  "fence",
                                             "age", "left", "waiting", "longest"};

const char *rl_cells_mode(enum rl_lock_mode mode) {
    return mode == RL_LOCK_SHARED ? "shared" : mode == RL_LOCK_PERMITS ? "permits" : "exclusive";
}

static const char *say_mode(const struct rl_lock *lock) {
    if (lock->class == RL_LOCK_FOREIGN || lock->class == RL_LOCK_KICKED) {
        return "-";
    }
    if (lock->mode == RL_LOCK_SHARED && lock->class == RL_LOCK_HELD) {
        return rl_say_count(lock->holders, "reader");
    }
    return lock->mode == RL_LOCK_PERMITS && lock->permits > 0
               ? rl_text("%" PRIu64 "/%" PRIu32 " permits", lock->holders, lock->permits)
               : rl_cells_mode(lock->mode);
}

/* The first holder, and the number of others. */
static const char *say_holder(const struct rl_lock *lock) {
    const uint64_t n = lock->class == RL_LOCK_HELD ? lock->holders : lock->n_holdings;
    const char *more = n > 1 ? rl_text(" +%" PRIu64, n - 1) : "";
    if (lock->n_holdings == 0) {
        return lock->mode == RL_LOCK_SHARED ? "readers" : "-";
    }
    const struct rl_holding *first = &lock->holdings[0];
    if (first->token[0] == '\0') {
        const bool is_type = first->holder[0] == '(';
        return rl_text(is_type ? "%s%s" : "\"%s\"%s", first->holder, more);
    }
    return rl_text("%s%s", first->holder[0] != '\0' ? first->holder : "no name", more);
}

void rl_cells_fill(struct rl_cells *cells, const struct rl_lock *lock) {
    const bool has_left = lock->votes > 0 || lock->remaining_ms == RL_SEEN_FOR_EVER;
    const bool is_waited_for = lock->waiting > 0;
    tool_utf8_clean(lock->name, lock->length, cells->name, sizeof cells->name);
    const char *const texts[RL_CELLS] = {
        [RL_CELL_SET] = lock->set,
        [RL_CELL_MODE] = say_mode(lock),
        [RL_CELL_HOLDER] = say_holder(lock),
        [RL_CELL_VOTES] =
            lock->votes > 0 ? rl_text("%" PRIu32 "/%" PRIu32, lock->votes, lock->nodes) : "",
        [RL_CELL_FENCE] = lock->fence > 0 ? rl_text("%" PRIu64, lock->fence) : "",
        [RL_CELL_AGE] = lock->age_ms >= 0 ? rl_say_ms(lock->age_ms) : "",
        [RL_CELL_LEFT] = has_left ? rl_say_ms(lock->remaining_ms) : "",
        [RL_CELL_WAITING] = is_waited_for ? rl_text("%" PRIu64, lock->waiting) : "",
        [RL_CELL_LONGEST] = is_waited_for ? rl_say_ms(lock->waited_ms) : "",
    };
    memcpy(cells->text, texts, sizeof texts);
}
