/* Stories of votes that are granted, refused or lost; of tokens; of repeated attempts. */
#include "conform/room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TTL 8000
#define TTL_TEXT "8 s"

static bool is_everywhere(struct rl_stage *s, void *data) {
    return rl_stage_count(s, 0, RL_NODES, data) == RL_NODES;
}

static void play_grant(struct rl_stage *s) {
    MUST_SAID(s, rl_stage_acquire(s, 0, KEY, TTL, 1), "A6",
              "a free key on five nodes that answer was not granted");
    char token[RL_PLAYER_LINE_MAX];
    snprintf(token, sizeof token, "%s", rl_stage_answer(s, 0)->token);
    MUST(s, rl_stage_until(s, is_everywhere, token, 1000), "A4",
         "granted, but the token that it reported is under the key on %d nodes of 5: a key that "
         "stands on three only is lost with the first of them",
         rl_stage_count(s, 0, RL_NODES, token));
}

static void play_release(struct rl_stage *s) {
    MUST_SAID(s, rl_stage_acquire(s, 0, KEY, TTL, 1), "A6", "not granted");
    MUST_SAID(s, rl_stage_release(s, 0, KEY), "R2", "a lock that is held was not released");
    MUST(s, rl_stage_cleans(s, 0, RL_NODES, 1000), "R2",
         "released, but the key is still there on %d nodes: nobody gets the lock before its ttl "
         "ends",
         rl_stage_count(s, 0, RL_NODES, ""));
}

static void play_key(struct rl_stage *s) {
    static const char odd[] = "conform:{a}:\xc3\xa4:%41:*?[b]:$c";
    s->key = odd;
    rl_stage_acquire(s, 0, odd, TTL, 1);
    MUST(s, rl_stage_seen(s, RL_EVENT_SET, -1) > 0, "A1",
         "no node has seen a key with the name that was asked for: a prefix, or other bytes, and "
         "clients of other libraries lock something else");
    MUST_SAID(s, rl_stage_answer(s, 0)->is_yes, "A6", "not granted");
}

static void play_ttl(struct rl_stage *s) {
    const long long ttl_ms = 1234;
    rl_stage_acquire(s, 0, KEY, ttl_ms, 1);
    rl_stage_run(s, 20);
    MUST_SAID(s, rl_stage_seen(s, RL_EVENT_SET, -1) > 0, "A1", "no node has seen the key");
    for (int i = 0; i < RL_NODES; i++) {
        size_t at = 0;
        const struct rl_event *end = NULL, *last = NULL;
        while ((end = rl_stage_next(s, &at, RL_EVENT_END, i)) != NULL) {
            last = end;
        }
        long long off_ms = last != NULL ? last->life_ms - rl_stage_ms(s, ttl_ms) : 0;
        MUST(s, off_ms >= -2 && off_ms <= 2, "A3",
             "asked for %lld ms, the key got %lld ms on node %d (-1: for ever): ttls are "
             "milliseconds (PX), the same on all nodes",
             rl_stage_ms(s, ttl_ms), last->life_ms, i + 1);
    }
}

static void play_atomic(struct rl_stage *s) {
    rl_stage_acquire(s, 0, KEY, TTL, 1);
    size_t at = 0;
    const struct rl_event *set = NULL;
    MUST_SAID(s, rl_stage_seen(s, RL_EVENT_SET, -1) > 0, "A1", "no node has seen the key");
    while ((set = rl_stage_next(s, &at, RL_EVENT_SET, -1)) != NULL) {
        MUST(s, set->life_ms >= 0 || set->by_script, "A3",
             "the key was set without an end, which comes in a second command: a client that dies "
             "in between blocks everybody for ever");
    }
}

static void play_held(struct rl_stage *s) {
    rl_stage_plant(s, 0, RL_NODES, OTHER, TTL);
    bool granted = rl_stage_acquire(s, 0, KEY, TTL, 1);
    MUST(s, rl_stage_count(s, 0, RL_NODES, OTHER) == RL_NODES, "A3",
         "the key of another holder was overwritten or deleted: two hold the lock");
    MUST(s, !granted, "A5",
         "another has the key on all nodes, and it was granted: two hold the lock");
    MUST(s, rl_stage_seen(s, RL_EVENT_EXPIRY, -1) == 0, "A3",
         "the life of another holder's key was changed");
}

static void play_down(struct rl_stage *s) {
    const int down = s->story->down;
    rl_stage_down(s, 0, down);
    MUST_SAID(s, rl_stage_acquire(s, 0, KEY, TTL, 2), "A6",
              "%d of five nodes %s down, and a free key was not granted", down,
              down == 1 ? "is" : "are");
    MUST_SAID(s, rl_stage_release(s, 0, KEY) || rl_stage_cleans(s, down, RL_NODES - down, 500),
              "R4", "the release failed because a node is down");
    MUST(s, rl_stage_cleans(s, down, RL_NODES - down, 1000), "R2",
         "a node is down, and the others were not released: their keys stay for the ttl");
}

static void play_three_down(struct rl_stage *s) {
    rl_stage_down(s, 0, 3);
    MUST(s, !rl_stage_acquire(s, 0, KEY, TTL, 1), "A6",
         "granted by two nodes of five: three others, or those three when they are back, grant it "
         "again");
    MUST(s, rl_stage_cleans(s, 3, 2, 1000), "A8",
         "not granted, but the key stays on the nodes that had said yes, for the ttl of " TTL_TEXT);
}

static void play_minority_held(struct rl_stage *s) {
    rl_stage_plant(s, 0, 2, OTHER, TTL);
    MUST_SAID(s, rl_stage_acquire(s, 0, KEY, TTL, 1), "A6",
              "three nodes of five say yes, which is a quorum, and it was not granted");
    MUST(s, rl_stage_count(s, 0, 2, OTHER) == 2, "A3", "another holder's key was overwritten");
    rl_stage_release(s, 0, KEY);
    MUST(s, rl_stage_cleans(s, 2, 3, 1000), "R2", "the key was not released on all nodes");
    MUST(s, rl_stage_count(s, 0, 2, OTHER) == 2, "R1",
         "the release deleted the key of another holder: a third client gets a lock that is held");
}

static void play_majority_held(struct rl_stage *s) {
    rl_stage_plant(s, 0, 3, OTHER, TTL);
    MUST(s, !rl_stage_acquire(s, 0, KEY, TTL, 1), "A6",
         "granted by two nodes of five, while another has the other three");
    MUST(s, rl_stage_cleans(s, 3, 2, 1000), "A8",
         "not granted, but the key stays on the nodes that had said yes, for the ttl of " TTL_TEXT
         ": clients that want one lock block each other so, and nobody gets it");
    MUST(s, rl_stage_count(s, 0, 3, OTHER) == 3, "R1", "the release deleted another holder's key");
}

static void play_lost_vote(struct rl_stage *s) {
    rl_stage_plant(s, 1, 3, OTHER, TTL);
    rl_stage_rule(s, 0, 1, (struct fake_rule){.action = FAKE_EXECUTE_CLOSE, .times = 1});
    MUST(s, !rl_stage_acquire(s, 0, KEY, TTL, 1), "A6", "granted by one node of five");
    MUST(s, rl_stage_cleans(s, 0, 1, 2000), "R2",
         "node 1 set the key, and its connection was closed before the answer; it was never "
         "released there: that node is lost for the ttl of " TTL_TEXT);
    MUST(s, rl_stage_cleans(s, 4, 1, 1000), "A8", "node 5 had said yes, and was not released");
}

static void play_lost_vote_held(struct rl_stage *s) {
    rl_stage_rule(s, 0, 1, (struct fake_rule){.action = FAKE_EXECUTE_CLOSE, .times = 1});
    MUST_SAID(s, rl_stage_acquire(s, 0, KEY, TTL, 1), "A6",
              "one answer of five was lost, and it was not granted");
    rl_stage_release(s, 0, KEY);
    MUST(s, rl_stage_cleans(s, 0, RL_NODES, 2000), "R2",
         "node 1 set the key, but its answer was lost; the release did not go there: that node is "
         "lost for the ttl of " TTL_TEXT);
}

static void play_duplicates(struct rl_stage *s) {
    fake_node_share(s->nodes[1], s->nodes[0]);
    fake_node_share(s->nodes[2], s->nodes[0]);
    rl_stage_start(s, 0);
    rl_stage_down(s, 3, 2);
    MUST(s, !rl_stage_acquire(s, 0, KEY, TTL, 1), "A6",
         "three URLs lead to one server, the two others are down: one server was counted as a "
         "quorum");
    MUST(s, rl_stage_cleans(s, 0, 1, 1000), "A8", "not granted, and the key stays on the server");
}

static void play_at_once(struct rl_stage *s) {
    const long long delay_ms = 60;
    uint64_t first_ns = UINT64_MAX, last_ns = 0;
    rl_stage_delay(s, 0, RL_NODES, delay_ms);
    rl_stage_acquire(s, 0, KEY, TTL, 1);
    for (int i = 0; i < RL_NODES; i++) {
        size_t at = 0;
        const struct rl_event *came = rl_stage_next(s, &at, RL_EVENT_CAME, i);
        MUST(s, came != NULL, "A4", "node %d was not asked", i + 1);
        first_ns = came->at_ns < first_ns ? came->at_ns : first_ns;
        last_ns = came->at_ns > last_ns ? came->at_ns : last_ns;
    }
    const long long spread_ms = (long long)(last_ns - first_ns) / 1000000;
    NOTE_UNLESS(s, spread_ms < 2 * rl_stage_ms(s, delay_ms), "A4",
                "each node answers after %lld ms, and the last was asked %lld ms after the first: "
                "one by one, so every slow node's time is added up and taken off the validity",
                rl_stage_ms(s, delay_ms), spread_ms);
}

#define SAMPLES 10
#define VARYING_MIN 20 /* characters; 80 bits if they are hex digits */
#define ATTEMPTS 9
#define ATTEMPTS_MIN 6 /* fewer do not show how the pauses vary */

static const char *value_on(struct rl_stage *s, int node) {
    const char *value = fake_node_get(s->nodes[node], s->key);
    return value != NULL ? value : "";
}

/* How many characters are not the same in all values. */
static int count_varying(char values[SAMPLES][RL_VALUE_MAX]) {
    int varying = 0;
    for (size_t i = 0; values[0][i] != '\0'; i++) {
        bool differs = false;
        for (int k = 1; k < SAMPLES && !differs; k++) {
            differs = strlen(values[k]) <= i || values[k][i] != values[0][i];
        }
        varying += differs;
    }
    return varying;
}

static void play_token(struct rl_stage *s) {
    char values[SAMPLES][RL_VALUE_MAX];
    for (int i = 0; i < SAMPLES; i++) {
        MUST_SAID(s, rl_stage_acquire(s, 0, KEY, TTL, 3), "A6", "not granted");
        snprintf(values[i], sizeof values[i], "%s", value_on(s, 2));
        rl_stage_release(s, 0, KEY);
        rl_stage_cleans(s, 0, RL_NODES, 1000);
        for (int k = 0; k < i; k++) {
            MUST(s, strcmp(values[i], values[k]) != 0, "A2",
                 "two acquires had one token, \"%.60s\": a late release of the first one ends the "
                 "second",
                 values[i]);
        }
    }
    const int varying = count_varying(values);
    MUST(s, varying >= VARYING_MIN, "A2",
         "of the tokens (\"%.60s\") %d characters change from one to the next; 20 random bytes, as "
         "40 hex digits, are asked for: two clients may draw the same, or guess it",
         values[SAMPLES - 1], varying);
}

struct seen { /* of has_seen(): a node, and how many attempts it waits for */
    int node, attempts;
};

static bool has_seen(struct rl_stage *s, void *data) {
    const struct seen *seen = data;
    const struct rl_event *attempts[ATTEMPTS];
    return rl_stage_attempts(s, seen->node, attempts, ATTEMPTS) >= seen->attempts;
}

/* Another holder has nodes 3 to 5 during the first attempt, and then only 4 and 5. Returns whether
 * a later attempt was granted. */
static bool play_second_try(struct rl_stage *s) {
    rl_stage_plant(s, 2, 3, OTHER, 60000);
    rl_stage_tell_acquire(s, 0, KEY, TTL, 6);
    for (int i = 2; i < RL_NODES; i++) {
        struct seen first = {i, 1};
        rl_stage_until(s, has_seen, &first, 3000);
    }
    rl_stage_uproot(s, 2, 1);
    return rl_stage_hear(s, 0);
}

static void play_fresh_token(struct rl_stage *s) {
    const struct rl_event *attempts[ATTEMPTS] = {NULL}, *set = NULL, *before = NULL;
    bool granted = play_second_try(s);
    int n = rl_stage_attempts(s, 0, attempts, ATTEMPTS);
    for (int i = 1; i < n && i < ATTEMPTS; i++) {
        MUST(s, strcmp(attempts[i]->value, attempts[i - 1]->value) != 0, "A2",
             "attempts %d and %d had one token: an answer or a release of the first, when it comes "
             "late, is taken for one of the second",
             i, i + 1);
    }
    for (size_t at = 0; (set = rl_stage_next(s, &at, RL_EVENT_SET, 0)) != NULL; before = set) {
        MUST(s, before == NULL || strcmp(set->value, before->value) != 0, "A2",
             "two attempts had one token");
    }
    MUST_SAID(
        s, granted, "A9",
        "one attempt was refused; with six it was not granted, though a quorum was free by then");
}

static void play_between_tries(struct rl_stage *s) {
    const struct rl_event *attempts[ATTEMPTS] = {NULL};
    bool granted = play_second_try(s);
    int n = rl_stage_attempts(s, 0, attempts, ATTEMPTS);
    for (int i = 1; i < n && i < ATTEMPTS; i++) {
        MUST(s, attempts[i]->held[0] == '\0' || strncmp(attempts[i]->held, "reserved", 8) == 0,
             "A8",
             "attempt %d found the key of attempt %d on node 1: what an attempt has set was not "
             "released before the next one, so the client stands in its own way, and in that of "
             "others",
             i + 1, i);
    }
    MUST_SAID(s, granted, "A9",
              "a quorum was free from the second attempt on, and none of six was granted");
}

static void play_tries(struct rl_stage *s) {
    const struct rl_event *attempts[1];
    rl_stage_plant(s, 0, RL_NODES, OTHER, 60000);
    MUST(s, !rl_stage_acquire(s, 0, KEY, TTL, 3), "A5", "granted what another holds");
    int n = rl_stage_attempts(s, 0, attempts, 1);
    MUST(s, n <= 3, "A9", "three attempts were allowed, and node 1 has seen %d", n);
    MUST(s, n > 0, "A4", "node 1 was not asked");
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n) {
    qsort(values, (size_t)n, sizeof *values, compare);
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static void play_pauses(struct rl_stage *s) {
    const struct rl_event *attempts[ATTEMPTS] = {NULL};
    double pauses_ms[ATTEMPTS], off_ms[ATTEMPTS];
    rl_stage_plant(s, 0, RL_NODES, OTHER, 60000);
    MUST(s, !rl_stage_acquire(s, 0, KEY, TTL, ATTEMPTS), "A5", "granted what another holds");
    int n = rl_stage_attempts(s, 0, attempts, ATTEMPTS);
    n = n < ATTEMPTS ? n : ATTEMPTS;
    if (n < ATTEMPTS_MIN) {
        return; /* it does not poll while it waits */
    }
    for (int i = 0; i + 1 < n; i++) {
        pauses_ms[i] = (double)(attempts[i + 1]->at_ns - attempts[i]->at_ns) / 1e6;
    }
    const double middle_ms = median(pauses_ms, n - 1);
    for (int i = 0; i + 1 < n; i++) {
        off_ms[i] = pauses_ms[i] > middle_ms ? pauses_ms[i] - middle_ms : middle_ms - pauses_ms[i];
    }
    MUST(s, middle_ms >= 5, "A9",
         "it tries again after %.1f ms: two clients that were refused meet again at once, and load "
         "the nodes",
         middle_ms);
    /* If the machine stalls, a pause is longer: the two that are most off do not count. */
    qsort(off_ms, (size_t)n - 1, sizeof *off_ms, compare);
    const double spread_ms = off_ms[n - 4];
    MUST(s, spread_ms >= middle_ms * 0.04, "A9",
         "its pauses are all alike (%.1f ms, all but two within %.1f ms of that): clients that "
         "split the votes once split them again and again",
         middle_ms, spread_ms);
}

const struct rl_story rl_stories_grant[] = {
    {"grant", "five nodes are up, the key is free", .play = play_grant},
    {"release", "a lock that is held is released", .play = play_release},
    {"key", "the key has braces, percent signs and UTF-8 in it", .play = play_key},
    {"ttl", "a ttl that is no whole second", .play = play_ttl},
    {"atomic", "value and life of the key come in one step", .play = play_atomic},
    {"held", "another holder has the key everywhere", .play = play_held},
    {"one-down", "one node refuses connections", play_down, .down = 1},
    {"two-down", "two nodes refuse connections", play_down, .down = 2},
    {"three-down", "three nodes refuse connections", .play = play_three_down},
    {"minority-held", "another holder has the key on two nodes", .play = play_minority_held},
    {"majority-held", "another holder has the key on three nodes", .play = play_majority_held},
    {"lost-vote", "a node sets the key, its answer is lost, and the attempt fails",
     .play = play_lost_vote},
    {"lost-vote-held", "a node sets the key, its answer is lost, and the lock is granted",
     .play = play_lost_vote_held},
    {"duplicates", "three of the URLs lead to one server, the others are down", play_duplicates,
     .starts_itself = true},
    {"at-once", "every node takes a while to answer", .play = play_at_once},
    {"token", "the tokens of ten acquires are compared", .play = play_token},
    {"fresh-token", "the first attempt is refused, a later one is not", .play = play_fresh_token},
    {"between-tries", "... and is not in the way of the next one", .play = play_between_tries},
    {"tries", "three attempts are allowed, and all are refused", .play = play_tries},
    {"pauses", "the pauses between attempts are compared", .play = play_pauses},
    {.name = NULL},
};
