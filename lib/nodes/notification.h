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
#ifndef RL_NODES_NOTIFICATION_H
#define RL_NODES_NOTIFICATION_H

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

/* Release notifications: who watches a resource is notified by the nodes of a release, instead of
 * only asking for the holder now and then. So does an election that watches who leads.
 *
 * Happy path: the resource that is watched gets a subscription; every node that is up gets a second
 * connection (listening.h), which subscribes to the resource's channel; the holder's release
 * publishes; when a quorum of nodes has reported it, the watcher is told. Some seconds after a
 * subscription was last wanted it is given up, and after the last one the connections are.
 *
 * Failure modes: there is no memory, permission or connection to listen; a message is lost; there
 * are more subscriptions than RL_SUBSCRIPTIONS_MAX. The watcher then learns of it when it asks the
 * next time, as without notifications. Nothing waits for a listener and no vote depends on one.
 *
 * Can a release be missed while the nodes work? One before the moment at which a quorum confirmed
 * the subscription is not received: at that moment every watcher is told, whatever has happened.
 *
 * Can notifications make a storm? Only releases of what was held are published, and only those of
 * elections; not the clean-up after an attempt that failed. It takes a quorum of nodes, as many as
 * a holder had, to tell a watcher once.
 */

#define RL_NOTIFICATION_LINGER_NS (UINT64_C(5) * 1000000000)
#define RL_NOTIFICATION_SWEEP_NS \
    (UINT64_C(1) * 1000000000) /* how often idle subscriptions are looked for */

void rl_notification_init(redlock_client *client);

/* Begins to notify, and ends it. False if the subscription is unavailable: no memory, too many. */
bool rl_notification_watch(redlock_client *client, struct rl_watcher *watcher,
                           struct rl_resource *resource);
void rl_notification_unwatch(redlock_client *client, struct rl_watcher *watcher);

/* Ends all of it. Locks may still be stepped afterwards. */
void rl_notification_close(redlock_client *client);

#endif
