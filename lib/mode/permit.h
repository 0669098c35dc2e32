/* Slots of a semaphore: which of them an attempt requests from the nodes, and what home says about
 * them.
 *
 * A semaphore of k permits is k slots, numbered from 0, and a slot is a lock: its key is set, kept,
 * extended and released as a lock's is, on a quorum of nodes. A lock object of a semaphore holds
 * `take` of them at once.
 *
 *     acquire -> rl_permit_find(): a peek, at home -> "1 S1 .. Sm" -> TAKE of these on all nodes
 *                                                  -> "0 ..": in line, as after a refusal
 *     a turn in line names the slots               -> TAKE
 *
 * Why home chooses: clients that took any free slot on each node would split the votes. Home writes
 * the asking place's token into the slots that it names, so that two clients that ask at one time
 * get different slots; the attempt is made with that token.
 *
 * Failure modes: if home does not answer, or no node is home, a slot is chosen at random, and
 * another one for each try. If another client has other nodes' keys of the slot, the attempt is
 * refused, and home is asked for a slot after that one. If a node keeps another number of permits
 * (the error PERMITS), the next node is home for this acquire; the first may have been down when
 * the number was changed. If so many nodes differ that no quorum is left, the acquire ends: waiting
 * would not help. If the acquire ends, or its lock is freed, while home is asked, a LEAVE follows
 * the JOIN on the same connection. If that breaks, the LEAVE is sent on the next connection, since
 * home may have reserved slots.
 *
 * Can more than k hold? No. Holding a slot takes a quorum of votes for its key, counted as for a
 * lock (core/lock.h), and any two quorums share a node. So a slot has one holder, and k slots have
 * at most k, whatever home says, and even if its message is lost or forged: home decides which
 * slots a client requests, never which client has them.
 *   - if k changes: no client requests a slot at or above its own number of permits, whatever home
 *     or a turn names (rl_permit_may_be()), so there are at most as many holders as the largest
 *     number that any client has. One common number is agreement (the nodes keep it, and refuse
 *     another while slots are in use), not safety: a client that lowers it waits until the slots
 *     above are free;
 *   - a reserved slot has no holder, as for locks;
 *   - a late release carries its own token and that token's slots (rl_request.slots), whatever the
 *     lock requests by then;
 *   - several slots are keys of one command, which sets all or none, as for several resources.
 * Can a key be orphaned? No: the slots change only with the token, when an attempt begins;
 * outstanding calls, pending releases and repairs of the previous token have their own copy.
 */
#ifndef RL_MODE_PERMIT_H
#define RL_MODE_PERMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "client/state.h"

/* An attempt is about to begin: determines its slots and place. Returns false if home is asked
 * first: RL_EV_READY, RL_EV_NONE or RL_EV_PERMITS follows. */
bool rl_permit_find(redlock_lock *lock, uint64_t *place);

/* Whether the slots that home has named are as many as the lock takes, and all below the lock's
 * number of permits: otherwise the limit of k would not hold. No slot is among them twice
 * (redis/reply.h). */
bool rl_permit_may_be(const redlock_lock *lock, const struct rl_slots *slots);

/* To be called after every step of a lock: gives up a peek that is no longer needed. */
void rl_permit_follow(redlock_lock *lock);

/* Home has given the lock's place its turn, with these slots. They are for the attempt that is made
 * in that turn. But a lock that is asking home just now, with its last try, uses them at once
 * instead of waiting for the answer: returns true, and RL_EV_READY must follow. */
bool rl_permit_turn(redlock_lock *lock, uint32_t home, uint64_t place,
                    const struct rl_slots *slots);

/* Asks home. False: no home is answering. */
bool rl_permit_peek(redlock_lock *lock);

/* An acquire begins. */
void rl_permit_begin(redlock_lock *lock);

#endif
