/* See notification.h. */
#include "nodes/notification.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "client/env.h"
#include "core/quorum.h"
#include "nodes/listening.h"
#include "nodes/sets.h"

#define PREFIX_LEN (sizeof(RL_CHANNEL_PREFIX) - 1)

static bool is_wanted(const struct rl_subscription *subscription) {
    return subscription->watchers.first != NULL;
}

static void subscription_invariant(const struct rl_subscription *subscription) {
    assert((subscription->channel.confirmed & ~subscription->channel.asked) == 0);
    assert((subscription->channel.leaving & ~subscription->channel.asked) == 0);
    assert(!subscription->is_ending || !is_wanted(subscription));
    assert(subscription->resource->subscription == subscription);
    (void)subscription; /* without assertions */
}

/* -- Subscriptions -- */

static void subscription_free(redlock_client *client, struct rl_subscription *subscription) {
    struct rl_notifications *notifications = &client->notifications;
    assert(!is_wanted(subscription));
    assert(notifications->count > 0);
    notifications->count--;
    notifications->ending -= subscription->is_ending;
    rl_list_remove(&subscription->link);
    subscription->resource->subscription = NULL;
    rl_resource_put(&client->resources, subscription->resource);
    rl_free(&client->memory, subscription);
}

static void subscription_ask(redlock_client *client, struct rl_subscription *subscription,
                             uint32_t i, bool subscribe) {
    char name[RL_CHANNEL_MAX];
    const struct rl_resource *resource = subscription->resource;
    memcpy(name, RL_CHANNEL_PREFIX, PREFIX_LEN);
    memcpy(name + PREFIX_LEN, resource->bytes, resource->length);
    rl_channel_ask(client, &subscription->channel, i, name, PREFIX_LEN + resource->length,
                   subscribe);
}

/* Subscribes on every connected node where it has not yet. */
static void subscription_subscribe(redlock_client *client, struct rl_subscription *subscription) {
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        bool asked = subscription->channel.asked & rl_bit(i);
        if (!asked && rl_listening_is_up(client, i)) {
            subscription_ask(client, subscription, i, true);
        }
    }
}

/* -- Waking -- */

/* How many nodes a watcher must hear from: as many as the holder had, or all that have confirmed,
 * if fewer. */
static uint32_t heard_enough(const redlock_client *client,
                             const struct rl_subscription *subscription) {
    const struct rl_resource *resource = subscription->resource;
    const struct rl_sides sides = rl_sets_sides(client, resource->bytes, resource->length);
    uint32_t quorum = rl_sides_votes_needed(&sides);
    uint32_t confirmed = rl_bits_count(subscription->channel.confirmed & rl_sides_all(&sides));
    return confirmed < quorum && confirmed > 0 ? confirmed : quorum;
}

/* These nodes have reported a release. No watcher steps a lock within this call. */
static void wake_watchers(redlock_client *client, struct rl_subscription *subscription,
                          rl_mask bits) {
    struct rl_link *link = subscription->watchers.first;
    while (link != NULL) {
        struct rl_watcher *watcher = RL_CONTAINER(link, struct rl_watcher, link);
        link = link->next; /* the callback may remove this one */
        assert(watcher->subscription == subscription && watcher->told != NULL);
        watcher->heard |= bits;
        if (rl_bits_count(watcher->heard) >= heard_enough(client, subscription)) {
            watcher->heard = 0;
            watcher->told(watcher);
        }
    }
}

/* Call this when the confirmations have changed. */
static void subscription_confirmed(redlock_client *client, struct rl_subscription *subscription) {
    bool had_quorum = subscription->has_quorum;
    const struct rl_resource *resource = subscription->resource;
    const struct rl_sides sides = rl_sets_sides(client, resource->bytes, resource->length);
    subscription->has_quorum = rl_sides_quorum(&sides, subscription->channel.confirmed);
    subscription_invariant(subscription);
    if (subscription->has_quorum && !had_quorum) {
        /* Releases from before this point were not received. */
        wake_watchers(client, subscription, rl_bits_below(client->n_nodes));
    }
}

void rl_notification_nodes_changed(redlock_client *client) {
    RL_EACH(struct rl_subscription, subscription, &client->notifications.subscriptions, link) {
        if (!subscription->is_ending) {
            subscription_confirmed(client, subscription);
        }
    }
}

/* A node will report nothing more about the subscription. */
static void lost_node(redlock_client *client, struct rl_subscription *subscription) {
    if (subscription->is_ending && subscription->channel.asked == 0) {
        subscription_free(client, subscription);
    } else {
        subscription_confirmed(client, subscription);
    }
}

/* Unsubscribes, and frees the subscription when that is confirmed, perhaps at once. */
static void subscription_end(redlock_client *client, struct rl_subscription *subscription) {
    subscription->is_ending = true;
    client->notifications.ending++;
    rl_mask staying = subscription->channel.asked & ~subscription->channel.leaving;
    RL_EACH_BIT(i, staying) {
        assert(rl_listening_is_up(client, i));
        subscription_ask(client, subscription, i, false);
    }
    if (subscription->channel.asked == 0) {
        subscription_free(client, subscription);
    }
}

/* -- Events of the listeners -- */

static struct rl_subscription *subscription_of(redlock_client *client, const char *channel,
                                               size_t length) {
    if (length <= PREFIX_LEN || memcmp(channel, RL_CHANNEL_PREFIX, PREFIX_LEN) != 0) {
        return NULL;
    }
    const struct rl_resource *resource = rl_resource_find(
        &client->resources, client->notifications.kind, channel + PREFIX_LEN, length - PREFIX_LEN);
    return resource != NULL ? resource->subscription : NULL;
}

static void on_up(redlock_client *client, uint32_t i) {
    RL_EACH(struct rl_subscription, subscription, &client->notifications.subscriptions, link) {
        if (!subscription->is_ending && rl_listening_is_up(client, i)) {
            subscription_ask(client, subscription, i, true);
        }
    }
}

static void lose_all(redlock_client *client, uint32_t i) {
    struct rl_link *link = client->notifications.subscriptions.first;
    while (link != NULL) {
        struct rl_link *next = link->next; /* this one may go */
        struct rl_subscription *subscription = RL_CONTAINER(link, struct rl_subscription, link);
        rl_channel_lose(&subscription->channel, i);
        lost_node(client, subscription);
        link = next;
    }
}

static bool on_confirmed(redlock_client *client, uint32_t i, const char *channel, size_t length,
                         bool subscribed) {
    struct rl_subscription *subscription = subscription_of(client, channel, length);
    if (subscription == NULL || !rl_channel_confirm(&subscription->channel, i, subscribed)) {
        return false;
    }
    if (subscribed) {
        subscription_confirmed(client, subscription);
        return true;
    }
    const bool is_ending = subscription->is_ending;
    lost_node(client, subscription);
    if (!is_ending) { /* it is wanted again */
        subscription_ask(client, subscription, i, true);
    }
    return true;
}

static bool on_message(redlock_client *client, uint32_t i, const char *channel, size_t length) {
    struct rl_subscription *subscription = subscription_of(client, channel, length);
    if (subscription == NULL || !(subscription->channel.asked & rl_bit(i))) {
        return false;
    }
    wake_watchers(client, subscription, rl_bit(i));
    return true;
}

static const struct rl_listening_topics topics = {
    .up = on_up,
    .down = lose_all,
    .confirmed = on_confirmed,
    .message = on_message,
};

/* -- Beginning and ending to listen -- */

static struct rl_subscription *subscription_make(redlock_client *client,
                                                 struct rl_resource *resource) {
    struct rl_notifications *notifications = &client->notifications;
    struct rl_subscription *subscription = NULL;
    if (notifications->count < RL_SUBSCRIPTIONS_MAX) {
        subscription = rl_alloc(&client->memory, 1, sizeof *subscription);
    }
    if (subscription == NULL) {
        return NULL;
    }
    assert(notifications->count == 0 || notifications->kind == resource->kind);
    notifications->kind = resource->kind;
    subscription->resource = resource;
    resource->references++;
    resource->subscription = subscription;
    rl_list_add(&notifications->subscriptions, &subscription->link);
    notifications->count++;
    return subscription;
}

/* If all subscriptions are ending, gives up the connections. */
static void close_idle(redlock_client *client) {
    if (client->notifications.count == client->notifications.ending) {
        rl_listening_everywhere(client, false);
    }
}

/* The subscription of a resource, existing or new, for a caller that will want it. NULL:
 * unavailable. */
static struct rl_subscription *subscription_get(redlock_client *client,
                                                struct rl_resource *resource) {
    struct rl_subscription *subscription = resource->subscription;
    if (!rl_listening_everywhere(client, true)) {
        return NULL;
    }
    if (subscription == NULL) {
        subscription = subscription_make(client, resource);
    }
    if (subscription == NULL) {
        close_idle(client);
        return NULL;
    }
    client->notifications.ending -= subscription->is_ending;
    subscription->is_ending = false;
    subscription_subscribe(client, subscription);
    return subscription;
}

static void set_deadline(redlock_client *client) {
    struct rl_notifications *notifications = &client->notifications;
    rl_deadlines_set(&client->deadlines, &notifications->deadline, notifications->sweep_ns);
}

static void topic_left(redlock_client *client, struct rl_subscription *subscription) {
    struct rl_notifications *notifications = &client->notifications;
    if (is_wanted(subscription)) {
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
    struct rl_subscription *subscription = subscription_get(client, resource);
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
        if (!is_wanted(subscription) && !subscription->is_ending) {
            if (now_ns >= subscription->until_ns) {
                subscription_end(client, subscription);
            } else {
                idle++;
            }
        }
    }
    notifications->sweep_ns = idle > 0 ? now_ns + RL_NOTIFICATION_SWEEP_NS : RL_NEVER;
    close_idle(client);
}

void rl_notification_due(struct rl_deadline *item, uint64_t now_ns) {
    redlock_client *client = RL_CONTAINER(item, redlock_client, notifications.deadline);
    if (now_ns >= client->notifications.sweep_ns) {
        sweep(client, now_ns);
    }
    set_deadline(client);
}

void rl_notification_init(redlock_client *client) {
    client->notifications = (struct rl_notifications){.sweep_ns = RL_NEVER};
    rl_listening_serve(client, &topics);
    rl_deadline_init(&client->notifications.deadline, RL_WAITS_NOTIFICATION);
}

void rl_notification_close(redlock_client *client) {
    struct rl_notifications *notifications = &client->notifications;
    struct rl_link *first, *watcher;
    rl_listening_everywhere(client, false);
    while ((first = notifications->subscriptions.first) != NULL) {
        struct rl_subscription *subscription = RL_CONTAINER(first, struct rl_subscription, link);
        while ((watcher = subscription->watchers.first) != NULL) {
            RL_CONTAINER(watcher, struct rl_watcher, link)->subscription = NULL;
            rl_list_remove(watcher);
        }
        subscription_free(client, subscription);
    }
    notifications->sweep_ns = RL_NEVER;
    set_deadline(client);
}
