/* redlock-chaos-client --under: the command of a "redlock run --permits". Works once under the
 * permits that its environment names, in small steps, each recorded; then ends.
 *
 *   REDLOCK_KEY, REDLOCK_TOKEN, REDLOCK_SLOT -> enter ... write ... exit
 *
 * It does not check whether its lock is valid: redlock(1) guarantees to end it before the lock
 * ends, even if redlock itself dies. So it acts as long as it lives, and records only that its lock
 * is valid now. SIGTERM ends it with a note "lost".
 *
 * Some works outlast the ttl, so that redlock has to extend the lock.
 *
 * Failure modes: an environment without permits ends it with status 2. */
#ifndef CHAOS_UNDER_H
#define CHAOS_UNDER_H

#include "settings.h"

/* The exit status. */
int chaos_under_run(const struct chaos_settings *settings);

#endif /* CHAOS_UNDER_H */
