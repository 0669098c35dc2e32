/* Several sets in one configuration, on real servers: each resource is locked on the nodes of its
 * own set. The test acts as the administrator: it writes the texts, and cuts connections as a
 * change does. (cli/sets and the simulator's preset sets add and remove sets under holds.) */

#include "live/live.h"
#include "messages.h"
#include "redis/config.h"
#include "redlock/token.h"

#define ID "6f1c02d7a9b34e55"
#define A 0x07u /* the nodes of the sets */
#define B 0x38u
#define HOLD_MS 4000

/* -- The administrator -- */

/* A side of a configuration. */
struct side {
    const char *names[3];
    uint32_t nodes[3];
    unsigned n;
};

struct set {
    unsigned epoch;
    struct side old, sets; /* old: none, unless joint */
};

static bool is_in(uint32_t mask, size_t i) {
    return (mask >> i & 1) != 0;
}

static uint32_t nodes_of(const struct set *set) {
    uint32_t nodes = 0;
    for (unsigned s = 0; s < COUNT(set->sets.nodes); s++) {
        nodes |= set->sets.nodes[s] | set->old.nodes[s];
    }
    return nodes;
}

static void put_side(const struct live *live, const struct side *side, const char *word, char *text,
                     size_t size) {
    size_t used = 0;
    for (unsigned s = 0; s < side->n; s++) {
        used += (size_t)snprintf(text + used, size - used, "%s %s", word, side->names[s]);
        for (size_t i = 0; i < live->n; i++) {
            if (is_in(side->nodes[s], i)) {
                used += (size_t)snprintf(text + used, size - used, " %s", live->urls[i]);
            }
        }
        used += (size_t)snprintf(text + used, size - used, "\n");
        assert_true(used < size);
    }
}

static void write_to(const struct live *live, const struct set *set, uint32_t to) {
    char old[2048] = "", sets[2048] = "", text[8192];
    put_side(live, &set->old, "old", old, sizeof old);
    put_side(live, &set->sets, "set", sets, sizeof sets);
    for (size_t i = 0; i < live->n; i++) {
        if (is_in(nodes_of(set) & to, i)) {
            snprintf(text, sizeof text,
                     "libredlock-config 1\nid " ID
                     "\nepoch %u\nchange %08x\nmax_ttl 30000\n%s%sself "
                     "%s\n",
                     set->epoch, set->epoch, old, sets, live->urls[i]);
            live_configure(live, i, text);
        }
    }
}

static void write_all(const struct live *live, const struct set *set) {
    write_to(live, set, UINT32_MAX);
}

static redlock_client *open_at(struct live *live, size_t node) {
    redlock_client_options options = live_options(live);
    redlock_client *client;
    const char *url = live->urls[node];
    options.nodes = &url;
    options.n_nodes = 1;
    LIVE_STATUS(live_open(live, &options, &client), 0);
    return client;
}

/* -- Which set a resource belongs to -- */

static const struct set two = {1, {.n = 0}, {{"a", "b"}, {A, B}, 2}};

/* Computed from the text alone, as a client of any library would. */
static uint32_t set_of(const struct set *set, const char *resource) {
    static struct rl_config config;
    config = (struct rl_config){.n = 0};
    for (unsigned i = 0; i < set->sets.n; i++) {
        snprintf(config.new_sets.names[i], sizeof config.new_sets.names[i], "%s",
                 set->sets.names[i]);
    }
    config.new_sets.n = set->sets.n;
    return set->sets.nodes[rl_config_set_of(&config, RL_CONFIG_NEW, resource, strlen(resource))];
}

/* A resource that one configuration places on `there` and another on `then`. */
static const char *find(char name[16], const struct set *one, uint32_t there,
                        const struct set *other, uint32_t then) {
    for (unsigned i = 0;; i++) {
        snprintf(name, 16, "r%u", i);
        if (set_of(one, name) == there && set_of(other, name) == then) {
            return name;
        }
    }
}

static uint32_t nodes_with(const struct live *live, const char *key, const char *token) {
    uint32_t nodes = 0;
    for (size_t i = 0; i < live->n; i++) {
        nodes |= live_key_is(live, i, key, token) ? UINT32_C(1) << i : 0;
    }
    return nodes;
}

struct asked {
    int count, status, has_quorum;
    uint32_t nodes, needed, lacks; /* how many decide; the smallest quorum; besides who answered */
    char token[REDLOCK_TOKEN_LENGTH + 1];
};

static void on_holder(redlock_query *query, int status, void *data) {
    struct asked *asked = data;
    const char *token = "";
    redlock_node_holder seen = REDLOCK_NODE_HOLDER_INIT;
    uint32_t answered = 0;
    asked->has_quorum = redlock_query_quorum(query, &token, NULL, NULL);
    for (; redlock_query_node(query, asked->nodes, &seen) == 0; asked->nodes++) {
        answered |= seen.status == 0 ? UINT32_C(1) << asked->nodes : 0;
    }
    asked->needed = redlock_query_lacks(query, 0);
    asked->lacks = redlock_query_lacks(query, answered);
    snprintf(asked->token, sizeof asked->token, "%s", token);
    asked->count++;
    asked->status = status;
    live_wake();
}

static void check_voters(const redlock_client *client, const char *name, size_t nodes,
                         size_t voting, size_t needed, int lacks) {
    size_t counts[3];
    assert_int_equal(
        redlock_client_lacks(client, name, strlen(name), &counts[0], &counts[1], &counts[2]),
        lacks);
    assert_int_equal(counts[0], nodes);
    assert_int_equal(counts[1], voting);
    assert_int_equal(counts[2], needed);
}

/* A quorum of its set knows the holder, and one of these nodes is home. */
static void check_holder(struct live *live, const char *name, const redlock_lock *lock) {
    struct asked asked = {0};
    const int home = redlock_client_home(live->client, name, strlen(name), 1);
    LIVE_STATUS(redlock_query_holder(live->client, name, strlen(name), on_holder, &asked), 0);
    LIVE_UNTIL(live, asked.count == 1);
    LIVE_STATUS(asked.status, 0);
    assert_string_equal(asked.token, redlock_lock_token(lock));
    assert_int_equal(asked.nodes, 3);
    assert_int_equal(asked.needed, 2);
    assert_int_equal(asked.lacks, 0);
    check_voters(live->client, name, 3, 3, 2, 0);
    assert_true(home >= 0);
    const char *url = live_node(live->client, (size_t)home).node;
    for (size_t i = 0; i < live->n; i++) {
        if (strstr(live->urls[i], url) != NULL) {
            assert_true(is_in(set_of(&two, name), i));
            return;
        }
    }
    fail();
}

LIVE_TEST(each_resource_is_locked_on_its_set) {
    uint32_t seen = 0;
    live_start(live, 6, NULL);
    write_all(live, &two);
    live->client = open_at(live, 1);
    redlock_client *other = open_at(live, 4); /* begins with the other set */
    LIVE_UNTIL(live, live_stats(live->client).nodes_voting == 6);
    LIVE_UNTIL(live, live_stats(other).nodes_voting == 6);
    for (unsigned i = 0; i < 12; i++) {
        char name[16];
        snprintf(name, sizeof name, "r%u", i);
        const redlock_acquire_options once = live_once(HOLD_MS);
        redlock_lock *lock = live_lock(live->client, name), *rival = live_lock(other, name);
        LIVE_STATUS(live_acquire(live, lock, &once), 0);
        LIVE_POLL(live, nodes_with(live, name, redlock_lock_token(lock)) == set_of(&two, name));
        check_holder(live, name, lock);
        LIVE_STATUS(live_acquire(live, rival, &once), REDLOCK_ERR_HELD);
        LIVE_STATUS(live_release(live, lock), 0);
        redlock_lock_free(lock);
        redlock_lock_free(rival);
        seen |= set_of(&two, name);
    }
    assert_int_equal(seen, A | B);
    live_close(live, other);
}

/* All three nodes of one set are down: the other set's resources stay available, and clients can
 * open. */
LIVE_TEST(a_set_that_is_down_stops_its_own_resources) {
    char up[16], down[16];
    live_start(live, 6, NULL);
    write_all(live, &two);
    live->client = open_at(live, 0);
    LIVE_UNTIL(live, live_stats(live->client).nodes_voting == 6);
    redlock_lock *a = live_lock(live->client, find(up, &two, A, &two, A));
    redlock_lock *b = live_lock(live->client, find(down, &two, B, &two, B));
    live_do(live, live_kill, 3, 3);
    LIVE_UNTIL(live, live_up(live->client) == 3);
    const redlock_acquire_options once = live_once(HOLD_MS);
    LIVE_STATUS(live_acquire(live, a, &once), 0);
    LIVE_STATUS(live_acquire(live, b, &once), REDLOCK_ERR_NO_QUORUM);
    redlock_client *late = open_at(live, 1);
    redlock_lock *c = live_lock(late, up);
    LIVE_STATUS(live_acquire(live, c, &once), REDLOCK_ERR_HELD);
    LIVE_STATUS(live_release(live, a), 0);
    redlock_lock_free(a);
    redlock_lock_free(b);
    redlock_lock_free(c);
    live_close(live, late);
}

/* -- Several resources -- */

LIVE_TEST(several_resources_need_one_set) {
    char one[16], other[16], wanted[128];
    redlock_lock *lock;
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    live_start(live, 6, NULL);
    write_all(live, &two);
    live->client = open_at(live, 0);
    LIVE_UNTIL(live, live_stats(live->client).nodes_voting == 6);
    find(one, &two, A, &two, A);
    find(other, &two, B, &two, B);
    redlock_bytes names[2] = {{one, strlen(one)}, {other, strlen(other)}};
    options.resources = names;
    options.n_resources = 2;
    LIVE_STATUS(redlock_lock_new_with(live->client, &options, &lock, NULL, 0), 0);
    const redlock_acquire_options once = live_once(HOLD_MS);
    LIVE_STATUS(redlock_acquire(lock, &once, NULL, NULL), REDLOCK_ERR_INVALID);
    snprintf(wanted, sizeof wanted, "\"%s\" is of set a and \"%s\" of set b", one, other);
    assert_contains(LOCK_MESSAGE(lock), wanted);
    assert_contains(LOCK_MESSAGE(lock), "{braces}");
    redlock_lock_free(lock);
    char tagged[48];
    snprintf(tagged, sizeof tagged, "{%s}:%s", one, other);
    names[1] = (redlock_bytes){tagged, strlen(tagged)};
    LIVE_STATUS(redlock_lock_new_with(live->client, &options, &lock, NULL, 0), 0);
    LIVE_STATUS(live_acquire(live, lock, &once), 0);
    LIVE_POLL(live, nodes_with(live, tagged, redlock_lock_token(lock)) == A);
    LIVE_STATUS(live_release(live, lock), 0);
    redlock_lock_free(lock);
}

/* -- A set is added -- */

/* Two old nodes are down, so that keys on the other four make no lock. */
static void check_old_side_is_lacking(struct live *live, const char *name) {
    struct asked asked = {0};
    for (size_t i = 2; i < 6; i++) {
        live_tell(live, i, "SET %s %040d PX 100000", name, 7);
    }
    LIVE_STATUS(redlock_query_holder(live->client, name, strlen(name), on_holder, &asked), 0);
    LIVE_UNTIL(live, asked.count == 1);
    LIVE_STATUS(asked.status, REDLOCK_ERR_NO_QUORUM);
    assert_int_equal(asked.has_quorum, 0);
    assert_int_equal(asked.nodes, 6);
    assert_int_equal(asked.needed, 4);
    assert_int_equal(asked.lacks, 1);
}

/* While joint, a majority of the new set alone, or of the old one alone, is not enough. */
LIVE_TEST(who_moves_needs_both_sets) {
    const struct set joint = {1, {{"a"}, {A}, 1}, {{"a", "b"}, {A, B}, 2}}, both = two;
    char moves[16], stays[16];
    live_start(live, 6, NULL);
    write_all(live, &joint);
    live->client = open_at(live, 0);
    LIVE_UNTIL(live, live_stats(live->client).nodes_voting == 6);
    redlock_lock *one = live_lock(live->client, find(moves, &joint, B, &both, B));
    redlock_lock *other = live_lock(live->client, find(stays, &joint, A, &both, A));
    const redlock_acquire_options once = live_once(HOLD_MS);
    live_kill(live, 3);
    live_kill(live, 4);
    LIVE_UNTIL(live, live_up(live->client) == 4);
    LIVE_STATUS(live_acquire(live, one, &once), REDLOCK_ERR_NO_QUORUM);
    check_voters(live->client, moves, 6, 4, 4, 1);
    check_voters(live->client, stays, 3, 3, 2, 0);
    LIVE_STATUS(live_acquire(live, other, &once), 0);
    LIVE_STATUS(live_release(live, other), 0);
    live_restart(live, 3);
    live_restart(live, 4);
    write_to(live, &joint, 0x18);
    LIVE_UNTIL(live, live_stats(live->client).nodes_voting == 6);
    live_kill(live, 0);
    live_kill(live, 1);
    LIVE_UNTIL(live, live_up(live->client) == 4);
    LIVE_STATUS(live_acquire(live, one, &once), REDLOCK_ERR_NO_QUORUM);
    check_old_side_is_lacking(live, moves);
    redlock_lock_free(one);
    redlock_lock_free(other);
}
