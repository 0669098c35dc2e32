/* See hear.h. */
#include "wait/hear.h"

#include <assert.h>

#include "lock/life.h"
#include "nodes/listening.h"
#include "nodes/seats.h"
#include "wait/line.h"
#include "wait/line_call.h"
#include "wait/line_release.h"

/* Whether the client receives home's messages to the holder. */
static bool hears(const redlock_lock *lock) {
    const struct rl_resource *resource = rl_lock_resource(lock, 0);
    const uint32_t home = rl_line_home(resource);
    return home != RL_LINE_NO_HOME && resource->wait->listens & rl_bit(home) &&
           rl_listening_confirmed(lock->client, home);
}

/* An attempt without a turn begins; nothing was sent yet. */
static void begin(redlock_lock *lock) {
    struct rl_resource *resource = rl_lock_resource(lock, 0);
    struct rl_wait *wait = rl_line_wait(resource);
    if (wait != NULL && wait->place.state == RL_PLACE_OUT) {
        assert(!rl_link_is_in(&wait->passed));
        wait->successor[0] = '\0';
        lock->waiting.hears_next = true;
        rl_list_add(&lock->client->lines.passed, &wait->passed);
        rl_line_listen(resource, lock);
        lock->waiting.is_unwanted = hears(lock);
    }
}

/* The attempt or the hold is over, so the client need not hear of a successor any more. */
static void end(redlock_lock *lock) {
    lock->waiting.hears_next = lock->waiting.is_unwanted = false;
    rl_list_remove(&rl_lock_resource(lock, 0)->wait->passed);
    rl_line_listen(rl_lock_resource(lock, 0), lock);
}

void rl_hear_follow(redlock_lock *lock, uint8_t before) {
    if (lock->waiting.hears_next && !rl_lock_has_token(&lock->core, lock->core.token)) {
        end(lock);
    } else if (lock->core.state == RL_TRYING && before != RL_TRYING && rl_lock_may_linger(lock) &&
               !rl_line_is_queued(lock) && !lock->waiting.hears_next) {
        begin(lock);
    }
}

/* Without home's vote, home does not know who holds the lock, and may have given its key to another
 * client. */
static bool has_home(const redlock_lock *lock) {
    const uint32_t home = rl_line_home(rl_lock_resource(lock, 0));
    const uint32_t seat = home != RL_LINE_NO_HOME ? rl_seats_of(lock, home) : RL_SEATS_MAX;
    return seat < RL_SEATS_MAX && (lock->core.round.granted & rl_seat(seat)) != 0;
}

bool rl_hear_is_unwanted(const redlock_lock *lock, uint64_t now_ns) {
    const struct rl_ticket *ticket = &lock->tickets[0];
    const struct rl_resource *resource = rl_ticket_resource(ticket);
    const struct rl_resource *other = rl_hold_other_mode(lock, resource);
    return lock->waiting.is_unwanted && ticket->previous == NULL && ticket->next == NULL &&
           (other == NULL || other->waitlist.first == NULL) &&
           !rl_place_is_likely_busy(rl_resource_place(resource), now_ns) && has_home(lock);
}

void rl_hear_wanted(redlock_lock *lock) {
    lock->waiting.is_unwanted = false;
}

bool rl_hear_has_any(const redlock_client *client) {
    return client->lines.passed.first != NULL;
}

bool rl_hear_is_deaf(const redlock_lock *lock) {
    return lock->waiting.is_unwanted && !hears(lock);
}
