/* See step.h. */
#include "lock/step.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "base/mark.h"
#include "client/check.h"
#include "client/env.h"
#include "lock/calls.h"
#include "lock/life.h"
#include "mode/mode.h"
#include "nodes/seats.h"
#include "wait/hear.h"
#include "wait/line.h"
#include "wait/line_call.h"
#include "wait/waiting.h"
#include "watch/span.h"

static bool step_core(redlock_lock *lock, struct rl_event *event);

static struct rl_client_node *node_at(const redlock_lock *lock, uint32_t seat) {
    return lock->client->nodes[rl_seats_node(lock, seat)];
}

/* -- Traces -- */

static int vote_status(const struct rl_ballot_in *vote) {
    assert(vote->vote != RL_VOTE_PENDING);
    if (vote->vote == RL_VOTE_GRANTED) {
        return 0;
    }
    return vote->vote == RL_VOTE_REFUSED ? REDLOCK_ERR_HELD : vote->reason;
}

/* Traces a finished step before its actions are carried out. */
static void trace_step(redlock_lock *lock, const struct rl_event *event, bool late) {
    if (event->type == RL_EV_VOTE && event->u.vote.vote != RL_VOTE_NONE) {
        rl_span_trace_vote(lock, &event->u.vote, vote_status(&event->u.vote), late);
    } else if (event->type == RL_EV_ATTEMPT && lock->core.is_leased) {
        rl_trace(lock->client, REDLOCK_EVENT_TAKE, lock, NULL, 0, 0);
    }
}

static void trace_fan_out(redlock_lock *lock, enum rl_call_kind kind, bool asks, uint32_t seats) {
    static const enum redlock_event_type types[] = {
        [RL_CALL_SET] = REDLOCK_EVENT_ATTEMPT,     [RL_CALL_TAKE] = REDLOCK_EVENT_TAKE,
        [RL_CALL_RAISE] = REDLOCK_EVENT_FENCE,     [RL_CALL_EXTEND] = REDLOCK_EVENT_EXTEND,
        [RL_CALL_UPGRADE] = REDLOCK_EVENT_UPGRADE, [RL_CALL_RELEASE] = REDLOCK_EVENT_RELEASE};
    if ((kind != RL_CALL_SET && kind != RL_CALL_TAKE) || asks) {
        rl_trace(lock->client, types[kind], lock, NULL, 0, 0);
        return;
    }
    RL_EACH_BIT(i, seats) {
        rl_trace(lock->client, REDLOCK_EVENT_REPAIR, lock, &node_at(lock, i)->node, 0, 0);
    }
}

/* -- Sending -- */

/* The silent nodes of a mask. Answers that arrived after heard_ns may still be unread. */
static uint32_t silent_of(const redlock_lock *lock, uint32_t seats) {
    const redlock_client *client = lock->client;
    uint32_t silent = 0;
    assert(client->step_ns >= client->heard_ns);
    RL_EACH_BIT(i, seats) {
        const struct rl_node *node = &node_at(lock, i)->node;
        const uint64_t timeout_ns = client->rules.node_timeout_ns;
        silent |= rl_node_is_silent(node, timeout_ns, client->heard_ns) ? rl_seat(i) : 0;
    }
    return silent;
}

static void leave_out_silent(const redlock_lock *lock, struct rl_event *event,
                             int16_t reasons[RL_SEATS_MAX]) {
    const uint32_t silent = silent_of(lock, event->up);
    if (silent != 0) {
        RL_MARK(SILENT_LEFT_OUT);
        event->up &= ~silent;
        event->voters &= ~silent;
    }
    RL_EACH_BIT(i, silent) {
        reasons[i] = lock->core.rules->timeout_reason;
    }
}

static void fan_out(redlock_lock *lock, enum rl_call_kind kind, uint32_t round, uint32_t seats) {
    const struct rl_lock *core = &lock->core;
    assert(kind == RL_CALL_SET || kind == RL_CALL_RELEASE || round != 0); /* a repair, a clean-up */
    const bool asks = round != 0 && core->round.kind == RL_ROUND_ACQUIRE;
    assert(!asks || (kind == RL_CALL_TAKE) == (core->place != 0 && core->state == RL_TRYING));
    const bool is_told = asks && kind == RL_CALL_TAKE && core->is_leased; /* at its start */
    if (lock->client->trace != NULL && !is_told) {
        trace_fan_out(lock, kind, asks, seats);
    }
    lock->client->stats.raised += kind == RL_CALL_RAISE;
    rl_calls_format(lock, kind);
}

/* Sends one command to each node of a mask. Returns the nodes to which it could not be sent, and
 * why. */
static uint32_t send_to(redlock_lock *lock, enum rl_call_kind kind, uint32_t round, uint32_t seats,
                        uint32_t may_have, int16_t why[RL_SEATS_MAX]) {
    uint32_t failed = 0, silent = 0;
    if (kind == RL_CALL_RELEASE) {
        silent = silent_of(lock, seats & ~may_have);
    }
    if (seats != silent) {
        fan_out(lock, kind, round, seats & ~silent);
    }
    RL_EACH_BIT(i, seats) {
        const uint32_t node = rl_seats_node(lock, i);
        if (silent & rl_seat(i)) {
            RL_MARK(SILENT_NOT_TOLD);
            why[i] = lock->core.rules->timeout_reason;
        } else {
            why[i] = rl_calls_send(lock, kind, round, node);
        }
        failed |= why[i] != 0 ? rl_seat(i) : 0;
        if (why[i] != 0 && kind == RL_CALL_RELEASE && may_have & rl_seat(i)) {
            rl_calls_keep_release(lock, node);
        }
    }
    return failed;
}

static void feed_failed(redlock_lock *lock, uint32_t round, uint32_t failed, const int16_t *why) {
    RL_EACH_BIT(i, failed) {
        struct rl_event event = {.type = RL_EV_VOTE};
        event.u.vote = (struct rl_ballot_in){
            .round = round, .node = i, .vote = RL_VOTE_FAILED, .reason = why[i]};
        step_core(lock, &event);
    }
}

static void send_round(redlock_lock *lock, const struct rl_actions *actions) {
    struct rl_lock *core = &lock->core;
    const enum rl_call_kind kinds[] = {
        [RL_ROUND_ACQUIRE] = core->place != 0 ? RL_CALL_TAKE : RL_CALL_SET,
        [RL_ROUND_FENCE] = RL_CALL_RAISE,
        [RL_ROUND_EXTEND] = RL_CALL_EXTEND,
        [RL_ROUND_UPGRADE] = RL_CALL_UPGRADE,
        [RL_ROUND_RELEASE] = RL_CALL_RELEASE};
    int16_t why[RL_SEATS_MAX];
    const uint32_t round = core->round.id; /* a failed vote may end the round and begin another */
    assert(round != 0);
    assert(core->round.kind != RL_ROUND_ACQUIRE || core->round.decision == RL_OPEN);
    const uint32_t failed =
        send_to(lock, kinds[core->round.kind], round, actions->send, actions->may_have, why);
    if (core->round.kind == RL_ROUND_ACQUIRE &&
        core->place == 0) {        /* else its key may have been passed to it */
        core->may_hold &= ~failed; /* first, since a failed vote may end the attempt */
    }
    feed_failed(lock, round, failed, why);
}

/* -- Ends -- */

static void acquire_ended(redlock_lock *lock, enum rl_result result) {
    enum rl_words words = RL_WORDS_ROUND;
    if (lock->core.acquire.attempt != RL_RESULT_NONE) {
        lock->last.attempt = (int16_t)rl_lock_status(lock->core.acquire.attempt);
    } else if (result == RL_RESULT_DEADLINE) {
        lock->last.attempt = (int16_t)rl_waiting_status(lock); /* no attempt was made */
    }
    if (result == RL_RESULT_PERMITS) {
        words = RL_WORDS_PERMITS;
    } else if (!lock->last.has_asked) {
        const bool has_waited = result == RL_RESULT_DEADLINE || result == RL_RESULT_HELD;
        words = has_waited ? rl_waiting_words(lock, lock->last.attempt) : RL_WORDS_NONE;
    }
    rl_hold_end(lock, RL_OP_ACQUIRE, rl_lock_status(result), words);
}

static void extend_ended(redlock_lock *lock, enum rl_result result) {
    enum rl_words words = RL_WORDS_ROUND;
    if (result == RL_RESULT_OK) {
        rl_span_renewed(lock);
    } else if (rl_mode_is_upgrading(lock)) {
        words = RL_WORDS_NONE; /* the last round converted back */
    }
    rl_hold_end(lock, RL_OP_EXTEND, rl_mode_extended(lock, rl_lock_status(result)), words);
}

static void renewed(redlock_lock *lock, enum rl_result result) {
    assert(result == RL_RESULT_OK || result == RL_RESULT_UNKNOWN); /* any other result is a loss */
    if (result == RL_RESULT_OK) {
        rl_span_renewed(lock);
    }
    lock->client->stats.renewed += result == RL_RESULT_OK;
    lock->client->stats.extend_failed += result != RL_RESULT_OK;
    rl_hold_renewed(lock, rl_lock_status(result));
}

/* Ends what the step ended; the loss last. */
static void end_operations(redlock_lock *lock, const struct rl_actions *actions) {
    assert(actions->lost == RL_RESULT_NONE || actions->renewed == RL_RESULT_NONE);
    if (actions->acquired != RL_RESULT_NONE) {
        acquire_ended(lock, actions->acquired);
    }
    if (actions->extended != RL_RESULT_NONE) {
        extend_ended(lock, actions->extended);
    }
    if (actions->released != RL_RESULT_NONE) {
        rl_hold_end(lock, RL_OP_RELEASE, rl_lock_status(actions->released), RL_WORDS_ROUND);
    }
    if (actions->renewed != RL_RESULT_NONE) {
        renewed(lock, actions->renewed);
    }
    if (actions->lost != RL_RESULT_NONE) {
        assert(!rl_lock_is_holding(&lock->core)); /* nor do its followers */
        rl_hold_lost(lock, rl_lock_status(actions->lost));
    }
    if (actions->tell) {
        assert(lock->core.state == RL_GRANTED);
        assert(!lock->tell); /* once for each grant */
        lock->tell = true;
        rl_ready_done(lock);
    }
}

/* -- Attempts -- */

/* Begins with the client's id, by which a node finds the channel of the holder or waiter. */
static bool draw_token(redlock_client *client, char token[RL_TOKEN_LEN]) {
    unsigned char bytes[(RL_TOKEN_LEN - RL_CLIENT_ID_LEN) / 2];
    struct rl_world *world = client->io.world;
    if (!world->ops->random(world, bytes, sizeof bytes)) {
        return false;
    }
    memcpy(token, client->id, RL_CLIENT_ID_LEN);
    for (size_t i = 0; i < sizeof bytes; i++) {
        token[RL_CLIENT_ID_LEN + 2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        token[RL_CLIENT_ID_LEN + 2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    return true;
}

/* Makes a token that was never used before, and sets the lease of the keys that are passed to it.
 * False: no randomness is available. */
static bool make_token(redlock_lock *lock, char token[RL_TOKEN_LEN], struct rl_event *attempt) {
    const uint64_t place = lock->core.place != 0 ? lock->core.place : attempt->place;
    if (place == 0 || place == RL_LINE_NO_PLACE) {
        return draw_token(lock->client, token);
    }
    rl_line_place(lock->client, place, token);
    attempt->lease_ms = rl_line_lease(lock);
    if (attempt->lease_ms != 0) { /* awaits the node that names the successor */
        const uint32_t home = rl_seats_of(lock, rl_resource_place(rl_line_of(lock))->home);
        attempt->awaited = home < RL_SEATS_MAX ? rl_seat(home) : 0;
    }
    return true;
}

static void end_without_token(redlock_lock *lock) {
    struct rl_event event = {.type = RL_EV_CANCEL};
    step_core(lock, &event);
    struct rl_op *op = rl_op_of(lock, RL_OP_ACQUIRE);
    RL_REQUIRE(op != NULL);
    assert(op->is_done && op->status == REDLOCK_ERR_CANCELED);
    op->status = REDLOCK_ERR_SYSTEM;
    op->words = RL_WORDS_NO_RANDOM;
}

/* There is no attempt without a token, or while it is unknown what to request from the nodes: then
 * RL_EV_READY, RL_EV_NONE or the node timeout follows. Validity starts before the wall clock is
 * read: otherwise a process that is stopped between the two would hold a lock with an outdated
 * fence. */
static void begin_attempt(redlock_lock *lock) {
    struct rl_world *world = lock->client->io.world;
    struct rl_event event = {.type = RL_EV_ATTEMPT, .since_ns = lock->core.now_ns};
    char token[RL_TOKEN_LEN];
    assert(lock->core.state == RL_READY);
    if (!lock->mode->find(lock, &event.place)) {
        return;
    }
    if (!make_token(lock, token, &event)) {
        end_without_token(lock);
        return;
    }
    rl_line_asks(lock);
    event.floor = lock->core.acquire.fences ? world->ops->wall_us(world) : 0;
    event.u.token = token;
    lock->last.has_asked = true;
    lock->client->stats.attempts++;
    step_core(lock, &event);
}

/* -- The step -- */

/* Carries out the actions of a step. Releases keys before it asks for others. */
static void perform(redlock_lock *lock, const struct rl_actions *actions) {
    int16_t why[RL_SEATS_MAX]; /* ignored where no round counts the votes */
    assert(!actions->generate_token || actions->send == 0); /* its attempt has not begun */
    if (actions->release != 0) {
        send_to(lock, RL_CALL_RELEASE, 0, actions->release, actions->may_have, why);
    }
    RL_EACH_BIT(i, actions->owe) {
        rl_calls_keep_release(lock, rl_seats_node(lock, i));
    }
    end_operations(lock, actions);
    if (actions->repair != 0) {
        send_to(lock, RL_CALL_SET, 0, actions->repair, 0, why);
    }
    if (actions->plant != 0) {
        const uint32_t round = lock->core.round.id;
        const uint32_t failed = send_to(lock, RL_CALL_TAKE, round, actions->plant, 0, why);
        feed_failed(lock, round, failed, why);
    }
    if (actions->send != 0) {
        send_round(lock, actions);
    }
    if (actions->generate_token) {
        begin_attempt(lock);
    }
}

/* Completes an event whose type and union are filled in, steps the core with it, and carries out
 * the result, which may be another step. Returns whether it was a late vote. */
static bool step_core(redlock_lock *lock, struct rl_event *event) {
    redlock_client *client = lock->client;
    struct rl_lock *core = &lock->core;
    struct rl_seats_room room;
    struct rl_actions actions;
    event->now_ns = client->step_ns = rl_io_step_ns(&client->io);
    assert((client->voters & ~client->up) == 0);
    assert(event->type != RL_EV_VOTE || event->u.vote.node < RL_SEATS_MAX);
    assert(event->type != RL_EV_VOTE || event->u.vote.vote != RL_VOTE_FAILED ||
           event->u.vote.reason != 0); /* messages say why */
    event->random = rl_client_random(client);
    rl_seats_fill(lock, event, &room);
    event->lines =
        client->phase == RL_CLIENT_OPEN && event->voters != 0 && !rl_waiting_stands_apart(lock);
    if (event->type == RL_EV_ACQUIRE) {
        lock->since_ns = event->now_ns;
    }
    const bool was_won = core->state == RL_GRANTED || rl_lock_is_holding(core);
    lock->announces = was_won || event->type == RL_EV_RELEASE;
    /* A lease is extended early, however little is left of it. */
    client->until_ns = core->is_leased ? RL_NEVER : core->valid_until_ns;
    if (rl_mode_is_unsure(lock)) {
        rl_mode_leave_out(lock, event, room.reasons);
    }
    if (event->type == RL_EV_ATTEMPT) {
        leave_out_silent(lock, event, room.reasons);
    }
    rl_lock_step(core, event, &actions);
    if (client->trace != NULL) {
        trace_step(lock, event, actions.late);
    }
    perform(lock, &actions);
    return actions.late;
}

bool rl_step_event(redlock_lock *lock, struct rl_event *event) {
    redlock_client *client = lock->client;
    const uint8_t before = lock->core.state;
    rl_lock_ref(lock); /* an operation that ends here may hold the last reference */
    bool late = step_core(lock, event);
    /* Most votes change nothing here. A waiting lock checks its line again, since the reply with
     * the vote may have changed it. A late vote also changes no deadline. */
    const bool moves =
        event->type != RL_EV_VOTE || lock->core.state != before || before == RL_WAITING;
    if (moves) {
        rl_waiting_update(lock);
        lock->mode->follow(lock);
        rl_span_trace_state(lock, before);
        rl_hear_follow(lock, before);
        rl_line_follow(lock);
    }
    if (moves || !late) {
        const uint64_t wake_ns = rl_hold_wake_ns(lock);
        const uint64_t lost_ns = rl_lock_lost_ns(&lock->core);
        rl_deadlines_set(&client->deadlines, &lock->deadline, wake_ns);
        rl_deadlines_set(&client->ends, &lock->end, lost_ns);
    }
    rl_check_lock(lock);
    rl_lock_unref(lock);
    return late;
}

void rl_step_simple(redlock_lock *lock, enum rl_event_type type) {
    struct rl_event event = {.type = type};
    rl_step_event(lock, &event);
}

void rl_step_changed(redlock_client *client, uint32_t max_ttl_ms) {
    struct rl_link *link = client->locks.first;
    while (link != NULL) {
        redlock_lock *lock = RL_CONTAINER(link, redlock_lock, link);
        struct rl_event event = {.type = RL_EV_CHANGED};
        event.u.ttl_ms = max_ttl_ms;
        rl_lock_ref(lock);
        rl_step_event(lock, &event);
        link = link->next;
        rl_lock_unref(lock);
    }
}

void rl_step_due(struct rl_deadline *item, uint64_t now_ns) {
    (void)now_ns; /* the step reads the clock itself */
    redlock_lock *lock = RL_CONTAINER(item, redlock_lock, deadline);
    rl_step_simple(lock, rl_hold_lingers(lock) ? RL_EV_ABANDON : RL_EV_TICK);
}

void rl_step_end_due(struct rl_deadline *item, uint64_t now_ns) {
    (void)now_ns;
    rl_step_simple(RL_CONTAINER(item, redlock_lock, end), RL_EV_TICK);
}
