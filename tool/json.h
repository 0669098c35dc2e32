/* JSON, written as a stream: an object is a list of members.
 *
 *     tool_json_line(stdout, JSON_TEXT("key", "nightly"), JSON_INT("votes", 3),
 *                    JSON_IF(fence != 0, JSON_INT("fence", fence)));
 *
 * Failure modes: texts are any bytes; invalid UTF-8 is written as U+FFFD, so that the output is
 * always valid JSON. The caller is responsible for nesting and flushing.
 *
 * Why not a library? Debian's libraries build a tree in memory and refuse invalid UTF-8; redlock(1)
 * is copied to machines as one file; and this is a hundred lines. */
#ifndef TOOL_JSON_H
#define TOOL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TOOL_JSON_DEPTH_MAX 8

struct tool_json {
    FILE *file;
    bool needs_comma;
    size_t depth;
    char closing[TOOL_JSON_DEPTH_MAX]; /* of each open object and array */
};

enum tool_json_kind {
    TOOL_JSON_LAST, /* ends a list of members */
    TOOL_JSON_LEFT_OUT,
    TOOL_JSON_NULL,
    TOOL_JSON_TEXT, /* NULL: null */
    TOOL_JSON_BYTES,
    TOOL_JSON_INT,
    TOOL_JSON_INTS, /* an array */
    TOOL_JSON_REAL, /* three decimals; null if it is not finite */
    TOOL_JSON_BOOL,
};

struct tool_json_member {
    enum tool_json_kind kind;
    const char *name; /* NULL: an array's element, or the top level */
    const char *text;
    size_t length;
    int64_t number;
    const int32_t *numbers;
    double real;
};

#define JSON_MEMBER(type, key, ...) \
    ((struct tool_json_member){.kind = TOOL_JSON_##type, .name = (key), __VA_ARGS__})
#define JSON_TEXT(key, value) JSON_MEMBER(TEXT, key, .text = (value))
#define JSON_BYTES(key, bytes, size) JSON_MEMBER(BYTES, key, .text = (bytes), .length = (size))
#define JSON_INT(key, value) JSON_MEMBER(INT, key, .number = (int64_t)(value))
#define JSON_INTS(key, values, n) JSON_MEMBER(INTS, key, .numbers = (values), .length = (n))
#define JSON_REAL(key, value) JSON_MEMBER(REAL, key, .real = (value))
#define JSON_BOOL(key, value) JSON_MEMBER(BOOL, key, .number = (value))

#define JSON_TEXT_OR_NULL(key, value) JSON_KNOWN((value)[0] != '\0', TEXT, key, value)

/* The member is evaluated only if the condition holds. Otherwise it is left out, or null. */
#define JSON_IF(condition, member) ((condition) ? (member) : JSON_MEMBER(LEFT_OUT, NULL, ))
#define JSON_KNOWN(condition, type, key, value) \
    ((condition) ? JSON_##type(key, value) : JSON_MEMBER(NULL, key, ))

/* clang-format off: it takes the braces for a block */
#define JSON_MEMBERS(...)               \
    (const struct tool_json_member[]) { \
        __VA_ARGS__, {                  \
            .kind = TOOL_JSON_LAST      \
        }                               \
    }
/* clang-format on */

/* Writes members of the open object or array. */
#define tool_json_put(json, ...) tool_json_put_all(json, JSON_MEMBERS(__VA_ARGS__))
/* Writes a whole object; key: as for a member. */
#define tool_json_object(json, key, ...) tool_json_put_object(json, key, JSON_MEMBERS(__VA_ARGS__))
/* Writes a whole object as one line. */
#define tool_json_line(file, ...) tool_json_put_line(file, JSON_MEMBERS(__VA_ARGS__))

void tool_json_put_all(struct tool_json *json, const struct tool_json_member *members);
void tool_json_put_object(struct tool_json *json, const char *key,
                          const struct tool_json_member *members);
void tool_json_put_line(FILE *file, const struct tool_json_member *members);

/* Begins an object at the top that has others in it, with these members. */
#define tool_json_begin(file, ...) tool_json_begin_all(file, JSON_MEMBERS(__VA_ARGS__))
struct tool_json tool_json_begin_all(FILE *file, const struct tool_json_member *members);

/* An object or array within. bracket: '{' or '['. */
void tool_json_open(struct tool_json *json, const char *key, char bracket);
void tool_json_close(struct tool_json *json); /* the innermost */
void tool_json_end(struct tool_json *json);   /* closes all that is open, and ends the line */

#endif
