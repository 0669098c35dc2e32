/* The mode in which a lock is held on the nodes, and how it changes meanwhile.
 *
 * A reader has the same core as a writer: rounds, validity, the watchdog, a loss. Its commands
 * differ (redis/command.h), and they are chosen here.
 *
 * Downgrade: the hold counts as a reader's from the call on. The next extensions convert the
 * writer's key on each node to the reader's. Until then a node keeps the writer's key, and with it
 * keeps out readers unnecessarily.
 *
 * Upgrade: one round (core/lock.h, 8). When that is won, the hold counts as a writer's. Nodes that
 * were converted in vain are converted back by an extension: the one that ends the upgrade, or the
 * next one on a node that ran the upgrade late. Until then such a node keeps the writer's key.
 *
 * Can a conversion run late and let readers in beside a writer? A command may run after one that
 * was sent later: it was queued on a connection that has ended, or the node lacked its script and
 * the whole script was sent again. So the client is unsure of each node that was sent a conversion
 * to the reader's mode and has not answered it: the node's yes counts neither for an upgrade nor,
 * once that is won, for any extension (a repair may have put the token there, and the conversion
 * would find it). The node is sent no second conversion before it has answered, even with an error,
 * or the connection has ended. After that it may be sent one, or the writer's key that the lost one
 * was to convert would keep readers out for as long as the hold lasts; but for so long the node is
 * not counted. All other late commands do no harm: a conversion to the writer's mode needs a live
 * lease, and keeps more clients out, not fewer; an extension that does not convert leaves a key's
 * mode as it is; and a release is of a token that is never used again.
 *
 * A client that adopts a token does not know which commands were sent for it before. So an adopted
 * hold cannot be upgraded, and a hold that was upgraded while the client was unsure of a node
 * cannot be disowned.
 */
#ifndef RL_MODE_MODE_H
#define RL_MODE_MODE_H

#include <stdbool.h>
#include <stdint.h>

#include "client/state.h"

#define RL_MODE_INTENT_MS 5000u /* how long a refused writer keeps new readers off */
#define RL_MODE_SHUT_MS 2000u   /* and readers whose turn came first */

/* The mode that the lock was made with. Set once. */
void rl_mode_init(redlock_lock *lock, enum rl_mode made);
enum rl_mode rl_mode_made(const redlock_lock *lock);

/* An acquire begins. */
void rl_mode_begin(redlock_lock *lock);

/* An adoption, or the release of a token, begins: its holder may have changed the mode, and left
 * keys of either mode on the nodes. A reader's release deletes both. */
void rl_mode_take_over(redlock_lock *lock, bool adopts);
bool rl_mode_is_adopted(const redlock_lock *lock);

/* The mode of the attempt, or of the hold. */
enum rl_mode rl_mode_now(const redlock_lock *lock);

/* The enum rl_mode of a command that is sent for the lock now. */
uint8_t rl_mode_of(const redlock_lock *lock, enum rl_call_kind kind);

/* Whether an extension is to convert the node's key. And: such an extension was sent. */
bool rl_mode_converts(const redlock_lock *lock, uint32_t node);
void rl_mode_convert_sent(redlock_lock *lock, uint32_t node);

/* A command of the lock was answered, or will not be. To be called before its vote is counted. */
void rl_mode_learn(redlock_lock *lock, uint32_t node, const struct rl_request *request,
                   const struct rl_answer *answer);

/* A writer becomes a reader. An extension is to follow. */
void rl_mode_downgrade(redlock_lock *lock);

/* A reader asks to be the writer. An upgrade is to follow. */
void rl_mode_upgrade(redlock_lock *lock);

/* Whether there are nodes whose yes must not count now, because of a conversion that they may still
 * run. And: excludes them from the event's voters, with reasons of its own. */
bool rl_mode_is_unsure(const redlock_lock *lock);
void rl_mode_leave_out(const redlock_lock *lock, struct rl_event *event,
                       int16_t reasons[RL_NODES_MAX]);

/* An extension of the lock's core has ended. Returns the status to report. *failed: it was an
 * upgrade that has failed, and the core's words are about the round that converted back. */
int rl_mode_extended(redlock_lock *lock, int status, bool *failed);

#endif
