/* Public numbers as text: status codes, all from the one table in status.h, the enumerations that
 * are printed, and the version. */
#include <stdbool.h>
#include <stddef.h>

#include "redlock/redlock.h"

static const struct {
    int value;
    const char *name;
    const char *text;
} table[] = {
#define STATUS_ROW(name, value, text) {(value), #name, text},
    REDLOCK_STATUS_MAP(STATUS_ROW)
#undef STATUS_ROW
};

const char *redlock_strerror(int status) {
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].value == status) {
            return table[i].text;
        }
    }
    return "unknown status code";
}

const char *redlock_err_name(int status) {
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].value == status) {
            return table[i].name;
        }
    }
    return "ERR_?";
}

int redlock_is_retryable(int status) {
    switch (status) {
        case REDLOCK_ERR_HELD:
        case REDLOCK_ERR_NO_QUORUM:
        case REDLOCK_ERR_EXPIRED:
        case REDLOCK_ERR_DEADLINE:
        case REDLOCK_ERR_UNKNOWN:
        case REDLOCK_ERR_BUSY:
        case REDLOCK_ERR_NOMEM:
            return 1;
        default:
            return 0;
    }
}

const char *redlock_version(void) {
    return REDLOCK_VERSION;
}

/* -- Enumerations: without a default, so that the compiler reports missing values -- */

const char *redlock_guard_name(enum redlock_guard guard) {
    switch (guard) {
        case REDLOCK_GUARD_OFF:
            return "off";
        case REDLOCK_GUARD_OBSERVED:
            return "observed";
        case REDLOCK_GUARD_STRICT:
            return "strict";
    }
    return "?";
}

const char *redlock_vote_name(enum redlock_vote vote) {
    switch (vote) {
        case REDLOCK_VOTE_NONE:
            return "none";
        case REDLOCK_VOTE_PENDING:
            return "pending";
        case REDLOCK_VOTE_GRANTED:
            return "granted";
        case REDLOCK_VOTE_REFUSED:
            return "refused";
        case REDLOCK_VOTE_FAILED:
            return "failed";
    }
    return "?";
}

const char *redlock_event_name(enum redlock_event_type type) {
    static const char *const names[] = {
        [REDLOCK_EVENT_NODE_UP] = "node_up",
        [REDLOCK_EVENT_NODE_DOWN] = "node_down",
        [REDLOCK_EVENT_ATTEMPT] = "attempt",
        [REDLOCK_EVENT_EXTEND] = "extend",
        [REDLOCK_EVENT_RELEASE] = "release",
        [REDLOCK_EVENT_REPAIR] = "repair",
        [REDLOCK_EVENT_VOTE] = "vote",
        [REDLOCK_EVENT_LATE_VOTE] = "late_vote",
        [REDLOCK_EVENT_ACQUIRED] = "acquired",
        [REDLOCK_EVENT_DONE] = "done",
        [REDLOCK_EVENT_LOST] = "lost",
        [REDLOCK_EVENT_RELEASE_PENDING] = "release_pending",
        [REDLOCK_EVENT_RELEASE_RETRIED] = "release_retried",
        [REDLOCK_EVENT_RELEASE_DROPPED] = "release_dropped",
        [REDLOCK_EVENT_LISTEN_UP] = "listen_up",
        [REDLOCK_EVENT_LISTEN_DOWN] = "listen_down",
        [REDLOCK_EVENT_RELEASE_NOTIFIED] = "release_notified",
        [REDLOCK_EVENT_FENCE] = "fence",
        [REDLOCK_EVENT_NODE_QUARANTINED] = "node_quarantined",
        [REDLOCK_EVENT_NODE_VOTES] = "node_votes",
        [REDLOCK_EVENT_JOIN] = "join",
        [REDLOCK_EVENT_TURN] = "turn",
        [REDLOCK_EVENT_TAKE] = "take",
        [REDLOCK_EVENT_LEAVE] = "leave",
        [REDLOCK_EVENT_UPGRADE] = "upgrade",
        [REDLOCK_EVENT_CREDENTIALS_ACCEPTED] = "credentials_accepted",
        [REDLOCK_EVENT_CREDENTIALS_REFUSED] = "credentials_refused",
        [REDLOCK_EVENT_SUBMITTED] = "submitted",
        [REDLOCK_EVENT_WAITING] = "waiting",
        [REDLOCK_EVENT_PAUSE] = "pause",
        [REDLOCK_EVENT_PLACE] = "place",
        [REDLOCK_EVENT_FAILED] = "failed",
        [REDLOCK_EVENT_RELEASED] = "released",
    };
    const size_t number = (size_t)type;
    const bool is_known = number < sizeof names / sizeof names[0] && names[number] != NULL;
    return is_known ? names[number] : "?";
}
