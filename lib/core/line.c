/* See line.h. Each event has a handler; line_settle() decides which node is home, and leaves the
 * old one. */
#include "core/line.h"

#include <assert.h>

#include "core/home.h"

#define IN(state) (1u << (state))

/* When a place tries without a turn: its questions about a key that others hold are counted, with
 * weights. For the heir, which asks often, a key that ends so soon that it may be reserved, for a
 * client that has its turn and pauses, weighs little; but not nothing, since home's clock may have
 * stopped. */
#define RESERVED_MS_MAX (RL_LINE_PAUSE_NS_MAX / RL_NS_PER_MS + RL_LINE_GRACE_MS)
#define WEIGHT_FULL 4
#define PROBES_FROM (3 * WEIGHT_FULL)
#define PROBES_AGAIN (2 * WEIGHT_FULL)
#define PROBES_BEHIND (4 * WEIGHT_FULL) /* for a place that is not near the first */

static bool line_is(const struct rl_line *line, uint32_t set) {
    assert(line->state < RL_LINE_STATES);
    return (IN(line->state) & set) != 0;
}

static void line_invariant(const struct rl_line *line) {
    bool waits = !line_is(line, IN(RL_LINE_OUT) | IN(RL_LINE_TURN) | IN(RL_LINE_TAKING));
    assert(waits == (line->ask_ns != RL_NEVER));
    assert((line->state == RL_LINE_OUT) == (line->place == 0));
    assert(line->stands ||
           line_is(line, IN(RL_LINE_OUT) | IN(RL_LINE_LISTENING) | IN(RL_LINE_PAUSING)));
    assert(!line->probes || line_is(line, IN(RL_LINE_TURN) | IN(RL_LINE_TAKING)));
    assert(!line->turned || line->probes);
    (void)waits;
}

/* What every driver may rely on. */
static void line_check_actions(const struct rl_line *line, const struct rl_line_event *event,
                               const struct rl_line_actions *out) {
    assert(!out->join || line->state == (out->quiet ? RL_LINE_PAUSING : RL_LINE_JOINING));
    assert(!out->join || line->place != 0);
    assert(!out->join || (event->heard >> line->home & 1)); /* or nobody would hear of its turn */
    assert(!out->leave || (out->leave_place != 0 && out->leave_home < RL_NODES_MAX));
    assert(!out->turn || line->state == RL_LINE_TURN);
    assert(!out->alone || line->state == RL_LINE_OUT);
    (void)line; /* without assertions */
    (void)event;
    (void)out;
}

static void line_move(struct rl_line *line, enum rl_line_state state, uint64_t ask_ns) {
    line->state = (uint8_t)state;
    line->ask_ns = ask_ns;
}

/* Home has either the place in its line, or the token in its key. Once the nodes were asked with
 * the token, its release must end the key, and LEAVE must not. */
static void line_leave(struct rl_line *line, struct rl_line_actions *out) {
    if (line->stands && !(line->used && line->given)) {
        assert(!out->leave);
        out->leave = true;
        out->leave_home = line->home;
        out->leave_place = line->place;
        out->leave_line = line->used;
    }
    line->stands = line->is_heir = line->probes = line->turned = line->given = line->used = false;
    line->pause_ns = 0;
    out->join = out->quiet = false; /* a place that is left does not join in the same step */
}

static void line_end(struct rl_line *line) {
    assert(!line->stands);
    line_move(line, RL_LINE_OUT, RL_NEVER);
    line->place = 0;
    line->backoff_ns = 0;
}

static void line_join(struct rl_line *line, const struct rl_line_event *event,
                      struct rl_line_actions *out) {
    assert(event->heard >> line->home & 1);
    line_move(line, RL_LINE_JOINING, event->now_ns + event->timeout_ns);
    line->stands = true;
    out->join = true;
    out->quiet = false;
}

static void line_turn(struct rl_line *line, struct rl_line_actions *out, bool probes) {
    assert(line->stands);
    line_move(line, RL_LINE_TURN, RL_NEVER);
    line->probes = probes;
    out->turn = true;
}

/* Joins, or waits until the client is heard at home. */
static void line_begin(struct rl_line *line, const struct rl_line_event *event,
                       struct rl_line_actions *out) {
    if (event->heard >> line->home & 1) {
        line_join(line, event, out);
    } else {
        line_move(line, RL_LINE_LISTENING, event->now_ns + event->timeout_ns);
    }
}

/* Puts the place at the first node that may be home. Not in the middle of a turn, which ends soon
 * in any case. */
static void line_settle(struct rl_line *line, const struct rl_line_event *event,
                        struct rl_line_actions *out) {
    line->avoid &= event->homes; /* a reconnected node may be home again */
    const rl_mask homes = event->homes & ~line->avoid;
    if (line_is(line, IN(RL_LINE_OUT) | IN(RL_LINE_TURN) | IN(RL_LINE_TAKING))) {
        return;
    }
    if (homes == 0) {
        line_leave(line, out);
        line_end(line);
        out->alone = true;
        return;
    }
    uint32_t home = rl_home_node(event->resource, event->node_hashes, homes);
    bool is_heard = event->heard >> home & 1;
    if (home != line->home) {
        line_leave(line, out);
        line->home = (uint8_t)home;
        line->place = event->new_place;
        line_begin(line, event, out);
    } else if (line->state == RL_LINE_LISTENING && is_heard) {
        line_join(line, event, out); /* again, if it stood: a turn may have been missed */
    } else if (line->state != RL_LINE_LISTENING && !is_heard) {
        line_move(line, RL_LINE_LISTENING, event->now_ns + event->timeout_ns);
    }
}

static void line_avoid_home(struct rl_line *line, const struct rl_line_event *event,
                            struct rl_line_actions *out, bool is_silent) {
    const rl_mask bit = rl_bit(line->home);
    if (event->now_ns >= line->avoid_until_ns + event->timeout_ns) {
        line->firm = 0; /* a node that was asked since then has had its own time to answer */
    }
    line->firm |= is_silent ? 0 : bit;
    line->avoid |= bit;
    line->avoid_until_ns = event->now_ns + RL_LINE_AVOID_NS;
    line_settle(line, event, out);
}

/* -- Events -- */

static void on_want(struct rl_line *line, const struct rl_line_event *event,
                    struct rl_line_actions *out) {
    if (line->state != RL_LINE_OUT) {
        return; /* the place already stands, for an earlier lock */
    }
    assert(!line->stands);
    assert(event->new_place != 0);
    if (event->now_ns >= line->avoid_until_ns) {
        line->avoid = 0; /* a line that is out has no tick */
    }
    line->since_ns = event->u.since_ns;
    line->asks = line->asks_behind = 0;
    line->backoff_ns = 0;
    line->home = RL_LINE_NO_HOME;
    line->place = event->new_place;
    line_move(line, RL_LINE_LISTENING, event->now_ns + event->timeout_ns);
    line_settle(line, event, out);
}

/* Clients ahead of it may still be in line: this client's next acquire must not overtake them. */
static void on_unwant(struct rl_line *line, const struct rl_line_event *event,
                      struct rl_line_actions *out) {
    if (line->state != RL_LINE_OUT) {
        rl_line_note_own(line, event->now_ns);
    }
    line_leave(line, out);
    line_end(line);
}

/* The pause before the next question, as the heir or not. */
static uint64_t next_pause_ns(struct rl_line *line, uint64_t idle_ns, uint64_t life_ms) {
    if (!line->is_heir) {
        return idle_ns < RL_LINE_IDLE_NS_MAX ? idle_ns : RL_LINE_IDLE_NS_MAX;
    }
    line->pause_ns = line->pause_ns == 0 ? RL_LINE_GRACE_NS : line->pause_ns / 2 * 3;
    if (line->pause_ns > RL_LINE_ASK_NS_MAX) {
        line->pause_ns = RL_LINE_ASK_NS_MAX;
    }
    bool ends_sooner = life_ms > 0 && life_ms < line->pause_ns / RL_NS_PER_MS;
    return ends_sooner ? (life_ms + 1) * RL_NS_PER_MS : line->pause_ns;
}

static void on_no(struct rl_line *line, const struct rl_line_event *event,
                  struct rl_line_actions *out) {
    const struct rl_line_answer_in *in = &event->u.answer;
    assert(line->stands); /* or home would have had no question */
    line->is_heir = line->is_heir || in->rank == 0;
    line_move(line, RL_LINE_WAITING,
              event->now_ns + next_pause_ns(line, event->idle_ns, in->life_ms));
    const bool is_near = line->is_heir || in->rank <= 1;
    const bool is_soon = line->is_heir && in->life_ms <= RESERVED_MS_MAX;
    const uint32_t weight = in->life_ms == 0 ? 0 : is_soon ? 1 : WEIGHT_FULL;
    uint32_t *asks = is_near ? &line->asks : &line->asks_behind;
    *asks += weight;
    if (weight > 0 && *asks >= (is_near ? PROBES_FROM : PROBES_BEHIND)) {
        *asks -= is_near ? PROBES_AGAIN : PROBES_BEHIND;
        line_turn(line, out, true);
    }
}

static void line_given(struct rl_line *line, struct rl_line_actions *out) {
    if (!line_is(line, IN(RL_LINE_TURN) | IN(RL_LINE_TAKING))) {
        line_turn(line, out, false);
    } else {
        line->turned = line->probes;
    }
}

static void on_answer(struct rl_line *line, const struct rl_line_event *event,
                      struct rl_line_actions *out) {
    const struct rl_line_answer_in *in = &event->u.answer;
    if (in->place != line->place) {
        return; /* the place was left */
    }
    if (in->said == RL_LINE_SAID_YES) {
        line->given = true;
        line_given(line, out);
    } else if (line->state == RL_LINE_JOINING && in->said == RL_LINE_SAID_NO) {
        on_no(line, event, out);
    } else if (line->state == RL_LINE_JOINING) {
        line_avoid_home(line, event, out, false);
    }
}

static void on_turn(struct rl_line *line, const struct rl_line_event *event,
                    struct rl_line_actions *out) {
    if (event->u.place != line->place || !line->stands) {
        return; /* a LEAVE is on its way */
    }
    line->given = line->given || event->type == RL_LINE_EV_TURN;
    line_given(line, out);
}

/* It does not try without a turn yet: the client ahead has just been given its turn. */
static void on_heir(struct rl_line *line, const struct rl_line_event *event) {
    if (event->u.place != line->place || !line->stands) {
        return;
    }
    line->is_heir = true;
    line->pause_ns = RL_LINE_GRACE_NS;
    if (line->state == RL_LINE_WAITING) {
        line->ask_ns = event->now_ns + RL_LINE_GRACE_NS;
    }
}

static void on_tick(struct rl_line *line, const struct rl_line_event *event,
                    struct rl_line_actions *out) {
    if (line->avoid != 0 && event->now_ns >= line->avoid_until_ns) {
        line->avoid = 0;
        line_settle(line, event, out);
    }
    if (event->now_ns < line->ask_ns || line->state == RL_LINE_OUT || out->join) {
        return;
    }
    if (line_is(line, IN(RL_LINE_WAITING) | IN(RL_LINE_PAUSING))) {
        line_begin(line, event, out);
    } else if (!out->leave) { /* else it has just moved to another home */
        line_avoid_home(line, event, out, true);
    }
}

static uint64_t next_backoff_ns(const struct rl_line *line) {
    uint64_t backoff_ns = line->backoff_ns == 0 ? RL_LINE_PAUSE_NS_MIN : 2 * line->backoff_ns;
    return backoff_ns < RL_LINE_PAUSE_NS_MAX ? backoff_ns : RL_LINE_PAUSE_NS_MAX;
}

/* The token is released, and never used again. A new place joins at once, so that nobody overtakes,
 * and asks when the pause is over. If the lock wants other resources as well, its place stands
 * nowhere until then: otherwise the first waiters of two lines, both wanting both, would get their
 * turns again and again. */
static void line_again(struct rl_line *line, const struct rl_line_event *event,
                       struct rl_line_actions *out) {
    const uint64_t life_ms = event->u.life_ms;
    line->backoff_ns = next_backoff_ns(line);
    uint64_t pause_ns = line->backoff_ns / 2 + event->random % (line->backoff_ns / 2 + 1);
    if (life_ms > 0 && life_ms < pause_ns / RL_NS_PER_MS) {
        pause_ns = (life_ms + 1) * RL_NS_PER_MS;
    }
    line_leave(line, out);
    line->place = event->new_place;
    line_move(line, RL_LINE_PAUSING, event->now_ns + pause_ns);
    line_settle(line, event, out);
    if (line->state == RL_LINE_PAUSING && event->is_of_one) { /* home is the same, and heard */
        line->stands = out->join = out->quiet = true;
    }
}

static void on_refused(struct rl_line *line, const struct rl_line_event *event,
                       struct rl_line_actions *out) {
    assert(line->state == RL_LINE_TAKING);
    if (!line->probes) {
        line_again(line, event, out);
    } else if (line->turned) { /* it has been given its turn meanwhile */
        line->turned = false;
        line_turn(line, out, false);
    } else {
        line->probes = false;
        line_move(line, RL_LINE_WAITING,
                  event->now_ns + (line->pause_ns > 0 ? line->pause_ns : RL_LINE_GRACE_NS));
        line_settle(line, event, out);
    }
}

static void on_won(struct rl_line *line, struct rl_line_actions *out) {
    assert(line->state == RL_LINE_TAKING);
    line_leave(line, out);
    line_end(line);
}

void rl_line_step(struct rl_line *line, const struct rl_line_event *event,
                  struct rl_line_actions *out) {
    assert(event->type < RL_LINE_EVENT_TYPES);
    *out = (struct rl_line_actions){0};
    if (line->state == RL_LINE_OUT) {
        line->ask_ns = RL_NEVER; /* it is 0 at first */
    }
    switch (event->type) {
        case RL_LINE_EV_WANT:
            on_want(line, event, out);
            break;
        case RL_LINE_EV_UNWANT:
            on_unwant(line, event, out);
            break;
        case RL_LINE_EV_NODES:
            line_settle(line, event, out);
            break;
        case RL_LINE_EV_ANSWER:
            on_answer(line, event, out);
            break;
        case RL_LINE_EV_TURN:
        case RL_LINE_EV_PASS:
            on_turn(line, event, out);
            break;
        case RL_LINE_EV_HEIR:
            on_heir(line, event);
            break;
        case RL_LINE_EV_TICK:
            on_tick(line, event, out);
            break;
        case RL_LINE_EV_TAKE:
            assert(line->state == RL_LINE_TURN);
            line->state = RL_LINE_TAKING;
            line->used = !line->probes;
            break;
        case RL_LINE_EV_WON:
            on_won(line, out);
            break;
        case RL_LINE_EV_REFUSED:
            on_refused(line, event, out);
            break;
        case RL_LINE_EVENT_TYPES:
            break;
    }
    line_check_actions(line, event, out);
    line_invariant(line);
}

bool rl_line_trust(struct rl_line *line, uint32_t node) {
    const rl_mask bit = rl_bit(node);
    assert(node < RL_NODES_MAX);
    if ((line->avoid & ~line->firm & bit) == 0) {
        return false;
    }
    line->avoid &= ~bit;
    line->firm |= bit; /* in case it is avoided again by then */
    return true;
}

uint64_t rl_line_wake_ns(const struct rl_line *line) {
    if (line->state == RL_LINE_OUT) {
        return RL_NEVER;
    }
    bool avoids = line->avoid != 0 && line->avoid_until_ns < line->ask_ns;
    return avoids ? line->avoid_until_ns : line->ask_ns;
}

void rl_line_use(struct rl_line *line, bool given) {
    assert(line->state != RL_LINE_OUT && line->stands);
    line->used = true;
    line->given = line->given || given;
}

/* -- What is known of others -- */

void rl_line_note(struct rl_line *line, bool others_wait, uint64_t now_ns) {
    line->busy_until_ns = others_wait ? now_ns + RL_LINE_BUSY_NS : 0;
    line->likely_until_ns = line->busy_until_ns;
    line->others = others_wait;
}

void rl_line_note_own(struct rl_line *line, uint64_t now_ns) {
    const uint64_t until_ns = now_ns + RL_LINE_BUSY_NS;
    line->likely_until_ns = until_ns > line->busy_until_ns ? until_ns : line->busy_until_ns;
    assert(rl_line_is_likely_busy(line, now_ns));
}

bool rl_line_is_likely_busy(const struct rl_line *line, uint64_t now_ns) {
    assert(line->busy_until_ns <= line->likely_until_ns);
    return now_ns < line->likely_until_ns;
}

bool rl_line_was_busy(const struct rl_line *line) {
    return line->others;
}

bool rl_line_has_signs(const struct rl_line *line) {
    return line->likely_until_ns != 0;
}

bool rl_line_is_busy(const struct rl_line *line, uint64_t now_ns) {
    return now_ns < line->busy_until_ns;
}
