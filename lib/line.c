/* See line.h.
 *
 * Can a turn be missed? A waiting lock can go on only after an active one has left one of its
 * lines, and rl_line_update() looks at every line that an active lock has left. A lock that has its
 * turn is active, and in the queue until the loop's turn, which always follows: what steps a lock
 * is either a turn itself, or an event of the poll before it, or a call of the user, who wakes the
 * loop.
 */
#include "line.h"

#include <assert.h>

#include "mark.h"
#include "voters.h"

bool rl_line_enter(redlock_lock *lock) {
    assert(!lock->is_in_line);
    rl_seats_take(lock->seats);
    lock->is_in_line = true;
    if (!rl_seats_may_ask(lock->seats)) {
        return true;
    }
    rl_seats_ask(lock->seats);
    return false;
}

bool rl_line_is_busy(const redlock_lock *lock) {
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        if (lock->seats[i].turns->active != NULL) {
            return true;
        }
    }
    return false;
}

/* Of one that asks before it: what its last attempt came to. Nodes that are known to be too few
 * need no attempt. */
static int asker_status(const redlock_lock *asker) {
    if (asker->core.acquire.attempt != RL_RESULT_NONE &&
        asker->core.acquire.attempt != RL_RESULT_OK) {
        return rl_lock_status(asker->core.acquire.attempt);
    }
    return rl_voters_are_quorum(asker->client) ? REDLOCK_ERR_HELD : REDLOCK_ERR_NO_QUORUM;
}

int rl_line_status(const redlock_lock *lock) {
    int status = REDLOCK_ERR_HELD;
    for (uint32_t i = 0; i < lock->resource_count && status == REDLOCK_ERR_HELD; i++) {
        const struct rl_seat *active = lock->seats[i].turns->active;
        const redlock_lock *other = active != NULL ? active->owner : NULL;
        if (other != NULL && other != lock && rl_lock_is_acquiring(&other->core)) {
            status = asker_status(other);
        }
    }
    return status;
}

enum rl_words rl_line_words(int status) {
    return status == REDLOCK_ERR_HELD ? RL_WORDS_IN_LINE : RL_WORDS_IN_LINE_IN_VAIN;
}

static void give_turn(redlock_lock *lock, bool pause) {
    assert(!lock->has_turn);
    rl_seats_ask(lock->seats);
    lock->has_turn = true;
    lock->turn_pauses = pause;
    if (!lock->is_turn_queue) {
        rl_loop_queue_turn(lock);
    }
}

void rl_line_update(redlock_lock *lock) {
    if (!lock->is_in_line || rl_lock_is_in_line(&lock->core)) {
        return;
    }
    bool is_free[REDLOCK_RESOURCES_MAX];
    lock->is_in_line = lock->has_turn = false;
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        is_free[i] = rl_seat_leave(&lock->seats[i]);
    }
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        struct rl_turns *turns = lock->seats[i].turns;
        bool pause;
        if (is_free[i] && turns->active == NULL) {
            struct rl_seat *next = rl_turns_next(turns, lock->core.now_ns, &pause);
            if (next != NULL) {
                give_turn(next->owner, pause);
            }
        }
    }
}

void rl_line_run(redlock_client *client) {
    redlock_lock *lock;
    while ((lock = rl_loop_take_turn(client)) != NULL) {
        struct rl_event event = {.type = RL_EV_TURN};
        event.u.pause = lock->turn_pauses;
        bool has_turn = lock->has_turn; /* it may have left the line since */
        lock->has_turn = false;
        if (!has_turn) {
            RL_MARK(TURN_TAKEN_BACK);
        } else if (client->phase == RL_CLIENT_OPEN) {
            assert(lock->core.state == RL_WAITING);
            client->stats.handed_over++;
            rl_votes_step(lock, &event);
        }
        rl_lock_unref(lock);
    }
}
