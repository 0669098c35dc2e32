/* See step.h. */
#include "lock/step.h"

#include <assert.h>

#include "client/check.h"
#include "lock/driver.h"
#include "lock/lock_life.h"
#include "mode/permit.h"
#include "wait/line.h"
#include "wait/waiting.h"
#include "watch/span.h"

bool rl_step_event(redlock_lock *lock, struct rl_event *event) {
    redlock_client *client = lock->client;
    const uint8_t before = lock->core.state;
    rl_lock_ref(lock); /* what ends here may be the last that refers to it */
    bool late = rl_driver_run(lock, event);
    rl_waiting_update(lock);
    if (lock->permit != NULL) {
        rl_permit_follow(lock);
    }
    rl_span_trace_state(lock, before);
    rl_line_follow(lock);
    rl_deadlines_set(&client->deadlines, &lock->deadline, rl_lock_wake_ns(&lock->core));
    rl_deadlines_set(&client->ends, &lock->end, rl_lock_lost_ns(&lock->core));
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

void rl_step_due(struct rl_deadline *item, uint64_t now_ns) {
    (void)now_ns; /* the core is given the clock's time */
    rl_step_simple(RL_CONTAINER(item, redlock_lock, deadline), RL_EV_TICK);
}

void rl_step_end_due(struct rl_deadline *item, uint64_t now_ns) {
    (void)now_ns;
    rl_step_simple(RL_CONTAINER(item, redlock_lock, end), RL_EV_TICK);
}
