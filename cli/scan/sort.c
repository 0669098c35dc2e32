/* The order in which locks are shown. Pure. */
#include "scan/room.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A free lock with waiters is listed among those that are held. */
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
            return (uint64_t)lock->remaining_ms; /* for ever: the last */
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
