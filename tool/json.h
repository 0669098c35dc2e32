/* JSON, written as it goes.
 *
 *     tool_json_open(&json, NULL, '{');
 *     tool_json_text(&json, "key", "nightly");
 *     tool_json_close(&json, '}');
 *
 * Failure modes: texts are any bytes; those that are no UTF-8 are written as U+FFFD, so that the
 * output is valid JSON in any case. Nesting is the caller's duty, and so is a flush.
 *
 * Why not a library? Those that Debian has build a tree in memory and refuse text that is no UTF-8;
 * redlock(1) is copied to machines as one file; and this is a hundred lines. */
#ifndef TOOL_JSON_H
#define TOOL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct tool_json {
    FILE *file;
    bool needs_comma;
};

/* name: of the member, NULL in an array and at the top. bracket: '{' or '['. */
void tool_json_open(struct tool_json *json, const char *name, char bracket);
void tool_json_close(struct tool_json *json, char bracket);                      /* '}' or ']' */
void tool_json_end(struct tool_json *json);                                      /* of a line */
void tool_json_text(struct tool_json *json, const char *name, const char *text); /* NULL: null */
void tool_json_bytes(struct tool_json *json, const char *name, const void *bytes, size_t length);
void tool_json_number(struct tool_json *json, const char *name, int64_t number);
void tool_json_real(struct tool_json *json, const char *name, double number); /* three decimals */
void tool_json_bool(struct tool_json *json, const char *name, bool value);
void tool_json_null(struct tool_json *json, const char *name);

#endif
