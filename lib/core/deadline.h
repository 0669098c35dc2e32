/* Deadlines in a binary heap, so that one timer serves a hundred thousand locks.
 *
 * The caller owns the items (embedded in a lock or a node) and the array. It calls
 * rl_deadlines_reserve() with a larger array before it creates more items than fit, so setting a
 * deadline cannot fail.
 */
#ifndef RL_CORE_DEADLINE_H
#define RL_CORE_DEADLINE_H

#include <stdint.h>

#define RL_DEADLINE_UNSET UINT32_MAX

struct rl_deadline;

/* Called when a deadline is due. item: part of the struct that waits. The callback sets the item to
 * a later time, unsets it or frees it. */
typedef void (*rl_due_cb)(struct rl_deadline *item, uint64_t now_ns);

/* What waits. A byte instead of a callback pointer saves memory in each of many locks. */
enum rl_waits {
    RL_WAITS_LOCK,
    RL_WAITS_HOLDER, /* for the end of its lock's validity */
    RL_WAITS_LINE,
    RL_WAITS_NODE,
    RL_WAITS_LISTENING,
    RL_WAITS_NOTIFICATION,
    RL_WAITS_QUERY,
    RL_WAITS_RECIPE,
    RL_WAITS_CLIENT,
    RL_WAITS
};

struct rl_deadline {
    uint64_t at_ns;
    uint32_t slot; /* index in the heap; RL_DEADLINE_UNSET: not in it */
    uint8_t who;   /* enum rl_waits */
};

struct rl_deadlines {
    struct rl_deadline **items;
    uint32_t count;
    uint32_t capacity;
};

void rl_deadline_init(struct rl_deadline *item, enum rl_waits who);

/* Moves the heap into a larger array. Returns the old one for the caller to free. */
struct rl_deadline **rl_deadlines_reserve(struct rl_deadlines *heap, struct rl_deadline **items,
                                          uint32_t capacity);

/* Sets, moves or (RL_NEVER) removes a deadline. */
void rl_deadlines_set(struct rl_deadlines *heap, struct rl_deadline *item, uint64_t at_ns);

/* The earliest item, or NULL. */
struct rl_deadline *rl_deadlines_first(const struct rl_deadlines *heap);

#endif
