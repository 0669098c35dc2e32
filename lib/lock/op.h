/* An operation of the user: submitted, then done, then delivered.
 *
 * Can a callback run twice or never? An operation is submitted by setting is_active, ended by
 * setting is_done (once, it asserts), and delivered (delivery.h) by clearing both before the
 * callback is called. The code that ends one puts its lock into the queue that the turn empties.
 */
#ifndef RL_LOCK_OP_H
#define RL_LOCK_OP_H

#include "client/state.h"

void rl_op_submit(redlock_lock *lock, enum rl_op_kind kind, redlock_lock_cb callback, void *data);
/* words: what a message adds to the status. */
void rl_op_end(redlock_lock *lock, enum rl_op_kind kind, int status, enum rl_words words);
/* Into the statistics. */
void rl_op_count(redlock_stats *stats, enum rl_op_kind kind, int status);

int rl_lock_status(enum rl_result result);
/* From now on messages are about this, and not about a call that was refused before. */
void rl_lock_note(redlock_lock *lock, int status, enum rl_words words);

#endif
