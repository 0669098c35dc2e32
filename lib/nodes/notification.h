/* Release notifications: the nodes notify a watcher of a resource when it is released, so that the
 * watcher need not rely on polling alone. An election watches its leader in this way.
 *
 *     a subscription: none -> on each node that listens -> idle for a while -> ending -> none
 *
 * Happy path: a watched resource gets a subscription; every node that is up gets a second
 * connection (listening.h), which subscribes to the resource's channel; each node confirms; the
 * holder's release publishes; when a quorum of nodes has reported it, the watcher is notified. A
 * subscription ends some seconds after it was last wanted, and the connections close after the last
 * subscription.
 *
 * Failure modes: no memory, permission or connection to listen; a lost message; more subscriptions
 * than RL_SUBSCRIPTIONS_MAX. The watcher then learns of the release when it next polls, as without
 * notifications. Nothing waits for a listener, and no vote depends on one. If a listener is lost,
 * its next connection subscribes again. If a subscription that is ending is wanted again, each node
 * is asked again after it has confirmed the end. A listener that receives a channel it did not
 * request loses its connection.
 *
 * Can a release be missed while the nodes work? Only before a quorum has confirmed the
 * subscription. So every watcher is notified at that moment, whatever has happened; and again when
 * other nodes come to decide about the resource.
 *
 * Can notifications make a storm? No: only releases of held locks are published, and only in
 * elections, not the clean-up after a failed attempt. It takes a quorum of nodes, as many as a
 * holder had, to notify a watcher once.
 *
 * Can a subscription be freed too early or never? No: it is freed when it is not wanted and no node
 * can report anything for it any more, because `asked` is 0 or the client closes.
 */
#ifndef RL_NODES_NOTIFICATION_H
#define RL_NODES_NOTIFICATION_H

#include "client/state.h"

#define RL_SUBSCRIPTIONS_MAX 4096
#define RL_NOTIFICATION_LINGER_NS (UINT64_C(5) * 1000000000)
#define RL_NOTIFICATION_SWEEP_NS \
    (UINT64_C(1) * 1000000000) /* how often to search for idle subscriptions */

void rl_notification_init(redlock_client *client);
void rl_notification_due(struct rl_deadline *item, uint64_t now_ns);

/* Begins to notify the watcher, or stops. False: no memory, or too many subscriptions. */
bool rl_notification_watch(redlock_client *client, struct rl_watcher *watcher,
                           struct rl_resource *resource);
void rl_notification_unwatch(redlock_client *client, struct rl_watcher *watcher);

/* Other nodes may decide about a resource now, so the nodes that have confirmed its subscription
 * may have become a quorum, or have ceased to be one. */
void rl_notification_nodes_changed(redlock_client *client);

/* Ends all notifications. Locks may still be stepped afterwards; a later message about a resource
 * ends its connection. */
void rl_notification_close(redlock_client *client);

#endif
