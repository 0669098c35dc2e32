/* See place.h. Each event has a handler; place_settle() chooses the home node, and leaves the old
 * one. */
#include "core/place.h"

#include <assert.h>

#include "core/home.h"

#define IN(state) (1u << (state))

/* When a place probes: it counts, with weights, its JOINs that met a key of others. The heir asks
 * often, so a key that ends soon weighs little there: it may be reserved for a client that has its
 * turn and pauses. Its weight is not zero, since home's clock may have stopped. */
#define RESERVED_MS_MAX (RL_LINE_PAUSE_NS_MAX / RL_NS_PER_MS + RL_LINE_GRACE_MS)
#define WEIGHT_FULL 4
#define PROBES_FROM (3 * WEIGHT_FULL)
#define PROBES_AGAIN (2 * WEIGHT_FULL)
#define PROBES_BEHIND (4 * WEIGHT_FULL) /* for a place that is not near the front */

static bool place_is(const struct rl_place *place, uint32_t set) {
    assert(place->state < RL_PLACE_STATES);
    return (IN(place->state) & set) != 0;
}

static void place_invariant(const struct rl_place *place) {
    bool waits = !place_is(place, IN(RL_PLACE_OUT) | IN(RL_PLACE_TURN) | IN(RL_PLACE_TAKING));
    assert(waits == (place->ask_ns != RL_NEVER));
    assert((place->state == RL_PLACE_OUT) == (place->id == 0));
    assert(place->stands ||
           place_is(place, IN(RL_PLACE_OUT) | IN(RL_PLACE_LISTENING) | IN(RL_PLACE_PAUSING)));
    assert(!place->probes || place_is(place, IN(RL_PLACE_TURN) | IN(RL_PLACE_TAKING)));
    assert(!place->turned || place->probes);
    (void)waits;
}

/* What every driver may rely on. */
static void place_check_actions(const struct rl_place *place, const struct rl_place_event *event,
                                const struct rl_place_actions *out) {
    assert(!out->join || place->state == (out->quiet ? RL_PLACE_PAUSING : RL_PLACE_JOINING));
    assert(!out->join || place->id != 0);
    assert(!out->join || (event->heard >> place->home & 1)); /* else nobody hears its turn */
    assert(!out->leave || (out->leave_place != 0 && out->leave_home < RL_NODES_MAX));
    assert(!out->turn || place->state == RL_PLACE_TURN);
    assert(!out->alone || place->state == RL_PLACE_OUT);
    (void)place; /* without assertions */
    (void)event;
    (void)out;
}

static void place_move(struct rl_place *place, enum rl_place_state state, uint64_t ask_ns) {
    place->state = (uint8_t)state;
    place->ask_ns = ask_ns;
}

/* Home has either the place in its line or the token in its key. Once the nodes were asked with the
 * token, its release must end the key, not LEAVE. */
static void place_leave(struct rl_place *place, struct rl_place_actions *out) {
    if (place->stands && !(place->used && place->given)) {
        assert(!out->leave);
        out->leave = true;
        out->leave_home = place->home;
        out->leave_place = place->id;
        out->leave_line = place->used;
    }
    place->stands = place->is_heir = place->probes = place->turned = place->given = place->used =
        false;
    place->pause_ns = 0;
    out->join = out->quiet = false; /* a place that is left does not join in the same step */
}

static void place_end(struct rl_place *place) {
    assert(!place->stands);
    place_move(place, RL_PLACE_OUT, RL_NEVER);
    place->id = 0;
    place->backoff_ns = 0;
}

static void place_join(struct rl_place *place, const struct rl_place_event *event,
                       struct rl_place_actions *out) {
    assert(event->heard >> place->home & 1);
    place_move(place, RL_PLACE_JOINING, event->now_ns + event->timeout_ns);
    place->stands = true;
    out->join = true;
    out->quiet = false;
}

static void place_turn(struct rl_place *place, struct rl_place_actions *out, bool probes) {
    assert(place->stands);
    place_move(place, RL_PLACE_TURN, RL_NEVER);
    place->probes = probes;
    out->turn = true;
}

/* Joins, or waits until the client's channel is confirmed at home. */
static void place_begin(struct rl_place *place, const struct rl_place_event *event,
                        struct rl_place_actions *out) {
    if (event->heard >> place->home & 1) {
        place_join(place, event, out);
    } else {
        place_move(place, RL_PLACE_LISTENING, event->now_ns + event->timeout_ns);
    }
}

/* Moves the place to the first node that may be home. Not during a turn, which ends soon anyway. */
static void place_settle(struct rl_place *place, const struct rl_place_event *event,
                         struct rl_place_actions *out) {
    place->avoid &= event->homes; /* a reconnected node may be home again */
    const rl_mask homes = event->homes & ~place->avoid;
    if (place_is(place, IN(RL_PLACE_OUT) | IN(RL_PLACE_TURN) | IN(RL_PLACE_TAKING))) {
        return;
    }
    if (homes == 0) {
        place_leave(place, out);
        place_end(place);
        out->alone = true;
        return;
    }
    uint32_t home = rl_home_node(event->resource, event->node_hashes, homes);
    bool is_heard = event->heard >> home & 1;
    if (home != place->home) {
        place_leave(place, out);
        place->home = (uint8_t)home;
        place->id = event->new_place;
        place_begin(place, event, out);
    } else if (place->state == RL_PLACE_LISTENING && is_heard) {
        place_join(place, event, out); /* again, if it stood: it may have missed a turn */
    } else if (place->state != RL_PLACE_LISTENING && !is_heard) {
        place_move(place, RL_PLACE_LISTENING, event->now_ns + event->timeout_ns);
    }
}

static void place_avoid_home(struct rl_place *place, const struct rl_place_event *event,
                             struct rl_place_actions *out, bool is_silent) {
    const rl_mask bit = rl_bit(place->home);
    if (event->now_ns >= place->avoid_until_ns + event->timeout_ns) {
        place->firm = 0; /* nodes that were asked since then had enough time to answer */
    }
    place->firm |= is_silent ? 0 : bit;
    place->avoid |= bit;
    place->avoid_until_ns = event->now_ns + RL_LINE_AVOID_NS;
    place_settle(place, event, out);
}

/* -- Events -- */

static void on_want(struct rl_place *place, const struct rl_place_event *event,
                    struct rl_place_actions *out) {
    if (place->state != RL_PLACE_OUT) {
        return; /* the place already stands, for an earlier lock */
    }
    assert(!place->stands);
    assert(event->new_place != 0);
    if (event->now_ns >= place->avoid_until_ns) {
        place->avoid = 0; /* a place that is out gets no tick */
    }
    place->since_ns = event->u.since_ns;
    place->asks = place->asks_behind = 0;
    place->backoff_ns = 0;
    place->home = RL_LINE_NO_HOME;
    place->id = event->new_place;
    place_move(place, RL_PLACE_LISTENING, event->now_ns + event->timeout_ns);
    place_settle(place, event, out);
}

/* Clients ahead of it may still be in line; this client's next acquire must not overtake them. */
static void on_unwant(struct rl_place *place, const struct rl_place_event *event,
                      struct rl_place_actions *out) {
    if (place->state != RL_PLACE_OUT) {
        rl_place_note_own(place, event->now_ns);
    }
    place_leave(place, out);
    place_end(place);
}

/* The pause before the next JOIN. */
static uint64_t next_pause_ns(struct rl_place *place, uint64_t idle_ns, uint64_t life_ms) {
    if (!place->is_heir) {
        return idle_ns < RL_LINE_IDLE_NS_MAX ? idle_ns : RL_LINE_IDLE_NS_MAX;
    }
    place->pause_ns = place->pause_ns == 0 ? RL_LINE_GRACE_NS : place->pause_ns / 2 * 3;
    if (place->pause_ns > RL_LINE_ASK_NS_MAX) {
        place->pause_ns = RL_LINE_ASK_NS_MAX;
    }
    bool ends_sooner = life_ms > 0 && life_ms < place->pause_ns / RL_NS_PER_MS;
    return ends_sooner ? (life_ms + 1) * RL_NS_PER_MS : place->pause_ns;
}

static void on_no(struct rl_place *place, const struct rl_place_event *event,
                  struct rl_place_actions *out) {
    const struct rl_place_answer_in *in = &event->u.answer;
    assert(place->stands); /* else there was no JOIN to answer */
    place->is_heir = place->is_heir || in->rank == 0;
    place_move(place, RL_PLACE_WAITING,
               event->now_ns + next_pause_ns(place, event->idle_ns, in->life_ms));
    const bool is_near = place->is_heir || in->rank <= 1;
    const bool is_soon = place->is_heir && in->life_ms <= RESERVED_MS_MAX;
    const uint32_t weight = in->life_ms == 0 ? 0 : is_soon ? 1 : WEIGHT_FULL;
    uint32_t *asks = is_near ? &place->asks : &place->asks_behind;
    *asks += weight;
    if (weight > 0 && *asks >= (is_near ? PROBES_FROM : PROBES_BEHIND)) {
        *asks -= is_near ? PROBES_AGAIN : PROBES_BEHIND;
        place_turn(place, out, true);
    }
}

static void place_given(struct rl_place *place, struct rl_place_actions *out) {
    if (!place_is(place, IN(RL_PLACE_TURN) | IN(RL_PLACE_TAKING))) {
        place_turn(place, out, false);
    } else {
        place->turned = place->probes;
    }
}

static void on_answer(struct rl_place *place, const struct rl_place_event *event,
                      struct rl_place_actions *out) {
    const struct rl_place_answer_in *in = &event->u.answer;
    if (in->place != place->id) {
        return; /* the place was left */
    }
    if (in->said == RL_PLACE_SAID_YES) {
        place->given = true;
        place_given(place, out);
    } else if (place->state == RL_PLACE_JOINING && in->said == RL_PLACE_SAID_NO) {
        on_no(place, event, out);
    } else if (place->state == RL_PLACE_JOINING) {
        place_avoid_home(place, event, out, false);
    }
}

static void on_turn(struct rl_place *place, const struct rl_place_event *event,
                    struct rl_place_actions *out) {
    if (event->u.place != place->id || !place->stands) {
        return; /* a LEAVE is on its way */
    }
    place->given = place->given || event->type == RL_PLACE_EV_TURN;
    place_given(place, out);
}

/* Does not probe yet: the client ahead has just been given its turn. */
static void on_heir(struct rl_place *place, const struct rl_place_event *event) {
    if (event->u.place != place->id || !place->stands) {
        return;
    }
    place->is_heir = true;
    place->pause_ns = RL_LINE_GRACE_NS;
    if (place->state == RL_PLACE_WAITING) {
        place->ask_ns = event->now_ns + RL_LINE_GRACE_NS;
    }
}

static void on_tick(struct rl_place *place, const struct rl_place_event *event,
                    struct rl_place_actions *out) {
    if (place->avoid != 0 && event->now_ns >= place->avoid_until_ns) {
        place->avoid = 0;
        place_settle(place, event, out);
    }
    if (event->now_ns < place->ask_ns || place->state == RL_PLACE_OUT || out->join) {
        return;
    }
    if (place_is(place, IN(RL_PLACE_WAITING) | IN(RL_PLACE_PAUSING))) {
        place_begin(place, event, out);
    } else if (!out->leave) { /* else it has just moved to another home */
        place_avoid_home(place, event, out, true);
    }
}

static uint64_t next_backoff_ns(const struct rl_place *place) {
    uint64_t backoff_ns = place->backoff_ns == 0 ? RL_LINE_PAUSE_NS_MIN : 2 * place->backoff_ns;
    return backoff_ns < RL_LINE_PAUSE_NS_MAX ? backoff_ns : RL_LINE_PAUSE_NS_MAX;
}

/* The token is released, and never used again. A new place joins at once, so that nobody overtakes,
 * and asks when the pause is over. If the lock wants other resources as well, it has no place until
 * then: otherwise the first waiters of two lines that both want both resources would get turns
 * again and again. */
static void place_again(struct rl_place *place, const struct rl_place_event *event,
                        struct rl_place_actions *out) {
    const uint64_t life_ms = event->u.life_ms;
    place->backoff_ns = next_backoff_ns(place);
    uint64_t pause_ns = place->backoff_ns / 2 + event->random % (place->backoff_ns / 2 + 1);
    if (life_ms > 0 && life_ms < pause_ns / RL_NS_PER_MS) {
        pause_ns = (life_ms + 1) * RL_NS_PER_MS;
    }
    place_leave(place, out);
    place->id = event->new_place;
    place_move(place, RL_PLACE_PAUSING, event->now_ns + pause_ns);
    place_settle(place, event, out);
    if (place->state == RL_PLACE_PAUSING && event->is_of_one) { /* same home, channel confirmed */
        place->stands = out->join = out->quiet = true;
    }
}

static void on_refused(struct rl_place *place, const struct rl_place_event *event,
                       struct rl_place_actions *out) {
    assert(place->state == RL_PLACE_TAKING);
    if (!place->probes) {
        place_again(place, event, out);
    } else if (place->turned) { /* home gave the turn during the probe */
        place->turned = false;
        place_turn(place, out, false);
    } else {
        place->probes = false;
        place_move(place, RL_PLACE_WAITING,
                   event->now_ns + (place->pause_ns > 0 ? place->pause_ns : RL_LINE_GRACE_NS));
        place_settle(place, event, out);
    }
}

static void on_won(struct rl_place *place, struct rl_place_actions *out) {
    assert(place->state == RL_PLACE_TAKING);
    place_leave(place, out);
    place_end(place);
}

void rl_place_step(struct rl_place *place, const struct rl_place_event *event,
                   struct rl_place_actions *out) {
    assert(event->type < RL_PLACE_EVENT_TYPES);
    *out = (struct rl_place_actions){0};
    if (place->state == RL_PLACE_OUT) {
        place->ask_ns = RL_NEVER; /* it is 0 at first */
    }
    switch (event->type) {
        case RL_PLACE_EV_WANT:
            on_want(place, event, out);
            break;
        case RL_PLACE_EV_UNWANT:
            on_unwant(place, event, out);
            break;
        case RL_PLACE_EV_NODES:
            place_settle(place, event, out);
            break;
        case RL_PLACE_EV_ANSWER:
            on_answer(place, event, out);
            break;
        case RL_PLACE_EV_TURN:
        case RL_PLACE_EV_PASS:
            on_turn(place, event, out);
            break;
        case RL_PLACE_EV_HEIR:
            on_heir(place, event);
            break;
        case RL_PLACE_EV_TICK:
            on_tick(place, event, out);
            break;
        case RL_PLACE_EV_TAKE:
            assert(place->state == RL_PLACE_TURN);
            place->state = RL_PLACE_TAKING;
            place->used = !place->probes;
            break;
        case RL_PLACE_EV_WON:
            on_won(place, out);
            break;
        case RL_PLACE_EV_REFUSED:
            on_refused(place, event, out);
            break;
        case RL_PLACE_EVENT_TYPES:
            break;
    }
    place_check_actions(place, event, out);
    place_invariant(place);
}

bool rl_place_trust(struct rl_place *place, uint32_t node) {
    const rl_mask bit = rl_bit(node);
    assert(node < RL_NODES_MAX);
    if ((place->avoid & ~place->firm & bit) == 0) {
        return false;
    }
    place->avoid &= ~bit;
    place->firm |= bit; /* in case it is avoided again meanwhile */
    return true;
}

uint64_t rl_place_wake_ns(const struct rl_place *place) {
    if (place->state == RL_PLACE_OUT) {
        return RL_NEVER;
    }
    bool avoids = place->avoid != 0 && place->avoid_until_ns < place->ask_ns;
    return avoids ? place->avoid_until_ns : place->ask_ns;
}

void rl_place_use(struct rl_place *place, bool given) {
    assert(place->state != RL_PLACE_OUT && place->stands);
    place->used = true;
    place->given = place->given || given;
}

/* -- What is known of others -- */

void rl_place_note(struct rl_place *place, bool others_wait, uint64_t now_ns) {
    place->busy_until_ns = others_wait ? now_ns + RL_LINE_BUSY_NS : 0;
    place->likely_until_ns = place->busy_until_ns;
    place->others = others_wait;
}

void rl_place_note_own(struct rl_place *place, uint64_t now_ns) {
    const uint64_t until_ns = now_ns + RL_LINE_BUSY_NS;
    place->likely_until_ns = until_ns > place->busy_until_ns ? until_ns : place->busy_until_ns;
    assert(rl_place_is_likely_busy(place, now_ns));
}

bool rl_place_is_likely_busy(const struct rl_place *place, uint64_t now_ns) {
    assert(place->busy_until_ns <= place->likely_until_ns);
    return now_ns < place->likely_until_ns;
}

bool rl_place_was_busy(const struct rl_place *place) {
    return place->others;
}

bool rl_place_has_signs(const struct rl_place *place) {
    return place->likely_until_ns != 0;
}

bool rl_place_is_busy(const struct rl_place *place, uint64_t now_ns) {
    return now_ns < place->busy_until_ns;
}
