/* Eligibility: every history of four sightings of one node, compared with the definition, which
 * evaluates the whole history each time. */
#include "core/guard.h"

#include "unit/check.h"

#define QUARANTINE_NS (30300 * MS)
#define YOUNG_NS (QUARANTINE_NS / 4)
#define SIGHTS_MAX 4u

enum use { FIT, A_REPLICA, LOADS, EVICTS_KEYS, IS_FLUSHED, USES };

/* What a node reports, and when. */
struct node_holder {
    uint64_t at_ns;
    enum use use;
    char run_id, replid;
    bool young;
};

static struct rl_server server_of(const struct node_holder *node_holder) {
    struct rl_server server = {.uptime_ns = node_holder->young ? YOUNG_NS : QUARANTINE_NS,
                               .is_replica = node_holder->use == A_REPLICA,
                               .is_loading = node_holder->use == LOADS,
                               .evicts = node_holder->use == EVICTS_KEYS};
    memset(server.run_id, node_holder->run_id, RL_GUARD_ID_LEN);
    memset(server.replid, 'r', RL_GUARD_ID_LEN);
    server.replid[RL_GUARD_ID_LEN - 1] = node_holder->replid; /* all of it counts */
    return server;
}

/* -- The definition -- */

/* Why the i-th sighting, of a usable node, begins a quarantine; RL_STANDING_VOTES: it does not. */
static enum rl_standing why_quarantine(const struct node_holder *node_holders, uint32_t i,
                                       bool strict) {
    static const enum rl_standing standings[USES] = {[A_REPLICA] = RL_STANDING_REPLICA,
                                                     [EVICTS_KEYS] = RL_STANDING_EVICTS,
                                                     [IS_FLUSHED] = RL_STANDING_FLUSHED};
    enum rl_standing unfit = RL_STANDING_VOTES;
    const struct node_holder *before = NULL; /* when the node was last usable */
    for (uint32_t j = 0; j < i; j++) {
        if (node_holders[j].use == FIT) {
            before = &node_holders[j];
            unfit = RL_STANDING_VOTES;
        } else if (node_holders[j].use != LOADS) {
            unfit = standings[node_holders[j].use];
        }
    }
    if (before != NULL && before->run_id != node_holders[i].run_id) {
        return RL_STANDING_RESTARTED;
    }
    if (before != NULL && before->replid != node_holders[i].replid) {
        return RL_STANDING_REPLACED;
    }
    if (unfit != RL_STANDING_VOTES) {
        return unfit;
    }
    return before == NULL && strict && node_holders[i].young ? RL_STANDING_RECENTLY_STARTED
                                                             : RL_STANDING_VOTES;
}

static void check(const struct rl_guard *guard, const struct node_holder *node_holders, uint32_t n,
                  bool strict) {
    enum rl_standing why = RL_STANDING_VOTES;
    uint64_t from_ns = 0;
    for (uint32_t i = 0; i < n; i++) {
        enum rl_standing standing = node_holders[i].use == FIT
                                        ? why_quarantine(node_holders, i, strict)
                                        : RL_STANDING_VOTES;
        if (standing != RL_STANDING_VOTES) {
            why = standing;
            from_ns = node_holders[i].at_ns;
            if (why == RL_STANDING_RECENTLY_STARTED) { /* it started before it was seen */
                from_ns = from_ns > YOUNG_NS ? from_ns - YOUNG_NS : 0;
            }
        }
    }
    assert_int_equal(guard->standing, why);
    if (why != RL_STANDING_VOTES) {
        assert_int_equal(guard->since_ns, from_ns);
        assert_int_equal(guard->votes_ns, from_ns + QUARANTINE_NS);
        assert_false(rl_guard_may_vote(guard, from_ns));
        assert_false(rl_guard_may_vote(guard, from_ns + QUARANTINE_NS - 1));
        assert_true(rl_guard_may_vote(guard, from_ns + QUARANTINE_NS));
    } else {
        assert_true(rl_guard_may_vote(guard, 0));
    }
    assert_true(rl_guard_may_vote(guard, UINT64_MAX));
}

/* -- All histories -- */

static uint32_t standings_seen[RL_STANDINGS];

static void see_on(const struct rl_guard *guard, struct node_holder *node_holders, uint32_t n,
                   bool strict);

static void see(const struct rl_guard *guard, struct node_holder *node_holders, uint32_t n,
                bool strict) {
    static const enum rl_standing uses[USES] = {RL_STANDING_VOTES, RL_STANDING_REPLICA,
                                                RL_STANDING_LOADING, RL_STANDING_EVICTS};
    struct rl_guard_rules rules = {.mode = strict ? RL_GUARD_STRICT : RL_GUARD_OBSERVED,
                                   .quarantine_ns = QUARANTINE_NS};
    struct rl_guard next = *guard;
    struct rl_server server = server_of(&node_holders[n]);
    if (node_holders[n].use == IS_FLUSHED) {
        rl_guard_flushed(&next);
    } else {
        enum rl_standing got = rl_guard_see(&next, &rules, &server, node_holders[n].at_ns);
        assert_int_equal(got, uses[node_holders[n].use]);
    }
    check(&next, node_holders, n + 1, strict);
    standings_seen[next.standing]++;
    see_on(&next, node_holders, n + 1, strict);
}

static void see_on(const struct rl_guard *guard, struct node_holder *node_holders, uint32_t n,
                   bool strict) {
    static const uint64_t pauses_ns[] = {MS, QUARANTINE_NS};
    if (n == SIGHTS_MAX) {
        return;
    }
    uint64_t now_ns = n > 0 ? node_holders[n - 1].at_ns : 0;
    for (uint32_t kind = 0; kind < 2 * 2 * 2 * COUNT(pauses_ns); kind++) {
        for (enum use use = FIT; use < USES; use++) {
            node_holders[n] = (struct node_holder){.at_ns = now_ns + pauses_ns[kind >> 3],
                                                   .use = use,
                                                   .run_id = "ab"[kind & 1],
                                                   .replid = "xy"[kind >> 1 & 1],
                                                   .young = kind >> 2 & 1};
            bool matters = use == FIT || kind % 8 == 0; /* the ids of an unusable node are not
                                                           kept */
            if (matters || n < 2) {
                see(guard, node_holders, n, strict);
            }
        }
    }
}

TEST(trusts_whom_it_may) {
    for (uint32_t strict = 0; strict < 2; strict++) {
        struct node_holder node_holders[SIGHTS_MAX];
        struct rl_guard guard;
        memset(&guard, 0xa5, sizeof guard);
        rl_guard_init(&guard);
        assert_string_equal(guard.run_id, "");
        memset(standings_seen, 0, sizeof standings_seen);
        see_on(&guard, node_holders, 0, strict);
        for (enum rl_standing s = RL_STANDING_VOTES; s < RL_STANDINGS; s++) {
            bool can = s != RL_STANDING_LOADING && (strict || s != RL_STANDING_RECENTLY_STARTED);
            assert_int_equal(standings_seen[s] > 0, can);
        }
    }
}

/* -- Stories that a reader would ask about -- */

/* CONFIG RESETSTAT lowers the number, and may hide a deletion. */
TEST(one_that_counts_deletions_waits) {
    static const uint64_t flushes[] = {7, 7, 8, 8, 0, 0};
    const struct rl_guard_rules rules = {RL_GUARD_STRICT, QUARANTINE_NS};
    const struct node_holder holder = {.use = FIT, .run_id = 'a', .replid = 'x'};
    struct rl_server server = server_of(&holder);
    struct rl_guard guard;
    rl_guard_init(&guard);
    for (size_t i = 0; i < COUNT(flushes); i++) {
        const uint64_t now_ns = (i + 1) * QUARANTINE_NS;
        server.flushes = flushes[i];
        assert_int_equal(rl_guard_see(&guard, &rules, &server, now_ns), RL_STANDING_VOTES);
        const bool has_changed = i > 0 && flushes[i] != flushes[i - 1];
        assert_int_equal(rl_guard_may_vote(&guard, now_ns), !has_changed);
        assert_int_equal(guard.standing, i < 2 ? RL_STANDING_VOTES : RL_STANDING_FLUSHED);
    }
}
