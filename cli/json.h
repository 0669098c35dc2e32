/* JSON, written as it goes.
 *
 *     rl_json_open(&json, NULL, '{');
 *     rl_json_text(&json, "key", "nightly");
 *     rl_json_close(&json, '}');
 *
 * Failure modes: texts are any bytes; those that are no UTF-8 are written as U+FFFD, so that the
 * output is valid JSON in any case. Nesting is the caller's duty. */
#ifndef RL_CLI_JSON_H
#define RL_CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct rl_json {
    FILE *file;
    bool needs_comma;
};

/* name: of the member, NULL in an array and at the top. bracket: '{' or '['. */
void rl_json_open(struct rl_json *json, const char *name, char bracket);
void rl_json_close(struct rl_json *json, char bracket);                      /* '}' or ']' */
void rl_json_end(struct rl_json *json);                                      /* of a line */
void rl_json_text(struct rl_json *json, const char *name, const char *text); /* NULL: null */
void rl_json_bytes(struct rl_json *json, const char *name, const void *bytes, size_t length);
void rl_json_number(struct rl_json *json, const char *name, int64_t number);
void rl_json_real(struct rl_json *json, const char *name, double number); /* three decimals */
void rl_json_bool(struct rl_json *json, const char *name, bool value);
void rl_json_null(struct rl_json *json, const char *name);

#endif
