/* Clients of real servers that do not agree on a configuration. */

#include "live/live.h"
#include "messages.h"
#include "redis/config.h"
#include "redlock/election.h"

#define ID "6f1c02d7a9b34e55"
#define OTHER_ID "02aa17c4e0d95b3f"
#define LINES(urls, self)                         \
    "libredlock-config 1\nid " ID                 \
    "\nepoch 6\nchange 00000006\nmax_ttl 30000\n" \
    "nodes " urls "\nself " self "\n"

/* -- The administrator: writes to the nodes, and cuts connections as a change does -- */

struct set {
    const char *id;
    unsigned epoch;
    uint32_t nodes;      /* a mask */
    unsigned max_ttl_ms; /* 0: 30000 */
};

static bool is_in(uint32_t mask, size_t i) {
    return (mask >> i & 1) != 0;
}

/* Writes it to these of its nodes. */
static void write_to(const struct live *live, const struct set *set, uint32_t to) {
    char nodes[512] = "", text[1024];
    for (size_t i = 0; i < live->n; i++) {
        const size_t used = strlen(nodes);
        if (is_in(set->nodes, i)) {
            snprintf(nodes + used, sizeof nodes - used, " %s", live->urls[i]);
        }
    }
    for (size_t i = 0; i < live->n; i++) {
        if (is_in(set->nodes & to, i)) {
            snprintf(text, sizeof text,
                     "libredlock-config 1\nid %s\nepoch %u\nchange %08x\nmax_ttl %u\nnodes%s\n"
                     "self %s\n",
                     set->id, set->epoch, set->epoch,
                     set->max_ttl_ms != 0 ? set->max_ttl_ms : 30000, nodes, live->urls[i]);
            live_configure(live, i, text);
        }
    }
}

static void write_all(const struct live *live, const struct set *set) {
    write_to(live, set, UINT32_MAX);
}

/* A client of these nodes. */
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

/* -- Nodes of another mind -- */

static const struct stray {
    const char *what;
    struct set set; /* epoch 0: see text */
    const char *text;
    int reason;
    const char *says;
} strays[] = {
    {"of another set",
     {OTHER_ID, 9, 0x07, 0},
     NULL,
     REDLOCK_ERR_NODE_CONFIG,
     "it belongs to set " OTHER_ID ", and this client to " ID},
    {"older",
     {ID, 4, 0x07, 0},
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
    live_cut(live, i);
}

LIVE_TEST(a_node_of_another_mind_has_no_vote) {
    const struct set set = {ID, 5, 0x07, 0};
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
        assert_contains(CLIENT_MESSAGE(live->client), stray->says);
        live_tell(live, 2, "ACL SETUSER default +get");
        live_tell(live, 2, "DEL %s", RL_CONFIG_KEY);
        write_to(live, &set, 0x04);
        LIVE_UNTIL(live, live_stats(live->client).nodes_voting == 3);
        LIVE_STATUS(live_release(live, lock), 0);
        redlock_lock_free(lock);
    }
}

LIVE_TEST(nodes_of_two_sets_have_no_vote) {
    live_start(live, 6, NULL);
    write_all(live, &(struct set){ID, 1, 0x07, 0});
    write_all(live, &(struct set){OTHER_ID, 7, 0x38, 0});
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
        assert_contains(CLIENT_MESSAGE(client), rows[i].says);
        redlock_lock_free(lock);
        live_close(live, client);
    }
}

/* Nodes of two configurations have no quorum until those of one have dropped theirs. */
LIVE_TEST(nodes_of_two_sets_that_become_one) {
    live_start(live, 4, NULL);
    write_all(live, &(struct set){OTHER_ID, 7, 0x0c, 0});
    write_all(live, &(struct set){ID, 1, 0x03, 0});
    live->client = open_part(live, 0x0f, NULL, REDLOCK_ERR_NO_QUORUM);
    LIVE_UNTIL(live, live_stats(live->client).nodes_up == 4);
    assert_int_equal(live_stats(live->client).nodes_voting, 0);
    for (size_t i = 2; i < 4; i++) {
        live_tell(live, i, "DEL %s", RL_CONFIG_KEY);
        live_cut(live, i);
    }
    LIVE_UNTIL(live, strstr(CLIENT_MESSAGE(live->client), "2 of 2 nodes up") != NULL);
    assert_int_equal(live_stats(live->client).nodes_voting, 2);
}

/* A node that accepts connections and stays silent does not delay opening. */
LIVE_TEST(a_silent_member_is_not_waited_for) {
    live_start(live, 3, NULL);
    write_all(live, &(struct set){ID, 1, 0x07, 0});
    live_pause(live, 2);
    redlock_client_options options = live_options(live);
    options.connect_timeout_ms = 60000;
    LIVE_STATUS(live_open(live, &options, &live->client), 0);
    live_resume(live, 2);
    LIVE_UNTIL(live, live_stats(live->client).nodes_voting == 3);
}

LIVE_TEST(an_id_demands_a_configuration) {
    char error[REDLOCK_MESSAGE_MAX];
    live_start(live, 3, NULL);
    redlock_client *client = open_part(live, 0x07, ID, REDLOCK_ERR_NO_QUORUM);
    assert_contains(CLIENT_MESSAGE(client), "it has no configuration");
    write_all(live, &(struct set){ID, 1, 0x07, 0});
    LIVE_UNTIL(live, live_stats(client).nodes_voting == 3);
    live_close(live, client);
    redlock_client_options options = live_options(live);
    options.config_id = "6F1C02D7A9B34E55";
    options.error = error;
    options.error_size = sizeof error;
    LIVE_STATUS(redlock_client_open(&client, &live->loop, &options, NULL, NULL),
                REDLOCK_ERR_INVALID);
    assert_contains(error, "config_id is \"6F1C02D7A9B34E55\": it must be 16 hex digits");
}

/* -- The longest ttl -- */

LIVE_TEST(no_ttl_is_above_the_sets) {
    live_start(live, 3, NULL);
    write_all(live, &(struct set){ID, 1, 0x07, 5000});
    live->client = open_part(live, 0x07, NULL, 0);
    redlock_lock *lock = live_lock(live->client, "r");
    const redlock_acquire_options above = live_once(5001), within = live_once(5000);
    LIVE_STATUS(redlock_acquire(lock, &above, NULL, NULL), REDLOCK_ERR_INVALID);
    assert_contains(LOCK_MESSAGE(lock), "ttl_ms is 5001, above the max_ttl");
    assert_contains(LOCK_MESSAGE(lock), "which is 5000");
    LIVE_STATUS(live_acquire(live, lock, &within), 0);
    LIVE_STATUS(redlock_extend(lock, 5001, NULL, NULL), REDLOCK_ERR_INVALID);
    redlock_lock_free(lock);
}

/* A hold that began with a longer ttl is renewed with the set's. */
LIVE_TEST(a_hold_falls_in_with_the_sets_ttl) {
    redlock_acquire_options options = live_once(6000);
    live_start(live, 3, NULL);
    live->client = open_part(live, 0x07, NULL, 0);
    redlock_lock *lock = live_lock(live->client, "r");
    options.auto_extend = 1;
    options.renew_ms = 20;
    LIVE_STATUS(live_acquire(live, lock, &options), 0);
    write_all(live, &(struct set){ID, 1, 0x07, 3000});
    LIVE_POLL(live, redlock_lock_remaining_ms(lock) <= 3000);
    for (size_t i = 0; i < 3; i++) {
        LIVE_POLL(live, live_pttl(live, i, "r") <= 3000);
    }
    LIVE_STATUS(live_release(live, lock), 0);
    redlock_lock_free(lock);
}

struct leader {
    int elected, losses;
    int lost[2];
};

static void on_elected(redlock_election *election, int status, void *data) {
    ((struct leader *)data)->elected++;
    live_wake();
}

static void on_lost(redlock_election *election, int status, void *data) {
    struct leader *leader = data;
    assert_true(leader->losses < 2);
    leader->lost[leader->losses++] = status;
    live_wake();
}

/* So does a leader's; but the set would refuse the ttl of its next campaign. */
LIVE_TEST(an_election_whose_ttl_is_above_the_sets_is_over) {
    struct leader leader = {0};
    redlock_election_options options = REDLOCK_ELECTION_OPTIONS_INIT;
    redlock_election *election;
    options.name = "r";
    options.name_length = 1;
    options.ttl_ms = 6000;
    options.on_elected = on_elected;
    options.on_lost = on_lost;
    options.data = &leader;
    live_start(live, 3, NULL);
    live->client = open_part(live, 0x07, NULL, 0);
    LIVE_STATUS(redlock_election_new(live->client, &options, &election, NULL, 0), 0);
    LIVE_STATUS(redlock_election_campaign(election), 0);
    LIVE_UNTIL(live, leader.elected == 1);
    write_all(live, &(struct set){ID, 1, 0x07, 3000});
    LIVE_POLL(live, live_up(live->client) == 3 && live_pttl(live, 0, "r") <= 3000);
    live_tell_all(live, "DEL r");
    LIVE_UNTIL(live, leader.losses == 2);
    LIVE_STATUS(leader.lost[0], REDLOCK_ERR_LOST);
    LIVE_STATUS(leader.lost[1], REDLOCK_ERR_INVALID);
    assert_int_equal(redlock_election_state(election), REDLOCK_ELECTION_IDLE);
    LIVE_STATUS(redlock_election_campaign(election), REDLOCK_ERR_INVALID);
    redlock_election_free(election);
}
