/* The releases that one node is owed: it may still have a token that its client gave up, and has
 * not answered the release.
 *
 * Happy path: the node answered its release, nothing is owed.
 * Failure modes: the node was not connected, or its connection ended before it answered: the item
 * stays until the node is up again, however long that takes, because a paused node may run our SET
 * as late as that. The node answered with an error (loading, no permission): again after a pause,
 * until the key must have expired there. Too many are owed: the oldest is given up, its key ends by
 * its ttl.
 *
 * A release compares tokens and tokens are never reused, so repeating one can hurt nobody.
 */
#ifndef RL_CORE_OWED_H
#define RL_CORE_OWED_H

#include <stdint.h>

#define RL_OWED_MAX 4096u                          /* items of one node */
#define RL_OWED_RETRY_NS (UINT64_C(500) * 1000000) /* the pause after an error */

struct rl_owed_item {
    struct rl_owed_item *next;
    uint64_t life_ns;  /* how long a key can live from the moment that it was set: ttl plus drift */
    uint64_t until_ns; /* given up after that; RL_NEVER until the node answered with an error */
};

struct rl_owed {
    struct rl_owed_item *head;
    struct rl_owed_item **tail;
    uint32_t count;
    uint64_t retry_ns; /* when to try again on a connected node, RL_NEVER if not */
};

void rl_owed_init(struct rl_owed *owed);
void rl_owed_item_init(struct rl_owed_item *item, uint64_t life_ns);

/* Owes an item whose answer never came. Returns an item to give up, or NULL. */
struct rl_owed_item *rl_owed_unanswered(struct rl_owed *owed, struct rl_owed_item *item);

/* Owes an item that the node answered with an error. Returns an item to give up (perhaps this one),
 * or NULL. */
struct rl_owed_item *rl_owed_refused(struct rl_owed *owed, struct rl_owed_item *item,
                                     uint64_t now_ns);

/* Takes the oldest item to send it again, NULL if nothing is owed. */
struct rl_owed_item *rl_owed_take(struct rl_owed *owed);

#endif
