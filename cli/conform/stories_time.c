/* See stories_time.h. */
#include "conform/stories_time.h"

#include <stdio.h>
#include <string.h>

#define TTL 8000
#define SLACK_MS 2 /* of rounding */

static long long validity(const struct rl_stage *s) {
    return (long long)rl_stage_answer(s, 0)->validity_ms;
}

static const char *line(const struct rl_stage *s) {
    return rl_stage_answer(s, 0)->line;
}

static struct fake_rule slow(const struct rl_stage *s, int64_t ms) {
    return (struct fake_rule){.action = FAKE_ANSWER, .delay_ms = rl_stage_ms(s, ms), .times = 1};
}

void rl_play_drift(struct rl_stage *s) {
    const int64_t ttl_ms = (int64_t)rl_stage_ms(s, 10000);
    MUST(s, rl_stage_acquire(s, 0, KEY, 10000, 1), "A6", "not granted: \"%s\"", line(s));
    const int64_t most_ms = rl_stage_validity_ms(ttl_ms, 0);
    MUST(s, validity(s) > 0, "A7", "granted with a validity of %lld ms", validity(s));
    MUST(
        s, validity(s) <= most_ms, "A7",
        "of a ttl of %lld ms it reports %lld ms of validity; %lld is the most, 1 %% and 2 ms being "
        "for clocks that do not run alike: its holder acts when the key has ended on a node",
        (long long)ttl_ms, validity(s), (long long)most_ms);
}

void rl_play_slow_votes(struct rl_stage *s) {
    const int64_t delay_ms = 90;
    rl_stage_rule(s, 0, 3, slow(s, delay_ms));
    bool granted = rl_stage_acquire(s, 0, KEY, 1000, 1);
    const int64_t most_ms =
        rl_stage_validity_ms((int64_t)rl_stage_ms(s, 1000), (int64_t)rl_stage_ms(s, delay_ms));
    MUST(s, !granted || validity(s) <= most_ms + SLACK_MS, "A7",
         "the third vote came %llu ms after the command was sent, and %lld ms of validity are "
         "reported where %lld are left: it is counted from the answers, and the holder acts when "
         "the keys have ended",
         (unsigned long long)rl_stage_ms(s, delay_ms), validity(s), (long long)most_ms);
    NOTE_UNLESS(s, granted, "A10",
                "three nodes answer after %llu ms, and it has not waited for them: \"%s\"",
                (unsigned long long)rl_stage_ms(s, delay_ms), line(s));
}

void rl_play_too_late(struct rl_stage *s) {
    rl_stage_rule(s, 0, 3, slow(s, 350));
    bool granted = rl_stage_acquire(s, 0, KEY, 300, 1);
    MUST(s, !granted || validity(s) <= 0, "A7",
         "the third vote came %llu ms after the command, whose ttl was %llu ms, and it was granted "
         "with %lld ms: a lock that nobody holds",
         (unsigned long long)rl_stage_ms(s, 350), (unsigned long long)rl_stage_ms(s, 300),
         validity(s));
    MUST(s, !granted, "A7", "granted with nothing left of its validity: that is not a grant");
}

static bool all_asked(struct rl_stage *s, void *data) {
    int *asked = data;
    *asked = 0;
    for (int i = 0; i < RL_NODES; i++) {
        *asked += rl_stage_seen(s, RL_EVENT_CAME, i) > 0;
    }
    return *asked == RL_NODES || rl_stage_has_heard(s, 0);
}

void rl_play_stopped_client(struct rl_stage *s) {
    int asked = 0;
    rl_stage_rule(s, 0, RL_NODES, slow(s, 60));
    rl_stage_tell_acquire(s, 0, KEY, 400, 1);
    rl_stage_until(s, all_asked, &asked, 250);
    rl_player_stop(&s->players[0]);
    rl_stage_run(s, 450);
    rl_player_continue(&s->players[0]);
    bool granted = rl_stage_hear(s, 0);
    MUST(
        s, !granted || validity(s) <= 0, "A7",
        "it was stopped (SIGSTOP) after the nodes were asked, until their keys had ended, and then "
        "said \"%s\": the clock is to be read when the grant is reported, and it has to be one "
        "that goes on",
        line(s));
}

void rl_play_silent(struct rl_stage *s) {
    rl_stage_rule(s, 0, 1, (struct fake_rule){.action = FAKE_IGNORE});
    bool granted = rl_stage_acquire(s, 0, KEY, TTL, 1);
    MUST(s, granted && validity(s) > 0, "A10",
         "one node of five takes commands and never answers, and it was not granted: \"%s\"",
         line(s));
    rl_stage_release(s, 0, KEY);
    MUST(s, rl_stage_cleans(s, 1, RL_NODES - 1, 2000), "R2",
         "one node never answers, and the others were not released");
}

void rl_play_three_silent(struct rl_stage *s) {
    rl_stage_rule(s, 0, 3, (struct fake_rule){.action = FAKE_IGNORE});
    bool granted = rl_stage_acquire(s, 0, KEY, TTL, 1);
    MUST(s, !granted, "A6", "three nodes of five never answered, and it was granted");
    MUST(s, rl_stage_cleans(s, 3, 2, 2000), "A8",
         "not granted, but the key stays on the nodes that had said yes");
}

/* Nodes 1 to 3 answer when the client has given up, while it asks for another key there. */
void rl_play_late_answers(struct rl_stage *s) {
    static const char next[] = KEY ":next";
    rl_stage_rule(s, 0, 3, slow(s, 700));
    MUST(s, !rl_stage_acquire(s, 0, KEY, 300, 1), "A7", "granted after its ttl: \"%s\"", line(s));
    s->key = next;
    rl_stage_plant(s, 0, 3, OTHER, 60000);
    bool granted = rl_stage_acquire(s, 0, next, TTL, 1);
    MUST(s, !granted, "A5",
         "three nodes refused, as another has the key there, and it was granted: the late answers "
         "of the attempt before were counted for this one");
    MUST(s, rl_stage_count(s, 0, 3, OTHER) == 3, "R1", "the key of another holder was deleted");
}

static bool has_released(struct rl_stage *s, void *data) {
    (void)data;
    return rl_stage_seen(s, RL_EVENT_CAME, 0) >= 2;
}

void rl_play_asleep(struct rl_stage *s) {
    rl_stage_plant(s, 1, 3, OTHER, 60000);
    fake_node_pause(s->nodes[0]);
    MUST(s, !rl_stage_acquire(s, 0, KEY, TTL, 1), "A6", "granted by one node of five");
    rl_stage_run(s, 700); /* longer than most wait for an answer */
    fake_node_resume(s->nodes[0]);
    bool released = rl_stage_until(s, has_released, NULL, 2000);
    MUST(s, released || rl_stage_any(s, 0, 1) == 0, "R2",
         "node 1 hung while it was asked, and then ran what had been sent: a release was never "
         "sent there, and its key stays for the ttl");
    NOTE_UNLESS(s, rl_stage_cleans(s, 0, 1, 2000), "R3",
                "node 1 hung while it was asked, and then ran what had been sent, the release "
                "before the SET: the key stays there for its ttl. One connection for both, or a "
                "release that is repeated, prevents that");
}

void rl_play_slow_release(struct rl_stage *s) {
    MUST(s, rl_stage_acquire(s, 0, KEY, TTL, 1), "A6", "not granted: \"%s\"", line(s));
    rl_stage_rule(s, 0, 1, (struct fake_rule){.action = FAKE_SWALLOW, .times = 1});
    rl_stage_rule(s, 1, 1, slow(s, 300));
    rl_stage_release(s, 0, KEY);
    MUST(s, rl_stage_cleans(s, 0, RL_NODES, 1000), "R2", "the key was not released everywhere");
    bool granted = rl_stage_acquire(s, 0, KEY, TTL, 4);
    MUST(s, granted, "W2",
         "two nodes answered a release late or never, and the next acquire of the free key fails: "
         "\"%s\"",
         line(s));
}
