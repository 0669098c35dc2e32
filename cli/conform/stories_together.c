/* Stories of errors and connections; of several keys and clients; of optional rules. */
#include "conform/room.h"

#include <stdio.h>
#include <string.h>

#define TTL 8000
#define ROUNDS 4

/* -- Errors and connections -- */

/* First nodes 1 to 3 answer with an error, then only 1 and 2. */
static void play_error(struct rl_stage *s) {
    const char *error = s->story->text;
    const struct fake_rule rule = {.action = FAKE_INSTEAD, .bytes = error};
    const int word = (int)strcspn(error + 1, " "); /* LOADING */
    rl_stage_rule(s, 0, 3, rule);
    MUST(s, !rl_stage_acquire(s, 0, KEY, TTL, 1), "A5",
         "three nodes of five answered %.*s, which is no vote, and it was granted: two hold the "
         "lock",
         word, error + 1);
    MUST(s, rl_stage_cleans(s, 3, 2, 1500), "A8",
         "three nodes answered %.*s, and the other two, which had said yes, were not released",
         word, error + 1);
    rl_stage_each(s, 0, 3, fake_node_clear_rules);
    rl_stage_rule(s, 0, 2, rule);
    MUST_SAID(s, rl_stage_acquire(s, 0, KEY, TTL, 4), "A6",
              "two nodes of five answer %.*s, three say yes, and it was not granted", word,
              error + 1);
}

static void play_fragments(struct rl_stage *s) {
    rl_stage_rule(
        s, 0, RL_NODES,
        (struct fake_rule){.action = FAKE_SPLIT, .delay_ms = (uint64_t)rl_stage_ms(s, 25)});
    for (int i = 0; i < RL_NODES; i++) {
        fake_node_set_fragment(s->nodes[i], 1);
    }
    MUST_SAID(s, rl_stage_acquire(s, 0, KEY, TTL, 1), "W2",
              "the answers came byte by byte, and a free key was not granted");
    MUST_SAID(s, rl_stage_extend(s, 0, KEY, TTL), "W2",
              "the answers came byte by byte, and the extension fails");
    rl_stage_release(s, 0, KEY);
    MUST(s, rl_stage_cleans(s, 0, RL_NODES, 1000), "W2",
         "the answers came byte by byte, and the key was not released");
}

static void play_cut(struct rl_stage *s) {
    rl_stage_rule(s, 0, 3, (struct fake_rule){.action = FAKE_CUT, .times = 1});
    MUST(s, !rl_stage_acquire(s, 0, KEY, TTL, 1), "W2",
         "three connections were closed in the middle of the answer, and it was granted: half an "
         "answer is none");
    MUST(s, rl_stage_cleans(s, 0, RL_NODES, 2000), "R2",
         "three connections were closed in the middle of the answer; the keys that those nodes had "
         "set are still there: they were not released over new connections");
    MUST_SAID(s, rl_stage_acquire(s, 0, KEY, TTL, 4), "W3",
              "after three connections were closed a free key is not granted any more");
}

static void play_reconnect(struct rl_stage *s) {
    for (int i = 0; i < RL_NODES; i++) {
        fake_node_drop(s->nodes[i], false);
    }
    rl_stage_run(s, 30);
    MUST_SAID(s, rl_stage_acquire(s, 0, KEY, TTL, 4), "W3",
              "all nodes closed their connections while nothing was asked, and then a free key is "
              "not granted in four attempts");
}

/* -- Several keys, several clients -- */

static void play_two_keys(struct rl_stage *s) {
    char token[RL_PLAYER_LINE_MAX];
    MUST_SAID(s, rl_stage_acquire(s, 0, KEY, TTL, 1), "A6", "not granted");
    snprintf(token, sizeof token, "%s", rl_stage_answer(s, 0)->token);
    MUST_SAID(s, rl_stage_acquire(s, 0, KEY ":b", TTL, 1), "A6",
              "one key is held, and another one, which is free, was not granted");
    MUST(s, strcmp(token, rl_stage_answer(s, 0)->token) != 0, "A2", "two keys have one token");
    const int before = rl_stage_count(s, 0, RL_NODES, token);
    rl_stage_release(s, 0, KEY ":b");
    rl_stage_run(s, 30);
    MUST(s, rl_stage_count(s, 0, RL_NODES, token) >= before, "R1",
         "the release of one key has ended the lock of another one");
    rl_stage_release(s, 0, KEY);
    MUST(s, rl_stage_cleans(s, 0, RL_NODES, 1000), "R2", "the first of two keys was not released");
}

static void play_two_clients(struct rl_stage *s) {
    rl_stage_enter(s, 1);
    MUST_SAID(s, rl_stage_acquire(s, 0, KEY, TTL, 1), "A6", "not granted");
    MUST(s, !rl_stage_acquire(s, 1, KEY, TTL, 1), "A6",
         "two processes hold one lock at the same time");
    MUST_SAID(s, rl_stage_release(s, 0, KEY), "R2", "not released");
    MUST(s, rl_stage_acquire(s, 1, KEY, TTL, 6), "A6",
         "the lock was released, and the other process does not get it: \"%s\"",
         rl_stage_answer(s, 1)->line);
}

static bool either_has_heard(struct rl_stage *s, void *data) {
    (void)data;
    return rl_stage_has_heard(s, 0) || rl_stage_has_heard(s, 1);
}

/* Both clients request the key at once, with many attempts: one must get it, and the other must not
 * get it as well before the first has released it. */
static void play_round(struct rl_stage *s) {
    for (int who = 0; who < RL_PLAYERS; who++) {
        rl_stage_tell_acquire(s, who, KEY, TTL, 25);
    }
    rl_stage_until(s, either_has_heard, NULL, 6000);
    int winner = rl_stage_has_heard(s, 0) ? 0 : 1;
    MUST(s, rl_stage_hear(s, winner), "A9",
         "two processes asked for a free key, each up to 25 times, and neither got it: they block "
         "each other");
    rl_stage_run(s, 150);
    MUST(s, !rl_stage_has_heard(s, 1 - winner) || !rl_stage_hear(s, 1 - winner), "A6",
         "two processes hold one lock at the same time");
    MUST(s, rl_stage_release(s, winner, KEY), "R2", "not released: \"%s\"",
         rl_stage_answer(s, winner)->line);
    if (rl_stage_hear(s, 1 - winner)) {
        rl_stage_release(s, 1 - winner, KEY);
    }
    rl_stage_cleans(s, 0, RL_NODES, 1000);
}

static void play_contend(struct rl_stage *s) {
    rl_stage_enter(s, 1);
    for (int i = 0; i < ROUNDS && !s->is_decided; i++) {
        play_round(s);
    }
}

static void play_foreign(struct rl_stage *s) {
    const char *value = s->story->text;
    rl_stage_plant(s, 0, RL_NODES, value, 60000);
    bool granted = rl_stage_acquire(s, 0, KEY, TTL, 1);
    MUST(s, rl_stage_count(s, 0, RL_NODES, value) == RL_NODES && !granted, "M1",
         "%s (\"%s\"), and the client has overwritten or deleted it, or was granted the lock",
         s->story->what, value);
}

/* -- Optional rules -- */

static void play_guard(struct rl_stage *s) {
    MUST_SAID(s, rl_stage_acquire(s, 0, KEY, TTL, 1), "A6", "not granted");
    rl_stage_each(s, 0, 3, fake_node_restart);
    rl_stage_run(s, 50);
    rl_stage_start(s, 1);
    bool granted = rl_stage_acquire(s, 1, KEY, TTL, 4);
    NOTE_UNLESS(s, !granted && !s->is_decided, "O1",
                "three nodes restarted without their keys while the lock was held, and a second "
                "client got it: without a guard, restarts of nodes must be delayed by the longest "
                "ttl, or nodes must keep their keys");
}

/* How many nodes have this key, which libredlock keeps in addition to the lock. */
static int count_beside(struct rl_stage *s, const char *name) {
    int n = 0;
    for (int i = 0; i < RL_NODES; i++) {
        n += fake_node_get(s->nodes[i], name) != NULL;
    }
    return n;
}

static void play_fence(struct rl_stage *s) {
    MUST_SAID(s, rl_stage_acquire(s, 0, KEY, TTL, 1), "A6", "not granted");
    rl_stage_run(s, 30);
    const int counters = count_beside(s, "libredlock:fence:" KEY);
    NOTE_UNLESS(s, counters > 0, "O2",
                "no fence: a storage cannot refuse the write of a holder that was paused, and "
                "fenced grants of other clients are not in one order with this one's");
    MUST(s, counters >= RL_QUORUM, "O2",
         "the counters of the fence are on %d nodes of 5: a quorum is needed", counters);
}

static bool is_in_line(struct rl_stage *s, void *data) {
    (void)data;
    return count_beside(s, "libredlock:line:{" KEY "}") > 0;
}

static void play_line(struct rl_stage *s) {
    rl_stage_enter(s, 1);
    MUST_SAID(s, rl_stage_acquire(s, 0, KEY, TTL, 1), "A6", "not granted");
    rl_stage_tell_acquire(s, 1, KEY, TTL, 50);
    bool waits = rl_stage_until(s, is_in_line, NULL, 1000);
    rl_stage_release(s, 0, KEY);
    NOTE_UNLESS(s, waits, "O3",
                "it does not wait in line: it asks again and again, and who comes first is chance");
    MUST(s, rl_stage_hear(s, 1), "O3", "it waited in line, and did not get the lock: \"%s\"",
         rl_stage_answer(s, 1)->line);
}

const struct rl_story rl_stories_together[] = {
    {"loading", "nodes answer LOADING", play_error,
     .text = "-LOADING Redis is loading the dataset in memory\r\n"},
    {"readonly", "nodes answer READONLY", play_error,
     .text = "-READONLY You can't write against a read only replica.\r\n"},
    {"oom", "nodes answer OOM", play_error,
     .text = "-OOM command not allowed when used memory > 'maxmemory'.\r\n"},
    {"noauth", "nodes answer NOAUTH", play_error, .text = "-NOAUTH Authentication required.\r\n"},
    {"noperm", "nodes answer NOPERM", play_error,
     .text = "-NOPERM No permissions to access a key\r\n"},
    {"misconf", "nodes answer MISCONF", play_error,
     .text = "-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to "
             "persist to disk.\r\n"},
    {"fragments", "every answer comes byte by byte", .play = play_fragments},
    {"cut", "connections are closed in the middle of an answer", .play = play_cut},
    {"reconnect", "all connections are closed while nothing is asked", .play = play_reconnect},
    {"two-keys", "one client holds two keys", .play = play_two_keys},
    {"two-clients", "two clients ask for one key, one after the other", .play = play_two_clients},
    {"contend", "two clients ask for one key at once, four times", .play = play_contend},
    {"readers", "libredlock's readers hold the key", play_foreign, .text = "redlock:shared"},
    {"reserved", "libredlock has reserved the key for other readers", play_foreign,
     .text = "reserved:shared"},
    {"guard", "three nodes restart without their keys while the lock is held", .play = play_guard},
    {"fence", "whether a grant has a fence", .play = play_fence},
    {"line", "whether a client that waits stands in line", .play = play_line},
    {.name = NULL},
};
