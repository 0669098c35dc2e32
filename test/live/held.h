/* A hold that renews itself, with a fence, and is lost or not while the nodes change. */
#ifndef LIVE_HELD_H
#define LIVE_HELD_H

#include "live/live.h"

#define HOLD_MS 4000
#define RENEW_MS 20 /* later, if a change has cut an extension off */

struct held {
    struct live *live;
    redlock_lock *lock;
    unsigned renewed;
    struct live_done lost;
};

static inline void on_renew(redlock_lock *lock, int status, void *data) {
    struct held *held = data;
    held->renewed += status == 0;
    live_wake();
}

static inline void hold(struct live *live, struct held *held, const char *resource) {
    redlock_acquire_options options = live_once(HOLD_MS);
    options.auto_extend = 1;
    options.renew_ms = RENEW_MS;
    options.fencing = 1;
    options.on_renew = on_renew;
    options.on_lost = live_lock_cb;
    options.lost_data = &held->lost;
    options.renew_data = held;
    held->live = live;
    held->lock = live_lock(live->client, resource);
    LIVE_STATUS(live_acquire(live, held->lock, &options), 0);
}

#endif
