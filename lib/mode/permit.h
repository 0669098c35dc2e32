/* Slots of a semaphore: which slots an attempt requests from the nodes, and what home says about
 * them.
 *
 * A semaphore of k permits is k slots, numbered from 0, and a slot is a lock: its key is set, kept,
 * extended and released as a lock's is, on a quorum of nodes. A lock object of a semaphore holds
 * `take` of them at once.
 *
 *     acquire -> a peek, at home -> "1 S1 .. Sm" -> TAKE of these on all nodes
 *                                -> "0 ..": in line, as after a refusal
 *     a turn in line names the slots -> TAKE
 *
 * Why home chooses: clients that took any free slot on each node would split the votes. Home writes
 * the asking place's token into the slots that it names, so that two clients that ask at the same
 * time get different slots; the attempt uses that token.
 *
 * Failure modes: if home does not answer, or no node is home, each try chooses a slot at random. If
 * home said no before a release of ours had run there, the no does not count, and the lock asks
 * home again. If another client has the slot's keys on other nodes, the attempt is refused, and the
 * lock asks home for a slot after that one. If a node keeps another number of permits (the error
 * PERMITS), the next node is home for this acquire; the first may have been down when the number
 * was changed. If too many nodes differ for a quorum, the acquire ends: waiting would not help. If
 * the acquire ends, or its lock is freed, before home has answered, a LEAVE follows the JOIN on the
 * same connection. If that breaks, the LEAVE is sent on the next connection, since home may have
 * reserved slots.
 *
 * Can more than k hold? No. Holding a slot takes a quorum of votes for its key, counted as for a
 * lock (core/lock.h), and any two quorums share a node. So a slot has one holder, and k slots have
 * at most k, whatever home says, and even if its message is lost or forged: home decides which
 * slots a client requests, never which client holds them.
 *   - if k changes: no client requests a slot at or above its own number of permits, whatever home
 *     or a turn names (suits()), so there are never more holders than the largest number of any
 *     client. That all clients have one number is a matter of agreement (the nodes keep it, and
 *     refuse another while slots are in use), not of safety: a client that lowers it waits until
 *     the slots above are free;
 *   - a reserved slot has no holder, as for locks;
 *   - a late release carries its own token and that token's slots (rl_request.slots), whatever the
 *     lock has requested since;
 *   - several slots are keys of one command, which sets all or none, as for several resources.
 * Can a key be orphaned? No: the slots change only with the token, when an attempt begins;
 * outstanding calls, pending releases and repairs of the previous token have their own copy.
 */
#ifndef RL_MODE_PERMIT_H
#define RL_MODE_PERMIT_H

#include "client/state.h"

struct rl_mode_rules;
extern const struct rl_mode_rules rl_mode_permit;

/* -- For any lock; no effect if it is not a semaphore's -- */

/* An acquire begins. */
void rl_permit_begin(redlock_lock *lock);

/* Makes the lock report the primary's slots to its user. */
void rl_permit_granted(redlock_lock *lock, const redlock_lock *primary);

/* Sets the slots of a token to adopt or release. Returns false unless they are as many different
 * slots as the lock takes. rl_permit_lacks_slots(): whether they are missing. */
bool rl_permit_name(redlock_lock *lock, const int32_t *slots, size_t n);
bool rl_permit_lacks_slots(const redlock_lock *lock);

/* Sets up a new semaphore lock, whose target is set. */
void rl_permit_init(redlock_lock *lock);

#endif
