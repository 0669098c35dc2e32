/* The lines of a client's locks (core/turns.h), driven: who comes, who leaves, whose turn it is.
 *
 * Turns are given by the loop's turn, after the callbacks and before the flush, so that the SET of
 * the next follows the release of the one before it in one write. They are not given on the spot:
 * a thousand waiters that fail at once must not be a thousand nested calls.
 */
#ifndef RL_LINE_H
#define RL_LINE_H

#include <stdbool.h>

#include "client.h"

/* Into the line of each of its resources. Returns whether it must wait. */
bool rl_line_enter(redlock_lock *lock);

/* Whether another lock of this client asks for one of the lock's resources, or holds it. */
bool rl_line_is_busy(const redlock_lock *lock);

/* What holds up a lock that waits: HELD, or why the one before it is not granted either. */
int rl_line_status(const redlock_lock *lock);
/* That in words. */
enum rl_words rl_line_words(int status);

/* To be called after every step of a lock: one that neither asks, holds nor waits leaves the lines,
 * and the next ones are given their turn. */
void rl_line_update(redlock_lock *lock);

/* Steps those whose turn has come. */
void rl_line_run(redlock_client *client);

#endif
