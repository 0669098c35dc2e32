/* See stories_hold.h. */
#include "conform/stories_hold.h"

#include <stdio.h>
#include <string.h>

#define TTL 8000
#define SLACK_MS 2

static long long validity(const struct rl_stage *s) {
    return (long long)rl_stage_answer(s, 0)->validity_ms;
}

static const char *line(const struct rl_stage *s) {
    return rl_stage_answer(s, 0)->line;
}

/* Acquires; the story is decided if that fails. */
static void hold(struct rl_stage *s, int64_t ttl_ms) {
    if (!rl_stage_acquire(s, 0, KEY, ttl_ms, 2)) {
        rl_stage_decide(s, RL_VERDICT_FAIL, "A6", "a free key was not granted: \"%s\"", line(s));
    }
    rl_stage_run(s, 20); /* all nodes have it */
}

/* -- Extend -- */

struct wanted {
    int64_t life_ms;
    int nodes;
};

/* The next event that gave the key another end: PEXPIRE and its like, or SET of what it had. */
static const struct rl_event *next_end(const struct rl_stage *s, size_t *at, int node) {
    const struct rl_event *event = NULL;
    while (*at < s->n_events && event == NULL) {
        const struct rl_event *one = &s->events[(*at)++];
        bool is_end = one->kind == RL_EVENT_EXPIRY || one->kind == RL_EVENT_SET;
        event = is_end && (node < 0 || one->node == node) ? one : NULL;
    }
    return event;
}

static bool is_extended(struct rl_stage *s, void *data) {
    struct wanted *wanted = data;
    wanted->nodes = 0;
    for (int i = 0; i < RL_NODES; i++) {
        size_t at = 0;
        const struct rl_event *end = NULL;
        bool found = false;
        while ((end = next_end(s, &at, i)) != NULL) {
            found = found || (end->life_ms >= wanted->life_ms - SLACK_MS &&
                              end->life_ms <= wanted->life_ms + SLACK_MS);
        }
        wanted->nodes += found;
    }
    return wanted->nodes == RL_NODES;
}

void rl_play_extend(struct rl_stage *s) {
    struct wanted wanted = {(int64_t)rl_stage_ms(s, 6000), 0};
    hold(s, 2000);
    rl_stage_begin(s);
    bool extended = rl_stage_extend(s, 0, KEY, 6000);
    MUST(s, extended, "E3", "five nodes have its token, and it was not extended: \"%s\"", line(s));
    bool all = rl_stage_until(s, is_extended, &wanted, 1000);
    MUST(
        s, all, "E1",
        "extended, but on %d nodes of 5 the key was not given a life of %lld ms: the holder relies "
        "on keys that end earlier",
        RL_NODES - wanted.nodes, (long long)wanted.life_ms);
    const int64_t most_ms = rl_stage_validity_ms(wanted.life_ms, 0);
    MUST(s, validity(s) <= most_ms, "A7",
         "extended to %lld ms, and reports %lld of validity; %lld "
         "is the most",
         (long long)wanted.life_ms, validity(s), (long long)most_ms);
}

void rl_play_extend_late(struct rl_stage *s) {
    const int64_t delay_ms = 90;
    hold(s, 1000);
    rl_stage_rule(s, 0, 3,
                  (struct fake_rule){
                      .action = FAKE_ANSWER, .delay_ms = rl_stage_ms(s, delay_ms), .times = 1});
    bool extended = rl_stage_extend(s, 0, KEY, 1000);
    const int64_t most_ms =
        rl_stage_validity_ms((int64_t)rl_stage_ms(s, 1000), (int64_t)rl_stage_ms(s, delay_ms));
    MUST(s, !extended || validity(s) <= most_ms + SLACK_MS, "E3",
         "the third answer to an extension came after %llu ms, and %lld ms are reported where %lld "
         "are left: it is counted from the answers",
         (unsigned long long)rl_stage_ms(s, delay_ms), validity(s), (long long)most_ms);
    NOTE_UNLESS(s, extended, "A10",
                "three nodes answer after %llu ms, and it has not waited: \"%s\"",
                (unsigned long long)rl_stage_ms(s, delay_ms), line(s));
}

void rl_play_extend_shorter(struct rl_stage *s) {
    hold(s, TTL);
    rl_stage_begin(s);
    rl_stage_extend(s, 0, KEY, 500);
    rl_stage_run(s, 50);
    size_t at = 0;
    const struct rl_event *end = NULL;
    while ((end = next_end(s, &at, -1)) != NULL) {
        MUST(s, end->life_ms > (int64_t)rl_stage_ms(s, TTL / 2), "E2",
             "a key that had %d s to live was cut to %lld ms: an extension that is delayed, and "
             "runs behind a longer one that was counted, ends a lock that is held",
             TTL / 1000, (long long)end->life_ms);
    }
    MUST(s, rl_stage_any(s, 0, RL_NODES) == RL_NODES, "E2", "an extension deleted the key");
}

void rl_play_extend_other(struct rl_stage *s) {
    hold(s, TTL);
    rl_stage_plant(s, 0, 3, OTHER, 60000);
    rl_stage_begin(s);
    bool extended = rl_stage_extend(s, 0, KEY, TTL);
    rl_stage_run(s, 30);
    size_t at = 0;
    const struct rl_event *change = NULL;
    while ((change = rl_stage_next(s, &at, RL_EVENT_EXPIRY, -1)) != NULL) {
        MUST(s, strcmp(change->value, OTHER) != 0, "E1",
             "it extended the key of another holder: that one's lock does not end");
    }
    MUST(s, rl_stage_count(s, 0, 3, OTHER) == 3, "E1",
         "another has the key on three nodes by now, and its key was overwritten or deleted");
    MUST(s, !extended, "E3",
         "another has the key on three nodes by now, and the extension is reported as done: two "
         "hold the lock");
}

void rl_play_extend_atomic(struct rl_stage *s) {
    hold(s, TTL);
    s->swaps = true;
    rl_stage_begin(s);
    rl_stage_extend(s, 0, KEY, TTL);
    rl_stage_run(s, 30);
    size_t at = 0;
    const struct rl_event *change = NULL;
    while ((change = rl_stage_next(s, &at, RL_EVENT_EXPIRY, -1)) != NULL) {
        MUST(s, strcmp(change->value, OTHER) != 0, "E1",
             "it reads the key (GET) and extends it in a second command; in between another got "
             "it, whose lock was extended");
    }
    MUST(s, rl_stage_count(s, 0, RL_NODES, OTHER) == s->swapped, "E1",
         "it reads the key (GET) and sets it in a second command; in between another got it, and "
         "has lost it now");
}

void rl_play_extend_minority(struct rl_stage *s) {
    hold(s, TTL);
    rl_stage_rule(
        s, 0, 3,
        (struct fake_rule){.action = FAKE_INSTEAD,
                           .bytes = "-LOADING Redis is loading the dataset in memory\r\n"});
    bool extended = rl_stage_extend(s, 0, KEY, 30000);
    MUST(s, !extended, "E3",
         "three nodes of five did not extend the key, and \"%s\" is reported: it relies on keys "
         "that end before",
         line(s));
}

void rl_play_extend_gone(struct rl_stage *s) {
    hold(s, 250);
    rl_stage_cleans(s, 0, RL_NODES, 1000);
    rl_stage_begin(s);
    bool extended = rl_stage_extend(s, 0, KEY, TTL);
    rl_stage_run(s, 30);
    MUST(s, rl_stage_any(s, 0, RL_NODES) == 0, "E1",
         "the lock had ended, and its extension set the key again: another may have held it in "
         "between, and what that has read is changed behind its back");
    MUST(s, !extended, "E4", "the lock had ended, and \"%s\" is reported", line(s));
}

/* -- Release -- */

void rl_play_release_other(struct rl_stage *s) {
    hold(s, 200);
    rl_stage_cleans(s, 0, RL_NODES, 1000);
    rl_stage_plant(s, 0, RL_NODES, OTHER, 60000);
    rl_stage_release(s, 0, KEY);
    rl_stage_run(s, 50);
    MUST(s, rl_stage_count(s, 0, RL_NODES, OTHER) == RL_NODES, "R1",
         "its lock had ended and another has it; the release deleted that one's key: a third gets "
         "a lock that is held");
    rl_stage_uproot(s, 0, RL_NODES);
    MUST(s, rl_stage_acquire(s, 0, KEY, TTL, 3), "R4",
         "after the release of a lock that had ended the key is not granted any more: \"%s\"",
         line(s));
}

void rl_play_release_atomic(struct rl_stage *s) {
    hold(s, TTL);
    s->swaps = true;
    rl_stage_release(s, 0, KEY);
    rl_stage_run(s, 30);
    size_t at = 0;
    const struct rl_event *change = NULL;
    while ((change = rl_stage_next(s, &at, RL_EVENT_DELETED, -1)) != NULL) {
        MUST(s, strcmp(change->value, OTHER) != 0, "R1",
             "it reads the key (GET) and deletes it in a second command; in between another got "
             "it, and has lost it now");
    }
}

void rl_play_noscript(struct rl_stage *s) {
    hold(s, TTL);
    rl_stage_forget_scripts(s);
    MUST(
        s, rl_stage_extend(s, 0, KEY, TTL), "W1",
        "the nodes had forgotten all scripts, as after a restart, and the extension fails: \"%s\"; "
        "NOSCRIPT is answered by EVAL",
        line(s));
    rl_stage_forget_scripts(s);
    rl_stage_release(s, 0, KEY);
    MUST(s, rl_stage_cleans(s, 0, RL_NODES, 1500), "W1",
         "the nodes had forgotten all scripts, and the key was not released: \"%s\"; NOSCRIPT is "
         "answered by EVAL",
         line(s));
}

void rl_play_restart(struct rl_stage *s) {
    hold(s, TTL);
    rl_stage_restart(s, 0, 1);
    rl_stage_run(s, 30);
    MUST(s, rl_stage_extend(s, 0, KEY, TTL), "E3",
         "one node of five restarted without its keys, the other four have the token, and the "
         "extension fails: \"%s\"",
         line(s));
    rl_stage_release(s, 0, KEY);
    MUST(s, rl_stage_cleans(s, 1, RL_NODES - 1, 1000), "R2",
         "one node had restarted without its keys, and the others were not released");
    MUST(s, rl_stage_acquire(s, 0, KEY, TTL, 3), "W3",
         "one node had restarted, and a free key is not granted any more: \"%s\"", line(s));
}
