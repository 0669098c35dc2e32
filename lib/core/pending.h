/* The pending releases of one node: it has not answered them, so it may still have tokens that the
 * client gave up.
 *
 * Happy path: the node answered each release; nothing is pending. Failure modes: the node was not
 * connected, or its connection ended before it answered: the item stays until the node is up again,
 * however long that takes, because a paused node may run our SET as late as that (redis/conn.c has
 * the pauses between reconnections). The node answered with an error (loading, no permission): the
 * release is sent again after a pause, until the key must have expired there. Too many are pending:
 * the oldest is dropped, and its key expires after its ttl.
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
    uint64_t life_ns;  /* how long a key can live after it was set: ttl plus drift */
    uint64_t until_ns; /* when it is dropped; RL_NEVER until the node answered with an error */
};

struct rl_pending {
    struct rl_pending_release *head;
    struct rl_pending_release **tail;
    uint32_t count;
    uint32_t max;      /* the limit of count */
    uint64_t retry_ns; /* when to retry on a connected node; RL_NEVER: no retry is due */
};

void rl_pending_init(struct rl_pending *pending, uint32_t max);

/* life_ms: the longest ttl that a key of this token was given. */
void rl_pending_release_init(struct rl_pending_release *item, const struct rl_rules *rules,
                             uint32_t life_ms);

/* Adds a release that the node answered with an error, or that was not answered or not sent.
 * Returns an item to drop (perhaps this one), or NULL. is_up: the node is connected, so no
 * reconnection will trigger a retry; the release is retried after a pause. */
struct rl_pending_release *rl_pending_add(struct rl_pending *pending,
                                          struct rl_pending_release *item, bool is_refused,
                                          bool is_up, uint64_t now_ns);

/* Sends every pending release again, oldest first, until one cannot be sent; the rest wait for the
 * next pause. send: returns false if it could not send; must not change the items. */
void rl_pending_retry(struct rl_pending *pending, uint64_t now_ns,
                      bool (*send)(struct rl_pending_release *item, void *data), void *data);

/* Takes the oldest item, NULL if nothing is pending. */
struct rl_pending_release *rl_pending_take(struct rl_pending *pending);

#endif
