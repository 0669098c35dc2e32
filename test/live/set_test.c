/* The configuration that the nodes of a set keep, on real servers: clients of different lists
 * exclude each other, follow a change of all nodes under a held lock, and say why a node has no
 * vote. The test is the administrator: it writes the texts, and cuts connections as a change does.
 *
 * $REDLOCK_SET_TRIES: how often clients of different lists try, instead of a few times. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/live.h"
#include "messages.h"
#include "redis/config.h"

#define ID "6f1c02d7a9b34e55"
#define OTHER_ID "02aa17c4e0d95b3f"
#define TRIES 24
#define HOLD_MS 4000
#define RENEW_MS 20 /* an eighth of what is left later, if a change has cut an extension off */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* -- The administrator -- */

struct set {
    const char *id;
    unsigned epoch;
    uint32_t old, nodes; /* masks; old: 0, unless joint */
    unsigned max_ttl_ms; /* 0: 30000 */
};

static bool is_in(uint32_t mask, size_t i) {
    return (mask >> i & 1) != 0;
}

static struct rl_config describe(const struct live *live, const struct set *set) {
    struct rl_config config = {.key = {.epoch = set->epoch},
                               .max_ttl_ms = set->max_ttl_ms != 0 ? set->max_ttl_ms : 30000,
                               .is_joint = set->old != 0};
    snprintf(config.key.id, sizeof config.key.id, "%s", set->id);
    snprintf(config.key.change, sizeof config.key.change, "%08x", set->epoch);
    for (size_t i = 0; i < live->n; i++) {
        if (is_in(set->old | set->nodes, i)) {
            struct rl_config_member *member = &config.members[config.n++];
            snprintf(member->url, sizeof member->url, "%s", live->urls[i]);
            member->sides = (uint8_t)((is_in(set->old, i) ? RL_CONFIG_OLD : 0) |
                                      (is_in(set->nodes, i) ? RL_CONFIG_NEW : 0));
        }
    }
    return config;
}

static void cut(const struct live *live, size_t i) {
    live_tell(live, i, "CLIENT KILL TYPE normal");
    live_tell(live, i, "CLIENT KILL TYPE pubsub");
}

/* Writes it to these of its nodes. */
static void write_to(const struct live *live, const struct set *set, uint32_t to) {
    const struct rl_config config = describe(live, set);
    char text[RL_CONFIG_TEXT_MAX];
    uint32_t self = 0;
    for (size_t i = 0; i < live->n; i++) {
        if (!is_in(set->old | set->nodes, i)) {
            continue;
        }
        rl_config_format(&config, self++, text);
        if (is_in(to, i)) {
            live_tell(live, i, "SET %s %s", RL_CONFIG_KEY, text);
            cut(live, i);
        }
    }
}

static void write_all(const struct live *live, const struct set *set) {
    write_to(live, set, UINT32_MAX);
}

/* -- Clients of parts of the nodes -- */

static redlock_client *open_part(struct live *live, uint32_t mask, const char *id, int wanted) {
    const char *urls[LIVE_NODES_MAX];
    redlock_client_options options = live_options(live);
    redlock_client *client;
    options.nodes = urls;
    options.n_nodes = 0;
    options.config_id = id;
    for (size_t i = 0; i < live->n; i++) {
        if (is_in(mask, i)) {
            urls[options.n_nodes++] = live->urls[i];
        }
    }
    LIVE_STATUS(live_open(live, &options, &client), wanted);
    return client;
}

static int try_once(struct live *live, redlock_lock *lock) {
    const redlock_acquire_options options = live_once(30000);
    return live_acquire(live, lock, &options);
}

static void check_message(const char *message, const char *wanted) {
    if (strstr(message, wanted) == NULL) {
        print_error("\"%s\" is not in: %s\n", wanted, message);
    }
    assert_non_null(strstr(message, wanted));
}

/* -- Different lists -- */

/* Tries with both clients at once, or with one after the other. */
static unsigned contend(struct live *live, redlock_lock *const locks[2], unsigned order) {
    const unsigned first = order & 1;
    struct live_done done[2] = {{0}};
    const redlock_acquire_options once = live_once(30000);
    for (unsigned i = 0; i < 2; i++) {
        LIVE_STATUS(redlock_acquire(locks[first ^ i], &once, live_lock_cb, &done[i]), 0);
        if ((order & 2) != 0) {
            LIVE_UNTIL(live, done[i].count == 1);
        }
    }
    LIVE_UNTIL(live, done[0].count == 1 && done[1].count == 1);
    return (unsigned)(done[0].status == 0) + (done[1].status == 0);
}

static void end_both(struct live *live, redlock_client *const *clients,
                     redlock_lock *const *locks) {
    for (unsigned i = 0; i < 2; i++) {
        redlock_lock_free(locks[i]);
        live_close(live, clients[i]);
    }
}

static void one_try(struct live *live, unsigned number) {
    const struct set set = {ID, number + 1, 0, 0x1f, 0};
    uint32_t lists[2] = {1 + number * 7 % 31, 1 + number * 11 % 31};
    const unsigned order = number % 8;
    redlock_client *clients[2];
    redlock_lock *locks[2];
    char name[16]; /* another each time: what was released may be reserved for a moment */
    snprintf(name, sizeof name, "r%u", number);
    if ((order & 4) == 0) {
        write_all(live, &set); /* in half of the tries only while one of them is open */
    }
    for (unsigned i = 0; i < 2; i++) {
        clients[i] = open_part(live, lists[i], NULL, 0);
        locks[i] = live_lock(clients[i], name);
        if (i == 0 && (order & 4) != 0) {
            write_all(live, &set);
        }
    }
    LIVE_UNTIL(live, live_stats(clients[0]).nodes_voting == 5);
    LIVE_UNTIL(live, live_stats(clients[1]).nodes_voting == 5);
    const unsigned granted = contend(live, locks, order);
    assert_true(granted <= 1 && (granted == 1 || (order & 2) == 0));
    end_both(live, clients, locks);
}

static void clients_of_different_lists_exclude_each_other(void **state) {
    struct live *live = *state;
    const char *tries = getenv("REDLOCK_SET_TRIES");
    live_start(live, 5, NULL);
    write_all(live, &(struct set){ID, 1, 0, 0x1f, 0});
    for (unsigned i = 1; i <= (tries != NULL ? strtoul(tries, NULL, 10) : TRIES); i++) {
        one_try(live, i);
    }
    live_end(live);
}

/* What it is about: without a configuration, both would hold. */
static void without_one_they_do_not(void **state) {
    struct live *live = *state;
    live_start(live, 5, NULL);
    redlock_client *clients[] = {open_part(live, 0x07, NULL, 0), open_part(live, 0x18, NULL, 0)};
    redlock_lock *const locks[] = {live_lock(clients[0], "r"), live_lock(clients[1], "r")};
    assert_int_equal(contend(live, locks, 2), 2);
    end_both(live, clients, locks);
    live_end(live);
}

/* -- A change of all nodes -- */

struct held {
    struct live *live;
    redlock_lock *lock;
    unsigned renewed;
    struct live_done lost;
};

static void on_renew(redlock_lock *lock, int status, void *data) {
    struct held *held = data;
    (void)lock;
    held->renewed += status == 0;
    live_wake();
}

static void hold(struct live *live, struct held *held, const char *resource) {
    redlock_acquire_options options = live_once(HOLD_MS);
    options.auto_extend = 1;
    options.renew_ms = RENEW_MS;
    options.fencing = 1;
    options.on_renew = on_renew;
    options.on_lost = live_lock_cb;
    options.lost_data = &held->lost;
    options.renew_data = held;
    held->live = live;
    held->lock = live_lock(live->client, resource);
    LIVE_STATUS(live_acquire(live, held->lock, &options), 0);
}

/* The client has adopted it, and has renewed the hold since. */
static void await_adopted(struct held *held, const struct set *set) {
    struct live *live = held->live;
    uint64_t n = 0;
    for (size_t i = 0; i < live->n; i++) {
        n += is_in(set->old | set->nodes, i);
    }
    redlock_node_info info = REDLOCK_NODE_INFO_INIT;
    LIVE_UNTIL(live, redlock_client_node(live->client, (size_t)n, &info) != 0 &&
                         redlock_client_node(live->client, (size_t)n - 1, &info) == 0 &&
                         live_stats(live->client).nodes_voting == n);
    held->renewed = 0;
    LIVE_UNTIL(live, held->renewed >= 2 || held->lost.count > 0);
    assert_int_equal(held->lost.count, 0);
}

/* In the middle of the change a second client begins with an old node, and waits in line. */
static void three_of_three_are_replaced_under_a_hold(void **state) {
    struct live *live = *state;
    const struct set sets[] = {{ID, 1, 0, 0x07, 0}, {ID, 2, 0x07, 0x38, 0}, {ID, 3, 0, 0x38, 0}};
    struct held held = {0};
    struct live_done granted = {0};
    redlock_acquire_options patient = live_patient(HOLD_MS);
    live_start(live, 6, NULL);
    patient.fencing = 1;
    write_all(live, &sets[0]);
    live->client = open_part(live, 0x07, NULL, 0);
    hold(live, &held, "r");
    await_adopted(&held, &sets[0]);
    redlock_client *other = open_part(live, 0x02, NULL, 0);
    redlock_lock *waiter = live_lock(other, "r");
    LIVE_STATUS(redlock_acquire(waiter, &patient, live_lock_cb, &granted), 0);
    write_all(live, &sets[1]);
    await_adopted(&held, &sets[1]);
    LIVE_POLL(live, live_count_keys(live, "r", redlock_lock_token(held.lock)) == 6);
    write_all(live, &sets[2]);
    await_adopted(&held, &sets[2]);
    check_message(CLIENT_MESSAGE(live->client), "3 of 3 nodes up");
    for (size_t i = 0; i < 3; i++) {
        check_message(live->urls[3 + i], live_node(live->client, i).node);
        live_kill(live, i);
    }
    held.renewed = 0;
    LIVE_UNTIL(live, held.renewed >= 3);
    assert_int_equal(held.lost.count, 0);
    assert_int_equal(granted.count, 0);
    const uint64_t fence = redlock_lock_fence(held.lock);
    LIVE_STATUS(live_release(live, held.lock), 0);
    LIVE_UNTIL(live, granted.count == 1);
    LIVE_STATUS(granted.status, 0);
    assert_true(redlock_lock_fence(waiter) > fence);
    redlock_lock_free(waiter);
    live_close(live, other);
    redlock_lock_free(held.lock);
    live_end(live);
}

static bool is_left(const struct live *live, uint32_t nodes) {
    bool is = true;
    for (size_t i = 0; i < live->n; i++) {
        redisReply *reply = live_ask(live, i, "CLIENT LIST");
        is = is && (!is_in(nodes, i) || strstr(reply->str, "name=redlock") == NULL);
        freeReplyObject(reply);
    }
    return is;
}

/* Nodes come and go until each of the client's places has been used again and again. */
static void many_changes_in_a_row(void **state) {
    struct live *live = *state;
    static const uint32_t masks[] = {0x07, 0x38, 0x15, 0x2a, 0x1c};
    struct held held = {0};
    struct set set = {ID, 1, 0, masks[0], 0};
    live_start(live, 6, NULL);
    write_all(live, &set);
    redlock_client_options options = live_options(live);
    options.n_nodes = 3;
    options.max_ttl_ms = 100; /* so long is a node kept that has left */
    LIVE_STATUS(live_open(live, &options, &live->client), 0);
    hold(live, &held, "r");
    for (unsigned i = 1; i <= 30; i++) {
        const uint32_t next = masks[i % COUNT(masks)];
        set = (struct set){ID, set.epoch + 1, set.nodes, next, 0};
        write_all(live, &set);
        await_adopted(&held, &set);
        set = (struct set){ID, set.epoch + 1, 0, next, 0};
        write_all(live, &set);
        await_adopted(&held, &set);
    }
    LIVE_POLL(live, is_left(live, ~set.nodes));
    LIVE_STATUS(live_release(live, held.lock), 0);
    redlock_lock_free(held.lock);
    live_end(live);
}

/* -- Nodes without a vote -- */

#define LINES(urls, self)                         \
    "libredlock-config 1\nid " ID                 \
    "\nepoch 6\nchange 00000006\nmax_ttl 30000\n" \
    "nodes " urls "\nself " self "\n"

static const struct stray {
    const char *what;
    struct set set; /* epoch 0: see text */
    const char *text;
    int reason;
    const char *says;
} strays[] = {
    {"of another set",
     {OTHER_ID, 9, 0, 0x07, 0},
     NULL,
     REDLOCK_ERR_NODE_CONFIG,
     "it belongs to set " OTHER_ID ", and this client to " ID},
    {"older",
     {ID, 4, 0, 0x07, 0},
     NULL,
     REDLOCK_ERR_NODE_CONFIG,
     "it has configuration epoch 4, change 00000004, and others have 5, 00000005"},
    {"missing",
     {0},
     "",
     REDLOCK_ERR_NODE_CONFIG,
     "it has no configuration, and others have epoch 5: run \"redlock set resume\""},
    {"of another version",
     {0},
     "libredlock-config 2\nx",
     REDLOCK_ERR_NODE_CONFIG,
     "its libredlock:config is not of a version that this one knows"},
    {"with a password",
     {0},
     LINES("redis://bob:secret@127.0.0.1:1", "redis://bob:secret@127.0.0.1:1"),
     REDLOCK_ERR_NODE_CONFIG,
     "(node 1 of its configuration has no URL of its own, or one that says more than host and "},
    {"with a server twice",
     {0},
     LINES("redis://127.0.0.1:1 redis://127.0.0.1:1/", "redis://127.0.0.1:1"),
     REDLOCK_ERR_NODE_CONFIG,
     "(node 2 of its configuration has no URL of its own"},
    {"of another node", {0}, "SELF", REDLOCK_ERR_NODE_CONFIG, "by its configuration"},
    {"of another type",
     {0},
     "LIST",
     REDLOCK_ERR_NODE_WRONGTYPE,
     "libredlock:config is no string: delete it"},
    {"forbidden",
     {0},
     "DENY",
     REDLOCK_ERR_NODE_PERMISSION,
     "allow the user +get of ~libredlock:config"},
    {"long", {0}, "6000", REDLOCK_ERR_NODE_CONFIG, "its libredlock:config "},
    {"very long", {0}, "60000", REDLOCK_ERR_NODE_CONFIG, "its libredlock:config "},
};

static void spoil(struct live *live, size_t i, const struct stray *stray) {
    const char *text = stray->text;
    live_tell(live, i, "DEL %s", RL_CONFIG_KEY);
    if (stray->set.epoch != 0) {
        write_to(live, &stray->set, UINT32_C(1) << i);
    } else if (strcmp(text, "SELF") == 0) {
        redisReply *reply = live_ask(live, 0, "GET %s", RL_CONFIG_KEY);
        live_tell(live, i, "SET %s %b", RL_CONFIG_KEY, reply->str, reply->len);
        freeReplyObject(reply);
    } else if (strcmp(text, "LIST") == 0) {
        live_tell(live, i, "RPUSH %s x", RL_CONFIG_KEY);
    } else if (strcmp(text, "DENY") == 0) {
        live_tell(live, i, "ACL SETUSER default -get");
    } else if (strtoul(text, NULL, 10) > 0) {
        live_tell(live, i, "SETRANGE %s %s x", RL_CONFIG_KEY, text);
    } else if (text[0] != '\0') {
        live_tell(live, i, "SET %s %s", RL_CONFIG_KEY, text);
    }
    cut(live, i);
}

static void a_node_of_another_mind_has_no_vote(void **state) {
    struct live *live = *state;
    const struct set set = {ID, 5, 0, 0x07, 0};
    live_start(live, 3, NULL);
    write_all(live, &set);
    live->client = open_part(live, 0x07, NULL, 0);
    for (size_t i = 0; i < COUNT(strays); i++) {
        const struct stray *stray = &strays[i];
        redlock_lock *lock = live_lock(live->client, "r");
        spoil(live, 2, stray);
        LIVE_UNTIL(live, live_node(live->client, 2).reason == stray->reason);
        LIVE_STATUS(try_once(live, lock), 0); /* the other two have a majority */
        LIVE_STATUS(live_outcome(lock, 2).reason, stray->reason);
        assert_int_equal(live_stats(live->client).nodes_voting, 2);
        check_message(CLIENT_MESSAGE(live->client), stray->says);
        live_tell(live, 2, "ACL SETUSER default +get");
        live_tell(live, 2, "DEL %s", RL_CONFIG_KEY);
        write_to(live, &set, 0x04);
        LIVE_UNTIL(live, live_stats(live->client).nodes_voting == 3);
        LIVE_STATUS(live_release(live, lock), 0);
        redlock_lock_free(lock);
    }
    live_end(live);
}

static void nodes_of_two_sets_have_no_vote(void **state) {
    struct live *live = *state;
    live_start(live, 6, NULL);
    write_all(live, &(struct set){ID, 1, 0, 0x07, 0});
    write_all(live, &(struct set){OTHER_ID, 7, 0, 0x38, 0});
    static const struct {
        const char *id;
        int status;
        const char *says;
    } rows[] = {{NULL, REDLOCK_ERR_NO_QUORUM, "name the nodes of one set, or set config_id"},
                {ID, 0, "3 of 3 nodes up"},
                {OTHER_ID, 0, "3 of 3 nodes up"},
                {"0123456789abcdef", REDLOCK_ERR_NO_QUORUM, "and this client to 0123456789abcdef"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        redlock_client *client = open_part(live, 0x1b, rows[i].id, rows[i].status);
        redlock_lock *lock = live_lock(client, "r");
        LIVE_STATUS(try_once(live, lock), rows[i].status);
        check_message(CLIENT_MESSAGE(client), rows[i].says);
        redlock_lock_free(lock);
        live_close(live, client);
    }
    live_end(live);
}

/* ... and have one when the nodes of one set have left it. */
static void nodes_of_two_sets_that_become_one(void **state) {
    struct live *live = *state;
    live_start(live, 4, NULL);
    write_all(live, &(struct set){OTHER_ID, 7, 0, 0x0c, 0});
    write_all(live, &(struct set){ID, 1, 0, 0x03, 0});
    live->client = open_part(live, 0x0f, NULL, REDLOCK_ERR_NO_QUORUM);
    LIVE_UNTIL(live, live_stats(live->client).nodes_up == 4);
    assert_int_equal(live_stats(live->client).nodes_voting, 0);
    for (size_t i = 2; i < 4; i++) {
        live_tell(live, i, "DEL %s", RL_CONFIG_KEY);
        cut(live, i);
    }
    LIVE_UNTIL(live, live_stats(live->client).nodes_voting == 2);
    check_message(CLIENT_MESSAGE(live->client), "2 of 2 nodes up");
    live_end(live);
}

/* A node that accepts connections and says nothing holds nobody up. */
static void a_silent_member_is_not_waited_for(void **state) {
    struct live *live = *state;
    live_start(live, 3, NULL);
    write_all(live, &(struct set){ID, 1, 0, 0x07, 0});
    live_pause(live, 2);
    redlock_client_options options = live_options(live);
    options.connect_timeout_ms = 60000;
    LIVE_STATUS(live_open(live, &options, &live->client), 0);
    live_resume(live, 2);
    LIVE_UNTIL(live, live_stats(live->client).nodes_voting == 3);
    live_end(live);
}

static void an_id_demands_a_configuration(void **state) {
    struct live *live = *state;
    char error[REDLOCK_MESSAGE_MAX];
    live_start(live, 3, NULL);
    redlock_client *client = open_part(live, 0x07, ID, REDLOCK_ERR_NO_QUORUM);
    check_message(CLIENT_MESSAGE(client), "it has no configuration");
    write_all(live, &(struct set){ID, 1, 0, 0x07, 0});
    LIVE_UNTIL(live, live_stats(client).nodes_voting == 3);
    live_close(live, client);
    redlock_client_options options = live_options(live);
    options.config_id = "6F1C02D7A9B34E55";
    options.error = error;
    options.error_size = sizeof error;
    LIVE_STATUS(redlock_client_open(&client, &live->loop, &options, NULL, NULL),
                REDLOCK_ERR_INVALID);
    check_message(error, "config_id is \"6F1C02D7A9B34E55\": it must be 16 hex digits");
    live_end(live);
}

static void no_ttl_is_above_the_sets(void **state) {
    struct live *live = *state;
    live_start(live, 3, NULL);
    write_all(live, &(struct set){ID, 1, 0, 0x07, 5000});
    live->client = open_part(live, 0x07, NULL, 0);
    redlock_lock *lock = live_lock(live->client, "r");
    const redlock_acquire_options above = live_once(5001), within = live_once(5000);
    LIVE_STATUS(redlock_acquire(lock, &above, NULL, NULL), REDLOCK_ERR_INVALID);
    check_message(LOCK_MESSAGE(lock), "ttl_ms is 5001, above the max_ttl");
    check_message(LOCK_MESSAGE(lock), "which is 5000");
    LIVE_STATUS(live_acquire(live, lock, &within), 0);
    LIVE_STATUS(redlock_extend(lock, 5001, NULL, NULL), REDLOCK_ERR_INVALID);
    redlock_lock_free(lock);
    live_end(live);
}

/* A hold that began with a longer ttl is renewed with the set's. */
static void a_hold_falls_in_with_the_sets_ttl(void **state) {
    struct live *live = *state;
    struct held held = {0};
    const struct set set = {ID, 1, 0, 0x07, 3000};
    live_start(live, 3, NULL);
    live->client = open_part(live, 0x07, NULL, 0);
    hold(live, &held, "r");
    write_all(live, &set);
    await_adopted(&held, &set);
    for (size_t i = 0; i < 3; i++) {
        LIVE_POLL(live, live_pttl(live, i, "r") <= 3000);
    }
    assert_true(redlock_lock_remaining_ms(held.lock) <= 3000);
    LIVE_STATUS(live_release(live, held.lock), 0);
    redlock_lock_free(held.lock);
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST(clients_of_different_lists_exclude_each_other),
        LIVE_TEST(without_one_they_do_not),
        LIVE_TEST(three_of_three_are_replaced_under_a_hold),
        LIVE_TEST(many_changes_in_a_row),
        LIVE_TEST(a_node_of_another_mind_has_no_vote),
        LIVE_TEST(nodes_of_two_sets_have_no_vote),
        LIVE_TEST(nodes_of_two_sets_that_become_one),
        LIVE_TEST(a_silent_member_is_not_waited_for),
        LIVE_TEST(an_id_demands_a_configuration),
        LIVE_TEST(no_ttl_is_above_the_sets),
        LIVE_TEST(a_hold_falls_in_with_the_sets_ttl),
    };
    return cmocka_run_group_tests_name("set", tests, NULL, NULL);
}
