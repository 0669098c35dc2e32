/* Durations as people write them: 500ms, 10s, 1.5m, 2h, 1d.
 *
 * Failure modes: a number without a unit is refused, because nobody knows whether "10" is
 * seconds or milliseconds, and with a lock that is the difference between safe and not. Only 0
 * needs none. */
#ifndef RL_CLI_DURATION_H
#define RL_CLI_DURATION_H

#include <stddef.h>
#include <stdint.h>

#define RL_DURATION_TEXT_MAX 32

/* Returns NULL and sets *ms, or returns why not: a clause that says what to write instead. */
const char *rl_duration_parse(const char *text, int64_t *ms);

/* As rl_duration_parse() would read it: "90s", "1500ms", "5m". */
const char *rl_duration_show(int64_t ms, char *out, size_t size);

#endif
