/* See line.h.
 *
 * Can a turn be missed? A seat becomes first only when another leaves, and rl_line_update() looks
 * at every seat that has become first. A lock that has a turn is in the queue until the loop's
 * turn, which always follows: what steps a lock is either a turn itself, or an event of the poll
 * before it, or a call of the user, who wakes the loop (rl_loop_wake).
 */
#include "line.h"

#include <assert.h>

bool rl_line_enter(redlock_lock *lock) {
    assert(!lock->is_in_line);
    rl_seats_take(lock->seats, lock->resource_count);
    lock->is_in_line = true;
    return !rl_seats_are_first(lock->seats, lock->resource_count);
}

bool rl_line_is_busy(const redlock_lock *lock) {
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        if (lock->seats[i].turns->first != NULL) {
            return true;
        }
    }
    return false;
}

static void give_turn(redlock_lock *lock, bool pause) {
    if (!rl_seats_are_first(lock->seats, lock->resource_count)) {
        return; /* it waits in another line */
    }
    lock->turn_pauses = lock->turn_pauses || pause;
    if (!lock->has_turn) {
        lock->has_turn = true;
        rl_loop_queue_turn(lock);
    }
}

void rl_line_update(redlock_lock *lock) {
    if (!lock->is_in_line || rl_lock_is_in_line(&lock->core)) {
        return;
    }
    lock->is_in_line = false;
    for (uint32_t i = 0; i < lock->resource_count; i++) {
        bool pause = false;
        struct rl_seat *next = rl_seat_leave(&lock->seats[i], lock->core.now_ns, &pause);
        if (next != NULL) {
            give_turn(next->owner, pause);
        }
    }
}

void rl_line_run(redlock_client *client) {
    redlock_lock *lock;
    while ((lock = rl_loop_take_turn(client)) != NULL) {
        struct rl_event event = {.type = RL_EV_TURN};
        event.u.pause = lock->turn_pauses;
        lock->has_turn = lock->turn_pauses = false;
        if (lock->core.state == RL_WAITING && client->phase == RL_CLIENT_OPEN) {
            client->stats.handed_over++;
            rl_votes_step(lock, &event);
        }
        rl_lock_unref(lock);
    }
}
