/* Status codes as text, and the version: everything made from the one table in redlock.h. */
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
