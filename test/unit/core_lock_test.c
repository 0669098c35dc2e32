/* One lock (core/lock.h), told in stories (stories.h): the files lock_*.txt. A story begins with
 * three nodes, all of them up, and a lock that is idle. Times are in ms since then; nodes are named
 * by their numbers, so that 02 are two of them. The events:
 *
 *     with n=5 ...                   another world; the names are in with_event(), here
 *     change old=012 new=234         from now on the nodes are being changed
 *     acquire ttl=60 fences ...      what is not named is as in usual_acquire()
 *     adopt ttl=60 ...               a token that another client holds
 *     attempt lease=1000 place=6 awaited=2
 *     yes|no|error|lost 0:9 1<7      votes of nodes: node 0 with the counter 9, node 1 with a key
 *                                    that was passed 7 ms ago; an error, or a lost connection;
 *                                    round=-1: of the round before; latency=9: the node's own, us
 *     ask 2                          a node has passed its key, and must be asked
 *     tick                           at the time that the lock named; "@5 tick": at that time
 *     turn place=5, turn pause; extend 60; changed 60; release; release token
 *     put_off since=0 now=300
 *     tell cancel abandon disown upgrade ready none permits notice
 *     try ...                        acquire and attempt, whose effects are not told
 *     hold ...                       try, all grant it after a millisecond, tell
 *     votes, token                   shows them; copied: as a lock has them that shared the hold
 *
 * The effects are the state, if it is another one; what the driver has to do, in the order of
 * struct rl_actions, with the round's kind and ttl; what ended, and how; and what has changed of
 * the lock's data.
 */
#include "core/lock.h"

#include <redlock/redlock.h>

#include "core/lock_state.h"
#include "core_names.h"
#include "marks.h"
#include "unit/stories.h"

#define START_NS (5000 * MS)
#define N_MAX 8u

struct world {
    struct rl_rules rules;
    struct rl_lock lock;
    struct rl_ballot ballots[N_MAX];
    struct rl_actions out;
    uint64_t now_ns;
    uint64_t random;
    uint64_t floor;
    uint64_t counter; /* of a vote that names none */
    uint32_t up, voters;
    uint32_t duplicates[N_MAX];
    bool lines;
};

static const char *const results[] = {"none",    "OK",       "HELD",     "NO_QUORUM",
                                      "EXPIRED", "DEADLINE", "CANCELED", "LOST",
                                      "UNKNOWN", "MAX_HOLD", "PERMITS",  "SILENT"};
static const char *const kinds[] = {"set", "raise", "extend", "upgrade", "release"};

static void moved(void *data) {
    struct world *w = data;
    w->lock.rules = &w->rules;
    w->lock.round.ballots = w->ballots;
}

static void init(struct world *w) {
    w->up = w->voters = rl_electors(&w->rules.electorate);
    rl_lock_init(&w->lock, &w->rules, w->ballots);
}

static void begin(void *data) {
    struct world *w = data;
    *w = (struct world){.rules = {.electorate = rl_electorate_of(3),
                                  .drift_ppm = 10000,
                                  .drift_ns = 2 * MS,
                                  .node_timeout_ns = 250 * MS,
                                  .lost_margin_ns = 2 * MS,
                                  .not_asked_reason = -57,
                                  .timeout_reason = -43,
                                  .duplicate_reason = -77},
                        .now_ns = START_NS,
                        .random = 33 * MS,
                        .floor = 3,
                        .counter = 7};
    init(w);
}

/* -- Effects -- */

static void tells_time(struct effects *effects, const char *name, uint64_t ns) {
    tells(effects, ", %s ", name);
    if (ns == RL_NEVER) {
        tells(effects, "never");
    } else if (ns == 0) {
        tells(effects, "none");
    } else {
        tells_ms(effects, ns - START_NS);
    }
}

static void tells_set(struct effects *effects, const char *name, uint32_t nodes) {
    if (nodes != 0) {
        tells(effects, ", %s ", name);
        tells_nodes(effects, nodes);
    }
}

static void tells_result(struct effects *effects, const char *name, enum rl_result result) {
    if (result != RL_RESULT_NONE) {
        tells(effects, ", %s %s", name, results[result]);
    }
}

static void tells_number(struct effects *effects, const char *name, uint64_t before, uint64_t now) {
    if (before != now) {
        tells(effects, ", %s %llu", name, (unsigned long long)now);
    }
}

static void tells_actions(struct effects *effects, const struct world *w) {
    const struct rl_actions *out = &w->out;
    tells_set(effects, "release", out->release);
    tells_set(effects, "owe", out->owe);
    tells_set(effects, "may_have", out->may_have);
    if (out->send != 0) {
        tells_set(effects, kinds[w->lock.round.kind], out->send);
        tells(effects, " for %u", (unsigned)w->lock.ttl_ms);
    }
    tells_set(effects, "repair", out->repair);
    tells_set(effects, "plant", out->plant);
    tells(effects, "%s%s%s", out->generate_token ? ", token" : "", out->tell ? ", tell" : "",
          out->late ? ", late" : "");
    tells_result(effects, "acquired", out->acquired);
    tells_result(effects, "extended", out->extended);
    tells_result(effects, "renewed", out->renewed);
    tells_result(effects, "released", out->released);
    tells_result(effects, "lost", out->lost);
}

/* During an extension, this memory holds the reader's fence. */
static uint64_t place_of(const struct rl_lock *lock) {
    return lock->state == RL_EXTENDING ? 0 : lock->place;
}

static void tells_data(struct effects *effects, const struct rl_lock *before,
                       const struct rl_lock *now) {
    if (before->may_hold != now->may_hold) {
        tells(effects, ", may_hold ");
        tells_nodes(effects, now->may_hold);
    }
    if (before->valid_until_ns != now->valid_until_ns) {
        tells_time(effects, "until", now->valid_until_ns);
    }
    if (rl_lock_lost_ns(before) != rl_lock_lost_ns(now)) {
        tells_time(effects, "lost_at", rl_lock_lost_ns(now));
    }
    if (rl_lock_wake_ns(before) != rl_lock_wake_ns(now)) {
        tells_time(effects, "wake", rl_lock_wake_ns(now));
    }
    tells_number(effects, "fence", rl_lock_fence(before), rl_lock_fence(now));
    tells_number(effects, "floor", before->fence.floor, now->fence.floor);
    tells_number(effects, "life", before->life_ms, now->life_ms);
    tells_number(effects, "place", place_of(before), place_of(now));
    tells_number(effects, "leased", before->is_leased, now->is_leased);
    tells_number(effects, "renews", before->renews, now->renews);
    tells_number(effects, "silent", before->is_silent, now->is_silent);
    tells_number(effects, "tries", before->acquire.tries, now->acquire.tries);
    if (before->acquire.attempt != now->acquire.attempt) {
        tells(effects, ", attempt %s", results[now->acquire.attempt]);
    }
}

/* The views of a lock follow from its state. */
static void check_views(const struct world *w) {
    const struct rl_lock *lock = &w->lock;
    const uint32_t has_token = IS_HOLDING | IN(RL_TRYING) | IN(RL_FENCING) | IN(RL_GRANTED);
    const bool holds = lock_is(lock, IS_HOLDING);
    assert_int_equal(rl_lock_is_holding(lock), holds);
    assert_int_equal(rl_lock_is_valid(lock, lock->now_ns), holds);
    assert_true(!holds || rl_lock_is_valid(lock, lock->valid_until_ns - 1));
    assert_false(rl_lock_is_valid(lock, lock->valid_until_ns));
    assert_int_equal(rl_lock_is_acquiring(lock), lock_is(lock, IS_ACQUIRING));
    assert_int_equal(rl_lock_is_in_line(lock), lock_is(lock, IS_ACQUIRING | IS_HOLDING));
    assert_int_equal(rl_lock_has_token(lock, lock->token), lock_is(lock, has_token));
    assert_false(rl_lock_has_token(lock, "cccccccccccccccccccccccccccccccccccccccc"));
}

static void step(struct world *w, struct rl_event event, struct effects *effects) {
    static const int16_t reasons[N_MAX] = {-40, -41, -42, -44, -45, -46, -47, -48};
    const struct rl_lock before = w->lock;
    struct effects all = {""};
    event.now_ns = w->now_ns;
    event.random = w->random;
    event.up = w->up;
    event.voters = w->up & w->voters;
    event.reasons = reasons;
    event.duplicates = w->duplicates;
    event.lines = w->lines;
    rl_lock_step(&w->lock, &event, &w->out);
    assert_true(event.type != RL_EV_TICK || rl_lock_wake_ns(&w->lock) > w->now_ns);
    check_views(w);
    tells_actions(&all, w);
    tells_data(&all, &before, &w->lock);
    if (before.state != w->lock.state || all.text[0] != '\0') {
        const bool is_other = before.state != w->lock.state;
        tells(effects, "%s%s%s\n", is_other ? lock_state_name(w->lock.state) : "",
              is_other && all.text[0] != '\0' ? ": " : "", all.text[0] != '\0' ? all.text + 2 : "");
    }
}

/* -- Events -- */

static struct rl_acquire usual_acquire(const struct words *words) {
    return (struct rl_acquire){
        .ttl_ms = (uint32_t)number_of(words, "ttl", 10000),
        .tries = (uint32_t)number_of(words, "tries", 2), /* max: no limit */
        .wait_ms = (uint32_t)number_of(words, "wait", 1000),
        .delay_ms = (uint32_t)number_of(words, "delay", 50),
        .jitter_ms = (uint32_t)number_of(words, "jitter", 100),
        .min_validity_ms = (uint32_t)number_of(words, "min", 1),
        .renew_ms = (uint32_t)number_of(words, "renew", 0),
        .max_hold_ms = (uint32_t)number_of(words, "max_hold", 0),
        .max_silence_ms = (uint32_t)number_of(words, "silence", 0),
        .waits = has_word(words, "waits"),
        .fences = has_word(words, "fences"),
    };
}

static void change_event(struct world *w, const struct words *words) {
    w->rules.electorate.sides[0] = nodes_of(word_of(words, "old"));
    w->rules.electorate.sides[1] = nodes_of(word_of(words, "new"));
    w->up = w->voters = rl_electors(&w->rules.electorate);
}

static void with_event(struct world *w, const struct words *words) {
    struct rl_rules *rules = &w->rules;
    const struct rl_rules before = *rules;
    if (word_of(words, "n")) {
        rules->electorate = rl_electorate_of((uint32_t)number_of(words, "n", 0));
    }
    rules->node_timeout_ns = number_of(words, "timeout", rules->node_timeout_ns / MS) * MS;
    rules->lost_margin_ns = number_of(words, "margin", rules->lost_margin_ns / MS) * MS;
    if (memcmp(&before, rules, sizeof before) != 0) {
        init(w);
    }
    w->random = word_of(words, "random") ? ns_of(word_of(words, "random")) : w->random;
    w->floor = number_of(words, "floor", w->floor);
    w->counter = number_of(words, "counter", w->counter);
    w->up = word_of(words, "up") ? nodes_of(word_of(words, "up")) : w->up;
    w->voters = word_of(words, "voters") ? nodes_of(word_of(words, "voters")) : w->voters;
    w->lines = number_of(words, "lines", w->lines) != 0;
    if (has_word(words, "twins")) { /* nodes 0 and 1 are one server */
        w->duplicates[0] = 2;
        w->duplicates[1] = 1;
    }
}

static struct rl_event attempt_of(struct world *w, const struct words *words) {
    static char token[RL_TOKEN_LEN + 1];
    snprintf(token, sizeof token, "%040x", (unsigned)(w->lock.round.id + 1));
    const char *since = word_of(words, "since"), *awaited = word_of(words, "awaited");
    return (struct rl_event){.type = RL_EV_ATTEMPT,
                             .floor = w->floor,
                             .place = number_of(words, "place", 0),
                             .lease_ms = (uint32_t)number_of(words, "lease", 0),
                             .awaited = awaited != NULL ? nodes_of(awaited) : 0,
                             .since_ns = since != NULL ? START_NS + ns_of(since) : 0,
                             .u.token = token};
}

static void vote(struct world *w, const char *how, const char *who, uint32_t round,
                 uint32_t latency_us, struct effects *effects) {
    struct rl_event event = {.type = RL_EV_VOTE};
    const char *counter = strchr(who, ':'), *passed = strchr(who, '<');
    event.u.vote.round = round;
    event.u.vote.node = (uint32_t)(who[0] - '0');
    event.u.vote.latency_us = latency_us;
    event.u.vote.may_have_run = strcmp(how, "lost") == 0;
    event.u.vote.vote = strcmp(how, "yes") == 0   ? RL_VOTE_GRANTED
                        : strcmp(how, "no") == 0  ? RL_VOTE_REFUSED
                        : strcmp(how, "ask") == 0 ? RL_VOTE_NONE
                                                  : RL_VOTE_FAILED;
    if (event.u.vote.vote == RL_VOTE_FAILED) {
        event.u.vote.reason = -56;
    } else if (event.u.vote.vote == RL_VOTE_GRANTED) {
        event.u.vote.counter = counter != NULL ? strtoull(counter + 1, NULL, 10) : w->counter;
        event.u.vote.start_ns = passed != NULL ? w->now_ns - ns_of(passed + 1) : 0;
    }
    step(w, event, effects);
}

static void vote_event(struct world *w, const struct words *words, struct effects *effects) {
    const char *round = word_of(words, "round");
    const uint32_t id = w->lock.round.id + (uint32_t)(round != NULL ? strtol(round, NULL, 10) : 0);
    const uint32_t latency_us = (uint32_t)number_of(words, "latency", 0);
    for (size_t i = 1; i < words->count; i++) {
        if (words->word[i][0] >= '0' && words->word[i][0] <= '9') {
            vote(w, words->word[0], words->word[i], id, latency_us, effects);
        }
    }
}

/* Events without arguments have the names of the library. */
static struct rl_event event_of(struct world *w, const struct words *words) {
    static const char other[] = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
    const char *name = words->word[0];
    struct rl_event event = {.type = RL_EVENT_TYPES};
    for (uint32_t type = 0; type < RL_EVENT_TYPES; type++) {
        if (strcmp(name, event_name(type)) == 0) {
            event.type = (enum rl_event_type)type;
        }
    }
    assert_true(event.type != RL_EVENT_TYPES);
    if (event.type == RL_EV_ATTEMPT) {
        return attempt_of(w, words);
    } else if (event.type == RL_EV_ACQUIRE) {
        event.u.acquire = usual_acquire(words);
    } else if (event.type == RL_EV_ADOPT) {
        event.u.adopt = (struct rl_adopt){usual_acquire(words), other};
    } else if (event.type == RL_EV_EXTEND || event.type == RL_EV_CHANGED) {
        event.u.ttl_ms = words->count > 1 ? (uint32_t)strtoul(words->word[1], NULL, 10) : 0;
    } else if (event.type == RL_EV_TURN) {
        event.u.pause = has_word(words, "pause");
        event.place = number_of(words, "place", 0);
    } else if (event.type == RL_EV_RELEASE) {
        event.u.token = has_word(words, "token") ? other : NULL;
    } else if (event.type == RL_EV_UPGRADE) {
        event.floor = w->floor;
    }
    return event;
}

static void try_event(struct world *w, const struct words *words) {
    struct effects ignored = {""};
    step(w, (struct rl_event){.type = RL_EV_ACQUIRE, .u.acquire = usual_acquire(words)}, &ignored);
    step(w, attempt_of(w, words), &ignored);
}

static void hold_event(struct world *w, const struct words *words, struct effects *effects) {
    struct effects ignored = {""};
    try_event(w, words);
    w->now_ns += MS;
    for (uint32_t node = 0; rl_electors(&w->rules.electorate) >> node != 0; node++) {
        const char who[] = {(char)('0' + node), '\0'};
        vote(w, "yes", who, w->lock.round.id, 0, &ignored);
    }
    step(w, (struct rl_event){.type = RL_EV_TELL}, effects);
}

static void tells_votes(struct effects *effects, const struct rl_round *round) {
    static const char *const names[] = {"none", "pending", "yes", "no", "failed"};
    for (uint32_t node = 0; rl_electors(&round->electorate) >> node != 0; node++) {
        const struct rl_ballot *ballot = &round->ballots[node];
        tells(effects, "%s%s", node > 0 ? ", " : "", names[ballot->vote]);
        if (ballot->reason != 0) {
            tells(effects, " %d", ballot->reason);
        }
        if (ballot->latency_us != 0) {
            tells(effects, " in %u", (unsigned)ballot->latency_us);
        }
    }
}

static void copied_event(const struct world *w, struct effects *effects) {
    struct rl_lock other;
    struct rl_ballot ballots[N_MAX];
    rl_lock_init(&other, &w->rules, ballots);
    rl_lock_copy_past(&other, &w->lock);
    tells(effects, "%s: %s: ", other.token, kinds[other.round.kind]);
    tells_votes(effects, &other.round);
}

static void put_off_event(struct world *w, const struct words *words, struct effects *effects) {
    const struct rl_lock before = w->lock;
    struct effects all = {""};
    rl_lock_put_off(&w->lock, START_NS + ns_of(word_of(words, "since")),
                    START_NS + ns_of(word_of(words, "now")));
    tells_data(&all, &before, &w->lock);
    tells(effects, "%s", all.text[0] != '\0' ? all.text + 2 : "");
}

/* -- The stories -- */

static bool is_vote(const char *name) {
    static const char *const names[] = {"yes", "no", "error", "lost", "ask"};
    bool is = false;
    for (size_t i = 0; i < COUNT(names); i++) {
        is = is || strcmp(name, names[i]) == 0;
    }
    return is;
}

static void event(void *world, const struct words *all, struct effects *effects) {
    struct world *w = world;
    struct words words = *all;
    const bool is_timed = words.word[0][0] == '@';
    if (is_timed) {
        w->now_ns = START_NS + ns_of(words.word[0] + 1);
        drop_word(&words);
    }
    const char *name = words.word[0];
    if (strcmp(name, "with") == 0) {
        with_event(w, &words);
    } else if (strcmp(name, "try") == 0) {
        try_event(w, &words);
    } else if (strcmp(name, "change") == 0) {
        change_event(w, &words);
    } else if (strcmp(name, "hold") == 0) {
        hold_event(w, &words, effects);
    } else if (strcmp(name, "votes") == 0) {
        tells_votes(effects, &w->lock.round);
    } else if (strcmp(name, "copied") == 0) {
        copied_event(w, effects);
    } else if (strcmp(name, "token") == 0) {
        tells(effects, "%s", w->lock.token);
    } else if (strcmp(name, "put_off") == 0) {
        put_off_event(w, &words, effects);
    } else if (is_vote(name)) {
        vote_event(w, &words, effects);
    } else {
        const bool is_due = strcmp(name, "tick") == 0 && !is_timed;
        w->now_ns = is_due ? rl_lock_wake_ns(&w->lock) : w->now_ns;
        step(w, event_of(w, &words), effects);
    }
}

int main(int argc, char **argv) {
    static struct world world, marked;
    const struct teller teller = {.world = &world,
                                  .marked = &marked,
                                  .size = sizeof world,
                                  .begin = begin,
                                  .moved = moved,
                                  .event = event};
    MARK_FROM(FENCE_RAISED);
    MARK_FROM(GRANT_TOO_LATE);
    MARK_FROM(LATE_REPAIR);
    MARK_FROM(SILENCE_BROKEN);
    MARK_FROM(TWIN_NOT_COUNTED);
    MARK_FROM(UPGRADE_RAISED);
    MARK_FROM(YES_NOT_COUNTED);
    const int status = tell(argc, argv, &teller);
    if (status == 0 && book.count > 0) {
        MARK_TO(FENCE_RAISED);
        MARK_TO(GRANT_TOO_LATE);
        MARK_TO(LATE_REPAIR);
        MARK_TO(SILENCE_BROKEN);
        MARK_TO(TWIN_NOT_COUNTED);
        MARK_TO(UPGRADE_RAISED);
        MARK_TO(YES_NOT_COUNTED);
    }
    return status;
}
