/* Subscriptions on the nodes, by which a client is notified of releases of a resource.
 *
 *     none -> subscribed on each node that listens -> idle for a while -> unsubscribing -> none
 *
 * Happy path: rl_subscription_get() subscribes on every node that listens, and opens the listening
 * connections (listening.h) if no subscription was wanted before; each node confirms, and then
 * reports messages, which are passed on by a table of events.
 *
 * Failure modes: if a listener is lost, its next connection subscribes again; if a subscription is
 * wanted again while it is being ended, the order of that node's answers decides when it is
 * requested again; a listener that reports a channel it did not request loses its connection.
 *
 * Can a subscription be freed too early or never? No: it is freed when it is not wanted and no node
 * can report anything for it any more: `asked` is 0, or the client closes.
 */
#ifndef RL_NODES_NOTIFICATION_H
#define RL_NODES_NOTIFICATION_H

#include <stdbool.h>
#include <stdint.h>

#include "client/state.h"

#define RL_SUBSCRIPTIONS_MAX 4096

/* Events of a subscription. A handler may want it, or stop wanting it; none steps a lock. */
struct rl_subscription_events {
    /* These nodes have reported a release. */
    void (*received)(redlock_client *client, struct rl_subscription *subscription, uint32_t nodes);

    /* A quorum of nodes has confirmed the subscription: earlier releases were not received. */
    void (*due)(redlock_client *client, struct rl_subscription *subscription);
};

void rl_subscription_init(redlock_client *client, const struct rl_subscription_events *events);

/* The subscription of a resource, existing or new, for a caller that is going to want it. NULL if
 * it is unavailable: no memory, or too many subscriptions. */
struct rl_subscription *rl_subscription_get(redlock_client *client, struct rl_resource *resource);

bool rl_subscription_is_wanted(const struct rl_subscription *subscription);

/* Unsubscribes; it is freed when that is confirmed, which may be at once. */
void rl_subscription_end(redlock_client *client, struct rl_subscription *subscription);

/* If all existing subscriptions are ending, gives up the connections. */
void rl_subscription_close_idle(redlock_client *client);

/* The same, and frees all subscriptions; none must be wanted. A later message about one of them
 * ends its connection, so this is only for the end of the client. */
void rl_subscription_close_all(redlock_client *client);

/* Release notifications: the nodes notify a watcher of a resource of its releases, so that it need
 * not rely on polling for the holder alone. An election watches its leader in this way.
 *
 * Happy path: a watched resource gets a subscription; every node that is up gets a second
 * connection (listening.h), which subscribes to the resource's channel; the holder's release
 * publishes; when a quorum of nodes has reported it, the watcher is notified. A subscription ends
 * some seconds after it was last wanted, and the connections close after the last subscription.
 *
 * Failure modes: there is no memory, permission or connection to listen; a message is lost; there
 * are more subscriptions than RL_SUBSCRIPTIONS_MAX. The watcher then learns of the release when it
 * polls the next time, as without notifications. Nothing waits for a listener and no vote depends
 * on one.
 *
 * Can a release be missed while the nodes work? A release before a quorum has confirmed the
 * subscription is not received: at the moment of confirmation every watcher is therefore notified,
 * whatever has happened.
 *
 * Can notifications make a storm? No: only releases of held locks are published, and only those of
 * elections, not the clean-up after a failed attempt. It takes a quorum of nodes, as many as a
 * holder had, to notify a watcher once.
 */

#define RL_NOTIFICATION_LINGER_NS (UINT64_C(5) * 1000000000)
#define RL_NOTIFICATION_SWEEP_NS \
    (UINT64_C(1) * 1000000000) /* how often idle subscriptions are searched for */

void rl_notification_init(redlock_client *client);

/* Begins to notify the watcher; and ends that. False if the subscription is unavailable: no memory,
 * or too many subscriptions. */
bool rl_notification_watch(redlock_client *client, struct rl_watcher *watcher,
                           struct rl_resource *resource);
void rl_notification_unwatch(redlock_client *client, struct rl_watcher *watcher);

/* Ends all notifications. Locks may still be stepped afterwards. */
void rl_notification_close(redlock_client *client);

#endif
