/* Carries out the core's decisions: sends commands to the nodes, and records and queues what has
 * ended.
 *
 * Happy path: an event, its step, its actions, and what follows from these: other locks may get
 * their turn in line, the client starts or stops listening for releases, and the lock's deadline
 * changes.
 *
 * Failure modes: a command that cannot be sent is a failed vote at once, so a round is not held up
 * by it; a release that cannot be sent becomes pending, but only if the node may have the key,
 * since the list of pending releases is limited; a token that cannot be generated ends the acquire.
 * A silent node is left out of an attempt: a SET would only queue up behind the unanswered request,
 * and be one more key to clean up when a stopped node goes on. Nor is a silent node sent a release
 * that it cannot need: each attempt of each lock would queue one more there, and one slow node
 * would fill the memory of all its clients.
 *
 * Which releases are not needed? Those of a token that is not on the node and cannot get there: the
 * node is not in may_hold of this step (core/lock.h, 2). Only the SETs of an attempt, a repair or a
 * plant set keys: an extension and a raise of a fence only touch a key that has the token. Each
 * attempt has its own token, so commands of earlier attempts cannot set it. And may_hold has every
 * node that a SET or a repair with this token was sent to, unless the node answered that the
 * command did not run; a command that could not be sent is not counted there, and was not appended
 * to a connection either. A token that was taken over, or is another client's, may be on any node.
 *
 * Can a key be orphaned by the order? No: releases go first, with the token of this step; an
 * attempt that begins later in the same step generates another. Can a success be reported after a
 * loss? No: the ends of operations are recorded before the loss, and the turn runs on_lost before
 * the callbacks.
 *
 * No function here calls user code, the trace hook excepted.
 */
#ifndef RL_LOCK_STEP_H
#define RL_LOCK_STEP_H

#include "client/state.h"

/* Steps the lock with an event whose type and union are filled in. Returns whether it was a late
 * vote. Without another reference the lock may be gone. */
bool rl_step_event(redlock_lock *lock, struct rl_event *event);
void rl_step_simple(redlock_lock *lock, enum rl_event_type type);

/* Ends what the client's locks have under way: other nodes vote from now on, and no ttl may be
 * longer. */
void rl_step_changed(redlock_client *client, uint32_t max_ttl_ms);

/* A deadline of the lock has come. */
void rl_step_due(struct rl_deadline *item, uint64_t now_ns);
void rl_step_end_due(struct rl_deadline *item, uint64_t now_ns);

#endif
