/* A place in line under test, and a ledger of what home would know of it.
 *
 * scene_step() feeds one event and checks what must hold after any event in any state:
 *   - JOIN goes to a node only where the client is heard, and never of a place that has been left;
 *   - a place that may stand at home is the one that is waited with, and when the line is out there
 *     is none: each has been left, or home has taken it out for a turn that was used;
 *   - LEAVE names a place that may stand, and where it does; it comes once; of one that the nodes
 *     were asked with it leaves the key alone;
 *   - the nodes are asked once with each place;
 *   - whoever waits has a deadline, and a tick that was due leaves nothing due;
 *   - the number of a place was never used before. */
#ifndef UNIT_LINE_SCENE_H
#define UNIT_LINE_SCENE_H

#include "core/home.h"
#include "core/line.h"
#include "unit/check.h"

#define START_NS (7000 * MS)
#define TIMEOUT_NS (50 * MS)
#define IDLE_NS (30000 * MS)
#define RESOURCE UINT64_C(0x5eed)
#define NODES 3u
#define ALL_NODES 7u
#define STRANGER UINT64_C(987654321) /* a place that is not ours */

enum {
    DID_NOTHING = 0,
    DID_JOIN = 1,
    DID_LEAVE = 2,
    DID_TURN = 4,
    DID_ALONE = 8,
    DID_QUIET = 16,     /* a JOIN that takes nothing */
    DID_LEAVE_LINE = 32 /* a LEAVE that leaves the key alone */
};

struct scene {
    struct rl_line line;
    struct rl_line_actions out;
    uint64_t hashes[NODES];
    uint64_t now_ns;
    uint64_t places; /* so many were used */
    uint64_t random;
    uint64_t idle_ns;
    uint32_t homes, heard;
    uint64_t standing; /* a place that may stand, 0: none */
    uint32_t standing_at;
    bool is_given;         /* home has taken it out, and written it into the key */
    bool is_used;          /* the nodes were asked with it */
    bool is_of_many;       /* the waiter wants other resources as well */
    uint32_t order[NODES]; /* the nodes, as they are home one after the other */
};

static inline void scene_start(struct scene *s) {
    *s = (struct scene){.now_ns = START_NS,
                        .idle_ns = IDLE_NS,
                        .homes = ALL_NODES,
                        .heard = ALL_NODES,
                        .hashes = {11, 22, 33}};
    uint32_t left = ALL_NODES;
    for (uint32_t i = 0; i < NODES; i++) {
        s->order[i] = rl_home_node(RESOURCE, s->hashes, left);
        left &= ~(UINT32_C(1) << s->order[i]);
    }
}

static inline uint32_t scene_bit(const struct scene *s, uint32_t rank) {
    return UINT32_C(1) << s->order[rank];
}

static inline uint32_t scene_did(const struct scene *s) {
    const uint32_t join = s->out.quiet ? DID_QUIET : DID_JOIN;
    const uint32_t leave = s->out.leave_line ? DID_LEAVE_LINE : DID_LEAVE;
    return (s->out.join ? join : 0) | (s->out.leave ? leave : 0) | (s->out.turn ? DID_TURN : 0) |
           (s->out.alone ? DID_ALONE : 0);
}

/* What home and the nodes know of the place. */
static inline void scene_note(struct scene *s, const struct rl_line *before,
                              const struct rl_line_event *event) {
    const bool is_answer = event->type == RL_LINE_EV_ANSWER;
    const bool is_turn =
        event->type == RL_LINE_EV_TURN || (is_answer && event->u.answer.said == RL_LINE_SAID_YES);
    const uint64_t place = is_answer ? event->u.answer.place : event->u.place;
    if (is_turn && s->standing != 0 && place == s->standing) {
        s->is_given = true;
    } else if (event->type == RL_LINE_EV_TAKE && !before->probes) {
        assert_false(s->is_used);
        s->is_used = true;
    }
}

static inline void scene_check_leave(struct scene *s) {
    const bool is_left = s->standing != s->line.place && s->standing != 0;
    const bool has_to = is_left && !(s->is_given && s->is_used);
    assert_int_equal(s->out.leave, has_to);
    if (has_to) {
        assert_true(s->out.leave_place == s->standing);
        assert_int_equal(s->out.leave_home, s->standing_at);
        assert_int_equal(s->out.leave_line, s->is_used);
    }
    if (is_left) {
        s->standing = 0;
        s->is_given = s->is_used = false;
    }
}

static inline void scene_check(struct scene *s, const struct rl_line *before,
                               const struct rl_line_event *event) {
    const struct rl_line *line = &s->line;
    scene_note(s, before, event);
    scene_check_leave(s);
    if (line->place == event->new_place) {
        s->places++;
    } else {
        assert_true(line->place == 0 || line->place == before->place);
    }
    if (s->out.join) {
        assert_true(s->heard >> line->home & 1);
        assert_true(line->place != 0);
        assert_int_equal(line->state, s->out.quiet ? RL_LINE_PAUSING : RL_LINE_JOINING);
        assert_true(s->standing == 0 || s->standing == line->place);
        s->standing = line->place;
        s->standing_at = line->home;
    }
    assert_true(s->standing == 0 || (s->standing == line->place && s->standing_at == line->home));
    assert_true(line->state != RL_LINE_OUT || s->standing == 0);
    assert_true(s->standing != 0 || line->state == RL_LINE_OUT ||
                line->state == RL_LINE_LISTENING ||
                (line->state == RL_LINE_PAUSING && s->is_of_many));
    assert_int_equal(s->out.turn, line->state == RL_LINE_TURN && before->state != RL_LINE_TURN);
    assert_true(!s->out.alone || line->state == RL_LINE_OUT);
    bool asks = line->state == RL_LINE_TURN || line->state == RL_LINE_TAKING;
    uint64_t wake_ns = rl_line_wake_ns(line);
    assert_true(line->state == RL_LINE_OUT ? wake_ns == RL_NEVER : asks || wake_ns != RL_NEVER);
    assert_true(event->type != RL_LINE_EV_TICK || wake_ns > s->now_ns);
}

static inline void scene_step(struct scene *s, struct rl_line_event event) {
    const struct rl_line before = s->line;
    event.now_ns = s->now_ns;
    event.new_place = s->places + 1;
    event.timeout_ns = TIMEOUT_NS;
    event.idle_ns = s->idle_ns;
    event.random = s->random;
    event.is_of_one = !s->is_of_many;
    event.resource = RESOURCE;
    event.node_hashes = s->hashes;
    event.homes = s->homes;
    event.heard = s->heard;
    rl_line_step(&s->line, &event, &s->out);
    scene_check(s, &before, &event);
}

/* Returns what was done, so that one line says an event and what comes of it. */
static inline uint32_t scene_feed(struct scene *s, enum rl_line_event_type type) {
    scene_step(s, (struct rl_line_event){.type = type});
    return scene_did(s);
}

static inline uint32_t scene_want(struct scene *s) {
    scene_step(s, (struct rl_line_event){.type = RL_LINE_EV_WANT, .u.since_ns = s->now_ns - 1});
    return scene_did(s);
}

static inline uint32_t scene_say(struct scene *s, enum rl_line_event_type type, uint64_t place) {
    scene_step(s, (struct rl_line_event){.type = type, .u.place = place});
    return scene_did(s);
}

static inline uint32_t scene_answer(struct scene *s, uint64_t place, enum rl_line_said said,
                                    uint32_t rank, uint64_t life_ms) {
    struct rl_line_event event = {.type = RL_LINE_EV_ANSWER};
    event.u.answer =
        (struct rl_line_answer_in){.place = place, .said = said, .rank = rank, .life_ms = life_ms};
    scene_step(s, event);
    return scene_did(s);
}

static inline uint32_t scene_no(struct scene *s, uint32_t rank, uint64_t life_ms) {
    return scene_answer(s, s->line.place, RL_LINE_SAID_NO, rank, life_ms);
}

static inline uint32_t scene_refuse(struct scene *s, uint64_t life_ms) {
    scene_step(s, (struct rl_line_event){.type = RL_LINE_EV_REFUSED, .u.life_ms = life_ms});
    return scene_did(s);
}

/* Time goes on to the next deadline. */
static inline uint32_t scene_wake(struct scene *s) {
    assert_true(rl_line_wake_ns(&s->line) != RL_NEVER);
    s->now_ns = rl_line_wake_ns(&s->line);
    return scene_feed(s, RL_LINE_EV_TICK);
}

/* Nodes change: which may be home, and which are heard. */
static inline uint32_t scene_nodes(struct scene *s, uint32_t homes, uint32_t heard) {
    s->homes = homes;
    s->heard = heard;
    return scene_feed(s, RL_LINE_EV_NODES);
}

/* -- The states, reached as they are in use -- */

static inline void scene_waiting(struct scene *s) {
    scene_start(s);
    assert_int_equal(scene_want(s), DID_JOIN);
    assert_int_equal(scene_no(s, 4, 5000), DID_NOTHING);
    assert_int_equal(s->line.state, RL_LINE_WAITING);
}

static inline void scene_turn(struct scene *s) {
    scene_waiting(s);
    assert_int_equal(scene_say(s, RL_LINE_EV_TURN, s->line.place), DID_TURN);
}

static inline void scene_taking(struct scene *s) {
    scene_turn(s);
    assert_int_equal(scene_feed(s, RL_LINE_EV_TAKE), DID_NOTHING);
    assert_int_equal(s->line.state, RL_LINE_TAKING);
}

/* Its keys were passed to it by another node: home has not said that it knows. */
static inline void scene_passed(struct scene *s) {
    scene_waiting(s);
    assert_int_equal(scene_say(s, RL_LINE_EV_PASS, s->line.place), DID_TURN);
    assert_int_equal(scene_feed(s, RL_LINE_EV_TAKE), DID_NOTHING);
}

/* It has asked three times, as heir, for a key that others hold. */
static inline void scene_probing(struct scene *s) {
    scene_waiting(s);
    assert_int_equal(scene_say(s, RL_LINE_EV_HEIR, s->line.place), DID_NOTHING);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(scene_wake(s), DID_JOIN);
        assert_int_equal(scene_no(s, 0, 60000), i < 2 ? DID_NOTHING : DID_TURN);
    }
    assert_int_equal(s->line.state, RL_LINE_TURN);
    assert_true(s->line.probes);
}

static inline void scene_probing_taking(struct scene *s) {
    scene_probing(s);
    assert_int_equal(scene_feed(s, RL_LINE_EV_TAKE), DID_NOTHING);
}

#endif
