/* See listening.h. */
#include "nodes/listening.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "client/env.h"
#include "nodes/membership.h"
#include "redis/command.h"
#include "redis/credentials.h"

static_assert(sizeof RL_COMMAND_CLIENT_CHANNEL - 1 + RL_CLIENT_ID_LEN <= RL_CHANNEL_MAX,
              "a channel's name has room");

static redlock_client *client_of(const struct rl_listener *listener) {
    return RL_CONTAINER(listener->io, redlock_client, io);
}

static uint32_t index_of(struct rl_listener *listener) {
    return RL_CONTAINER(listener, struct rl_client_listener, listener)->index;
}

static struct rl_listener *listener_of(const redlock_client *client, uint32_t node) {
    assert(node < client->n_nodes && client->listening.has_listeners);
    return &client->nodes[node]->listener->listener;
}

static void listening_invariant(const struct rl_listening *listening) {
    assert((listening->own.confirmed & ~listening->own.asked) == 0);
    assert((listening->own.leaving & ~listening->own.asked) == 0);
    assert((listening->wanted & ~listening->kept) == 0);
    assert(listening->has_listeners || (listening->own.asked | listening->everywhere) == 0);
    (void)listening; /* without assertions */
}

static bool is_needed(const redlock_client *client, uint32_t i) {
    return client->listening.everywhere || (client->listening.kept & rl_bit(i));
}

/* -- Deadlines -- */

/* Nodes with a refusal that was not reported yet. */
static rl_mask unreported(const redlock_client *client) {
    const struct rl_listening *listening = &client->listening;
    rl_mask nodes = 0;
    RL_EACH_BIT(i, listening->has_listeners ? listening->wanted & ~listening->reported : 0) {
        nodes |= rl_listening_refused(client, i) ? rl_bit(i) : 0;
    }
    return nodes;
}

/* When a node that is no longer wanted is dropped. A refusal is remembered while it lasts.
 */
static uint64_t given_up_ns(const redlock_client *client, uint32_t node) {
    const struct rl_listening *listening = &client->listening;
    uint64_t at_ns = listening->until_ns[node];
    assert(listening->kept & ~listening->wanted & rl_bit(node));
    if (listening->has_listeners && rl_listening_refused(client, node) &&
        listener_of(client, node)->conn == NULL && listener_of(client, node)->deadline_ns > at_ns) {
        at_ns = listener_of(client, node)->deadline_ns;
    }
    return at_ns;
}

static void set_deadline(redlock_client *client) {
    struct rl_listening *listening = &client->listening;
    uint64_t at_ns = unreported(client) != 0 ? rl_client_now_ns(client) : RL_NEVER;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        if (listening->has_listeners && listener_of(client, i)->deadline_ns < at_ns) {
            at_ns = listener_of(client, i)->deadline_ns;
        }
        if (listening->kept & ~listening->wanted & rl_bit(i) && given_up_ns(client, i) < at_ns) {
            at_ns = given_up_ns(client, i);
        }
    }
    rl_deadlines_set(&client->deadlines, &listening->deadline, at_ns);
}

/* -- Channels -- */

void rl_channel_ask(redlock_client *client, struct rl_channel *channel, uint32_t node,
                    const char *name, size_t length, bool subscribe) {
    assert(!(channel->leaving & rl_bit(node)));
    assert(subscribe == !(channel->asked & rl_bit(node))); /* once each */
    if (rl_listener_ask(listener_of(client, node), name, length, subscribe)) {
        channel->asked |= rl_bit(node);
        channel->leaving |= subscribe ? 0 : rl_bit(node);
    }
}

bool rl_channel_confirm(struct rl_channel *channel, uint32_t node, bool subscribed) {
    const rl_mask pending = subscribed ? channel->asked & ~channel->confirmed : channel->leaving;
    if (!(pending & rl_bit(node))) {
        return false;
    }
    if (subscribed) {
        channel->confirmed |= rl_bit(node);
    } else {
        rl_channel_lose(channel, node);
    }
    return true;
}

void rl_channel_lose(struct rl_channel *channel, uint32_t node) {
    channel->asked &= ~rl_bit(node);
    channel->confirmed &= ~rl_bit(node);
    channel->leaving &= ~rl_bit(node);
}

/* -- The client's own channel -- */

static size_t own_channel(const redlock_client *client, char channel[RL_CHANNEL_MAX]) {
    int length = snprintf(channel, RL_CHANNEL_MAX, "%s%s", RL_COMMAND_CLIENT_CHANNEL, client->id);
    assert(length > 0 && (size_t)length < RL_CHANNEL_MAX);
    return (size_t)length;
}

static bool is_own_channel(const redlock_client *client, const char *channel, size_t length) {
    char own[RL_CHANNEL_MAX];
    return length == own_channel(client, own) && memcmp(channel, own, length) == 0;
}

static void own_ask(redlock_client *client, uint32_t i, bool subscribe) {
    char name[RL_CHANNEL_MAX];
    rl_channel_ask(client, &client->listening.own, i, name, own_channel(client, name), subscribe);
}

static void own_lost(redlock_client *client, uint32_t i) {
    struct rl_listening *listening = &client->listening;
    bool was_heard = rl_listening_confirmed(client, i);
    rl_channel_lose(&listening->own, i);
    bool is_refused = unreported(client) & rl_bit(i);
    assert(!rl_listening_confirmed(client, i));
    listening->reported |= is_refused ? rl_bit(i) : 0;
    listening_invariant(listening);
    if ((was_heard || is_refused) && listening->events != NULL) {
        listening->events->lost(client, i);
    }
}

static bool own_confirmed(redlock_client *client, uint32_t i, bool subscribed) {
    struct rl_listening *listening = &client->listening;
    if (!rl_channel_confirm(&listening->own, i, subscribed)) {
        return false;
    }
    if (!subscribed) {
        if (listening->wanted & rl_bit(i)) { /* wanted again meanwhile */
            own_ask(client, i, true);
        }
        return true;
    }
    listening->reported &= ~rl_bit(i);
    listening->failures[i] = listener_of(client, i)->failures;
    listening->since_ns[i] = rl_client_now_ns(client);
    if (rl_listening_confirmed(client, i) && listening->events != NULL) {
        listening->events->confirmed(client, i);
    }
    return true;
}

/* -- Events of the listeners -- */

static bool on_config(struct rl_listener *listener, const struct rl_config *config) {
    return rl_membership_is_ours(client_of(listener), config);
}

static void on_up(struct rl_listener *listener) {
    redlock_client *client = client_of(listener);
    uint32_t i = index_of(listener);
    assert(!(client->listening.own.asked & rl_bit(i)));
    assert(is_needed(client, i));
    rl_trace(client, REDLOCK_EVENT_LISTEN_UP, NULL, &client->nodes[i]->node, 0, 0);
    if (client->listening.wanted & rl_bit(i)) {
        own_ask(client, i, true);
    }
    client->listening.topics->up(client, i);
}

static void on_down(struct rl_listener *listener) {
    redlock_client *client = client_of(listener);
    uint32_t i = index_of(listener);
    rl_trace(client, REDLOCK_EVENT_LISTEN_DOWN, NULL, &client->nodes[i]->node, listener->reason, 0);
    client->listening.topics->down(client, i);
    own_lost(client, i);
}

/* The node's main connection may still be open with credentials that are no longer valid. */
static void on_unauthorized(struct rl_listener *listener) {
    redlock_client *client = client_of(listener);
    rl_node_offer_again(&client->nodes[index_of(listener)]->node);
}

static bool on_confirmed(struct rl_listener *listener, const char *channel, size_t length,
                         bool subscribed) {
    redlock_client *client = client_of(listener);
    uint32_t i = index_of(listener);
    if (is_own_channel(client, channel, length)) {
        return own_confirmed(client, i, subscribed);
    }
    return client->listening.topics->confirmed(client, i, channel, length, subscribed);
}

static bool on_message(struct rl_listener *listener, const char *channel, size_t length,
                       const char *payload, size_t payload_length) {
    redlock_client *client = client_of(listener);
    const struct rl_listening *listening = &client->listening;
    uint32_t i = index_of(listener);
    if (!is_own_channel(client, channel, length)) {
        return listening->topics->message(client, i, channel, length);
    }
    if (!(listening->own.asked & rl_bit(i))) {
        return false;
    }
    if (listening->events != NULL) {
        listening->events->told(client, i, payload, payload_length);
    }
    return true;
}

static void on_deadline(struct rl_listener *listener) {
    set_deadline(client_of(listener));
}

static void on_dirty(struct rl_listener *listener) {
    client_of(listener)->listening.dirty |= rl_bit(index_of(listener));
}

static const struct rl_listener_events listener_events = {
    .config = on_config,
    .up = on_up,
    .down = on_down,
    .unauthorized = on_unauthorized,
    .confirmed = on_confirmed,
    .message = on_message,
    .deadline = on_deadline,
    .dirty = on_dirty,
};

/* -- The connections -- */

bool rl_listening_join(redlock_client *client, uint32_t node) {
    struct rl_client_node *member = client->nodes[node];
    if (client->listening.has_listeners) {
        if (member->listener == NULL) {
            member->listener = rl_alloc(&client->memory, 1, sizeof *member->listener);
        }
        if (member->listener == NULL) {
            return false;
        }
        member->listener->index = member->index;
        rl_listener_init(&member->listener->listener, &client->io, &member->node.url,
                         &client->node_options, &listener_events, rl_client_random(client));
        client->listening.failures[node] = 0; /* those of a node that had its place before */
    }
    return true;
}

static void free_listeners(redlock_client *client) {
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        rl_free(&client->memory, client->nodes[i]->listener);
        client->nodes[i]->listener = NULL;
    }
    client->listening.has_listeners = false;
}

static bool make_listeners(redlock_client *client) {
    struct rl_listening *listening = &client->listening;
    bool made = true;
    if (listening->has_listeners) {
        return true;
    }
    listening->has_listeners = true;
    for (uint32_t i = 0; made && i < client->n_nodes; i++) {
        made = rl_listening_join(client, i);
    }
    if (!made) {
        free_listeners(client);
    }
    return made;
}

static void open_listener(redlock_client *client, uint32_t i) {
    struct rl_node *node = &client->nodes[i]->node;
    if (is_needed(client, i) && rl_node_is_up(node) && client->phase == RL_CLIENT_OPEN) {
        listener_of(client, i)->dialer = node->dialer;
        rl_listener_open(listener_of(client, i), rl_node_address(node)); /* if it is off */
    }
}

static void close_listener(redlock_client *client, uint32_t i) {
    struct rl_listener *listener = listener_of(client, i);
    assert(!(client->listening.own.asked & rl_bit(i)) || !rl_node_is_up(&client->nodes[i]->node));
    rl_listener_close(listener);
    client->listening.failures[i] = listener->failures; /* counts later failures from here */
    client->listening.reported &= ~rl_bit(i);
    client->listening.topics->down(client, i);
}

/* -- Time -- */

static void give_up(redlock_client *client, uint64_t now_ns) {
    struct rl_listening *listening = &client->listening;
    rl_mask idle = listening->kept & ~listening->wanted;
    assert(idle >> client->n_nodes == 0);
    RL_EACH_BIT(i, idle) {
        if (now_ns < given_up_ns(client, i)) {
            continue;
        }
        listening->kept &= ~rl_bit(i);
        if (!listening->has_listeners) {
            continue;
        }
        if (!listening->everywhere) {
            rl_channel_lose(&listening->own, i);
            close_listener(client, i);
        } else if (listening->own.asked & ~listening->own.leaving & rl_bit(i)) {
            own_ask(client, i, false);
        }
    }
}

void rl_listening_due(struct rl_deadline *item, uint64_t now_ns) {
    redlock_client *client = RL_CONTAINER(item, redlock_client, listening.deadline);
    struct rl_listening *listening = &client->listening;
    assert(client->phase < RL_CLIENT_TEARDOWN);
    give_up(client, now_ns); /* before a dropped node is retried */
    for (uint32_t i = 0; listening->has_listeners && i < client->n_nodes; i++) {
        rl_listener_tick(listener_of(client, i), now_ns);
    }
    rl_mask nodes = unreported(client);
    RL_EACH_BIT(i, nodes) {
        own_lost(client, i);
    }
    listening_invariant(listening);
    set_deadline(client);
}

/* -- The interface -- */

void rl_listening_init(redlock_client *client, uint64_t random) {
    client->listening = (struct rl_listening){.events = NULL};
    snprintf(client->id, sizeof client->id, "%016llx", (unsigned long long)random);
    assert(strlen(client->id) == RL_CLIENT_ID_LEN);
    rl_deadline_init(&client->listening.deadline, RL_WAITS_LISTENING);
}

void rl_listening_attend(redlock_client *client, const struct rl_listening_events *events) {
    assert(events->confirmed != NULL && events->lost != NULL && events->told != NULL);
    client->listening.events = events;
}

void rl_listening_serve(redlock_client *client, const struct rl_listening_topics *topics) {
    assert(!client->listening.has_listeners); /* nothing is connected yet */
    assert(topics->up != NULL && topics->down != NULL);
    assert(topics->confirmed != NULL && topics->message != NULL);
    client->listening.topics = topics;
}

static void begin_to_want(redlock_client *client, uint32_t node) {
    struct rl_listening *listening = &client->listening;
    assert(client->phase == RL_CLIENT_OPEN);
    listening->wanted |= rl_bit(node);
    listening->kept |= rl_bit(node);
    if (!make_listeners(client)) {
        return; /* refused until it is wanted again */
    }
    open_listener(client, node);
    if (rl_listener_is_up(listener_of(client, node)) && !(listening->own.asked & rl_bit(node))) {
        own_ask(client, node, true);
    }
}

void rl_listening_want(redlock_client *client, uint32_t node, bool wanted) {
    struct rl_listening *listening = &client->listening;
    assert(node < client->n_nodes);
    bool was_wanted = listening->wanted & rl_bit(node);
    if (wanted && client->phase == RL_CLIENT_OPEN) {
        if (!was_wanted || !listening->has_listeners) {
            listening->reported &= ~rl_bit(node);
            begin_to_want(client, node);
        }
    } else if (was_wanted && !wanted) {
        listening->wanted &= ~rl_bit(node);
        listening->until_ns[node] = rl_client_now_ns(client) + RL_LISTENING_LINGER_NS;
    }
    listening_invariant(listening);
    set_deadline(client);
}

bool rl_listening_lingers(const redlock_client *client, uint32_t node) {
    const struct rl_listening *listening = &client->listening;
    assert(node < client->n_nodes);
    return listening->own.confirmed & ~listening->own.leaving & rl_bit(node);
}

bool rl_listening_confirmed(const redlock_client *client, uint32_t node) {
    return (client->listening.wanted & rl_bit(node)) != 0 && rl_listening_lingers(client, node);
}

uint64_t rl_listening_since_ns(const redlock_client *client, uint32_t node) {
    assert(node < client->n_nodes);
    return client->listening.since_ns[node];
}

bool rl_listening_refused(const redlock_client *client, uint32_t node) {
    const struct rl_listening *listening = &client->listening;
    assert(node < client->n_nodes);
    if (!listening->has_listeners) {
        return listening->wanted & rl_bit(node);
    }
    const struct rl_listener *listener = listener_of(client, node);
    uint64_t failures = listener->failures - listening->failures[node];
    return listener->state == RL_LISTENER_REFUSED || failures >= RL_LISTENING_FAILURES;
}

bool rl_listening_everywhere(redlock_client *client, bool wanted) {
    struct rl_listening *listening = &client->listening;
    if (wanted && !make_listeners(client)) {
        return false;
    }
    listening->everywhere = wanted;
    for (uint32_t i = 0; listening->has_listeners && i < client->n_nodes; i++) {
        if (wanted) {
            open_listener(client, i);
        } else if (!(listening->kept & rl_bit(i))) {
            rl_channel_lose(&listening->own, i);
            close_listener(client, i);
        }
    }
    listening_invariant(listening);
    return true;
}

bool rl_listening_is_up(const redlock_client *client, uint32_t node) {
    return client->listening.has_listeners && rl_listener_is_up(listener_of(client, node));
}

void rl_listening_node_up(redlock_client *client, uint32_t node) {
    assert(node < client->n_nodes);
    if (client->listening.has_listeners) {
        open_listener(client, node);
    }
}

void rl_listening_node_down(redlock_client *client, uint32_t node) {
    assert(node < client->n_nodes);
    if (client->listening.has_listeners) {
        close_listener(client, node);
        own_lost(client, node);
    }
}

void rl_listening_authorized(redlock_client *client, uint32_t node) {
    assert(node < client->n_nodes);
    if (client->listening.has_listeners) {
        rl_listener_authorized(listener_of(client, node));
    }
}

bool rl_listening_is_dirty(const redlock_client *client) {
    return client->listening.dirty != 0;
}

void rl_listening_flush(redlock_client *client) {
    struct rl_listening *listening = &client->listening;
    assert(listening->dirty == 0 || listening->has_listeners);
    while (listening->dirty != 0) {
        rl_mask dirty = listening->dirty;
        listening->dirty = 0;
        RL_EACH_BIT(i, dirty) {
            rl_listener_flush(listener_of(client, i));
        }
    }
}

void rl_listening_close(redlock_client *client) {
    struct rl_listening *listening = &client->listening;
    assert(client->notifications.count == 0); /* nor any topic */
    listening->wanted = listening->kept = listening->reported = 0;
    listening->own = (struct rl_channel){0};
    listening->everywhere = false;
    for (uint32_t i = 0; listening->has_listeners && i < client->n_nodes; i++) {
        rl_listener_close(listener_of(client, i));
    }
    listening->dirty = 0;
    free_listeners(client);
    set_deadline(client);
}
