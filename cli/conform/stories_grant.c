/* See stories_grant.h. */
#include "conform/stories_grant.h"

#include <stdio.h>
#include <string.h>

#define TTL 8000
#define TTL_TEXT "8 s"

static bool is_everywhere(struct rl_stage *s, void *data) {
    return rl_stage_count(s, 0, RL_NODES, data) == RL_NODES;
}

static const char *line(const struct rl_stage *s) {
    return rl_stage_answer(s, 0)->line;
}

void rl_play_grant(struct rl_stage *s) {
    MUST(s, rl_stage_acquire(s, 0, KEY, TTL, 1), "A6",
         "a free key on five nodes that answer was not granted: \"%s\"", line(s));
    char token[RL_PLAYER_LINE_MAX];
    snprintf(token, sizeof token, "%s", rl_stage_answer(s, 0)->token);
    bool all = rl_stage_until(s, is_everywhere, token, 1000);
    MUST(s, all, "A4",
         "granted, but the token that it reported is under the key on %d nodes of 5: a key that "
         "stands on three only is lost with the first of them",
         rl_stage_count(s, 0, RL_NODES, token));
}

void rl_play_release(struct rl_stage *s) {
    MUST(s, rl_stage_acquire(s, 0, KEY, TTL, 1), "A6", "not granted: \"%s\"", line(s));
    MUST(s, rl_stage_release(s, 0, KEY), "R2", "a lock that is held was not released: \"%s\"",
         line(s));
    MUST(s, rl_stage_cleans(s, 0, RL_NODES, 1000), "R2",
         "released, but the key is still there on %d nodes: nobody gets the lock before its ttl "
         "ends",
         rl_stage_any(s, 0, RL_NODES));
}

void rl_play_key(struct rl_stage *s) {
    static const char odd[] = "conform:{a}:\xc3\xa4:%41:*?[b]:$c";
    s->key = odd;
    rl_stage_acquire(s, 0, odd, TTL, 1);
    MUST(s, rl_stage_seen(s, RL_EVENT_SET, -1) > 0, "A1",
         "no node has seen a key with the name that was asked for: a prefix, or other bytes, and "
         "clients of other libraries lock something else");
    MUST(s, rl_stage_answer(s, 0)->is_yes, "A6", "not granted: \"%s\"", line(s));
}

void rl_play_ttl(struct rl_stage *s) {
    const int64_t ttl_ms = 1234;
    rl_stage_acquire(s, 0, KEY, ttl_ms, 1);
    rl_stage_run(s, 20);
    size_t at = 0;
    const struct rl_event *set = NULL;
    MUST(s, rl_stage_seen(s, RL_EVENT_SET, -1) > 0, "A1", "no node has seen the key: \"%s\"",
         line(s));
    while ((set = rl_stage_next(s, &at, RL_EVENT_SET, -1)) != NULL) {
        int64_t off_ms = set->life_ms - (int64_t)rl_stage_ms(s, ttl_ms);
        MUST(s, set->life_ms < 0 || (off_ms >= -2 && off_ms <= 2), "A3",
             "asked for %lld ms, the key got %lld ms on node %d: ttls are milliseconds (PX), the "
             "same on all nodes",
             (long long)rl_stage_ms(s, ttl_ms), (long long)set->life_ms, set->node + 1);
    }
}

void rl_play_atomic(struct rl_stage *s) {
    rl_stage_acquire(s, 0, KEY, TTL, 1);
    size_t at = 0;
    const struct rl_event *set = NULL;
    MUST(s, rl_stage_seen(s, RL_EVENT_SET, -1) > 0, "A1", "no node has seen the key: \"%s\"",
         line(s));
    while ((set = rl_stage_next(s, &at, RL_EVENT_SET, -1)) != NULL) {
        MUST(s, set->life_ms >= 0 || set->by_script, "A3",
             "the key was set without an end, which comes in a second command: a client that dies "
             "in between blocks everybody for ever");
    }
}

void rl_play_held(struct rl_stage *s) {
    rl_stage_plant(s, 0, RL_NODES, OTHER, TTL);
    bool granted = rl_stage_acquire(s, 0, KEY, TTL, 1);
    MUST(s, rl_stage_count(s, 0, RL_NODES, OTHER) == RL_NODES, "A3",
         "the key of another holder was overwritten or deleted: two hold the lock");
    MUST(s, !granted, "A5",
         "another has the key on all nodes, and it was granted: two hold the lock");
    MUST(s, rl_stage_seen(s, RL_EVENT_EXPIRY, -1) == 0, "A3",
         "the life of another holder's key was changed");
}

static void play_down(struct rl_stage *s, int down) {
    rl_stage_down(s, 0, down);
    MUST(s, rl_stage_acquire(s, 0, KEY, TTL, 2), "A6",
         "%d of five nodes %s down, and a free key was not granted: \"%s\"", down,
         down == 1 ? "is" : "are", line(s));
    MUST(s, rl_stage_release(s, 0, KEY) || rl_stage_cleans(s, down, RL_NODES - down, 500), "R4",
         "the release failed because a node is down: \"%s\"", line(s));
    MUST(s, rl_stage_cleans(s, down, RL_NODES - down, 1000), "R2",
         "a node is down, and the others were not released: their keys stay for the ttl");
}

void rl_play_one_down(struct rl_stage *s) {
    play_down(s, 1);
}

void rl_play_two_down(struct rl_stage *s) {
    play_down(s, 2);
}

void rl_play_three_down(struct rl_stage *s) {
    rl_stage_down(s, 0, 3);
    bool granted = rl_stage_acquire(s, 0, KEY, TTL, 1);
    MUST(s, !granted, "A6",
         "granted by two nodes of five: three others, or those three when they are back, grant it "
         "again");
    MUST(s, rl_stage_cleans(s, 3, 2, 1000), "A8",
         "not granted, but the key stays on the nodes that had said yes, for the ttl of " TTL_TEXT);
}

void rl_play_minority_held(struct rl_stage *s) {
    rl_stage_plant(s, 0, 2, OTHER, TTL);
    MUST(s, rl_stage_acquire(s, 0, KEY, TTL, 1), "A6",
         "three nodes of five say yes, which is a quorum, and it was not granted: \"%s\"", line(s));
    MUST(s, rl_stage_count(s, 0, 2, OTHER) == 2, "A3", "another holder's key was overwritten");
    rl_stage_release(s, 0, KEY);
    MUST(s, rl_stage_cleans(s, 2, 3, 1000), "R2", "the key was not released on all nodes");
    MUST(s, rl_stage_count(s, 0, 2, OTHER) == 2, "R1",
         "the release deleted the key of another holder: a third client gets a lock that is held");
}

void rl_play_majority_held(struct rl_stage *s) {
    rl_stage_plant(s, 0, 3, OTHER, TTL);
    bool granted = rl_stage_acquire(s, 0, KEY, TTL, 1);
    MUST(s, !granted, "A6", "granted by two nodes of five, while another has the other three");
    MUST(s, rl_stage_cleans(s, 3, 2, 1000), "A8",
         "not granted, but the key stays on the nodes that had said yes, for the ttl of " TTL_TEXT
         ": clients that want one lock block each other so, and nobody gets it");
    MUST(s, rl_stage_count(s, 0, 3, OTHER) == 3, "R1", "the release deleted another holder's key");
}

void rl_play_lost_vote(struct rl_stage *s) {
    rl_stage_plant(s, 1, 3, OTHER, TTL);
    rl_stage_rule(s, 0, 1, (struct fake_rule){.action = FAKE_EXECUTE_CLOSE, .times = 1});
    bool granted = rl_stage_acquire(s, 0, KEY, TTL, 1);
    MUST(s, !granted, "A6", "granted by one node of five");
    MUST(s, rl_stage_cleans(s, 0, 1, 2000), "R2",
         "node 1 set the key, and its connection was closed before the answer; it was never "
         "released there: that node is lost for the ttl of " TTL_TEXT);
    MUST(s, rl_stage_cleans(s, 4, 1, 1000), "A8", "node 5 had said yes, and was not released");
}

void rl_play_lost_vote_held(struct rl_stage *s) {
    rl_stage_rule(s, 0, 1, (struct fake_rule){.action = FAKE_EXECUTE_CLOSE, .times = 1});
    MUST(s, rl_stage_acquire(s, 0, KEY, TTL, 1), "A6",
         "one answer of five was lost, and it was not granted: \"%s\"", line(s));
    rl_stage_release(s, 0, KEY);
    MUST(s, rl_stage_cleans(s, 0, RL_NODES, 2000), "R2",
         "node 1 set the key, but its answer was lost; the release did not go there: that node is "
         "lost for the ttl of " TTL_TEXT);
}

void rl_play_duplicates(struct rl_stage *s) {
    fake_node_share(s->nodes[1], s->nodes[0]);
    fake_node_share(s->nodes[2], s->nodes[0]);
    rl_stage_start(s, 0);
    rl_stage_down(s, 3, 2);
    bool granted = rl_stage_acquire(s, 0, KEY, TTL, 1);
    MUST(s, !granted, "A6",
         "three URLs lead to one server, the two others are down: one server was counted as a "
         "quorum");
    MUST(s, rl_stage_cleans(s, 0, 1, 1000), "A8", "not granted, and the key stays on the server");
}

void rl_play_at_once(struct rl_stage *s) {
    const int64_t delay_ms = 60;
    uint64_t first_ns = UINT64_MAX, last_ns = 0;
    rl_stage_rule(s, 0, RL_NODES,
                  (struct fake_rule){
                      .action = FAKE_ANSWER, .delay_ms = rl_stage_ms(s, delay_ms), .times = 1});
    rl_stage_acquire(s, 0, KEY, TTL, 1);
    for (int i = 0; i < RL_NODES; i++) {
        size_t at = 0;
        const struct rl_event *came = rl_stage_next(s, &at, RL_EVENT_CAME, i);
        MUST(s, came != NULL, "A4", "node %d was not asked", i + 1);
        first_ns = came->at_ns < first_ns ? came->at_ns : first_ns;
        last_ns = came->at_ns > last_ns ? came->at_ns : last_ns;
    }
    const uint64_t spread_ms = (last_ns - first_ns) / 1000000;
    NOTE_UNLESS(s, spread_ms < 2 * rl_stage_ms(s, delay_ms), "A4",
                "each node answers after %llu ms, and the last was asked %llu ms after the first: "
                "one by one, so every slow node's time is added up and taken off the validity",
                (unsigned long long)rl_stage_ms(s, delay_ms), (unsigned long long)spread_ms);
}
