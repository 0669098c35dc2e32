/* See line_show.h. */
#include "line_show.h"

#include <inttypes.h>
#include <stdio.h>

#include "say.h"

static const char *plural(size_t number) {
    return number == 1 ? "" : "s";
}

/* It is known of whom nothing is known if a quorum does not answer. */
static void print_unknown(const struct rl_line *line, const struct rl_look *look,
                          const char *what) {
    if (!line->is_known && look->answered >= look->n / 2 + 1) {
        printf("\n  %s is not known: %s\n", what, redlock_strerror(line->refused));
    }
}

/* What follows behind a place, and ends its row. */
static void print_where(const struct rl_line *line, const struct rl_line_place *place) {
    const bool is_elsewhere = place->node != line->places[0].node;
    printf("%s%s\n", is_elsewhere ? ", in another line, on " : "", is_elsewhere ? place->node : "");
}

static void print_place(const struct rl_line *line, size_t index) {
    const struct rl_line_place *place = &line->places[index];
    char waited[32], name[RL_LINE_WHO_MAX], number[32] = "  -";
    if (index < line->writing) { /* readers are served together */
        snprintf(number, sizeof number, "%3zu.", index + 1);
    }
    printf("  %s %s, for %s", number, rl_line_who(place, name),
           rl_say_duration((double)place->waited_ms, waited, sizeof waited));
    print_where(line, place);
}

void rl_line_print(const struct rl_line *line, const struct rl_look *look) {
    size_t writing, reading;
    rl_line_count(line, &writing, &reading);
    print_unknown(line, look, "who waits");
    for (size_t i = 0; i < line->n; i++) {
        if (i == 0 && writing > 0) {
            printf("\n  %zu client%s wait%s, the next one first:\n", writing, plural(writing),
                   writing == 1 ? "s" : "");
        }
        if (i == line->writing) {
            printf("\n  %zu client%s wait%s to read:\n", reading, plural(reading),
                   reading == 1 ? "s" : "");
        }
        print_place(line, i);
    }
    if (line->n > 0 && line->waiting > line->n) {
        printf("       and %zu more\n", line->waiting - line->n);
    }
}

void rl_line_print_permits(const struct rl_line *line, const struct rl_look *look) {
    char waited[32], name[RL_LINE_WHO_MAX];
    print_unknown(line, look, "who waits for permits");
    if (line->n > 0) {
        printf("\n  %zu client%s wait%s for permits, the next one first:\n", line->waiting,
               plural(line->waiting), line->waiting == 1 ? "s" : "");
    }
    for (size_t i = 0; i < line->n; i++) {
        const struct rl_line_place *place = &line->places[i];
        printf("  %3zu. %s wants %" PRIu32 ", has waited %s", i + 1, rl_line_who(place, name),
               place->take, rl_say_duration((double)place->waited_ms, waited, sizeof waited));
        print_where(line, place);
    }
    if (line->n > 0 && line->waiting > line->n) {
        printf("       and %zu more\n", line->waiting - line->n);
    }
}

/* -- JSON -- */

static void waiting_json(struct tool_json *json, const char *name, const struct rl_line *line) {
    if (line->is_known) {
        tool_json_number(json, name, (int64_t)line->waiting);
    } else {
        tool_json_null(json, name);
    }
}

static void who_json(struct tool_json *json, const struct rl_line_place *place) {
    tool_json_text(json, "holder", place->who[0] != '\0' ? place->who : NULL);
    tool_json_text(json, "client", place->client[0] != '\0' ? place->client : NULL);
}

void rl_line_json(struct tool_json *json, const struct rl_line *line) {
    waiting_json(json, "waiting", line);
    tool_json_open(json, "waiters", '[');
    for (size_t i = 0; i < line->n; i++) {
        const struct rl_line_place *place = &line->places[i];
        tool_json_open(json, NULL, '{');
        who_json(json, place);
        tool_json_number(json, "waited_ms", place->waited_ms);
        tool_json_text(json, "node", place->node);
        tool_json_bool(json, "shared", i >= line->writing);
        tool_json_close(json, '}');
    }
    tool_json_close(json, ']');
}

void rl_line_json_permits(struct tool_json *json, const struct rl_line *line) {
    waiting_json(json, "permits_waiting", line);
    tool_json_open(json, "permits_waiters", '[');
    for (size_t i = 0; i < line->n; i++) {
        const struct rl_line_place *place = &line->places[i];
        tool_json_open(json, NULL, '{');
        who_json(json, place);
        tool_json_text(json, "node", place->node);
        tool_json_number(json, "take", place->take);
        tool_json_number(json, "waited_ms", place->waited_ms);
        tool_json_close(json, '}');
    }
    tool_json_close(json, ']');
}
