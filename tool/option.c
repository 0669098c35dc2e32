/* See option.h. */
#include "tool/option.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tool/list.h"
#include "tool/number.h"

static const char *set_choice(const struct tool_option *row, int *field, const char *text,
                              char *why) {
    size_t length = strlen(text);
    int place = 0;
    for (const char *at = row->choices; at != NULL; at = strchr(at, '|'), place++) {
        at += *at == '|';
        if (length > 0 && strcspn(at, "|") == length && strncmp(at, text, length) == 0) {
            *field = place;
            return NULL;
        }
    }
    snprintf(why, TOOL_WHY_MAX, "it takes one of %s", row->choices);
    return why;
}

bool tool_option_is_for(const struct tool_option *row, unsigned use) {
    return row->uses == 0 || use == TOOL_EVERY || (row->uses & (1u << use)) != 0;
}

static bool is_near(const char *a, const char *b, int changes) {
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    if (*a == *b) {
        return true;
    }
    return changes > 0 && ((*a != '\0' && is_near(a + 1, b, changes - 1)) ||
                           (*b != '\0' && is_near(a, b + 1, changes - 1)) ||
                           (*a != '\0' && *b != '\0' && is_near(a + 1, b + 1, changes - 1)) ||
                           (*a != '\0' && *b != '\0' && *a == b[1] && a[1] == *b &&
                            is_near(a + 2, b + 2, changes - 1)));
}

int tool_typing_mistakes(const char *typed, const char *name) {
    int allowed = strlen(typed) > 4 ? TOOL_UNLIKE - 1 : 1;
    for (int changes = 0; changes <= allowed; changes++) {
        if (is_near(typed, name, changes)) {
            return changes;
        }
    }
    return TOOL_UNLIKE;
}

const char *tool_choice_name(const char *choices, int choice, char out[TOOL_CHOICE_MAX]) {
    for (; choice > 0; choice--) {
        choices = strchr(choices, '|');
        assert(choices != NULL);
        choices++;
    }
    snprintf(out, TOOL_CHOICE_MAX, "%.*s", (int)strcspn(choices, "|"), choices);
    return out;
}

static const char *range(const struct tool_option *row, char *why) {
    char min[TOOL_DURATION_TEXT_MAX], max[TOOL_DURATION_TEXT_MAX];
    if (row->kind == TOOL_DURATION) {
        snprintf(why, TOOL_WHY_MAX, "it takes %s to %s",
                 tool_duration_show(row->min, min, sizeof min),
                 tool_duration_show(row->max, max, sizeof max));
    } else if (row->kind == TOOL_SECONDS) {
        snprintf(why, TOOL_WHY_MAX, "it takes a number of seconds from %g to %g",
                 (double)row->min / 1e3, (double)row->max / 1e3);
    } else {
        snprintf(why, TOOL_WHY_MAX, "it takes a number from %" PRId64 " to %" PRId64, row->min,
                 row->max);
    }
    return why;
}

static const char *set_number(const struct tool_option *row, int64_t *field, const char *text,
                              char *why) {
    int64_t number = 0;
    if (row->kind == TOOL_DURATION) {
        const char *bad = tool_duration_parse(text, &number);
        if (bad != NULL) {
            return bad;
        }
    } else {
        bool is_whole = row->kind == TOOL_WHOLE;
        if (!(is_whole ? tool_whole_parse(text, &number) : tool_seconds_parse(text, &number))) {
            return range(row, why);
        }
    }
    if (number < row->min || number > row->max) {
        return range(row, why);
    }
    *field = number;
    return NULL;
}

const char *tool_option_set(const struct tool_option *row, void *target, const char *text,
                            char why[TOOL_WHY_MAX]) {
    union {
        bool flag;
        const char *text;
        int choice;
        int64_t number;
    } unused; /* without a target */
    void *field = target != NULL ? (char *)target + row->at : (void *)&unused;
    assert(text != NULL || row->is_optional || row->kind == TOOL_FLAG);
    if (text == NULL && row->kind != TOOL_FLAG) {
        return NULL;
    }
    switch (row->kind) {
        case TOOL_FLAG:
            *(bool *)field = true;
            return NULL;
        case TOOL_TEXT:
            *(const char **)field = text;
            return text[0] != '\0' ? NULL : "it is empty (an unset variable?)";
        case TOOL_CHOICE:
            return set_choice(row, field, text, why);
        case TOOL_WHOLE:
        case TOOL_DURATION:
        case TOOL_SECONDS:
            return set_number(row, field, text, why);
        case TOOL_LIST:
            return tool_list_add(target != NULL ? field : NULL, text);
        case TOOL_HEADING:
        case TOOL_STOP:
            break;
    }
    assert(!"it has no value");
    return NULL;
}
