/* Subscriptions: what the nodes are asked for, so that releases of a resource are notified.
 *
 *     none -> subscribed on each node that listens -> idle for a while -> unsubscribing -> none
 *
 * Happy path: rl_subscription_get() subscribes on every node that listens, and makes them listen
 * (listening.h) if no subscription was wanted before; each confirms, and then reports messages,
 * which are passed on by a table of events.
 *
 * Failure modes: a listener is lost, and what it was asked for is asked again on its next
 * connection; a subscription is wanted again while it is being ended, and the order of the answers
 * of that node decides when it is asked for again; a listener reports a channel that it was not
 * asked for, and loses its connection.
 *
 * Can a subscription go too early or never? It is freed when it is not wanted and no node can
 * report anything for it any more: `asked` is 0, or the client closes.
 */
#ifndef RL_NODES_SUBSCRIPTION_H
#define RL_NODES_SUBSCRIPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "client/state.h"

#define RL_SUBSCRIPTIONS_MAX 4096

/* What is reported of a subscription. Each may want it, or not any more; none steps a lock. */
struct rl_subscription_events {
    /* A release was received: from these nodes. */
    void (*received)(redlock_client *client, struct rl_subscription *subscription, uint32_t nodes);

    /* A quorum of nodes has confirmed it: what was released before this was not received. */
    void (*due)(redlock_client *client, struct rl_subscription *subscription);
};

void rl_subscription_init(redlock_client *client, const struct rl_subscription_events *events);

/* The subscription of a resource, or the one that is about to be, for a caller that is going to
 * want it. NULL if it is unavailable: no memory, or too many of them. */
struct rl_subscription *rl_subscription_get(redlock_client *client, struct rl_resource *resource);

bool rl_subscription_is_wanted(const struct rl_subscription *subscription);

/* Unsubscribes; it is freed when that is confirmed, which may be at once. */
void rl_subscription_end(redlock_client *client, struct rl_subscription *subscription);

/* If all that there are are ending, the connections are no longer needed for them. */
void rl_subscription_close_idle(redlock_client *client);

/* The same, and frees all subscriptions; none is wanted. What a node that stays connected still
 * says of them ends that connection, so only for the end of the client. */
void rl_subscription_close_all(redlock_client *client);

#endif
