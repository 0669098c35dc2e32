/* See number.h. */
#include "tool/number.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS_MAX (INT64_C(1000) * 86400 * 1000) /* more than a thousand days are a mistake */

static const struct {
    const char *name;
    int64_t ms;
} units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
#define N_UNITS (sizeof units / sizeof units[0])

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int64_t unit_of(const char *name) {
    for (size_t i = 0; i < N_UNITS; i++) {
        if (strcmp(name, units[i].name) == 0) {
            return units[i].ms;
        }
    }
    return 0;
}

/* Parses digits, and up to three decimals, as thousandths. Returns what follows them, or NULL and
 * the reason. */
static const char *parse_decimal(const char *text, int64_t *thousandths, const char **why) {
    int64_t place = 1000; /* of the next digit, 1000 before the point */
    const char *c = text;
    *thousandths = 0;
    for (; is_digit(*c); c++) {
        *thousandths = *thousandths * 10 + (*c - '0') * 1000;
        if (*thousandths > MS_MAX) {
            *why = "it is too long; at most 1000d";
            return NULL;
        }
    }
    if (*c == '.') {
        for (c++; is_digit(*c); c++) {
            place /= 10;
            if (place == 0) {
                *why = "at most three digits can follow the point";
                return NULL;
            }
            *thousandths += (*c - '0') * place;
        }
    }
    return c;
}

const char *tool_duration_parse(const char *text, int64_t *ms) {
    int64_t thousandths = 0;
    const char *why = NULL;
    if (!is_digit(text[0])) {
        return "a duration is a number and a unit: 500ms, 10s, 5m, 2h or 1d";
    }
    const char *end = parse_decimal(text, &thousandths, &why);
    if (end == NULL) {
        return why;
    }
    int64_t unit = *end == '\0' && thousandths == 0 ? 1 : unit_of(end);
    if (unit == 0) {
        return *end == '\0' ? "the unit is missing: write 500ms, 10s, 5m, 2h or 1d"
                            : "the unit is not known: write ms, s, m, h or d";
    }
    if (thousandths > MS_MAX / unit * 1000) {
        return "it is too long; at most 1000d";
    }
    assert(thousandths >= 0);
    *ms = thousandths * unit / 1000;
    return NULL;
}

bool tool_seconds_parse(const char *text, int64_t *ms) {
    const char *why = NULL;
    const char *end = is_digit(text[0]) ? parse_decimal(text, ms, &why) : NULL;
    return end != NULL && *end == '\0';
}

bool tool_whole_parse(const char *text, int64_t *number) {
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return is_digit(text[0]) && *end == '\0' && errno == 0;
}

const char *tool_duration_show(int64_t ms, char *out, size_t size) {
    size_t i = N_UNITS - 1;
    assert(ms >= 0);
    while (i > 0 && (ms == 0 || ms % units[i].ms != 0)) {
        i--;
    }
    if (ms == 0) {
        i = 1;
    }
    snprintf(out, size, "%" PRId64 "%s", ms / units[i].ms, units[i].name);
    return out;
}
