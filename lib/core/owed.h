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

#include <stdbool.h>
#include <stdint.h>

#include "core/answer.h"
#include "core/quorum.h"

#define RL_OWED_MAX 4096u                          /* items of one node, for a real client */
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
    uint32_t max;      /* more are not kept */
    uint64_t retry_ns; /* when to try again on a connected node, RL_NEVER if not */
};

void rl_owed_init(struct rl_owed *owed, uint32_t max);

/* life_ms: the longest ttl that a key of this token was given. */
void rl_owed_item_init(struct rl_owed_item *item, const struct rl_rules *rules, uint32_t life_ms);

/* Owes a release that was refused, or was not answered or not sent. Returns an item to give up
 * (perhaps this one), or NULL. is_up: the node could be sent to now; then what it was too busy for
 * is tried again after a pause, since no reconnecting will come. */
struct rl_owed_item *rl_owed_add(struct rl_owed *owed, struct rl_owed_item *item, enum rl_debt debt,
                                 bool is_up, uint64_t now_ns);

/* Sends everything that is owed again, oldest first, until one cannot be sent: the others wait for
 * a pause. send: false if it could not; must not change what is owed. */
void rl_owed_repay(struct rl_owed *owed, uint64_t now_ns,
                   bool (*send)(struct rl_owed_item *item, void *data), void *data);

/* Takes the oldest item, NULL if nothing is owed. */
struct rl_owed_item *rl_owed_take(struct rl_owed *owed);

#endif
