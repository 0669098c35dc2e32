/* See order.h. */
#include "scan/order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int by_class(const struct rl_lock *x, const struct rl_lock *y) {
    /* Who waits for what nobody holds is shown among the locks. */
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

/* What never ends is last. */
static int64_t left_of(const struct rl_lock *lock) {
    return lock->remaining_ms == RL_SEEN_FOR_EVER ? INT64_MAX : lock->remaining_ms;
}

static int by(enum rl_list_order order, const void *a, const void *b) {
    const struct rl_lock *x = a, *y = b;
    int found = by_class(x, y);
    if (found != 0) {
        return found;
    }
    switch (order) {
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

#define BY(name, order)                             \
    static int name(const void *a, const void *b) { \
        return by(order, a, b);                     \
    }
BY(compare_name, RL_ORDER_NAME)
BY(compare_holder, RL_ORDER_HOLDER)
BY(compare_votes, RL_ORDER_VOTES)
BY(compare_fence, RL_ORDER_FENCE)
BY(compare_age, RL_ORDER_AGE)
BY(compare_left, RL_ORDER_LEFT)
BY(compare_waiting, RL_ORDER_WAITING)
BY(compare_longest, RL_ORDER_LONGEST)

void rl_list_sort(struct rl_list *list, enum rl_list_order order) {
    static int (*const compare[RL_ORDERS])(const void *, const void *) = {
        [RL_ORDER_NAME] = compare_name,       [RL_ORDER_HOLDER] = compare_holder,
        [RL_ORDER_VOTES] = compare_votes,     [RL_ORDER_FENCE] = compare_fence,
        [RL_ORDER_AGE] = compare_age,         [RL_ORDER_LEFT] = compare_left,
        [RL_ORDER_WAITING] = compare_waiting, [RL_ORDER_LONGEST] = compare_longest,
    };
    assert(order < RL_ORDERS);
    if (list->n > 0) {
        qsort(list->locks, list->n, sizeof *list->locks, compare[order]);
    }
}
