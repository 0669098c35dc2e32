/* See waiting.h.
 *
 * Can a turn be missed? No. A waiting lock can go on only after an active one has left one of its
 * waitlists, and rl_waiting_update() checks every waitlist that an active lock has left. A lock
 * that has its turn is active, and stays in the queue until the loop's next turn. That always
 * comes: a lock is stepped by a turn itself, by an event of the poll before it, or by a call of the
 * user, which wakes the loop.
 */
#include "wait/waiting.h"

#include <assert.h>

#include "lock/life.h"
#include "mode/mode.h"
#include "nodes/eligibility.h"
#include "nodes/seats.h"
#include "wait/line.h"

/* Whether another lock is active for one of this lock's resources, and waits in that resource's
 * line (in_its_line) or in another line. */
static bool has_before(const redlock_lock *lock, bool in_its_line) {
    bool found = false;
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        const redlock_lock *other = rl_line_active(rl_lock_resource(lock, i));
        assert(other == NULL || other->client == lock->client);
        found = found || (other != NULL && other != lock &&
                          (rl_line_of(other) == rl_lock_resource(lock, i)) == in_its_line);
    }
    return found;
}

bool rl_waiting_stands_apart(const redlock_lock *lock) {
    return lock->mode->side_by_side && has_before(lock, false);
}

void rl_waiting_reset(redlock_lock *lock) {
    lock->waiting.takes = lock->waiting.shuts = lock->waiting.noted_intent = false;
    lock->waiting.stage = RL_STAGE_NONE;
}

bool rl_waiting_shuts(const redlock_lock *lock) {
    return lock->waiting.shuts;
}

bool rl_waiting_enter(redlock_lock *lock, bool may_wait) {
    const bool beside = lock->mode->side_by_side;
    rl_waiting_reset(lock);
    rl_tickets_take(lock->tickets);
    if (beside ? has_before(lock, true) : !rl_tickets_may_ask(lock->tickets)) {
        return true;
    }
    const bool queues = may_wait && !rl_waiting_stands_apart(lock) && rl_line_holds_up(lock);
    if (queues) {
        lock->waiting.stage = RL_STAGE_QUEUED;
    }
    if (queues || !beside) {
        rl_tickets_ask(lock->tickets);
    }
    return queues;
}

bool rl_waiting_is_busy(const redlock_lock *lock) {
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        if (lock->tickets[i].list->active != NULL) {
            return true;
        }
    }
    return false;
}

/* The outcome of the last attempt of the lock ahead or, if it made none, whether there are too few
 * nodes. */
static int asker_status(const redlock_lock *asker) {
    if (asker->core.acquire.attempt != RL_RESULT_NONE &&
        asker->core.acquire.attempt != RL_RESULT_OK) {
        return rl_lock_status(asker->core.acquire.attempt);
    }
    const struct rl_sides sides = rl_seats_sides(asker);
    return rl_sides_quorum(&sides, rl_eligibility_servers(asker->client)) ? REDLOCK_ERR_HELD
                                                                          : REDLOCK_ERR_NO_QUORUM;
}

int rl_waiting_status(const redlock_lock *lock) {
    int status = REDLOCK_ERR_HELD;
    for (uint32_t i = 0; i < lock->resource_count && status == REDLOCK_ERR_HELD; i++) {
        const redlock_lock *other = rl_line_active(rl_lock_resource(lock, i));
        if (other != NULL && other != lock && rl_lock_is_acquiring(&other->core)) {
            status = asker_status(other);
        }
    }
    return status;
}

enum rl_words rl_waiting_words(const redlock_lock *lock, int status) {
    if (rl_line_is_queued(lock)) {
        return RL_WORDS_QUEUED;
    }
    if (rl_mode_found_none(lock)) {
        return RL_WORDS_NO_PERMIT;
    }
    return status == REDLOCK_ERR_HELD ? RL_WORDS_WAITING : RL_WORDS_WAITED_IN_VAIN;
}

static bool waits(const redlock_lock *lock) {
    return lock->core.state == RL_WAITING && lock->waiting.stage == RL_STAGE_NONE;
}

static void let_ask(redlock_lock *lock, bool pause) {
    assert(lock->waiting.stage == RL_STAGE_NONE);
    lock->waiting.stage = pause ? RL_STAGE_PAUSES : RL_STAGE_FIRST;
    rl_ready_step(lock);
}

/* A lock that makes its last try, or has won it, only becomes active. */
static void give_turn(redlock_lock *lock, bool pause) {
    rl_tickets_ask(lock->tickets);
    if (waits(lock)) {
        let_ask(lock, pause);
    }
}

/* -- Side by side -- */

bool rl_waiting_is_active(const redlock_lock *lock) {
    const struct rl_ticket *first = &lock->tickets[0];
    assert(first->is_taken);
    return first->list->active == first; /* it is active in all its lists, or in none */
}

/* The next lock that waits for its turn, when the active one has left without a grant. */
static struct rl_ticket *next_waiting(struct rl_waitlist *list) {
    struct rl_ticket *ticket = list->first;
    while (ticket != NULL &&
           (!waits(rl_ticket_lock(ticket)) || has_before(rl_ticket_lock(ticket), true))) {
        ticket = ticket->next;
    }
    return ticket;
}

/* A grant of a permit serves only one lock; the next lock waits for another permit. */
static void pass_to_next(const redlock_lock *lock) {
    struct rl_ticket *next = next_waiting(lock->tickets[0].list);
    if (next != NULL) {
        give_turn(rl_ticket_lock(next), false);
    }
}

/* The turn of one reader is the turn of all. */
static void pass_turn(redlock_lock *lock) {
    const struct rl_place *place = rl_resource_place(rl_line_of(lock));
    const bool takes = rl_line_is_queued(lock) && place->state == RL_PLACE_TAKING && !place->probes;
    rl_tickets_pass(lock->tickets);
    if (!lock->mode->shares_turn) {
        pass_to_next(lock);
        return;
    }
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        struct rl_ticket *ticket = lock->tickets[i].list->first;
        for (; ticket != NULL; ticket = ticket->next) {
            redlock_lock *other = rl_ticket_lock(ticket);
            if (waits(other)) {
                other->waiting.takes = takes;
                other->waiting.shuts = lock->waiting.shuts;
                let_ask(other, false);
            }
        }
    }
}

static void update_beside(redlock_lock *lock) {
    const bool won = lock->core.state == RL_GRANTED || rl_lock_is_holding(&lock->core);
    if (rl_waiting_is_active(lock)) {
        if (won) {
            pass_turn(lock);
        }
    } else if (waits(lock) && rl_tickets_may_ask(lock->tickets)) {
        rl_tickets_ask(lock->tickets); /* it was refused, and is the first to wait */
    }
}

/* -- One active lock less -- */

/* Lets those go on that have waited for an active lock of the waitlist; lock: that one. */
static void go_on(struct rl_waitlist *list, const redlock_lock *lock) {
    bool pause = false;
    struct rl_ticket *next;
    if (!lock->mode->side_by_side) {
        next = rl_waitlist_next(list, lock->client->step_ns, &pause);
        if (next != NULL) {
            give_turn(rl_ticket_lock(next), pause);
        }
        return;
    }
    while ((next = next_waiting(list)) != NULL) {
        if (rl_tickets_may_ask(rl_tickets_of(next))) {
            give_turn(rl_ticket_lock(next), false);
        } else {
            let_ask(rl_ticket_lock(next), false); /* another active lock waits elsewhere */
        }
    }
}

void rl_waiting_stand(redlock_lock *lock, uint32_t line) {
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        struct rl_waitlist *list = lock->tickets[i].list;
        if (i != line && list->active == &lock->tickets[i]) {
            if (!lock->mode->side_by_side) {
                list->active = NULL;
            }
            go_on(list, lock);
        }
    }
}

bool rl_waiting_take(redlock_lock *lock) {
    bool is_free = true;
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        const struct rl_ticket *active = lock->tickets[i].list->active;
        is_free = is_free && (active == NULL || active == &lock->tickets[i]);
    }
    for (uint32_t i = 0; is_free && i < lock->resource_count; i++) {
        lock->tickets[i].list->active = &lock->tickets[i];
    }
    return is_free;
}

/* While it pauses without a line it holds up, as in a line, only those that want what was refused.
 * Later it is active for all again as soon as it can; if it is refused, for all or for none. */
static void update_alone(redlock_lock *lock) {
    const uint32_t count = lock->resource_count, by = lock->waiting.refused_by;
    if (lock->core.state == RL_BACKOFF) {
        rl_waiting_stand(lock, by < count ? by : 0);
    } else if (!rl_line_is_queued(lock) && !rl_waiting_take(lock) && waits(lock)) {
        rl_waiting_stand(lock, count);
    }
}

/* -- After a step -- */

void rl_waiting_update(redlock_lock *lock) {
    if (!lock->tickets[0].is_taken) {
        return;
    }
    const bool beside = lock->mode->side_by_side;
    if (rl_lock_is_in_line(&lock->core)) {
        if (beside) {
            update_beside(lock);
        } else {
            update_alone(lock);
        }
        return;
    }
    bool is_free[REDLOCK_RESOURCES_MAX];
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        is_free[i] = rl_ticket_leave(&lock->tickets[i]);
    }
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        struct rl_waitlist *list = lock->tickets[i].list;
        if (is_free[i] && list->active == NULL) {
            go_on(list, lock);
        }
    }
}
