/* See step.h. */
#include "lock/step.h"

#include <assert.h>
#include <string.h>

#include "client/check.h"
#include "client/env.h"
#include "lock/calls.h"
#include "lock/life.h"
#include "mode/mode.h"
#include "nodes/seats.h"
#include "wait/line.h"
#include "wait/line_call.h"
#include "wait/line_release.h"
#include "wait/waiting.h"
#include "watch/span.h"

static redlock_lock *lock_of(struct rl_lock *core) {
    return RL_CONTAINER(core, redlock_lock, core);
}

static int vote_status(const struct rl_ballot_in *vote) {
    assert(vote->vote != RL_VOTE_PENDING);
    if (vote->vote == RL_VOTE_GRANTED) {
        return 0;
    }
    return vote->vote == RL_VOTE_REFUSED ? REDLOCK_ERR_HELD : vote->reason;
}

static void trace_vote(redlock_lock *lock, const struct rl_ballot_in *vote, bool late) {
    rl_span_trace_vote(lock, vote, vote_status(vote), late);
}

static struct rl_client_node *node_at(const redlock_lock *lock, uint32_t seat) {
    return lock->client->nodes[rl_seats_node(lock, seat)];
}

static uint64_t oldest_ns(struct rl_lock *core, uint32_t seat) {
    const struct rl_node *asked = &node_at(lock_of(core), seat)->node;
    if (rl_node_is_clogged(asked)) {
        return 0;
    }
    if (asked->head == NULL) {
        return RL_NEVER;
    }
    const redlock_client *client = lock_of(core)->client; /* the answer may be unread */
    assert(client->step_ns >= client->heard_ns);
    return asked->head->sent_ns + (client->step_ns - client->heard_ns);
}

static void stepped(struct rl_lock *core, const struct rl_event *event,
                    const struct rl_actions *actions) {
    redlock_lock *lock = lock_of(core);
    if (lock->client->trace == NULL) {
        return;
    }
    if (event->type == RL_EV_VOTE && event->u.vote.vote != RL_VOTE_NONE) {
        trace_vote(lock, &event->u.vote, actions->late);
    } else if (event->type == RL_EV_ATTEMPT && core->is_leased) {
        rl_trace(lock->client, REDLOCK_EVENT_TAKE, lock, NULL, 0, 0);
    }
}

static void trace_fan_out(redlock_lock *lock, enum rl_call_kind kind, uint32_t round,
                          uint32_t seats) {
    static const enum redlock_event_type types[] = {
        [RL_CALL_SET] = REDLOCK_EVENT_ATTEMPT,     [RL_CALL_TAKE] = REDLOCK_EVENT_TAKE,
        [RL_CALL_RAISE] = REDLOCK_EVENT_FENCE,     [RL_CALL_EXTEND] = REDLOCK_EVENT_EXTEND,
        [RL_CALL_UPGRADE] = REDLOCK_EVENT_UPGRADE, [RL_CALL_RELEASE] = REDLOCK_EVENT_RELEASE};
    redlock_client *client = lock->client;
    const bool asks = round != 0 && lock->core.round.kind == RL_ROUND_ACQUIRE;
    if ((kind != RL_CALL_SET && kind != RL_CALL_TAKE) || asks) {
        rl_trace(client, types[kind], lock, NULL, 0, 0);
        return;
    }
    for (uint32_t i = 0; seats >> i != 0; i++) {
        if (seats >> i & 1) {
            rl_trace(client, REDLOCK_EVENT_REPAIR, lock, &node_at(lock, i)->node, 0, 0);
        }
    }
}

static void fan_out(struct rl_lock *core, enum rl_call_kind kind, uint32_t round, uint32_t seats) {
    redlock_lock *lock = lock_of(core);
    assert(seats != 0);
    assert(kind == RL_CALL_SET || kind == RL_CALL_RELEASE || round != 0); /* a repair, a clean-up */
    const bool asks = round != 0 && core->round.kind == RL_ROUND_ACQUIRE;
    assert(!asks || (kind == RL_CALL_TAKE) == (core->place != 0 && core->state == RL_TRYING));
    const bool is_told = asks && kind == RL_CALL_TAKE && core->is_leased; /* as it began */
    if (lock->client->trace != NULL && !is_told) {
        trace_fan_out(lock, kind, round, seats);
    }
    lock->client->stats.raised += kind == RL_CALL_RAISE;
    rl_calls_format(lock, kind);
}

static int16_t send_one(struct rl_lock *core, enum rl_call_kind kind, uint32_t round,
                        uint32_t seat) {
    redlock_lock *lock = lock_of(core);
    return rl_calls_send(lock, kind, round, rl_seats_node(lock, seat));
}

static void keep_release(struct rl_lock *core, uint32_t seat) {
    redlock_lock *lock = lock_of(core);
    rl_calls_keep_release(lock, rl_seats_node(lock, seat));
}

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
        words = RL_WORDS_NONE; /* the last round was the one that converted back */
    }
    rl_hold_end(lock, RL_OP_EXTEND, rl_mode_extended(lock, rl_lock_status(result)), words);
}

static void ended(struct rl_lock *core, enum rl_op_kind op, enum rl_result result) {
    redlock_lock *lock = lock_of(core);
    if (op == RL_OP_ACQUIRE) {
        acquire_ended(lock, result);
    } else if (op == RL_OP_EXTEND) {
        extend_ended(lock, result);
    } else {
        rl_hold_end(lock, op, rl_lock_status(result), RL_WORDS_ROUND);
    }
}

static void renewed(struct rl_lock *core, enum rl_result result) {
    redlock_lock *lock = lock_of(core);
    assert(result == RL_RESULT_OK || result == RL_RESULT_UNKNOWN); /* any other result is a loss */
    if (result == RL_RESULT_OK) {
        rl_span_renewed(lock);
    }
    lock->client->stats.renewed += result == RL_RESULT_OK;
    lock->client->stats.extend_failed += result != RL_RESULT_OK;
    rl_hold_renewed(lock, rl_lock_status(result));
}

static void lost(struct rl_lock *core, enum rl_result why) {
    assert(!rl_lock_is_holding(core)); /* from now on, also for followers */
    rl_hold_lost(lock_of(core), rl_lock_status(why));
}

static void tell(struct rl_lock *core) {
    redlock_lock *lock = lock_of(core);
    assert(core->state == RL_GRANTED);
    assert(!lock->tell); /* once for each grant */
    lock->tell = true;
    rl_ready_done(lock);
}

/* The client's id comes first: by it a node finds the channel of the holder or waiter. */
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

static enum rl_token generate_token(struct rl_lock *core, char token[RL_TOKEN_LEN],
                                    struct rl_event *attempt) {
    redlock_lock *lock = lock_of(core);
    struct rl_world *world = lock->client->io.world;
    assert(core->state == RL_READY);
    if (!lock->mode->find(lock, &attempt->place)) {
        return RL_TOKEN_LATER;
    }
    const uint64_t place = core->place != 0 ? core->place : attempt->place;
    if (place != 0 && place != RL_LINE_NO_PLACE) {
        rl_line_place(lock->client, place, token);
        attempt->lease_ms = rl_line_lease(lock);
        if (attempt->lease_ms != 0) { /* awaits the node that names the successor */
            const uint32_t home = rl_seats_of(lock, rl_resource_line(rl_line_of(lock))->home);
            attempt->awaited = home < RL_SEATS_MAX ? rl_seat(home) : 0;
        }
    } else if (!draw_token(lock->client, token)) {
        return RL_TOKEN_FAILED;
    }
    rl_line_asks(lock);
    attempt->floor = core->acquire.fences ? world->ops->wall_us(world) : 0;
    lock->last.has_asked = true;
    lock->client->stats.attempts++;
    return RL_TOKEN_GIVEN;
}

static void token_failed(struct rl_lock *core) {
    struct rl_op *op = rl_op_of(lock_of(core), RL_OP_ACQUIRE);
    RL_REQUIRE(op != NULL);
    assert(op->is_done && op->status == REDLOCK_ERR_CANCELED);
    op->status = REDLOCK_ERR_SYSTEM;
    op->words = RL_WORDS_NO_RANDOM;
}

static void feed(struct rl_lock *core, struct rl_event *event) {
    rl_driver_run(lock_of(core), event);
}

static const struct rl_driver driver = {
    .oldest_ns = oldest_ns,
    .stepped = stepped,
    .fan_out = fan_out,
    .send = send_one,
    .owe = keep_release,
    .ended = ended,
    .renewed = renewed,
    .lost = lost,
    .tell = tell,
    .generate_token = generate_token,
    .token_failed = token_failed,
    .feed = feed,
};

bool rl_driver_run(redlock_lock *lock, struct rl_event *event) {
    redlock_client *client = lock->client;
    event->now_ns = client->step_ns = rl_io_step_ns(&client->io);
    assert((client->voters & ~client->up) == 0);
    assert(event->type != RL_EV_VOTE || event->u.vote.node < RL_SEATS_MAX);
    assert(event->type != RL_EV_VOTE || event->u.vote.vote != RL_VOTE_FAILED ||
           event->u.vote.reason != 0); /* messages say why */
    event->random = rl_client_random(client);
    struct rl_seats_room room;
    rl_seats_fill(lock, event, &room);
    event->lines =
        client->phase == RL_CLIENT_OPEN && event->voters != 0 && !rl_waiting_stands_apart(lock);
    if (event->type == RL_EV_ACQUIRE) {
        lock->since_ns = event->now_ns;
    }
    bool was_won = lock->core.state == RL_GRANTED || rl_lock_is_holding(&lock->core);
    lock->announces = was_won || event->type == RL_EV_RELEASE;
    /* A lease is extended early, however little is left of it. */
    client->until_ns = lock->core.is_leased ? RL_NEVER : lock->core.valid_until_ns;
    int16_t reasons[RL_SEATS_MAX];
    if (rl_mode_is_unsure(lock)) {
        rl_mode_leave_out(lock, event, reasons);
    }
    return rl_drive(&lock->core, event, &driver);
}

bool rl_step_event(redlock_lock *lock, struct rl_event *event) {
    redlock_client *client = lock->client;
    const uint8_t before = lock->core.state;
    rl_lock_ref(lock); /* what ends here may hold the last reference */
    bool late = rl_driver_run(lock, event);
    /* Most votes move nothing, and a late one no deadline either. A lock that waits looks at its
     * line again: the answer that brought the vote may have changed that. */
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

void rl_step_called(redlock_lock *lock) {
    struct rl_event event = {.type = RL_EV_TURN};
    event.place = rl_line_take_call(lock, &event.u.pause);
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
    (void)now_ns; /* the core is given the clock's time */
    redlock_lock *lock = RL_CONTAINER(item, redlock_lock, deadline);
    rl_step_simple(lock, rl_hold_lingers(lock) ? RL_EV_ABANDON : RL_EV_TICK);
}

void rl_step_end_due(struct rl_deadline *item, uint64_t now_ns) {
    (void)now_ns;
    rl_step_simple(RL_CONTAINER(item, redlock_lock, end), RL_EV_TICK);
}
