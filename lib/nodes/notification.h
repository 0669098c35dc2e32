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
 *
 * What the nodes are asked for: subscription.h.
 */
#ifndef RL_NODES_NOTIFICATION_H
#define RL_NODES_NOTIFICATION_H

#include <stdbool.h>
#include <stdint.h>

#include "client/state.h"

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
