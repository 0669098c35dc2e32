/* Carries out the core's decisions: sends commands to the nodes, and records and queues what has
 * ended.
 *
 * Happy path: an event, its step, its actions, and their consequences: other locks may get their
 * turn in line, the client starts or stops listening for releases, and the lock's deadline changes.
 *
 * Failure modes: a command that cannot be sent is a failed vote at once, so it does not delay the
 * round; a release that cannot be sent becomes pending, but only if the node may have the key,
 * since the list of pending releases is limited; if no token can be generated, the acquire ends. An
 * attempt skips silent nodes: a SET would only queue up behind the unanswered request, and leave
 * one more key to clean up when a stopped node continues. A silent node also gets no unnecessary
 * releases: each attempt of each lock would queue another one there, and one slow node would fill
 * the memory of all its clients.
 *
 * Which releases are unnecessary? A release of a token that is not on the node and cannot get
 * there: the node is not in this step's may_hold (core/lock.h, 2). Only the SETs of an attempt, a
 * repair or a plant set keys; an extension and a raise of a fence only touch a key that has the
 * token. Each attempt has its own token, so commands of earlier attempts cannot set it. may_hold
 * contains every node to which a SET or a repair with this token was sent, unless the node answered
 * that the command did not run. It leaves out commands that could not be sent, which were not
 * appended to a connection either. An adopted token, or another client's, may be on any node.
 *
 * Can the order orphan a key? No: releases go first, with the token of this step; an attempt that
 * begins later in the same step generates another. Can a success be reported after a loss? No: the
 * step records the end of each operation before the loss, and the turn runs on_lost before the
 * callbacks.
 *
 * No function here calls user code, the trace hook excepted.
 */
#ifndef RL_LOCK_STEP_H
#define RL_LOCK_STEP_H

#include "client/state.h"

/* Steps the lock with an event whose type and union are filled in. Returns whether it was a late
 * vote. May free the lock if the caller has no reference. */
bool rl_step_event(redlock_lock *lock, struct rl_event *event);
void rl_step_simple(redlock_lock *lock, enum rl_event_type type);

/* Ends the pending operations of the client's locks: other nodes vote from now on, and no ttl may
 * exceed max_ttl_ms. */
void rl_step_changed(redlock_client *client, uint32_t max_ttl_ms);

/* A deadline of the lock has come. */
void rl_step_due(struct rl_deadline *item, uint64_t now_ns);
void rl_step_end_due(struct rl_deadline *item, uint64_t now_ns);

#endif
