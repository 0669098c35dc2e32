/* See stories_wire.h. */
#include "conform/stories_wire.h"

#include <stdio.h>
#include <string.h>

#define TTL 8000

static const char *line(const struct rl_stage *s) {
    return rl_stage_answer(s, 0)->line;
}

/* Nodes 1 to 3 answer with an error, then 1 and 2 alone. */
static void play_error(struct rl_stage *s, const char *error) {
    const struct fake_rule rule = {.action = FAKE_INSTEAD, .bytes = error};
    const int word = (int)strcspn(error + 1, " "); /* LOADING */
    rl_stage_rule(s, 0, 3, rule);
    bool granted = rl_stage_acquire(s, 0, KEY, TTL, 1);
    MUST(s, !granted, "A5",
         "three nodes of five answered %.*s, which is no vote, and it was granted: two hold "
         "the lock",
         word, error + 1);
    MUST(s, rl_stage_cleans(s, 3, 2, 1500), "A8",
         "three nodes answered %.*s, and the other two, which had said yes, were not "
         "released",
         word, error + 1);
    rl_stage_clear(s, 0, 3);
    rl_stage_rule(s, 0, 2, rule);
    MUST(s, rl_stage_acquire(s, 0, KEY, TTL, 4), "A6",
         "two nodes of five answer %.*s, three say yes, and it was not granted: \"%s\"", word,
         error + 1, line(s));
}

void rl_play_loading(struct rl_stage *s) {
    play_error(s, "-LOADING Redis is loading the dataset in memory\r\n");
}

void rl_play_readonly(struct rl_stage *s) {
    play_error(s, "-READONLY You can't write against a read only replica.\r\n");
}

void rl_play_oom(struct rl_stage *s) {
    play_error(s, "-OOM command not allowed when used memory > 'maxmemory'.\r\n");
}

void rl_play_noauth(struct rl_stage *s) {
    play_error(s, "-NOAUTH Authentication required.\r\n");
}

void rl_play_noperm(struct rl_stage *s) {
    play_error(s, "-NOPERM No permissions to access a key\r\n");
}

void rl_play_misconf(struct rl_stage *s) {
    play_error(s,
               "-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to "
               "persist to disk.\r\n");
}

void rl_play_fragments(struct rl_stage *s) {
    rl_stage_rule(s, 0, RL_NODES,
                  (struct fake_rule){.action = FAKE_SPLIT, .delay_ms = rl_stage_ms(s, 25)});
    for (int i = 0; i < RL_NODES; i++) {
        fake_node_set_fragment(s->nodes[i], 1);
    }
    MUST(s, rl_stage_acquire(s, 0, KEY, TTL, 1), "W2",
         "the answers came byte by byte, and a free key was not granted: \"%s\"", line(s));
    MUST(s, rl_stage_extend(s, 0, KEY, TTL), "W2",
         "the answers came byte by byte, and the extension fails: \"%s\"", line(s));
    rl_stage_release(s, 0, KEY);
    MUST(s, rl_stage_cleans(s, 0, RL_NODES, 1000), "W2",
         "the answers came byte by byte, and the key was not released");
}

void rl_play_cut(struct rl_stage *s) {
    rl_stage_rule(s, 0, 3, (struct fake_rule){.action = FAKE_CUT, .times = 1});
    bool granted = rl_stage_acquire(s, 0, KEY, TTL, 1);
    MUST(s, !granted, "W2",
         "three connections were closed in the middle of the answer, and it was granted: half an "
         "answer is none");
    MUST(s, rl_stage_cleans(s, 0, RL_NODES, 2000), "R2",
         "three connections were closed in the middle of the answer; the keys that those nodes had "
         "set are still there: they were not released over new connections");
    MUST(s, rl_stage_acquire(s, 0, KEY, TTL, 4), "W3",
         "after three connections were closed a free key is not granted any more: \"%s\"", line(s));
}

void rl_play_reconnect(struct rl_stage *s) {
    for (int i = 0; i < RL_NODES; i++) {
        fake_node_drop(s->nodes[i], false);
    }
    rl_stage_run(s, 30);
    MUST(s, rl_stage_acquire(s, 0, KEY, TTL, 4), "W3",
         "all nodes closed their connections while nothing was asked, and then a free key is not "
         "granted in four attempts: \"%s\"",
         line(s));
}
