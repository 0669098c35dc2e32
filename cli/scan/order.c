/* See order.h. */
#include "scan/order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int by_class(const struct rl_lock *x, const struct rl_lock *y) {
    /* A free lock with waiters is listed among those that are held. */
    int a = x->class == RL_LOCK_FREE ? RL_LOCK_HELD : (int)x->class;
    int b = y->class == RL_LOCK_FREE ? RL_LOCK_HELD : (int)y->class;
    return a - b;
}

static int by_name(const struct rl_lock *x, const struct rl_lock *y) {
    size_t length = x->length < y->length ? x->length : y->length;
    int order = memcmp(x->name, y->name, length);
    return order != 0 ? order : (x->length > y->length) - (x->length < y->length);
}

static int up(int64_t x, int64_t y) {
    return (x > y) - (x < y);
}

static const char *holder_of(const struct rl_lock *lock) {
    return lock->n_holdings > 0 ? lock->holdings[0].holder : "";
}

/* Locks that never end come last. */
static int64_t left_of(const struct rl_lock *lock) {
    return lock->remaining_ms == RL_SEEN_FOR_EVER ? INT64_MAX : lock->remaining_ms;
}

static int compare(const void *a, const void *b, void *order) {
    const struct rl_lock *x = a, *y = b;
    int found = by_class(x, y);
    if (found != 0) {
        return found;
    }
    switch (*(const enum rl_list_order *)order) {
        case RL_ORDER_HOLDER:
            found = strcmp(holder_of(x), holder_of(y));
            break;
        case RL_ORDER_VOTES:
            found = up(x->votes, y->votes);
            break;
        case RL_ORDER_FENCE:
            found = up((int64_t)y->fence, (int64_t)x->fence);
            break;
        case RL_ORDER_AGE:
            found = up(y->age_ms, x->age_ms);
            break;
        case RL_ORDER_LEFT:
            found = up(left_of(x), left_of(y));
            break;
        case RL_ORDER_WAITING:
            found = up((int64_t)y->waiting, (int64_t)x->waiting);
            break;
        case RL_ORDER_LONGEST:
            found = up(y->waited_ms, x->waited_ms);
            break;
        case RL_ORDER_NAME:
        case RL_ORDERS:
            break;
    }
    return found != 0 ? found : by_name(x, y) != 0 ? by_name(x, y) : (int)x->mode - (int)y->mode;
}

void rl_list_sort(struct rl_list *list, enum rl_list_order order) {
    assert(order < RL_ORDERS);
    if (list->n > 0) {
        qsort_r(list->locks, list->n, sizeof *list->locks, compare, &order);
    }
}
