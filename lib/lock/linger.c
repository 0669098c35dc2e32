/* See linger.h. */
#include "lock/linger.h"

#include <assert.h>

#include "client/env.h"
#include "lock/life.h"
#include "lock/step.h"
#include "mode/mode.h"
#include "wait/line.h"
#include "wait/line_release.h"

void rl_linger_reset(redlock_lock *lock, uint32_t ms) {
    assert(!rl_hold_lingers(lock));
    if (lock->extras != NULL) {
        lock->extras->linger = (struct rl_linger){.ms = ms};
    }
}

/* When it is too late to go on with the hold: half of the validity of a new one must be left. */
static uint64_t ends_ns(const redlock_lock *lock) {
    const struct rl_acquire *acquire = &lock->core.acquire;
    const uint64_t half_ns = rl_validity_ns(lock->core.rules, acquire->ttl_ms) / 2;
    const uint64_t least_ns = acquire->min_validity_ms * RL_NS_PER_MS;
    const uint64_t needed_ns = least_ns > half_ns ? least_ns : half_ns;
    const uint64_t until_ns = lock->core.valid_until_ns, lost_ns = rl_lock_lost_ns(&lock->core);
    uint64_t ends_ns = until_ns > needed_ns ? until_ns - needed_ns : 0;
    ends_ns = lost_ns < ends_ns ? lost_ns : ends_ns;
    return lock->extras->linger.until_ns < ends_ns ? lock->extras->linger.until_ns : ends_ns;
}

bool rl_linger_begin(redlock_lock *lock) {
    assert(rl_hold_primary(lock) == lock && !rl_hold_has_users(lock));
    if (!rl_lock_may_linger(lock) || lock->core.state != RL_HELD ||
        !rl_mode_now(lock)->is_passed_on) {
        return false;
    }
    struct rl_linger *linger = &lock->extras->linger;
    const uint64_t now_ns = rl_client_now_ns(lock->client);
    if (!rl_hear_is_unwanted(lock, now_ns)) {
        return false;
    }
    if (linger->until_ns == 0) {
        linger->until_ns = now_ns + linger->ms * RL_NS_PER_MS;
    }
    const uint64_t until_ns = ends_ns(lock);
    linger->ends_ns = now_ns < until_ns ? until_ns : 0;
    rl_deadlines_set(&lock->client->deadlines, &lock->deadline, rl_hold_wake_ns(lock));
    return linger->ends_ns != 0;
}

bool rl_linger_suits(const redlock_lock *lock, const struct rl_acquire *acquire, uint32_t ms) {
    const struct rl_acquire *had = &lock->core.acquire;
    return rl_hold_lingers(lock) && ms == lock->extras->linger.ms &&
           acquire->ttl_ms == had->ttl_ms && acquire->min_validity_ms == had->min_validity_ms &&
           acquire->renew_ms == had->renew_ms && acquire->max_silence_ms == had->max_silence_ms &&
           rl_client_now_ns(lock->client) < lock->extras->linger.ends_ns;
}

void rl_linger_resume(redlock_lock *lock) {
    assert(rl_hold_lingers(lock) && !lock->joining);
    lock->extras->linger.ends_ns = 0;
    lock->joining = true;
    rl_op_end(lock, RL_OP_ACQUIRE, 0, RL_WORDS_LINGERED);
    rl_step_simple(lock, RL_EV_ALIVE); /* and the watchdog goes on */
}

void rl_linger_end(redlock_lock *lock) {
    if (rl_hold_lingers(lock)) {
        lock->extras->linger.ends_ns = 0;
        rl_step_simple(lock, RL_EV_ABANDON);
    }
}

static void recall(const struct rl_resource *resource) {
    redlock_lock *active = resource != NULL ? rl_line_active(resource) : NULL;
    if (active != NULL) {
        rl_linger_end(active);
    }
}

void rl_linger_recall(const redlock_lock *lock) {
    /* Most clients have no lingering lock: their acquires look nothing up. */
    for (uint32_t i = 0; rl_hear_has_any(lock->client) && i < lock->resource_count; i++) {
        const struct rl_resource *resource = rl_lock_resource(lock, i);
        recall(resource);
        recall(rl_hold_other_mode(lock, resource));
    }
}
