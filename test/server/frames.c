/* See frames.h. */
#include "server/frames.h"

#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX 600

ssize_t frame_length(const char *data, size_t length) {
    const char *end = length > 0 ? memchr(data, '\n', length) : NULL;
    if (end == NULL) {
        return 0;
    }
    ssize_t head = end - data + 1;
    long number = strtol(data + 1, NULL, 10); /* stops at the '\r' */
    if (strchr("+-:", data[0]) != NULL || (strchr("$*", data[0]) != NULL && number < 0)) {
        return head;
    }
    if (data[0] == '$') {
        ssize_t whole = head + number + 2;
        return whole <= (ssize_t)length ? whole : 0;
    }
    if (data[0] != '*') {
        return -1;
    }
    ssize_t rest = frames_length(end + 1, length - (size_t)head, (size_t)number);
    return rest < 0 ? 0 : head + rest;
}

ssize_t frames_length(const char *data, size_t length, size_t n) {
    size_t used = 0;
    for (; n > 0; n--) {
        ssize_t one = used < length ? frame_length(data + used, length - used) : 0;
        if (one <= 0) {
            return -1;
        }
        used += (size_t)one;
    }
    return (ssize_t)used;
}

size_t frames_count(const char *data, size_t length) {
    size_t count = 0, used = 0;
    ssize_t one;
    while (used < length && (one = frame_length(data + used, length - used)) > 0) {
        used += (size_t)one;
        count++;
    }
    return count;
}

/* -- INFO -- */

struct text_line {
    const char *at;
    size_t length;
};

static bool next_line(const char **at, const char *end, struct text_line *line) {
    if (*at >= end) {
        return false;
    }
    const char *stop = memchr(*at, '\r', (size_t)(end - *at));
    stop = stop != NULL ? stop : end;
    *line = (struct text_line){*at, (size_t)(stop - *at)};
    *at = stop + 2;
    return true;
}

static bool is_info(const char *data, size_t length) {
    const char *head = length > 0 ? memchr(data, '\n', length) : NULL;
    return head != NULL && data[0] == '$' && head + 3 < data + length && head[1] == '#' &&
           head[2] == ' ';
}

/* The offset of the value; the line's length if it has none. */
static size_t name_length(const struct text_line *line) {
    const char *colon = memchr(line->at, ':', line->length);
    return colon != NULL ? (size_t)(colon - line->at) : line->length;
}

static bool is_hex_id(const struct text_line *line, size_t from) {
    for (size_t i = from; i < line->length; i++) {
        if (!isxdigit((unsigned char)line->at[i]) || isupper((unsigned char)line->at[i])) {
            return false;
        }
    }
    return line->length - from == 40;
}

static bool is_number(const struct text_line *line, size_t from) {
    size_t i = from + (line->length > from && line->at[from] == '-');
    for (size_t at = i; at < line->length; at++) {
        if (!isdigit((unsigned char)line->at[at])) {
            return false;
        }
    }
    return i < line->length;
}

static bool has_name(const struct text_line *line, const char *name) {
    return name_length(line) == strlen(name) && memcmp(line->at, name, strlen(name)) == 0;
}

/* Values that two servers cannot share. */
static bool is_own(const struct text_line *line) {
    static const char *const names[] = {
        "run_id",       "master_replid",  "server_time_usec",  "uptime_in_seconds",
        "maxmemory",    "redis_version",  "uptime_in_days",    "total_connections_received",
        "maxclients",   "valkey_version", "connected_clients", "connected_slaves",
        "evicted_keys",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (has_name(line, names[i])) {
            return true;
        }
    }
    return false;
}

static bool same_line(const struct text_line *real, const struct text_line *ours) {
    size_t name = name_length(ours);
    if (name_length(real) != name || memcmp(real->at, ours->at, name) != 0) {
        return false;
    }
    if (!is_own(ours)) {
        return real->length == ours->length && memcmp(real->at, ours->at, real->length) == 0;
    }
    bool same_form = is_hex_id(real, name + 1) == is_hex_id(ours, name + 1);
    return same_form && is_number(real, name + 1) == is_number(ours, name + 1);
}

static bool same_info(const char *real, size_t real_length, const char *ours, size_t our_length) {
    const char *at = ours, *end = ours + our_length;
    const char *real_at = real, *real_end = real + real_length;
    struct text_line line, real_line;
    next_line(&at, end, &line); /* "$1234" */
    next_line(&real_at, real_end, &real_line);
    while (next_line(&at, end, &line)) {
        bool is_found = line.length == 0;                     /* between sections */
        is_found = is_found || memcmp(line.at, "db", 2) == 0; /* expiry differs */
        while (!is_found && next_line(&real_at, real_end, &real_line)) {
            bool is_behind = real_line.length > 0 && real_line.at[0] == '#' && line.at[0] != '#';
            is_found = same_line(&real_line, &line);
            if (is_behind && !is_found) {
                break; /* the next section */
            }
        }
        if (!is_found) {
            fprintf(stderr, "# INFO: no line \"%.*s\" where it should be\n", (int)line.length,
                    line.at);
            return false;
        }
    }
    return true;
}

/* -- The interface -- */

/* For an array only the head: its elements follow as frames. */
static ssize_t next_frame(const char *data, size_t length) {
    const char *end = length > 0 && data[0] == '*' ? memchr(data, '\n', length) : NULL;
    return end != NULL ? end - data + 1 : frame_length(data, length);
}

bool frames_same(const char *real, size_t real_length, const char *ours, size_t our_length) {
    size_t real_used = 0, used = 0;
    while (real_used < real_length && used < our_length) {
        ssize_t real_one = next_frame(real + real_used, real_length - real_used);
        ssize_t one = next_frame(ours + used, our_length - used);
        if (real_one <= 0 || one <= 0) {
            return false;
        }
        bool same = real_one == one && memcmp(real + real_used, ours + used, (size_t)one) == 0;
        bool infos =
            is_info(real + real_used, (size_t)real_one) && is_info(ours + used, (size_t)one);
        if (!same &&
            !(infos && same_info(real + real_used, (size_t)real_one, ours + used, (size_t)one))) {
            return false;
        }
        real_used += (size_t)real_one;
        used += (size_t)one;
    }
    return real_used == real_length && used == our_length;
}

void frames_show(FILE *out, const char *data, size_t length) {
    for (size_t i = 0; i < length && i < SHOWN_MAX; i++) {
        unsigned char c = (unsigned char)data[i];
        if (c == '\r' || c == '\n') {
            fputs(c == '\r' ? "\\r" : "\\n", out);
        } else if (c < ' ' || c > '~' || c == '\\') {
            fprintf(out, "\\x%02x", c);
        } else {
            fputc(c, out);
        }
    }
    fputs(length > SHOWN_MAX ? "...\n" : "\n", out);
}
