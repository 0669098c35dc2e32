/* See when.h. */
#include "when.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MS_PER_S 1000

int64_t rl_when_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * MS_PER_S + now.tv_nsec / 1000000;
}

/* parts: how the date and the time are parted. end: what follows the ms; NULL: no ms. */
static const char *show(const struct tm *moment, char parts, int64_t at_ms, const char *end,
                        char out[RL_WHEN_MAX]) {
    size_t used = moment != NULL ? strftime(out, RL_WHEN_MAX, "%Y-%m-%d %H:%M:%S", moment) : 0;
    if (used == 0) {
        snprintf(out, RL_WHEN_MAX, "?");
        return out;
    }
    *strchr(out, ' ') = parts;
    if (end != NULL) {
        snprintf(out + used, RL_WHEN_MAX - used, ".%03" PRId64 "%s", at_ms % MS_PER_S, end);
    }
    return out;
}

const char *rl_when_show(int64_t at_ms, bool with_ms, char out[RL_WHEN_MAX]) {
    const time_t seconds = (time_t)(at_ms / MS_PER_S);
    struct tm moment;
    return show(at_ms >= 0 ? localtime_r(&seconds, &moment) : NULL, ' ', at_ms, with_ms ? "" : NULL,
                out);
}

const char *rl_when_utc(int64_t at_ms, char out[RL_WHEN_MAX]) {
    const time_t seconds = (time_t)(at_ms / MS_PER_S);
    struct tm moment;
    return show(at_ms >= 0 ? gmtime_r(&seconds, &moment) : NULL, 'T', at_ms, "Z", out);
}
