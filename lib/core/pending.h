/* The pending releases of one node, which has not answered them: it may still have tokens that
 * their client gave up.
 *
 * Happy path: the node answered its release, nothing is pending.
 * Failure modes: the node was not connected, or its connection ended before it answered: the item
 * stays until the node is up again, however long that takes, because a paused node may run our SET
 * as late as that (redis/conn.c has the pauses before it is connected again). The node answered
 * with an error (loading, no permission): the release is sent again after a pause, until the key
 * must have expired there. Too many are pending: the oldest is dropped, and its key expires with
 * its ttl.
 *
 * A release compares tokens and tokens are never reused, so repeating one does no harm.
 */
#ifndef RL_CORE_PENDING_H
#define RL_CORE_PENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/quorum.h"

#define RL_PENDING_MAX 4096u                     /* items of one node, for a real client */
#define RL_PENDING_RETRY_NS (500 * RL_NS_PER_MS) /* the pause after an error */

struct rl_pending_release {
    struct rl_pending_release *next;
    uint64_t life_ns;  /* how long a key can live from the moment that it was set: ttl plus drift */
    uint64_t until_ns; /* given up after that; RL_NEVER until the node answered with an error */
};

struct rl_pending {
    struct rl_pending_release *head;
    struct rl_pending_release **tail;
    uint32_t count;
    uint32_t max;      /* the most that are kept */
    uint64_t retry_ns; /* when to try again on a connected node, RL_NEVER if not */
};

void rl_pending_init(struct rl_pending *pending, uint32_t max);

/* life_ms: the longest ttl that a key of this token was given. */
void rl_pending_release_init(struct rl_pending_release *item, const struct rl_rules *rules,
                             uint32_t life_ms);

/* Adds a release that the node refused with an error, or that was not answered or not sent. Returns
 * an item to drop (perhaps this one), or NULL. is_up: the node could be sent to now; then the
 * release is retried after a pause, because no reconnection will trigger that. */
struct rl_pending_release *rl_pending_add(struct rl_pending *pending,
                                          struct rl_pending_release *item, bool is_refused,
                                          bool is_up, uint64_t now_ns);

/* Sends every pending release again, oldest first, until one cannot be sent: the others wait for
 * a pause. send: false if it could not; must not change the items. */
void rl_pending_retry(struct rl_pending *pending, uint64_t now_ns,
                      bool (*send)(struct rl_pending_release *item, void *data), void *data);

/* Takes the oldest item, NULL if nothing is pending. */
struct rl_pending_release *rl_pending_take(struct rl_pending *pending);

#endif
