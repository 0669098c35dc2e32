/* Public numbers as text: status codes, all from the one table in status.h, the enumerations that
 * are printed, and the version. */
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

/* -- Enumerations: without a default, so that the compiler misses what is added to them alone -- */

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
    switch (type) {
        case REDLOCK_EVENT_NODE_UP:
            return "node_up";
        case REDLOCK_EVENT_NODE_DOWN:
            return "node_down";
        case REDLOCK_EVENT_ATTEMPT:
            return "attempt";
        case REDLOCK_EVENT_EXTEND:
            return "extend";
        case REDLOCK_EVENT_RELEASE:
            return "release";
        case REDLOCK_EVENT_REPAIR:
            return "repair";
        case REDLOCK_EVENT_VOTE:
            return "vote";
        case REDLOCK_EVENT_LATE_VOTE:
            return "late_vote";
        case REDLOCK_EVENT_ACQUIRED:
            return "acquired";
        case REDLOCK_EVENT_DONE:
            return "done";
        case REDLOCK_EVENT_LOST:
            return "lost";
        case REDLOCK_EVENT_RELEASE_PENDING:
            return "release_pending";
        case REDLOCK_EVENT_RELEASE_RETRIED:
            return "release_retried";
        case REDLOCK_EVENT_RELEASE_DROPPED:
            return "release_dropped";
        case REDLOCK_EVENT_LISTEN_UP:
            return "listen_up";
        case REDLOCK_EVENT_LISTEN_DOWN:
            return "listen_down";
        case REDLOCK_EVENT_RELEASE_NOTIFIED:
            return "release_notified";
        case REDLOCK_EVENT_FENCE:
            return "fence";
        case REDLOCK_EVENT_NODE_QUARANTINED:
            return "node_quarantined";
        case REDLOCK_EVENT_NODE_VOTES:
            return "node_votes";
        case REDLOCK_EVENT_JOIN:
            return "join";
        case REDLOCK_EVENT_TURN:
            return "turn";
        case REDLOCK_EVENT_TAKE:
            return "take";
        case REDLOCK_EVENT_LEAVE:
            return "leave";
        case REDLOCK_EVENT_UPGRADE:
            return "upgrade";
        case REDLOCK_EVENT_CREDENTIALS_ACCEPTED:
            return "credentials_accepted";
        case REDLOCK_EVENT_CREDENTIALS_REFUSED:
            return "credentials_refused";
    }
    return "?";
}
