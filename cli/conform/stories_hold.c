/* Stories of slow nodes, and for how long a grant is valid; of extensions and releases. */
#include "conform/room.h"

#include <signal.h>
#include <string.h>

#define TTL 8000
#define SLACK_MS 2 /* for rounding */

static long long validity(const struct rl_stage *s) {
    return rl_stage_answer(s, 0)->validity_ms;
}

/* Has client 0 acquire the key, or fails the story. */
static void hold(struct rl_stage *s, long long ttl_ms) {
    if (!rl_stage_acquire(s, 0, KEY, ttl_ms, 2)) {
        rl_stage_decide(s, RL_VERDICT_FAIL, "A6", "a free key was not granted: \"%s\"",
                        rl_stage_answer(s, 0)->line);
    }
    rl_stage_run(s, 20); /* until the last nodes have the key */
}

/* Fails the story if a client made a change of these kinds to the other holder's key. */
static void keep_other(struct rl_stage *s, unsigned kinds, const char *rule, const char *why) {
    size_t at = 0;
    const struct rl_event *change = NULL;
    while ((change = rl_stage_next(s, &at, kinds, -1)) != NULL) {
        if (strcmp(change->value, OTHER) == 0) {
            rl_stage_decide(s, RL_VERDICT_FAIL, rule, "%s", why);
        }
    }
}

/* -- Extend -- */

struct wanted {
    long long life_ms;
    int nodes;
};

static bool is_extended(struct rl_stage *s, void *data) {
    struct wanted *wanted = data;
    wanted->nodes = 0;
    for (int i = 0; i < RL_NODES; i++) {
        size_t at = 0;
        const struct rl_event *end = NULL;
        bool found = false;
        while ((end = rl_stage_next(s, &at, RL_EVENT_END, i)) != NULL) {
            found = found || (end->life_ms >= wanted->life_ms - SLACK_MS &&
                              end->life_ms <= wanted->life_ms + SLACK_MS);
        }
        wanted->nodes += found;
    }
    return wanted->nodes == RL_NODES;
}

static void play_extend(struct rl_stage *s) {
    struct wanted wanted = {rl_stage_ms(s, 6000), 0};
    hold(s, 2000);
    s->n_events = 0;
    MUST_SAID(s, rl_stage_extend(s, 0, KEY, 6000), "E3",
              "five nodes have its token, and it was not extended");
    MUST(s, rl_stage_until(s, is_extended, &wanted, 1000), "E1",
         "extended, but on %d nodes of 5 the key was not given a life of %lld ms: the holder "
         "relies on keys that end earlier",
         RL_NODES - wanted.nodes, wanted.life_ms);
    const long long most_ms = rl_stage_validity_ms(wanted.life_ms, 0);
    MUST(s, validity(s) <= most_ms, "A7",
         "extended to %lld ms, and reports %lld of validity; %lld is the most", wanted.life_ms,
         validity(s), most_ms);
}

static void play_extend_late(struct rl_stage *s) {
    const long long delay_ms = 90;
    hold(s, 1000);
    rl_stage_delay(s, 0, 3, delay_ms);
    bool extended = rl_stage_extend(s, 0, KEY, 1000);
    const long long most_ms = rl_stage_validity_ms(rl_stage_ms(s, 1000), rl_stage_ms(s, delay_ms));
    MUST(s, !extended || validity(s) <= most_ms + SLACK_MS, "E3",
         "the third answer to an extension came after %lld ms, and %lld ms are reported where %lld "
         "are left: it is counted from the answers",
         rl_stage_ms(s, delay_ms), validity(s), most_ms);
    NOTE_UNLESS(s, extended, "A10",
                "three nodes answer after %lld ms, and it has not waited: \"%s\"",
                rl_stage_ms(s, delay_ms), rl_stage_answer(s, 0)->line);
}

static void play_extend_shorter(struct rl_stage *s) {
    hold(s, TTL);
    s->n_events = 0;
    rl_stage_extend(s, 0, KEY, 500);
    rl_stage_run(s, 50);
    size_t at = 0;
    const struct rl_event *end = NULL;
    while ((end = rl_stage_next(s, &at, RL_EVENT_END, -1)) != NULL) {
        MUST(s, end->life_ms > rl_stage_ms(s, TTL / 2), "E2",
             "a key that had %d s to live was cut to %lld ms: an extension that is delayed, and "
             "runs behind a longer one that was counted, ends a lock that is held",
             TTL / 1000, end->life_ms);
    }
    MUST(s, rl_stage_seen(s, RL_EVENT_DELETED, -1) == 0, "E2", "an extension deleted the key");
}

static void play_extend_other(struct rl_stage *s) {
    hold(s, TTL);
    rl_stage_plant(s, 0, 3, OTHER, 60000);
    s->n_events = 0;
    bool extended = rl_stage_extend(s, 0, KEY, TTL);
    rl_stage_run(s, 30);
    keep_other(s, RL_EVENT_EXPIRY, "E1",
               "it extended the key of another holder: that one's lock does not end");
    MUST(s, rl_stage_count(s, 0, 3, OTHER) == 3, "E1",
         "another has the key on three nodes by now, and its key was overwritten or deleted");
    MUST(s, !extended, "E3",
         "another has the key on three nodes by now, and the extension is reported as done: two "
         "hold the lock");
}

static void play_extend_atomic(struct rl_stage *s) {
    hold(s, TTL);
    s->swaps = true;
    s->n_events = 0;
    rl_stage_extend(s, 0, KEY, TTL);
    rl_stage_run(s, 30);
    keep_other(s, RL_EVENT_EXPIRY, "E1",
               "it reads the key (GET) and extends it in a second command; in between another got "
               "it, whose lock was extended");
    MUST(s, rl_stage_count(s, 0, RL_NODES, OTHER) == s->swapped, "E1",
         "it reads the key (GET) and sets it in a second command; in between another got it, and "
         "has lost it now");
}

static void play_extend_minority(struct rl_stage *s) {
    hold(s, TTL);
    rl_stage_rule(
        s, 0, 3,
        (struct fake_rule){.action = FAKE_INSTEAD,
                           .bytes = "-LOADING Redis is loading the dataset in memory\r\n"});
    MUST(s, !rl_stage_extend(s, 0, KEY, 30000), "E3",
         "three nodes of five did not extend the key, and \"%s\" is reported: it relies on keys "
         "that end before",
         rl_stage_answer(s, 0)->line);
}

static void play_extend_gone(struct rl_stage *s) {
    hold(s, 250);
    rl_stage_cleans(s, 0, RL_NODES, 1000);
    s->n_events = 0;
    bool extended = rl_stage_extend(s, 0, KEY, TTL);
    rl_stage_run(s, 30);
    MUST(s, rl_stage_count(s, 0, RL_NODES, "") == 0, "E1",
         "the lock had ended, and its extension set the key again: another may have held it in "
         "between, and what that has read is changed behind its back");
    MUST(s, !extended, "E4", "the lock had ended, and \"%s\" is reported",
         rl_stage_answer(s, 0)->line);
}

/* -- Release -- */

static void play_release_other(struct rl_stage *s) {
    hold(s, 200);
    rl_stage_cleans(s, 0, RL_NODES, 1000);
    rl_stage_plant(s, 0, RL_NODES, OTHER, 60000);
    rl_stage_release(s, 0, KEY);
    rl_stage_run(s, 50);
    MUST(s, rl_stage_count(s, 0, RL_NODES, OTHER) == RL_NODES, "R1",
         "its lock had ended and another has it; the release deleted that one's key: a third gets "
         "a lock that is held");
    rl_stage_uproot(s, 0, RL_NODES);
    MUST_SAID(s, rl_stage_acquire(s, 0, KEY, TTL, 3), "R4",
              "after the release of a lock that had ended the key is not granted any more");
}

static void play_release_atomic(struct rl_stage *s) {
    hold(s, TTL);
    s->swaps = true;
    rl_stage_release(s, 0, KEY);
    rl_stage_run(s, 30);
    keep_other(s, RL_EVENT_DELETED, "R1",
               "it reads the key (GET) and deletes it in a second command; in between another got "
               "it, and has lost it now");
}

static void play_noscript(struct rl_stage *s) {
    hold(s, TTL);
    rl_stage_forget_scripts(s);
    MUST(s, rl_stage_extend(s, 0, KEY, TTL), "W1",
         "the nodes had forgotten all scripts, as after a restart, and the extension fails: "
         "\"%s\"; NOSCRIPT is answered by EVAL",
         rl_stage_answer(s, 0)->line);
    rl_stage_forget_scripts(s);
    rl_stage_release(s, 0, KEY);
    MUST(s, rl_stage_cleans(s, 0, RL_NODES, 1500), "W1",
         "the nodes had forgotten all scripts, and the key was not released: \"%s\"; NOSCRIPT is "
         "answered by EVAL",
         rl_stage_answer(s, 0)->line);
}

static void play_restart(struct rl_stage *s) {
    hold(s, TTL);
    fake_node_restart(s->nodes[0]);
    rl_stage_run(s, 30);
    MUST_SAID(s, rl_stage_extend(s, 0, KEY, TTL), "E3",
              "one node of five restarted without its keys, the other four have the token, and the "
              "extension fails");
    rl_stage_release(s, 0, KEY);
    MUST(s, rl_stage_cleans(s, 1, RL_NODES - 1, 1000), "R2",
         "one node had restarted without its keys, and the others were not released");
    MUST_SAID(s, rl_stage_acquire(s, 0, KEY, TTL, 3), "W3",
              "one node had restarted, and a free key is not granted any more");
}

static void play_drift(struct rl_stage *s) {
    const long long ttl_ms = rl_stage_ms(s, 10000);
    MUST_SAID(s, rl_stage_acquire(s, 0, KEY, 10000, 1), "A6", "not granted");
    const long long most_ms = rl_stage_validity_ms(ttl_ms, 0);
    MUST(s, validity(s) > 0, "A7", "granted with a validity of %lld ms", validity(s));
    MUST(s, validity(s) <= most_ms, "A7",
         "of a ttl of %lld ms it reports %lld ms of validity; %lld is the most, 1 %% and 2 ms "
         "being for clocks that do not run alike: its holder acts when the key has ended on a node",
         ttl_ms, validity(s), most_ms);
}

static void play_slow_votes(struct rl_stage *s) {
    const long long delay_ms = 90;
    rl_stage_delay(s, 0, 3, delay_ms);
    bool granted = rl_stage_acquire(s, 0, KEY, 1000, 1);
    const long long most_ms = rl_stage_validity_ms(rl_stage_ms(s, 1000), rl_stage_ms(s, delay_ms));
    MUST(s, !granted || validity(s) <= most_ms + SLACK_MS, "A7",
         "the third vote came %lld ms after the command was sent, and %lld ms of validity are "
         "reported where %lld are left: it is counted from the answers, and the holder acts when "
         "the keys have ended",
         rl_stage_ms(s, delay_ms), validity(s), most_ms);
    NOTE_UNLESS(s, granted, "A10",
                "three nodes answer after %lld ms, and it has not waited for them: \"%s\"",
                rl_stage_ms(s, delay_ms), rl_stage_answer(s, 0)->line);
}

static void play_too_late(struct rl_stage *s) {
    rl_stage_delay(s, 0, 3, 350);
    bool granted = rl_stage_acquire(s, 0, KEY, 300, 1);
    MUST(s, !granted || validity(s) <= 0, "A7",
         "the third vote came %lld ms after the command, whose ttl was %lld ms, and it was granted "
         "with %lld ms: a lock that nobody holds",
         rl_stage_ms(s, 350), rl_stage_ms(s, 300), validity(s));
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

static void play_stopped_client(struct rl_stage *s) {
    int asked = 0;
    rl_stage_delay(s, 0, RL_NODES, 60);
    rl_stage_tell_acquire(s, 0, KEY, 400, 1);
    rl_stage_until(s, all_asked, &asked, 250);
    rl_player_signal(&s->players[0], SIGSTOP);
    const uint64_t stopped_ns = uv_hrtime();
    rl_stage_run(s, 450);
    rl_player_signal(&s->players[0], SIGCONT);
    bool granted = rl_stage_hear(s, 0);
    MUST(s, !granted || validity(s) <= 0 || rl_stage_answer(s, 0)->at_ns < stopped_ns, "A7",
         "it was stopped (SIGSTOP) after the nodes were asked, until their keys had ended, and "
         "then said \"%s\": the clock is to be read when the grant is reported, and it has to be "
         "one that goes on",
         rl_stage_answer(s, 0)->line);
}

static void play_silent(struct rl_stage *s) {
    rl_stage_rule(s, 0, 1, (struct fake_rule){.action = FAKE_IGNORE});
    bool granted = rl_stage_acquire(s, 0, KEY, TTL, 1);
    MUST_SAID(s, granted && validity(s) > 0, "A10",
              "one node of five takes commands and never answers, and it was not granted");
    rl_stage_release(s, 0, KEY);
    MUST(s, rl_stage_cleans(s, 1, RL_NODES - 1, 2000), "R2",
         "one node never answers, and the others were not released");
}

static void play_three_silent(struct rl_stage *s) {
    rl_stage_rule(s, 0, 3, (struct fake_rule){.action = FAKE_IGNORE});
    MUST(s, !rl_stage_acquire(s, 0, KEY, TTL, 1), "A6",
         "three nodes of five never answered, and it was granted");
    MUST(s, rl_stage_cleans(s, 3, 2, 2000), "A8",
         "not granted, but the key stays on the nodes that had said yes");
}

/* Nodes 1 to 3 answer the first acquire late, while the client acquires another key. */
static void play_late_answers(struct rl_stage *s) {
    static const char next[] = KEY ":next";
    rl_stage_delay(s, 0, 3, 700);
    MUST_SAID(s, !rl_stage_acquire(s, 0, KEY, 300, 1), "A7", "granted after its ttl");
    s->key = next;
    rl_stage_plant(s, 0, 3, OTHER, 60000);
    MUST(s, !rl_stage_acquire(s, 0, next, TTL, 1), "A5",
         "three nodes refused, as another has the key there, and it was granted: the late answers "
         "of the attempt before were counted for this one");
    MUST(s, rl_stage_count(s, 0, 3, OTHER) == 3, "R1", "the key of another holder was deleted");
}

static bool has_released(struct rl_stage *s, void *data) {
    (void)data;
    return rl_stage_seen(s, RL_EVENT_CAME, 0) >= 2;
}

static void play_asleep(struct rl_stage *s) {
    rl_stage_plant(s, 1, 3, OTHER, 60000);
    fake_node_pause(s->nodes[0]);
    MUST(s, !rl_stage_acquire(s, 0, KEY, TTL, 1), "A6", "granted by one node of five");
    rl_stage_run(s, 700); /* longer than most clients wait for an answer */
    fake_node_resume(s->nodes[0]);
    bool released = rl_stage_until(s, has_released, NULL, 2000);
    MUST(s, released || rl_stage_count(s, 0, 1, "") == 0, "R2",
         "node 1 hung while it was asked, and then ran what had been sent: a release was never "
         "sent there, and its key stays for the ttl");
    NOTE_UNLESS(s, rl_stage_cleans(s, 0, 1, 2000), "R3",
                "node 1 hung while it was asked, and then ran what had been sent, the release "
                "before the SET: the key stays there for its ttl. One connection for both, or a "
                "release that is repeated, prevents that");
}

static void play_slow_release(struct rl_stage *s) {
    MUST_SAID(s, rl_stage_acquire(s, 0, KEY, TTL, 1), "A6", "not granted");
    rl_stage_rule(s, 0, 1, (struct fake_rule){.action = FAKE_SWALLOW, .times = 1});
    rl_stage_delay(s, 1, 1, 300);
    rl_stage_release(s, 0, KEY);
    MUST(s, rl_stage_cleans(s, 0, RL_NODES, 1000), "R2", "the key was not released everywhere");
    MUST_SAID(
        s, rl_stage_acquire(s, 0, KEY, TTL, 4), "W2",
        "two nodes answered a release late or never, and the next acquire of the free key fails");
}

const struct rl_story rl_stories_hold[] = {
    {"drift", "what is reported of a long ttl", .play = play_drift},
    {"slow-votes", "three nodes answer late, within the ttl", .play = play_slow_votes},
    {"too-late", "three nodes answer when the ttl is over", .play = play_too_late},
    {"stopped-client", "the client is stopped between asking and counting",
     .play = play_stopped_client},
    {"silent", "one node takes commands and never answers", .play = play_silent},
    {"three-silent", "three nodes take commands and never answer", .play = play_three_silent},
    {"late-answers", "answers come while the next key is asked for", .play = play_late_answers},
    {"asleep", "a node hangs, and then runs what was sent to it", .play = play_asleep},
    {"slow-release", "two nodes answer a release late or never", .play = play_slow_release},
    {"extend", "a lock that is held is extended", .play = play_extend},
    {"extend-late", "three nodes answer an extension late", .play = play_extend_late},
    {"extend-shorter", "an extension with less time than is left", .play = play_extend_shorter},
    {"extend-other", "another got the key on three nodes before the extension",
     .play = play_extend_other},
    {"extend-atomic", "another gets the key between a look and a write",
     .play = play_extend_atomic},
    {"extend-minority", "only two nodes take the extension", .play = play_extend_minority},
    {"extend-gone", "the lock has ended before the extension", .play = play_extend_gone},
    {"release-other", "the lock has ended, and another has it, before the release",
     .play = play_release_other},
    {"release-atomic", "another gets the key between a look and a delete",
     .play = play_release_atomic},
    {"noscript", "the nodes forget their scripts while the lock is held", .play = play_noscript},
    {"restart", "one node restarts without its keys while the lock is held", .play = play_restart},
    {.name = NULL},
};
