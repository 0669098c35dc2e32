/* See driver.h. */
#include "core/driver.h"

#include <assert.h>

#include "base/mark.h"

#define BIT(node) (UINT32_C(1) << (node))

/* -- Before the step -- */

bool rl_is_silent(const struct rl_rules *rules, uint64_t oldest_ns, uint64_t now_ns) {
    return oldest_ns != RL_NEVER && now_ns > oldest_ns + rules->node_timeout_ns;
}

static void leave_out_silent(struct rl_lock *lock, struct rl_event *event,
                             int16_t reasons[RL_SEATS_MAX], const struct rl_driver *driver) {
    const uint32_t up = event->up, nodes = up | rl_electors(&lock->rules->electorate);
    for (uint32_t i = 0; nodes >> i != 0; i++) {
        reasons[i] = event->reasons[i];
    }
    event->reasons = reasons;
    for (uint32_t i = 0; up >> i != 0; i++) {
        if (up & BIT(i) && rl_is_silent(lock->rules, driver->oldest_ns(lock, i), event->now_ns)) {
            RL_MARK(SILENT_LEFT_OUT);
            event->up &= ~BIT(i);
            event->voters &= ~BIT(i);
            reasons[i] = lock->rules->timeout_reason;
        }
    }
}

/* -- After the step -- */

/* The silent ones among these nodes, all of which are up and cannot have the key. */
static uint32_t silent_of(struct rl_lock *lock, uint32_t nodes, const struct rl_driver *driver) {
    uint32_t silent = 0;
    for (uint32_t i = 0; nodes >> i != 0; i++) {
        if (nodes & BIT(i) && rl_is_silent(lock->rules, driver->oldest_ns(lock, i), lock->now_ns)) {
            RL_MARK(SILENT_NOT_TOLD);
            silent |= BIT(i);
        }
    }
    return silent;
}

/* Sends one command to each node of a mask. Returns the nodes to which it could not be sent, and
 * why. */
static uint32_t send_to(struct rl_lock *lock, enum rl_call_kind kind, uint32_t round,
                        uint32_t nodes, uint32_t may_have, int16_t why[RL_SEATS_MAX],
                        const struct rl_driver *driver) {
    uint32_t failed = 0, silent = 0;
    if (kind == RL_CALL_RELEASE) {
        silent = silent_of(lock, nodes & ~may_have, driver);
    }
    if (nodes != silent) {
        driver->fan_out(lock, kind, round, nodes & ~silent);
    }
    for (uint32_t i = 0; nodes >> i != 0; i++) {
        if (!(nodes & BIT(i))) {
            continue;
        }
        why[i] = silent & BIT(i) ? lock->rules->timeout_reason : driver->send(lock, kind, round, i);
        if (why[i] != 0) {
            failed |= BIT(i);
            if (kind == RL_CALL_RELEASE && may_have & BIT(i)) {
                driver->owe(lock, i);
            }
        }
    }
    return failed;
}

static void feed_failed(struct rl_lock *lock, uint32_t round, uint32_t failed, const int16_t *why,
                        const struct rl_driver *driver) {
    for (uint32_t i = 0; failed >> i != 0; i++) {
        if (failed & BIT(i)) {
            struct rl_event event = {.type = RL_EV_VOTE};
            event.u.vote = (struct rl_ballot_in){
                .round = round, .node = i, .vote = RL_VOTE_FAILED, .reason = why[i]};
            driver->feed(lock, &event);
        }
    }
}

static void send_round(struct rl_lock *lock, const struct rl_actions *actions,
                       const struct rl_driver *driver) {
    const enum rl_call_kind kinds[] = {
        [RL_ROUND_ACQUIRE] = lock->place != 0 ? RL_CALL_TAKE : RL_CALL_SET,
        [RL_ROUND_FENCE] = RL_CALL_RAISE,
        [RL_ROUND_EXTEND] = RL_CALL_EXTEND,
        [RL_ROUND_UPGRADE] = RL_CALL_UPGRADE,
        [RL_ROUND_RELEASE] = RL_CALL_RELEASE};
    int16_t why[RL_SEATS_MAX];
    uint32_t round = lock->round.id; /* a failed vote may end it, and begin another */
    assert(round != 0);
    assert(lock->round.kind != RL_ROUND_ACQUIRE || lock->round.decision == RL_OPEN);
    uint32_t failed = send_to(lock, kinds[lock->round.kind], round, actions->send,
                              actions->may_have, why, driver);
    if (lock->round.kind == RL_ROUND_ACQUIRE &&
        lock->place == 0) {        /* else its key may have been passed */
        lock->may_hold &= ~failed; /* now: the first failed vote may end the attempt */
    }
    feed_failed(lock, round, failed, why, driver);
}

static void end_operations(struct rl_lock *lock, const struct rl_actions *actions,
                           const struct rl_driver *driver) {
    assert(actions->lost == RL_RESULT_NONE || actions->renewed == RL_RESULT_NONE);
    const enum rl_result results[RL_OPS] = {[RL_OP_ACQUIRE] = actions->acquired,
                                            [RL_OP_EXTEND] = actions->extended,
                                            [RL_OP_RELEASE] = actions->released};
    for (enum rl_op_kind op = RL_OP_ACQUIRE; op < RL_OPS; op++) {
        if (results[op] != RL_RESULT_NONE) {
            driver->ended(lock, op, results[op]);
        }
    }
    if (actions->renewed != RL_RESULT_NONE) {
        driver->renewed(lock, actions->renewed);
    }
    if (actions->lost != RL_RESULT_NONE) {
        driver->lost(lock, actions->lost);
    }
}

/* Without a token there is no attempt. Validity runs from before the wall clock is read: otherwise
 * a process that is stopped between the two would hold a lock with an outdated fence. */
static void begin_attempt(struct rl_lock *lock, const struct rl_driver *driver) {
    char token[RL_TOKEN_LEN];
    struct rl_event event = {.type = RL_EV_ATTEMPT, .since_ns = lock->now_ns};
    switch (driver->generate_token(lock, token, &event)) {
        case RL_TOKEN_GIVEN:
            event.u.token = token;
            driver->feed(lock, &event);
            break;
        case RL_TOKEN_FAILED:
            event.type = RL_EV_CANCEL;
            driver->feed(lock, &event);
            driver->token_failed(lock);
            break;
        case RL_TOKEN_LATER:
            assert(lock->state == RL_READY);
            break;
    }
}

/* Whether an operation or the hold has ended, or was renewed. */
static bool has_ended(const struct rl_actions *actions) {
    static_assert(RL_RESULT_NONE == 0, "or each would have to be compared");
    return ((uint32_t)actions->acquired | (uint32_t)actions->extended | (uint32_t)actions->renewed |
            (uint32_t)actions->released | (uint32_t)actions->lost) != 0;
}

static void perform(struct rl_lock *lock, const struct rl_actions *actions,
                    const struct rl_driver *driver) {
    int16_t why[RL_SEATS_MAX]; /* of no consequence where no round counts the votes */
    assert(!actions->generate_token || actions->send == 0); /* its attempt has not begun */
    if (actions->release != 0) {
        send_to(lock, RL_CALL_RELEASE, 0, actions->release, actions->may_have, why, driver);
    }
    for (uint32_t i = 0; actions->owe >> i != 0; i++) {
        if (actions->owe & BIT(i)) {
            driver->owe(lock, i);
        }
    }
    if (has_ended(actions)) {
        end_operations(lock, actions, driver);
    }
    if (actions->tell) {
        driver->tell(lock);
    }
    if (actions->repair != 0) {
        send_to(lock, RL_CALL_SET, 0, actions->repair, 0, why, driver);
    }
    if (actions->plant != 0) {
        const uint32_t round = lock->round.id;
        const uint32_t failed = send_to(lock, RL_CALL_TAKE, round, actions->plant, 0, why, driver);
        feed_failed(lock, round, failed, why, driver);
    }
    if (actions->send != 0) {
        send_round(lock, actions, driver);
    }
    if (actions->generate_token) {
        begin_attempt(lock, driver);
    }
}

bool rl_drive(struct rl_lock *lock, struct rl_event *event, const struct rl_driver *driver) {
    struct rl_actions actions;
    int16_t reasons[RL_SEATS_MAX];
    const int16_t *given = event->reasons;
    if (event->type == RL_EV_ATTEMPT) {
        leave_out_silent(lock, event, reasons, driver);
    }
    rl_lock_step(lock, event, &actions);
    driver->stepped(lock, event, &actions);
    event->reasons = given;
    perform(lock, &actions, driver);
    return actions.late;
}
