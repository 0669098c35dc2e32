/* redlock-chaos-client --under: the command of a "redlock run --permits". One piece of work under
 * the permits that its environment names, in small steps, each written down; then it ends.
 *
 *   REDLOCK_KEY, REDLOCK_TOKEN, REDLOCK_SLOT -> enter ... write ... exit
 *
 * It does not ask whether its lock is valid: redlock(1) promises to end it before the lock ends,
 * whatever becomes of redlock itself. So it acts as long as it lives, and of its validity writes
 * down no more than that it goes on now. SIGTERM ends it with a note "lost".
 *
 * Of the works one in so many outlasts the ttl, so that redlock has to extend the lock.
 *
 * Failure modes: an environment without permits ends it with status 2.
 */
#ifndef CHAOS_UNDER_H
#define CHAOS_UNDER_H

#include "settings.h"

/* The exit status. */
int chaos_under_run(const struct chaos_settings *settings);

#endif /* CHAOS_UNDER_H */
