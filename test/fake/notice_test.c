/* Release notifications: a watcher of a resource asks for its holder when the nodes publish a
 * release. The pause between two queries is an hour, so that every query is the effect of a
 * notification. The tests publish the messages by hand; the live tests show that a release
 * publishes them. */

#include "fake/five.h"
#include "redlock/election.h"

#define CHANNEL "redlock:" FIVE_RESOURCE
#define HOUR_MS 3600000
#define QUORUM 3
#define TOKEN "0123456789abcdef0123456789abcdef01234567"

struct scene {
    struct five f;
    redlock_election *election;
    size_t reports; /* of the leader */
    bool has_leader;
    size_t elected;
    size_t listened, deaf; /* events */
    size_t notices;
    int deaf_status;
};

static void on_event(const redlock_event *event, void *data) {
    struct scene *s = data;
    s->notices += event->type == REDLOCK_EVENT_RELEASE_NOTIFIED;
    s->listened += event->type == REDLOCK_EVENT_LISTEN_UP;
    if (event->type == REDLOCK_EVENT_LISTEN_DOWN) {
        s->deaf++;
        s->deaf_status = event->status;
    }
}

static void on_leader(redlock_election *election, const char *leader, void *data) {
    struct scene *s = data;
    s->reports++;
    s->has_leader = leader != NULL;
}

static void on_elected(redlock_election *election, int status, void *data) {
    struct scene *s = data;
    assert_int_equal(status, 0);
    s->elected++;
}

static redlock_election *watch(struct scene *s, const char *name, bool observes) {
    redlock_election *election = NULL;
    redlock_election_options options = REDLOCK_ELECTION_OPTIONS_INIT;
    options.name = name;
    options.name_length = strlen(name);
    options.candidate = "us";
    options.poll_ms = HOUR_MS;
    options.on_leader = observes ? on_leader : NULL;
    options.on_elected = on_elected;
    options.data = s;
    assert_int_equal(redlock_election_new(s->f.client, &options, &election, NULL, 0), 0);
    return election;
}

/* Another candidate leads, on n nodes. */
static void hold(struct scene *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        fake_node_put(s->f.nodes[i], FIVE_RESOURCE, TOKEN ":somebody", HOUR_MS);
    }
}

static void let_go(struct scene *s) {
    for (size_t i = 0; i < FIVE; i++) {
        server_forget_keys(fake_node_server(s->f.nodes[i]));
    }
}

static void forbid(struct scene *s, const char *command, size_t first, size_t last) {
    for (size_t i = first; i <= last; i++) {
        five_rule(&s->f, i, .command = command, .action = FAKE_INSTEAD,
                  .bytes = "-NOPERM not for you\r\n");
    }
}

static void publish(struct scene *s, size_t first, size_t last) {
    for (size_t i = first; i <= last; i++) {
        fake_node_publish(s->f.nodes[i], CHANNEL, "");
    }
}

static void start(struct scene *s) {
    memset(s, 0, sizeof(*s));
    five_start(&s->f);
    s->f.options.trace = on_event;
    s->f.options.trace_data = s;
    assert_int_equal(five_open(&s->f), 0);
    five_wait_up(&s->f, FIVE);
}

/* -- Conditions -- */

struct count {
    const struct scene *s;
    size_t wanted;
};

static size_t confirmed(const struct scene *s, const char *channel) {
    size_t n = 0;
    for (size_t i = 0; i < FIVE; i++) {
        n += fake_node_listeners(s->f.nodes[i], channel) == 1;
    }
    return n;
}

static bool are_listening(struct five *f, void *data) {
    const struct count *count = data;
    return f != NULL && confirmed(count->s, CHANNEL) == count->wanted;
}

static void until_listening(struct scene *s, size_t n) {
    struct count count = {s, n};
    assert_true(five_run_until(&s->f, are_listening, &count));
}

static size_t looks(const struct scene *s) {
    return fake_node_count(s->f.nodes[FIVE - 1], "EVALSHA");
}

static bool have_looked(struct five *f, void *data) {
    const struct count *count = data;
    return f != NULL && looks(count->s) >= count->wanted;
}

static void until_looked(struct scene *s, size_t n) {
    struct count count = {s, n};
    assert_true(five_run_until(&s->f, have_looked, &count));
    five_run_ms(&s->f, 20);
    assert_int_equal(looks(s), n);
}

static void must_not_look(struct scene *s) {
    size_t before = looks(s);
    five_run_ms(&s->f, 60);
    assert_int_equal(looks(s), before);
}

static bool has_no_leader(struct five *f, void *data) {
    const struct scene *s = data;
    return f != NULL && s->reports > 0 && !s->has_leader;
}

static void until_no_leader(struct scene *s) {
    assert_true(five_run_until(&s->f, has_no_leader, s));
}

/* Another candidate leads; the client watches it on all nodes, and has queried it again after the
 * confirmations. */
static void start_watching(struct scene *s) {
    start(s);
    hold(s, FIVE);
    s->election = watch(s, FIVE_RESOURCE, true);
    until_listening(s, FIVE);
    until_looked(s, 2);
    must_not_look(s);
    assert_true(s->has_leader);
}

static void end(struct scene *s) {
    let_go(s);
    redlock_election_free(s->election);
    five_stop(&s->f);
}

#define SCENE_TEST(name) TEST_ON(name, struct scene, s, start, end)

#define WATCHED_TEST(name) TEST_ON(name, struct scene, s, start_watching, end)

/* -- Notifications -- */

WATCHED_TEST(is_told_by_a_quorum) {
    for (size_t i = 0; i < FIVE; i++) {
        fake_node_set_fragment(s->f.nodes[i], 1); /* one byte at a time */
    }
    for (int i = 0; i < 10; i++) {
        publish(s, 0, QUORUM - 2); /* a node counts once */
    }
    must_not_look(s); /* a failed attempt releases a minority, a holder a quorum */
    publish(s, QUORUM - 1, QUORUM - 1);
    until_looked(s, 3);
    let_go(s);
    publish(s, 1, QUORUM);
    until_no_leader(s);
}

static bool is_elected(struct five *f, void *data) {
    const struct scene *s = data;
    return f != NULL && s->elected == 1;
}

/* The candidate's first attempts have no quorum, so it is in no line; the next attempt is an hour
 * away. */
SCENE_TEST(hurries_a_candidate) {
    hold(s, FIVE);
    forbid(s, "SET", 0, FIVE - 1);
    s->election = watch(s, FIVE_RESOURCE, false);
    assert_int_equal(redlock_election_campaign(s->election), 0);
    until_listening(s, FIVE);
    five_run_ms(&s->f, 60);
    assert_int_equal(s->elected, 0);
    s->notices = 0;
    let_go(s);
    for (size_t i = 0; i < FIVE; i++) {
        fake_node_clear_rules(s->f.nodes[i]);
    }
    publish(s, 0, QUORUM - 1);
    assert_true(five_run_until(&s->f, is_elected, s));
    assert_true(s->notices > 0);
}

/* -- Faulty nodes -- */

static bool is_deaf(struct five *f, void *data) {
    const struct count *count = data;
    return f != NULL && count->s->deaf == count->wanted;
}

SCENE_TEST(is_forbidden_to_listen) {
    hold(s, FIVE);
    forbid(s, "SUBSCRIBE", 0, 4);
    s->election = watch(s, FIVE_RESOURCE, true);
    struct count all = {s, FIVE};
    assert_true(five_run_until(&s->f, is_deaf, &all));
    until_looked(s, 1);
    five_run_ms(&s->f, 60);
    assert_int_equal(s->deaf, FIVE);
    assert_int_equal(s->deaf_status, REDLOCK_ERR_NODE_PERMISSION);
    for (size_t i = 0; i < FIVE; i++) {
        assert_int_equal(fake_node_accepted(s->f.nodes[i]), 2); /* not again and again */
        assert_int_equal(five_info(&s->f, i).up, 1);
    }
}

SCENE_TEST(makes_do_with_those_that_it_hears) {
    hold(s, FIVE);
    forbid(s, "SUBSCRIBE", 0, 2);
    s->election = watch(s, FIVE_RESOURCE, true);
    until_listening(s, 2);
    until_looked(s, 1); /* no quorum has confirmed */
    publish(s, 3, 3);
    must_not_look(s);
    publish(s, 4, 4);
    until_looked(s, 2);
}

static bool has_heard_again(struct five *f, void *data) {
    const struct count *count = data;
    return f != NULL && count->s->listened >= FIVE + count->wanted &&
           confirmed(count->s, CHANNEL) == FIVE;
}

/* Bad bytes on a subscribed connection cost that connection and no vote. */
WATCHED_TEST(hostile_bytes_cost_that_connection_only) {
    static const char *const payloads[] = {
        "+OK\r\n",
        "*2147483647\r\n",
        "*3\r\n$7\r\nmessage\r\n$15\r\nredlock:another\r\n$0\r\n\r\n",
        "*3\r\n$11\r\nunsubscribe\r\n$14\r\n" CHANNEL "\r\n:0\r\n",
        "*3\r\n$9\r\nsubscribe\r\n$14\r\n" CHANNEL "\r\n:1\r\n",
        "*3\r\n$7\r\nmessage\r\n$8\r\nredlock:\r\n$0\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
        struct count count = {s, i + 1};
        fake_node_send_listeners(s->f.nodes[0], payloads[i], strlen(payloads[i]));
        if (!five_run_until(&s->f, has_heard_again, &count)) {
            fail_msg("heard: %s", payloads[i]);
        }
        assert_int_equal(s->deaf_status, REDLOCK_ERR_NODE_PROTOCOL);
    }
    for (size_t i = 0; i < FIVE; i++) {
        assert_int_equal(five_info(&s->f, i).connects, 1);
        assert_int_equal(s->f.downs[i].times, 0);
    }
    assert_int_equal(s->deaf, sizeof(payloads) / sizeof(payloads[0]));
    publish(s, 0, 2);
    until_looked(s, 3);
}

/* -- Coming and going -- */

static bool is_left(struct five *f, void *data) {
    return f != NULL && confirmed(data, CHANNEL) == 0;
}

/* While another resource is watched, only the channel is unsubscribed; it can be subscribed again
 * at any time, even while UNSUBSCRIBE is outstanding. */
SCENE_TEST(unsubscribes) {
    for (size_t i = 0; i < FIVE; i++) {
        fake_node_put(s->f.nodes[i], "other", TOKEN, HOUR_MS);
        five_rule(&s->f, i, .command = "UNSUBSCRIBE", .times = 1, .action = FAKE_ANSWER,
                  .delay_ms = 50);
    }
    redlock_election *other = watch(s, "other", true);
    hold(s, FIVE);
    s->election = watch(s, FIVE_RESOURCE, true);
    until_listening(s, FIVE);
    until_looked(s, 4);
    redlock_election_free(s->election);
    assert_true(five_run_until(&s->f, is_left, s));
    assert_int_equal(fake_node_connections(s->f.nodes[0]), 2);
    s->election = watch(s, FIVE_RESOURCE, true);
    until_listening(s, FIVE);
    assert_int_equal(s->deaf, 0);
    until_looked(s, 6);
    publish(s, 0, 2);
    until_looked(s, 7);
    redlock_election_free(other);
}

/* A leader's keys may outlive any clock, if somebody wants that. */
SCENE_TEST(does_not_ask_at_once_when_a_key_lives_for_ages) {
    for (size_t i = 0; i < FIVE; i++) {
        five_rule(&s->f, i, .command = "read", .action = FAKE_REPLACE,
                  .bytes = "$61\r\n9223372036854775807 s" TOKEN "\r\n");
    }
    s->election = watch(s, FIVE_RESOURCE, true);
    until_listening(s, FIVE);
    until_looked(s, 2);
    must_not_look(s);
    assert_true(s->has_leader);
}

static void on_resigned(redlock_election *election, int status, void *data) {
    size_t *resigned = data;
    assert_int_equal(status, 0);
    (*resigned)++;
}

static bool is_one(struct five *f, void *data) {
    return f != NULL && *(const size_t *)data == 1;
}

/* The same leader as before is nothing new. */
WATCHED_TEST(is_told_once_of_the_one_that_it_challenged) {
    size_t resigned = 0;
    assert_int_equal(s->reports, 1);
    assert_int_equal(redlock_election_campaign(s->election), 0);
    five_run_ms(&s->f, 60);
    assert_int_equal(redlock_election_resign(s->election, on_resigned, &resigned), 0);
    assert_true(five_run_until(&s->f, is_one, &resigned));
    five_run_ms(&s->f, 60);
    assert_string_equal(redlock_election_leader(s->election), "somebody");
    assert_int_equal(s->reports, 1);
}

WATCHED_TEST(is_freed_while_it_listens) {
    redlock_election_free(s->election);
    publish(s, 0, 4); /* no watcher is left */
    must_not_look(s);
    assert_int_equal(s->deaf, 0);
    s->election = NULL;
}
