/* Short names for the core's events, and for the states of locks and lines. */
#ifndef TEST_CORE_NAMES_H
#define TEST_CORE_NAMES_H

#include "core/lock_data.h"
#include "core/place.h"

static inline const char *event_name(uint32_t i) {
    static const char *const names[RL_EVENT_TYPES] = {
        [RL_EV_ACQUIRE] = "acquire", [RL_EV_ATTEMPT] = "attempt", [RL_EV_READY] = "ready",
        [RL_EV_NONE] = "none",       [RL_EV_PERMITS] = "permits", [RL_EV_VOTE] = "vote",
        [RL_EV_TICK] = "tick",       [RL_EV_TELL] = "tell",       [RL_EV_EXTEND] = "extend",
        [RL_EV_RELEASE] = "release", [RL_EV_CANCEL] = "cancel",   [RL_EV_ABANDON] = "abandon",
        [RL_EV_TURN] = "turn",       [RL_EV_NOTICE] = "notice",   [RL_EV_ADOPT] = "adopt",
        [RL_EV_DISOWN] = "disown",   [RL_EV_CHANGED] = "changed", [RL_EV_UPGRADE] = "upgrade",
        [RL_EV_ALIVE] = "alive",
    };
    return names[i];
}

static inline const char *lock_state_name(uint32_t i) {
    static const char *const names[RL_LOCK_STATES] = {
        [RL_IDLE] = "idle",           [RL_WAITING] = "waiting", [RL_READY] = "ready",
        [RL_TRYING] = "trying",       [RL_FENCING] = "fencing", [RL_BACKOFF] = "backoff",
        [RL_GRANTED] = "granted",     [RL_HELD] = "held",       [RL_EXTENDING] = "extending",
        [RL_RELEASING] = "releasing", [RL_LOST] = "lost",
    };
    return names[i];
}

static inline const char *line_state_name(uint32_t i) {
    static const char *const names[RL_PLACE_STATES] = {
        [RL_PLACE_OUT] = "out",         [RL_PLACE_LISTENING] = "listening",
        [RL_PLACE_JOINING] = "joining", [RL_PLACE_WAITING] = "waiting",
        [RL_PLACE_TURN] = "turn",       [RL_PLACE_TAKING] = "taking",
        [RL_PLACE_PAUSING] = "pausing",
    };
    return names[i];
}

#endif
