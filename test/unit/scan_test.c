/* The nodes' keys as redlock ls and top see them: names, votes, quorums, left-overs, keys of
 * others, readers, permits, lines. Each case fills five nodes. */
#include "kick/room.h"
#include "say.h"
#include "scan/room.h"
#include "unit/check.h"

#define NODES 5
#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C "cccccccccccccccccccccccccccccccccccccccc"
#define NOW_US INT64_C(1800000000000000)
#define WAITER "0123456789abcdef0123456789abcdef01234567"

static struct rl_seen_node nodes[NODES];
static struct rl_seen keys[NODES][16];
static struct rl_member members[64];
static size_t n_members;
static struct rl_list list;
static struct rl_members deciding;

static int clear(void **state) {
    memset(nodes, 0, sizeof nodes);
    memset(keys, 0, sizeof keys);
    n_members = 0;
    rl_members_none(&deciding, NODES);
    for (size_t i = 0; i < NODES; i++) {
        nodes[i].seen = keys[i];
        nodes[i].is_whole = true;
    }
    return 0;
}

static int release(void **state) {
    rl_list_free(&list);
    return 0;
}

#define CASE(name) TEST_WITH(name, clear, release)

static struct rl_seen *add(size_t node, const char *key) {
    struct rl_seen *seen = &nodes[node].seen[nodes[node].n++];
    struct rl_key read;
    rl_key_read(key, strlen(key), &read);
    *seen = (struct rl_seen){.resource = read.resource,
                             .length = (uint32_t)read.length,
                             .slot = read.slot,
                             .kind = (uint8_t)read.kind};
    return seen;
}

static void set(size_t node, const char *key, const char *value, int64_t remaining_ms) {
    struct rl_seen *seen = add(node, key);
    seen->value = value;
    seen->remaining_ms = remaining_ms;
}

static void count(size_t node, const char *key, uint64_t number) {
    add(node, key)->number = number;
}

/* Adds a member to a sorted set, the node's last key. */
static void member(size_t node, const char *text, int64_t ms) {
    struct rl_seen *seen = &nodes[node].seen[nodes[node].n - 1];
    struct rl_member *to = &members[n_members++];
    *to = (struct rl_member){text, ms};
    seen->members = seen->n_members == 0 ? to : seen->members;
    seen->n_members++;
    seen->number++;
}

/* The locks, of which there are n. */
static const struct rl_lock *merge(size_t n) {
    for (size_t i = 0; i < NODES; i++) {
        rl_list_prepare(&nodes[i]);
    }
    rl_list_merge(&list, nodes, NODES, &deciding, NOW_US);
    assert_int_equal(list.n, n);
    return list.locks;
}

TEST(names_of_keys) {
    static const struct {
        const char *key;
        enum rl_key_kind kind;
        const char *resource;
        int slot;
    } rows[] = {
        {"nightly", RL_KEY_LOCK, "nightly", 0},
        {"libredlock", RL_KEY_LOCK, "libredlock", 0},
        {"{a}", RL_KEY_LOCK, "{a}", 0},
        {"libredlock:fence:a:b", RL_KEY_FENCE, "a:b", 0},
        {"libredlock:readers:{a}", RL_KEY_READERS, "a", 0},
        {"libredlock:line:{a}", RL_KEY_LINE, "a", 0},
        {"libredlock:line:{shared:{a}}", RL_KEY_LINE, "shared:{a}", 0},
        {"libredlock:line:shared:{a}", RL_KEY_LINE_SHARED, "a", 0},
        {"libredlock:line:permits:{a}}", RL_KEY_LINE_PERMITS, "a}", 0},
        {"libredlock:permits:{a}", RL_KEY_PERMITS, "a", 0},
        {"libredlock:slot:0:{a}", RL_KEY_SLOT, "a", 0},
        {"libredlock:slot:1023:{a}", RL_KEY_SLOT, "a", 1023},
        {"libredlock:fence:libredlock:slot:7:{a}", RL_KEY_SLOT_FENCE, "a", 7},
        {"libredlock:kicks:{a}", RL_KEY_KICKS, "a", 0},
        {"", RL_KEY_BESIDE, NULL, 0},
        {"libredlock:", RL_KEY_BESIDE, NULL, 0},
        {"libredlock:intent:{a}", RL_KEY_BESIDE, NULL, 0},
        {"libredlock:upgrade:{a}", RL_KEY_BESIDE, NULL, 0},
        {"libredlock:fence:", RL_KEY_BESIDE, NULL, 0},
        {"libredlock:line:{}", RL_KEY_BESIDE, NULL, 0},
        {"libredlock:line:a", RL_KEY_BESIDE, NULL, 0},
        {"libredlock:slot:1024:{a}", RL_KEY_BESIDE, NULL, 0},
        {"libredlock:slot:01:{a}", RL_KEY_BESIDE, NULL, 0},
        {"libredlock:slot::{a}", RL_KEY_BESIDE, NULL, 0},
        {"libredlock:slot:1", RL_KEY_BESIDE, NULL, 0},
        {"libredlock:fence:libredlock:line:{a}", RL_KEY_BESIDE, NULL, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rl_key key;
        rl_key_read(rows[i].key, strlen(rows[i].key), &key);
        assert_int_equal(key.kind, rows[i].kind);
        if (rows[i].resource != NULL) {
            assert_int_equal(key.length, strlen(rows[i].resource));
            assert_memory_equal(key.resource, rows[i].resource, key.length);
            assert_int_equal(key.slot, rows[i].slot);
        }
    }
}

CASE(a_quorum_holds) {
    static const int64_t lives[NODES] = {900, 500, 700, 100, 300};
    for (size_t i = 0; i < 4; i++) {
        set(i, "k", A ":web:1", lives[i]);
        count(i, "libredlock:fence:k", (uint64_t)NOW_US - 2500000);
    }
    set(4, "k", B, 5000);
    const struct rl_lock *lock = merge(1);
    assert_int_equal(lock->class, RL_LOCK_HELD);
    assert_int_equal(lock->mode, RL_LOCK_EXCLUSIVE);
    assert_int_equal(lock->n_holdings, 1); /* B's one vote is no lock */
    assert_string_equal(lock->holdings[0].token, A);
    assert_string_equal(lock->holdings[0].holder, "web:1");
    assert_int_equal(lock->votes, 4);
    assert_int_equal(lock->remaining_ms, 500); /* a quorum has it for this long */
    assert_int_equal(lock->fence, NOW_US - 2500000);
    assert_int_equal(lock->age_ms, 2500);
}

CASE(less_than_a_quorum_is_left_over) {
    set(0, "k", A, 100);
    set(1, "k", A, 700);
    set(2, "k", B, RL_SEEN_FOR_EVER);
    const struct rl_lock *lock = merge(1);
    assert_int_equal(lock->class, RL_LOCK_LEFTOVER);
    assert_int_equal(lock->holders, 0);
    assert_int_equal(lock->n_holdings, 2);
    assert_int_equal(lock->votes, 2);
    assert_int_equal(lock->remaining_ms, RL_SEEN_FOR_EVER);
    assert_false(lock->holdings[0].has_quorum);
    assert_int_equal(list.counts[RL_LOCK_HELD], 0);
}

/* Three of five, however few were read: nodes that are down count. */
CASE(nodes_that_are_down_count) {
    set(0, "k", A, 100);
    set(4, "k", A, 100);
    nodes[1].is_whole = nodes[2].is_whole = nodes[3].is_whole = false;
    assert_int_equal(merge(1)->class, RL_LOCK_LEFTOVER);
}

CASE(others_have_keys) {
    for (size_t i = 0; i < 3; i++) {
        set(i, "a", "uuid-1", 100);
        set(i, "c", "(hash)", 100);
    }
    set(0, "b", "uuid-2", 100);
    set(1, "b", "uuid-3", 100);
    for (size_t i = 0; i < 3; i++) { /* ours is also there: ours is the lock */
        set(i, "d", C, 100);
    }
    set(4, "d", "uuid-4", 100);
    const struct rl_lock *locks = merge(4);
    assert_int_equal(locks[0].class, RL_LOCK_FOREIGN);
    assert_int_equal(locks[0].votes, 3);
    assert_string_equal(locks[0].holdings[0].token, "");
    assert_string_equal(locks[0].holdings[0].holder, "uuid-1");
    assert_int_equal(locks[1].class, RL_LOCK_FOREIGN);
    assert_int_equal(locks[1].votes, 1);
    assert_int_equal(locks[1].n_holdings, 2);
    assert_string_equal(locks[2].holdings[0].holder, "(hash)");
    assert_int_equal(locks[3].class, RL_LOCK_HELD);
    assert_string_equal(locks[3].holdings[0].token, C);
}

CASE(readers_hold_together) {
    for (size_t i = 0; i < 4; i++) {
        set(i, "k", "redlock:shared", 900);
        add(i, "libredlock:readers:{k}");
        member(i, A ":r:1", 800);
        if (i < 3) {
            member(i, B, 600 + (int64_t)i);
        }
        if (i < 2) {
            member(i, C, 900);
        }
    }
    add(4, "libredlock:readers:{k}"); /* without the key, leases do not count */
    member(4, C, 900);
    const struct rl_lock *lock = merge(1);
    assert_int_equal(lock->class, RL_LOCK_HELD);
    assert_int_equal(lock->mode, RL_LOCK_SHARED);
    assert_int_equal(lock->holders, 2);
    assert_int_equal(lock->votes, 3);
    assert_int_equal(lock->n_holdings, 3);
    assert_int_equal(lock->remaining_ms, 800);
    assert_false(lock->holdings[2].has_quorum);
    assert_int_equal(lock->holdings[2].votes, 2);
}

CASE(readers_without_a_lease_hold_nothing) {
    for (size_t i = 0; i < 4; i++) {
        set(i, "k", "redlock:shared", 900);
        add(i, "libredlock:readers:{k}");
        member(i, A, 0); /* it is over */
    }
    const struct rl_lock *lock = merge(1);
    assert_int_equal(lock->class, RL_LOCK_LEFTOVER);
    assert_int_equal(lock->mode, RL_LOCK_SHARED);
    assert_int_equal(lock->holders, 0);
    assert_int_equal(lock->votes, 4);
}

CASE(permits_are_counted_slot_by_slot) {
    for (size_t i = 0; i < 5; i++) {
        count(i, "libredlock:permits:{s}", 12);
        set(i, "libredlock:slot:10:{s}", A ":up:1", 400);
        if (i < 3) {
            set(i, "libredlock:slot:2:{s}", B, 300);
            count(i, "libredlock:fence:libredlock:slot:2:{s}", (uint64_t)NOW_US - 1000);
        }
        set(i, "s", C, 100); /* a lock of the same name has nothing to do with it */
    }
    set(0, "libredlock:slot:0:{s}", C, 100);
    add(3, "libredlock:line:permits:{s}");
    member(3, WAITER ":w:1", 77);
    const struct rl_lock *locks = merge(2);
    assert_int_equal(locks[0].mode, RL_LOCK_EXCLUSIVE);
    assert_int_equal(locks[0].waiting, 0);
    assert_int_equal(locks[1].mode, RL_LOCK_PERMITS);
    assert_int_equal(locks[1].class, RL_LOCK_HELD);
    assert_int_equal(locks[1].permits, 12);
    assert_int_equal(locks[1].holders, 2);
    assert_int_equal(locks[1].n_holdings, 3);
    assert_int_equal(locks[1].votes, 3);
    assert_int_equal(locks[1].holdings[0].slot + locks[1].holdings[1].slot, 12);
    assert_int_equal(locks[1].holdings[2].slot, 0);
    assert_int_equal(locks[1].age_ms, 1);
    assert_int_equal(locks[1].waiting, 1);
    assert_int_equal(locks[1].waited_ms, 77);
}

CASE(who_waits_is_counted) {
    add(1, "libredlock:line:{k}");
    member(1, WAITER ":first:1", 50);
    nodes[1].seen[0].number = 4;
    add(2, "libredlock:line:{k}"); /* clients that see other nodes have another home */
    member(2, WAITER ":other:2", 90);
    add(2, "libredlock:line:shared:{k}");
    member(2, WAITER, 10);
    set(2, "k", "reserved", 250);
    const struct rl_lock *lock = merge(1);
    assert_int_equal(lock->class, RL_LOCK_FREE);
    assert_int_equal(lock->waiting, 6);
    assert_int_equal(lock->waiting_shared, 1);
    assert_int_equal(lock->waited_ms, 90);
    assert_string_equal(lock->next, WAITER ":other:2");
    assert_int_equal(list.waiting, 6);
}

/* The bytes of a note. */
static void note_of(int64_t at_ms, char out[RL_KICK_NOTE_MAX]) {
    const struct rl_kick_note note = {
        .at_ms = at_ms, .by = "root@ops1", .what = "leftover", .reason = "it hangs"};
    rl_kick_note_format(&note, out);
}

/* Counters, permits and notes outlive their locks. */
CASE(what_is_left_of_free_locks_is_no_lock) {
    char one[RL_KICK_NOTE_MAX], another[RL_KICK_NOTE_MAX];
    const int64_t now_ms = rl_when_now_ms();
    note_of(now_ms, one);
    note_of(now_ms - 1, another);
    count(0, "libredlock:fence:a", 7);
    count(0, "libredlock:permits:{b}", 3);
    add(1, "libredlock:kicks:{c}");
    member(1, one, 0);
    add(2, "libredlock:kicks:{c}");
    member(2, one, 0);
    member(2, another, 0);
    member(2, "no note", 0);
    const struct rl_lock *lock = merge(1);
    assert_int_equal(lock->class, RL_LOCK_KICKED);
    assert_int_equal(lock->length, 1);
    assert_memory_equal(lock->name, "c", 1);
    assert_int_equal(lock->kicks->n, 2);
}

/* SCAN may return a key twice. */
CASE(a_key_that_is_named_twice_has_one_vote) {
    for (size_t i = 0; i < 2; i++) {
        set(i, "k", A, 100);
        set(i, "k", A, 100);
    }
    assert_int_equal(merge(1)->votes, 2);
    assert_int_equal(list.locks[0].class, RL_LOCK_LEFTOVER);
}

/* The nodes have this configuration; node I is redis://nI. */
static void configure(const char *lines) {
    static struct rl_config config;
    char text[1024];
    snprintf(text, sizeof text,
             "libredlock-config 1\nid 0123456789abcdef\nepoch 2\nchange 01234567\n"
             "max_ttl 30000\n%sself redis://n0\n",
             lines);
    assert_true(rl_config_parse(&config, text, strlen(text)));
    rl_members_begin(&deciding, &config);
    for (uint32_t i = 0; i < config.n; i++) {
        rl_members_place(&deciding, i, (uint32_t)(config.members[i].url[9] - '0'));
    }
}

/* While nodes are replaced, a majority of both sides has it, until one of them does not. */
CASE(both_majorities_hold) {
    configure("old redis://n0 redis://n1 redis://n2\nnodes redis://n2 redis://n3 redis://n4\n");
    set(0, "both", A, 500);
    set(1, "both", A, 400);
    set(3, "both", A, 300);
    set(4, "both", A, 200);
    set(0, "old", A, 500);
    set(1, "old", A, 500);
    set(2, "old", A, 500);
    set(2, "shared", A, 500);
    set(1, "shared", A, 400);
    set(3, "shared", A, 100);
    const struct rl_lock *locks = merge(3);
    assert_int_equal(locks[0].class, RL_LOCK_HELD);
    assert_int_equal(locks[0].nodes, 5);
    assert_int_equal(locks[0].remaining_ms, 200);
    assert_int_equal(locks[1].class, RL_LOCK_LEFTOVER);
    assert_int_equal(locks[2].class, RL_LOCK_HELD);
    assert_int_equal(locks[2].remaining_ms, 100);
    struct rl_node_group groups[RL_GROUPS_MAX], lacking;
    assert_int_equal(rl_members_groups(&deciding, groups), 2);
    assert_string_equal(groups[0].name, "the new nodes");
    assert_true(rl_members_lack(&deciding, 1 | 4 | 8, &lacking) == false);
    assert_true(rl_members_lack(&deciding, 4 | 8 | 16, &lacking));
    assert_string_equal(lacking.name, "the old nodes");
}

/* Of two sets, one decides; keys on the nodes of the other are not votes. */
CASE(one_set_decides) {
    size_t in_b = 0;
    configure("set a redis://n0 redis://n1 redis://n2\nset b redis://n3 redis://n4\n");
    for (char c = 'c'; c <= 'o'; c++) {
        static char names[26][2];
        char *name = names[c - 'a'];
        name[0] = c;
        for (size_t i = 0; i < NODES; i++) {
            set(i, name, A, 100);
        }
    }
    const struct rl_lock *locks = merge('o' - 'c' + 1);
    for (size_t i = 0; i < list.n; i++) {
        const bool is_b =
            rl_config_set_of(&deciding.config, RL_CONFIG_NEW, locks[i].name, locks[i].length) == 1;
        in_b += is_b;
        assert_int_equal(locks[i].class, RL_LOCK_HELD);
        assert_string_equal(locks[i].set, is_b ? "b" : "a");
        assert_int_equal(locks[i].votes, is_b ? 2 : 3);
        assert_int_equal(locks[i].nodes, is_b ? 2 : 3);
        assert_int_equal(locks[i].strays, is_b ? 1 | 2 | 4 : 8 | 16);
    }
    assert_true(in_b > 0 && in_b < list.n);
    struct rl_node_group lacking;
    assert_true(rl_members_lack(&deciding, 1 | 2 | 8, &lacking));
    assert_string_equal(lacking.name, "set b");
}

/* A key that only nodes of the other set have is listed, but is not a lock. */
CASE(strays_are_no_locks) {
    configure("set a redis://n0 redis://n1 redis://n2\nset b redis://n3 redis://n4\n");
    const uint32_t is_b = rl_config_set_of(&deciding.config, RL_CONFIG_NEW, "k", 1);
    for (size_t i = is_b ? 0 : 3; i < (is_b ? 3 : 5); i++) {
        set(i, "k", A, 100);
        set(i, "libredlock:slot:0:{k}", A, 100);
        count(i, "libredlock:line:{k}", 1);
    }
    merge(2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(list.locks[i].class, RL_LOCK_STRAY);
        assert_int_equal(list.locks[i].strays, is_b ? 1 | 2 | 4 : 8 | 16);
        assert_int_equal(list.locks[i].n_holdings, 0);
        assert_int_equal(list.locks[i].waiting, 0);
    }
    assert_int_equal(list.counts[RL_LOCK_HELD], 0);
}

CASE(locks_are_sorted) {
    static const struct {
        enum rl_list_order order;
        const char *names; /* the left-over comes after all locks */
    } rows[] = {
        {RL_ORDER_NAME, "abcx"},  {RL_ORDER_HOLDER, "cbax"},  {RL_ORDER_VOTES, "cabx"},
        {RL_ORDER_LEFT, "bacx"},  {RL_ORDER_WAITING, "bcax"}, {RL_ORDER_LONGEST, "cabx"},
        {RL_ORDER_FENCE, "abcx"}, {RL_ORDER_AGE, "abcx"},
    };
    for (size_t i = 0; i < NODES; i++) {
        set(i, "b", B ":h2", 100);
        set(i, "a", A ":h3", 200);
        if (i < 3) {
            set(i, "c", C ":h1", 300);
        }
    }
    count(0, "libredlock:fence:a", 9);
    set(0, "x", A, 1);
    add(0, "libredlock:line:{b}")->number = 2;
    add(0, "libredlock:line:{c}");
    member(0, WAITER, 500);
    nodes[0].seen[nodes[0].n - 1].number = 0; /* no client is left */
    add(1, "libredlock:line:{c}");
    member(1, WAITER, 400);
    nodes[1].seen[nodes[1].n - 1].number = 1;
    merge(4);
    for (size_t i = 0; i < COUNT(rows); i++) {
        char names[5] = "";
        rl_list_sort(&list, rows[i].order);
        for (size_t j = 0; j < 4; j++) {
            names[j] = list.locks[j].name[0];
        }
        assert_string_equal(names, rows[i].names);
    }
}
