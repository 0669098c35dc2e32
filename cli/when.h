/* Moments of the wall clock, as texts: for people in the machine's time zone, for machines in UTC.
 *
 * Failure modes: a moment that no calendar has (the clock of a machine, or a note, is far off) is
 * shown as "?". */
#ifndef RL_CLI_WHEN_H
#define RL_CLI_WHEN_H

#include <stdbool.h>
#include <stdint.h>

#define RL_WHEN_MAX 40

/* Now, in ms since 1970. */
int64_t rl_when_now_ms(void);

/* "2026-11-23 02:31:07", with ms "2026-11-23 02:31:07.123". Returns out. */
const char *rl_when_show(int64_t at_ms, bool with_ms, char out[RL_WHEN_MAX]);

/* "2026-11-23T01:31:07.123Z". Returns out. */
const char *rl_when_utc(int64_t at_ms, char out[RL_WHEN_MAX]);

#endif
