/* In which mode a lock is held: for the nodes, and how it changes while it is.
 *
 * A reader has the same core as a writer: rounds, validity, the watchdog, a loss. Its commands
 * differ (redis/command.h), and they are chosen here.
 *
 * Downgrade: the hold counts as a reader's from the call on. What the nodes have as the writer's
 * becomes the reader's by the next extensions, which convert it. Until then a node has it as the
 * writer's, and keeps others out that it need not.
 *
 * Upgrade: one round (core/lock.h, 8). It counts as a writer's when that is won, and what was
 * converted in vain is converted back by an extension: the one that ends the upgrade, or, on a node
 * that ran it late, the next one. Until then that node has it as a writer's.
 *
 * Can a conversion run late and let readers in beside a writer? A command may run after one that
 * was sent later: it lay on a connection that has ended, or its script was not there and it was
 * sent again, whole. So of each node that was sent a conversion to the reader's, and has not
 * answered it, the client is unsure: its yes counts neither to an upgrade nor, when that was won,
 * to any extension (a repair may have put the token there, which the conversion would find). It is
 * sent no second one before there is an answer, be it an error, or the connection has ended. Then
 * it may be, or what the lost one was to convert would keep readers out for as long as the hold
 * lasts; but for so long it is not counted. All others that run late do no harm: a conversion to
 * the writer's needs a lease that lives, and keeps more out, not less; an extension without
 * converting lets a key be whose it is; and what is released has a token that is never used again.
 *
 * Who adopts a token does not know what was sent for it before. So an adopted hold is not upgraded,
 * and one that was upgraded beside a node of which the client is unsure is not disowned.
 */
#ifndef RL_MODE_MODE_H
#define RL_MODE_MODE_H

#include <stdbool.h>
#include <stdint.h>

#include "client/state.h"

#define RL_MODE_INTENT_MS 5000u /* a writer that was refused keeps new readers off for so long */
#define RL_MODE_SHUT_MS 2000u   /* ... and readers whose turn came before it */

/* How the lock was made. Once. */
void rl_mode_init(redlock_lock *lock, enum rl_mode made);
enum rl_mode rl_mode_made(const redlock_lock *lock);

/* An acquire begins. */
void rl_mode_begin(redlock_lock *lock);

/* An adoption, or the release of a token: its holder may have changed the mode, and left nodes that
 * have it in either. A reader's release gives up both. */
void rl_mode_take_over(redlock_lock *lock, bool adopts);
bool rl_mode_is_adopted(const redlock_lock *lock);

/* Of the attempt, or the hold. */
enum rl_mode rl_mode_now(const redlock_lock *lock);

/* enum rl_mode of a command that is sent for the lock now. */
uint8_t rl_mode_of(const redlock_lock *lock, enum rl_call_kind kind);

/* Whether an extension is to convert what the node has; it was sent. */
bool rl_mode_converts(const redlock_lock *lock, uint32_t node);
void rl_mode_convert_sent(redlock_lock *lock, uint32_t node);

/* To any command of the lock: an answer, or that none will come. Before its vote. */
void rl_mode_learn(redlock_lock *lock, uint32_t node, const struct rl_request *request,
                   const struct rl_answer *answer);

/* A writer becomes a reader. An extension is to follow. */
void rl_mode_downgrade(redlock_lock *lock);

/* A reader asks to be the writer. An upgrade is to follow. */
void rl_mode_upgrade(redlock_lock *lock);

/* Whether there are nodes whose yes must not count now, because of what they may still run; then
 * the event says so, with reasons of its own. */
bool rl_mode_is_unsure(const redlock_lock *lock);
void rl_mode_leave_out(const redlock_lock *lock, struct rl_event *event,
                       int16_t reasons[RL_NODES_MAX]);

/* An extension of the lock's core has ended. Returns its status; of an upgrade that has failed its
 * own, and *failed: the core's words are about the round that converted back. */
int rl_mode_extended(redlock_lock *lock, int status, bool *failed);

#endif
