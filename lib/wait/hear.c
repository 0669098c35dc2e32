/* See hear.h. */
#include "wait/hear.h"

#include "wait/line.h"

/* The hold that the place led to is over: the client need not hear of a successor any more. */
static void forget_next(redlock_lock *lock) {
    if (lock->queueing.hears_next && lock->core.state != RL_GRANTED &&
        !rl_lock_is_holding(&lock->core)) {
        lock->queueing.hears_next = false;
        rl_list_remove(&rl_ticket_resource(&lock->tickets[0])->wait->passed);
        rl_line_listen(rl_ticket_resource(&lock->tickets[0]), lock);
    }
}

void rl_hear_follow(redlock_lock *lock) {
    forget_next(lock);
}
