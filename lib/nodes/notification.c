/* See notification.h. */
#include "nodes/notification.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "client/env.h"
#include "core/quorum.h"
#include "nodes/subscription.h"

static void set_deadline(redlock_client *client) {
    struct rl_notifications *notifications = &client->notifications;
    rl_deadlines_set(&client->deadlines, &notifications->deadline, notifications->sweep_ns);
}

/* -- Waking -- */

/* Of so many nodes a watcher must hear: as many as the holder had, if so many can be heard. */
static uint32_t heard_enough(const redlock_client *client,
                             const struct rl_subscription *subscription) {
    uint32_t quorum = rl_quorum(client->n_nodes);
    uint32_t confirmed = rl_bits_count(subscription->confirmed);
    return confirmed < quorum && confirmed > 0 ? confirmed : quorum;
}

static void wake_watchers(redlock_client *client, struct rl_subscription *subscription,
                          uint32_t bits) {
    struct rl_link *link = subscription->watchers.first;
    while (link != NULL) {
        struct rl_watcher *watcher = RL_CONTAINER(link, struct rl_watcher, link);
        link = link->next; /* it may leave */
        assert(watcher->subscription == subscription && watcher->told != NULL);
        watcher->heard |= bits;
        if (rl_bits_count(watcher->heard) >= heard_enough(client, subscription)) {
            watcher->heard = 0;
            watcher->told(watcher);
        }
    }
}

/* What was released before this was not heard. */
static void on_due(redlock_client *client, struct rl_subscription *subscription) {
    wake_watchers(client, subscription, rl_all_nodes(client->n_nodes));
}

/* -- Beginning and ending to listen -- */

static void topic_left(redlock_client *client, struct rl_subscription *subscription) {
    struct rl_notifications *notifications = &client->notifications;
    if (rl_subscription_is_wanted(subscription)) {
        return;
    }
    subscription->until_ns = rl_client_now_ns(client) + RL_NOTIFICATION_LINGER_NS;
    if (notifications->sweep_ns == RL_NEVER) {
        notifications->sweep_ns = subscription->until_ns;
        set_deadline(client);
    }
}

bool rl_notification_watch(redlock_client *client, struct rl_watcher *watcher,
                           struct rl_resource *resource) {
    assert(watcher->subscription == NULL);
    struct rl_subscription *subscription = rl_subscription_get(client, resource);
    if (subscription == NULL) {
        return false;
    }
    watcher->heard = 0;
    watcher->subscription = subscription;
    rl_list_add(&subscription->watchers, &watcher->link);
    return true;
}

void rl_notification_unwatch(redlock_client *client, struct rl_watcher *watcher) {
    struct rl_subscription *subscription = watcher->subscription;
    if (subscription == NULL) {
        return;
    }
    rl_list_remove(&watcher->link);
    watcher->subscription = NULL;
    topic_left(client, subscription);
}

/* -- The loop's part -- */

static void sweep(redlock_client *client, uint64_t now_ns) {
    struct rl_notifications *notifications = &client->notifications;
    uint32_t idle = 0;
    assert(notifications->ending <= notifications->count);
    struct rl_link *link = notifications->subscriptions.first;
    while (link != NULL) {
        struct rl_subscription *subscription = RL_CONTAINER(link, struct rl_subscription, link);
        link = link->next; /* this one may go */
        if (!rl_subscription_is_wanted(subscription) && !subscription->is_ending) {
            if (now_ns >= subscription->until_ns) {
                rl_subscription_end(client, subscription);
            } else {
                idle++;
            }
        }
    }
    notifications->sweep_ns = idle > 0 ? now_ns + RL_NOTIFICATION_SWEEP_NS : RL_NEVER;
    rl_subscription_close_idle(client);
}

static const struct rl_subscription_events subscription_events = {
    .received = wake_watchers,
    .due = on_due,
};

static void tick(struct rl_deadline *item, uint64_t now_ns) {
    redlock_client *client = RL_CONTAINER(item, redlock_client, notifications.deadline);
    if (now_ns >= client->notifications.sweep_ns) {
        sweep(client, now_ns);
    }
    set_deadline(client);
}

void rl_notification_init(redlock_client *client) {
    rl_subscription_init(client, &subscription_events);
    rl_deadline_init(&client->notifications.deadline, tick);
}

void rl_notification_close(redlock_client *client) {
    struct rl_notifications *notifications = &client->notifications;
    RL_EACH(struct rl_subscription, subscription, &notifications->subscriptions, link) {
        struct rl_link *first;
        while ((first = subscription->watchers.first) != NULL) {
            RL_CONTAINER(first, struct rl_watcher, link)->subscription = NULL;
            rl_list_remove(first);
        }
    }
    rl_subscription_close_all(client);
    notifications->sweep_ns = RL_NEVER;
    set_deadline(client);
}
