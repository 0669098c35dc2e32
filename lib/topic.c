/* See topic.h. */
#include "topic.h"

#include <assert.h>
#include <string.h>

#include "client.h"
#include "core/quorum.h"

#define PREFIX_LEN (sizeof(RL_CHANNEL_PREFIX) - 1)

static redlock_client *client_of(const struct rl_listener *listener) {
    return RL_CONTAINER(listener->io, redlock_client, io);
}

static uint32_t index_of(const struct rl_listener *listener) {
    return (uint32_t)(listener - client_of(listener)->notice.listeners);
}

bool rl_topic_is_wanted(const struct rl_topic *topic) {
    return topic->lock != NULL || topic->ears != NULL;
}

static void topic_invariant(const struct rl_topic *topic) {
    assert((topic->confirmed & ~topic->asked) == 0);
    assert((topic->leaving & ~topic->asked) == 0);
    assert(!topic->is_ending || !rl_topic_is_wanted(topic));
    assert(topic->resource->topic == topic);
    (void)topic; /* without assertions */
}

/* -- Topics -- */

static void topic_free(redlock_client *client, struct rl_topic *topic) {
    struct rl_notice *notice = &client->notice;
    assert(!rl_topic_is_wanted(topic));
    notice->count--;
    notice->ending -= topic->is_ending;
    if (topic->previous != NULL) {
        topic->previous->next = topic->next;
    } else {
        notice->topics = topic->next;
    }
    if (topic->next != NULL) {
        topic->next->previous = topic->previous;
    }
    topic->resource->topic = NULL;
    rl_resource_put(&client->resources, topic->resource);
    rl_free(&client->memory, topic);
}

static void topic_ask(redlock_client *client, struct rl_topic *topic, uint32_t i, bool subscribe) {
    char channel[RL_CHANNEL_MAX];
    struct rl_listener *listener = &client->notice.listeners[i];
    const struct rl_resource *resource = topic->resource;
    memcpy(channel, RL_CHANNEL_PREFIX, PREFIX_LEN);
    memcpy(channel + PREFIX_LEN, resource->bytes, resource->length);
    if (!rl_listener_ask(listener, channel, PREFIX_LEN + resource->length, subscribe)) {
        return; /* the connection breaks, and what is wanted is asked for on the next one */
    }
    if (subscribe) {
        topic->asked |= UINT32_C(1) << i;
    } else {
        topic->leaving |= UINT32_C(1) << i;
    }
}

/* Subscribes wherever it can and has not. */
static void topic_subscribe(redlock_client *client, struct rl_topic *topic) {
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        bool asked = topic->asked & UINT32_C(1) << i;
        if (!asked && rl_listener_is_up(&client->notice.listeners[i])) {
            topic_ask(client, topic, i, true);
        }
    }
}

/* The confirmations have changed. */
static void topic_confirmed(redlock_client *client, struct rl_topic *topic) {
    bool had_quorum = topic->has_quorum;
    topic->has_quorum = rl_mask_count(topic->confirmed) >= rl_quorum(client->n_nodes);
    topic_invariant(topic);
    if (topic->has_quorum && !had_quorum) {
        rl_notice_due(client, topic);
    }
}

/* A node will say nothing more about it. */
static void lose_node(redlock_client *client, struct rl_topic *topic, uint32_t i) {
    uint32_t others = ~(UINT32_C(1) << i);
    topic->asked &= others;
    topic->confirmed &= others;
    topic->leaving &= others;
    if (topic->is_ending && topic->asked == 0) {
        topic_free(client, topic);
    } else {
        topic_confirmed(client, topic);
    }
}

/* Unsubscribes; gone when that is confirmed. */
void rl_topic_end(redlock_client *client, struct rl_topic *topic) {
    topic->is_ending = true;
    client->notice.ending++;
    uint32_t staying = topic->asked & ~topic->leaving;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        if (staying & UINT32_C(1) << i) {
            assert(rl_listener_is_up(&client->notice.listeners[i]));
            topic_ask(client, topic, i, false);
        }
    }
    if (topic->asked == 0) {
        topic_free(client, topic);
    }
}

/* -- What the listeners say -- */

static struct rl_topic *topic_of(redlock_client *client, const char *channel, size_t length) {
    if (length <= PREFIX_LEN || memcmp(channel, RL_CHANNEL_PREFIX, PREFIX_LEN) != 0) {
        return NULL;
    }
    const struct rl_resource *resource =
        rl_resource_find(&client->resources, channel + PREFIX_LEN, length - PREFIX_LEN);
    return resource != NULL ? resource->topic : NULL;
}

static void on_up(struct rl_listener *listener) {
    redlock_client *client = client_of(listener);
    uint32_t i = index_of(listener);
    rl_trace(client, REDLOCK_EVENT_LISTEN_UP, NULL, &client->nodes[i].node, 0, 0);
    for (struct rl_topic *topic = client->notice.topics; topic != NULL; topic = topic->next) {
        if (!topic->is_ending && rl_listener_is_up(listener)) {
            topic_ask(client, topic, i, true);
        }
    }
}

static void lose_all(redlock_client *client, uint32_t i) {
    struct rl_topic *topic = client->notice.topics;
    while (topic != NULL) {
        struct rl_topic *next = topic->next;
        lose_node(client, topic, i);
        topic = next;
    }
}

static void on_down(struct rl_listener *listener) {
    redlock_client *client = client_of(listener);
    uint32_t i = index_of(listener);
    rl_trace(client, REDLOCK_EVENT_LISTEN_DOWN, NULL, &client->nodes[i].node, listener->reason, 0);
    lose_all(client, i);
}

static bool on_confirmed(struct rl_listener *listener, const char *channel, size_t length,
                         bool subscribed) {
    redlock_client *client = client_of(listener);
    uint32_t bit = UINT32_C(1) << index_of(listener);
    struct rl_topic *topic = topic_of(client, channel, length);
    if (topic == NULL || !(topic->asked & bit)) {
        return false;
    }
    if (!subscribed) {
        bool asked_for = topic->leaving & bit;
        if (asked_for) {
            bool is_ending = topic->is_ending;
            lose_node(client, topic, index_of(listener));
            if (!is_ending) { /* wanted again meanwhile */
                topic_ask(client, topic, index_of(listener), true);
            }
        }
        return asked_for;
    }
    if (topic->confirmed & bit) {
        return false;
    }
    topic->confirmed |= bit;
    topic_confirmed(client, topic);
    return true;
}

static bool on_message(struct rl_listener *listener, const char *channel, size_t length) {
    redlock_client *client = client_of(listener);
    uint32_t bit = UINT32_C(1) << index_of(listener);
    struct rl_topic *topic = topic_of(client, channel, length);
    if (topic == NULL || !(topic->asked & bit)) {
        return false;
    }
    rl_notice_heard(client, topic, bit);
    return true;
}

static void on_deadline(struct rl_listener *listener) {
    rl_notice_deadline(client_of(listener));
}

static void on_dirty(struct rl_listener *listener) {
    client_of(listener)->notice.dirty |= UINT32_C(1) << index_of(listener);
}

static const struct rl_listener_events listener_events = {
    .up = on_up,
    .down = on_down,
    .confirmed = on_confirmed,
    .message = on_message,
    .deadline = on_deadline,
    .dirty = on_dirty,
};

/* -- The connections -- */

static void open_listener(redlock_client *client, uint32_t i) {
    struct rl_node *node = &client->nodes[i].node;
    if (rl_node_is_up(node)) {
        rl_listener_open(&client->notice.listeners[i], rl_node_address(node));
    }
}

static bool make_listeners(redlock_client *client) {
    struct rl_notice *notice = &client->notice;
    if (notice->listeners == NULL) {
        notice->listeners = rl_alloc(&client->memory, client->n_nodes, sizeof notice->listeners[0]);
        for (uint32_t i = 0; notice->listeners != NULL && i < client->n_nodes; i++) {
            rl_listener_init(&notice->listeners[i], &client->io, &client->nodes[i].node.url,
                             &client->node_options, &listener_events, redlock_now_ns,
                             rl_loop_random(client));
        }
    }
    return notice->listeners != NULL;
}

/* -- The interface -- */

static struct rl_topic *topic_make(redlock_client *client, struct rl_resource *resource) {
    struct rl_notice *notice = &client->notice;
    struct rl_topic *topic = NULL;
    if (notice->count < RL_TOPICS_MAX && make_listeners(client)) {
        topic = rl_alloc(&client->memory, 1, sizeof *topic);
    }
    if (topic == NULL) {
        return NULL;
    }
    topic->resource = resource;
    resource->references++;
    resource->topic = topic;
    topic->next = notice->topics;
    if (topic->next != NULL) {
        topic->next->previous = topic;
    }
    notice->topics = topic;
    notice->count++;
    return topic;
}

struct rl_topic *rl_topic_get(redlock_client *client, struct rl_resource *resource) {
    struct rl_topic *topic = resource->topic;
    if (topic == NULL) {
        topic = topic_make(client, resource);
    }
    if (topic == NULL) {
        return NULL;
    }
    client->notice.ending -= topic->is_ending;
    topic->is_ending = false;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        open_listener(client, i); /* of no effect where it is open */
    }
    topic_subscribe(client, topic);
    return topic;
}

/* -- Nodes, and the end -- */

void rl_topic_node_up(redlock_client *client, uint32_t index) {
    if (client->notice.count > client->notice.ending && client->phase == RL_CLIENT_OPEN) {
        open_listener(client, index);
    }
}

void rl_topic_node_down(redlock_client *client, uint32_t index) {
    if (client->notice.listeners != NULL) {
        rl_listener_close(&client->notice.listeners[index]);
        lose_all(client, index);
    }
}

void rl_topic_close_all(redlock_client *client) {
    struct rl_notice *notice = &client->notice;
    for (uint32_t i = 0; notice->listeners != NULL && i < client->n_nodes; i++) {
        rl_listener_close(&notice->listeners[i]);
    }
    while (notice->topics != NULL) {
        topic_free(client, notice->topics);
    }
}
