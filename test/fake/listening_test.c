/* The client's own channel (lib/nodes/listening.h) on fake nodes: wanted, confirmed, with messages,
 * lost and refused, with an election's subscriptions and without. The tests call the room as a
 * resource's line does. */

#include "nodes/listening.h"
#include "election/state.h"
#include "fake/five.h"
#include "redlock/election.h"

struct scene {
    struct five f;
    size_t confirmed[FIVE], lost[FIVE], told[FIVE];
    bool was_refused[FIVE]; /* when it was last lost */
    char payload[RL_PAYLOAD_MAX + 1];
    char channel[64];
    size_t node; /* that a condition checks */
    size_t wanted;
};

static struct scene *the_scene; /* global, since the client's events carry no pointer to it */

static void on_confirmed(redlock_client *client, uint32_t node) {
    assert_true(rl_listening_confirmed(client, node));
    assert_false(rl_listening_refused(client, node));
    the_scene->confirmed[node]++;
}

static void on_lost(redlock_client *client, uint32_t node) {
    assert_false(rl_listening_confirmed(client, node));
    the_scene->was_refused[node] = rl_listening_refused(client, node);
    the_scene->lost[node]++;
}

static void on_told(redlock_client *client, uint32_t node, const char *payload, size_t length) {
    assert_true(client == the_scene->f.client && length <= RL_PAYLOAD_MAX);
    memcpy(the_scene->payload, payload, length);
    the_scene->payload[length] = '\0';
    the_scene->told[node]++;
}

static const struct rl_listening_events events = {.confirmed = on_confirmed,
                                                  .lost = on_lost,
                                                  .told = on_told};

static void start(struct scene *s) {
    memset(s, 0, sizeof(*s));
    the_scene = s;
    five_start(&s->f);
    assert_int_equal(five_open(&s->f), 0);
    five_wait_up(&s->f, FIVE);
    assert_int_equal(strspn(s->f.client->id, "0123456789abcdef"), RL_CLIENT_ID_LEN);
    snprintf(s->channel, sizeof s->channel, "libredlock:client:%s", s->f.client->id);
    rl_listening_attend(s->f.client, &events);
}

static void stop(struct scene *s) {
    five_stop(&s->f);
}

#define SCENE_TEST(name) TEST_ON(name, struct scene, s, start, stop)

static void want(struct scene *s, uint32_t node, bool wanted) {
    rl_listening_want(s->f.client, node, wanted);
    s->f.client->io.world->ops->wake(s->f.client->io.world); /* as any call of the user does */
}

/* A candidate beside another that leads. */
static redlock_election *watch(struct scene *s) {
    redlock_election *election = NULL;
    redlock_election_options options = REDLOCK_ELECTION_OPTIONS_INIT;
    options.name = FIVE_RESOURCE;
    options.name_length = strlen(FIVE_RESOURCE);
    options.poll_ms = 3600000;
    for (size_t i = 0; i < FIVE; i++) {
        fake_node_put(s->f.nodes[i], FIVE_RESOURCE, "somebody", 3600000);
    }
    assert_int_equal(redlock_election_new(s->f.client, &options, &election, NULL, 0), 0);
    assert_int_equal(redlock_election_campaign(election), 0);
    /* How often it asks where it cannot wait in line. */
    assert_int_equal(election->lock->core.acquire.delay_ms, options.poll_ms);
    return election;
}

static void forget_leader(struct scene *s) {
    for (size_t i = 0; i < FIVE; i++) {
        server_forget_keys(fake_node_server(s->f.nodes[i]));
    }
}

/* -- Conditions -- */

static bool is_confirmed(struct five *f, void *data) {
    const struct scene *s = data;
    return f != NULL && s->confirmed[s->node] >= s->wanted;
}

static void until_confirmed(struct scene *s, uint32_t node, size_t times) {
    s->node = node;
    s->wanted = times;
    assert_true(five_run_until(&s->f, is_confirmed, s));
    assert_int_equal(s->confirmed[node], times);
    assert_true(rl_listening_confirmed(s->f.client, node));
    assert_int_equal(fake_node_listeners(s->f.nodes[node], s->channel), 1);
}

static bool is_lost(struct five *f, void *data) {
    const struct scene *s = data;
    return f != NULL && s->lost[s->node] >= s->wanted;
}

static void until_lost(struct scene *s, uint32_t node, size_t times) {
    s->node = node;
    s->wanted = times;
    assert_true(five_run_until(&s->f, is_lost, s));
    assert_int_equal(s->lost[node], times);
}

static bool is_told(struct five *f, void *data) {
    const struct scene *s = data;
    return f != NULL && s->told[s->node] >= s->wanted;
}

static void tell(struct scene *s, uint32_t node, const char *payload) {
    s->node = node;
    s->wanted = s->told[node] + 1;
    assert_int_equal(fake_node_publish(s->f.nodes[node], s->channel, payload), 1);
    assert_true(five_run_until(&s->f, is_told, s));
    assert_string_equal(s->payload, payload);
}

static bool is_left(struct five *f, void *data) {
    const struct scene *s = data;
    return fake_node_listeners(f->nodes[s->node], s->channel) == 0;
}

static char topic[] = "redlock:" FIVE_RESOURCE;

static void until_left(struct scene *s, uint32_t node) {
    s->node = node;
    assert_true(five_run_until(&s->f, is_left, s));
}

static bool is_alone(struct five *f, void *data) {
    const struct scene *s = data;
    return fake_node_connections(f->nodes[s->node]) == 1;
}

static bool was_pinged(struct five *f, void *data) {
    const struct scene *s = data;
    return fake_node_count(f->nodes[s->node], "PING") >= s->wanted;
}

static bool nobody_waits(struct five *f, void *data) {
    return f->client->lines.waiting.first == NULL;
}

static bool hear_alike(struct five *f, void *data) {
    const char *channel = data;
    for (size_t i = 0; i < FIVE; i++) {
        if (fake_node_listeners(f->nodes[i], channel) != 1) {
            return false;
        }
    }
    return true;
}

/* -- Failures -- */

static void forbid(struct scene *s, size_t node) {
    five_rule(&s->f, node, .command = "SUBSCRIBE", .action = FAKE_INSTEAD,
              .bytes = "-NOPERM no channels\r\n");
}

SCENE_TEST(says_where_it_may_not_listen) {
    forbid(s, 2);
    want(s, 2, true);
    want(s, 3, true);
    until_lost(s, 2, 1);
    assert_true(s->was_refused[2]);
    until_confirmed(s, 3, 1);
    want(s, 2, false);
    want(s, 3, false);
    until_left(s, 3);
    five_run_ms(&s->f, 60);
    assert_true(rl_listening_refused(s->f.client, 2)); /* still known */
    want(s, 2, true);
    assert_true(rl_listening_refused(s->f.client, 2));
    until_lost(s, 2, 2); /* the second request is reported as lost, too */
    assert_int_equal(fake_node_accepted(s->f.nodes[2]), 2); /* not tried again and again */
    assert_int_equal(s->confirmed[2], 0);
    assert_int_equal(five_info(&s->f, 2).up, 1);
    five_cycle(&s->f);
    fake_node_clear_rules(s->f.nodes[2]);
    struct rl_listener *listener = &s->f.client->nodes[2]->listener->listener;
    rl_listener_tick(listener, listener->deadline_ns); /* as if a minute had passed */
    until_confirmed(s, 2, 1);
}

/* Only an error about permissions is a refusal. */
SCENE_TEST(tries_again_when_a_node_is_busy) {
    five_rule(&s->f, 2, .command = "SUBSCRIBE", .times = 1, .action = FAKE_INSTEAD,
              .bytes = "-BUSY Redis is busy\r\n");
    want(s, 2, true);
    until_confirmed(s, 2, 1);
    assert_int_equal(s->lost[2], 0);
}

/* The handshake has a time limit. */
SCENE_TEST(connects_anew_after_a_silent_handshake) {
    five_rule(&s->f, 2, .command = "PING", .times = 1, .action = FAKE_IGNORE);
    s->node = 2;
    s->wanted = fake_node_count(s->f.nodes[2], "PING") + 1;
    want(s, 2, true);
    assert_true(five_run_until(&s->f, was_pinged, s));
    struct rl_listener *listener = &s->f.client->nodes[2]->listener->listener;
    rl_listener_tick(listener, listener->deadline_ns); /* as if that time had passed */
    until_confirmed(s, 2, 1);
    assert_int_equal(fake_node_accepted(s->f.nodes[2]), 3);
}

/* SUBSCRIBE becomes forbidden; the connection is lost for another reason. */
SCENE_TEST(says_when_it_is_forbidden) {
    want(s, 2, true);
    until_confirmed(s, 2, 1);
    forbid(s, 2);
    fake_node_drop_listeners(s->f.nodes[2], false);
    until_lost(s, 2, 2);
    assert_true(s->was_refused[2]);
}

/* Proxies that do not know SUBSCRIBE close the connection. A later attempt may succeed. */
SCENE_TEST(does_without_what_fails_again_and_again) {
    five_rule(&s->f, 2, .command = "SUBSCRIBE", .action = FAKE_CLOSE, .times = 5);
    want(s, 2, true);
    until_lost(s, 2, 1);
    assert_true(s->was_refused[2]);
    assert_int_equal(fake_node_count(s->f.nodes[2], "SUBSCRIBE"), RL_LISTENING_FAILURES);
    until_confirmed(s, 2, 1);
    assert_int_equal(s->lost[2], 1);
}

/* The connection cannot be made at all, for which the listener has no event. */
SCENE_TEST(does_without_what_cannot_be_connected) {
    fake_node_refuse(s->f.nodes[2]);
    want(s, 2, true);
    until_lost(s, 2, 1);
    assert_true(s->was_refused[2]);
    assert_int_equal(five_info(&s->f, 2).up, 1);
    fake_node_listen(s->f.nodes[2]);
    until_confirmed(s, 2, 1);
}

/* An unrequested message ends the connection, and is not delivered. */
SCENE_TEST(takes_no_message_that_it_did_not_ask_for) {
    static const char *const lines[] = {
        "*3\r\n$7\r\nmessage\r\n$34\r\nlibredlock:client:0123456789abcdef\r\n$4\r\nturn\r\n",
        "*3\r\n$7\r\nmessage\r\n$18\r\nlibredlock:client:\r\n$4\r\nturn\r\n",
        "*3\r\n$7\r\nmessage\r\n$14\r\nredlock:orders\r\n$0\r\n\r\n",
        "*3\r\n$9\r\nsubscribe\r\n$14\r\nredlock:orders\r\n:1\r\n",
        "+OK\r\n",
        "*2147483647\r\n",
        "\x16\x03\x01\x02\x05\x01\r\n",
    };
    want(s, 0, true);
    until_confirmed(s, 0, 1);
    for (size_t i = 0; i < COUNT(lines) + 2; i++) {
        char own[128];
        snprintf(own, sizeof own, "*3\r\n$%u\r\n%ssubscribe\r\n$34\r\n%s\r\n:%u\r\n",
                 i % 2 ? 11U : 9U, i % 2 ? "un" : "", s->channel, i % 2 ? 0U : 1U);
        const char *line = i < COUNT(lines) ? lines[i] : own;
        fake_node_send_listeners(s->f.nodes[0], line, strlen(line));
        until_confirmed(s, 0, i + 2);
        assert_int_equal(s->lost[0], i + 1);
    }
    assert_int_equal(s->told[0], 0);
    assert_int_equal(five_info(&s->f, 0).connects, 1);
}

/* -- Beside subscriptions -- */

/* One connection serves both, until neither needs it. */
SCENE_TEST(shares_its_connections) {
    redlock_election *election = watch(s);
    assert_true(five_run_until(&s->f, hear_alike, topic));
    want(s, 1, true);
    until_confirmed(s, 1, 1);
    assert_int_equal(fake_node_accepted(s->f.nodes[1]), 2);
    want(s, 1, false);
    until_left(s, 1);
    assert_int_equal(fake_node_count(s->f.nodes[1], "UNSUBSCRIBE"), 1);
    assert_int_equal(fake_node_listeners(s->f.nodes[1], "redlock:" FIVE_RESOURCE), 1);
    want(s, 1, true);
    until_confirmed(s, 1, 2);
    redlock_election_free(election);
    assert_true(five_run_until(&s->f, nobody_waits, NULL));
    want(s, 1, true); /* a waiter wants all nodes, and then none */
    s->node = 0;
    assert_true(five_run_until(&s->f, is_alone, s)); /* unused listeners close */
    assert_int_equal(fake_node_listeners(s->f.nodes[1], s->channel), 1);
    assert_int_equal(fake_node_connections(s->f.nodes[1]), 2);
    five_run_ms(&s->f, 20);
    fake_node_publish(s->f.nodes[1], "redlock:" FIVE_RESOURCE, "");
    tell(s, 1, "turn");
    assert_int_equal(s->lost[1], 0);
    assert_int_equal(fake_node_accepted(s->f.nodes[1]), 2);
    forget_leader(s);
}

/* Wrong answers to SUBSCRIBE: a second confirmation, an unsubscribe, a status. */
SCENE_TEST(takes_no_answer_to_something_else) {
    char twice[128], ended[128];
    snprintf(twice, sizeof twice, "*3\r\n$9\r\nsubscribe\r\n$34\r\n%s\r\n:1\r\n", s->channel);
    snprintf(ended, sizeof ended, "*3\r\n$11\r\nunsubscribe\r\n$34\r\n%s\r\n:0\r\n", s->channel);
    const struct fake_rule rules[] = {
        {.command = "SUBSCRIBE", .skip = 1, .times = 1, .action = FAKE_INSTEAD, .bytes = twice},
        {.command = "SUBSCRIBE", .times = 1, .action = FAKE_INSTEAD, .bytes = ended},
        {.command = "SUBSCRIBE", .times = 1, .action = FAKE_INSTEAD, .bytes = "+OK\r\n"},
    };
    for (uint32_t i = 0; i < COUNT(rules); i++) {
        fake_node_rule(s->f.nodes[i], rules[i]);
        want(s, i, true);
    }
    redlock_election *election = watch(s); /* asks on the same connections, behind it */
    until_confirmed(s, 0, 2);
    assert_int_equal(s->lost[0], 1);
    until_confirmed(s, 1, 1);
    until_confirmed(s, 2, 1);
    for (size_t i = 0; i < COUNT(rules); i++) {
        assert_int_equal(fake_node_accepted(s->f.nodes[i]), 3);
        assert_int_equal(five_info(&s->f, i).connects, 1);
    }
    redlock_election_free(election);
    forget_leader(s);
}

/* The channel is wanted again while UNSUBSCRIBE is outstanding: it is confirmed only after a new
 * SUBSCRIBE. */
SCENE_TEST(is_wanted_again_while_it_leaves) {
    redlock_election *election = watch(s);
    assert_true(five_run_until(&s->f, hear_alike, topic));
    want(s, 1, true);
    until_confirmed(s, 1, 1);
    five_rule(&s->f, 1, .command = "UNSUBSCRIBE", .times = 1, .action = FAKE_ANSWER,
              .delay_ms = 100);
    want(s, 1, false);
    until_left(s, 1);
    want(s, 1, true);
    assert_false(rl_listening_confirmed(s->f.client, 1));
    until_confirmed(s, 1, 2);
    assert_int_equal(s->lost[1], 0);
    assert_int_equal(fake_node_accepted(s->f.nodes[1]), 2);
    redlock_election_free(election);
    forget_leader(s);
}
