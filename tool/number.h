/* Human-readable numbers: durations (500ms, 10s, 1.5m, 2h, 1d), seconds (0.5), whole numbers.
 *
 * Failure modes: a duration without a unit is refused, because it is unclear whether "10" is
 * seconds or milliseconds, and with a lock that is the difference between safe and not. Only 0
 * needs none. */
#ifndef TOOL_NUMBER_H
#define TOOL_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOOL_DURATION_TEXT_MAX 32

/* Returns NULL and sets *ms, or returns a clause that says what to write instead. */
const char *tool_duration_parse(const char *text, int64_t *ms);

/* As tool_duration_parse() would read it: "90s", "1500ms", "5m". */
const char *tool_duration_show(int64_t ms, char *out, size_t size);

/* Seconds without a unit, in milliseconds. False: not such a number. */
bool tool_seconds_parse(const char *text, int64_t *ms);

/* A whole number, 0 or more. False: not a number, or too large. */
bool tool_whole_parse(const char *text, int64_t *number);

#endif
