/* Slots of a semaphore: which of them an attempt asks the nodes for, and what is told of them.
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
 * the token of the place that asked into what it names, so that two who ask at one time are told of
 * different slots; the attempt is made with that token.
 *
 * Failure modes: home does not answer, or there is none: a slot by chance, and another one at each
 * try. Another client has other nodes' keys of the slot: the attempt is refused, and home is asked
 * for a slot behind that one. A node keeps another number of permits (the error PERMITS): the next
 * one is home, for this acquire; it may have been away when the number was changed. So many do that
 * no quorum is left: the acquire ends, waiting would not help. It ends, or its lock is freed, while
 * home is asked: the place is left, behind the question on the same connection. If that breaks, the
 * place is left on the next one, since home may have given it slots.
 *
 * Can more than k hold? Who may hold a slot: whoever has a quorum of yes for its key, counted as
 * for a lock (core/lock.h), and two quorums share a node. So a slot has one holder, and k slots
 * have at most k, whatever home says, is lost, or is forged: what it says decides which slots are
 * asked for, never who has them.
 *   - k changed: nobody asks for a slot at or above its own number of permits, whatever home or a
 *     turn names (rl_permit_may_be()), so at most as many hold as the largest number that any of
 *     them has. That they have one number is agreement (the nodes keep it, and refuse another while
 *     slots are in use), not safety: whoever lowers it waits until the slots above are free;
 *   - a slot that is reserved is nobody's, as for locks;
 *   - a release that comes late has a token of its own and the slots that this token was under: a
 *     request carries them (rl_request.slots), whatever the lock asks for by then;
 *   - several slots: they are keys of one command, which sets all or none, as several resources.
 * Can a key be orphaned? The slots change only with the token, when an attempt begins: what is out,
 * owed or repaired of the token before has its own copy.
 */
#ifndef RL_MODE_PERMIT_H
#define RL_MODE_PERMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "client/state.h"

/* An attempt is about to begin: its slots and place, or false: home is asked, and RL_EV_READY,
 * RL_EV_NONE or RL_EV_PERMITS follows. */
bool rl_permit_find(redlock_lock *lock, uint64_t *place);

/* Whether these, which home has named, are as many as the lock takes, and of those that it knows
 * of: else at most k could not be said. No slot is among them twice (line_reply.h). */
bool rl_permit_may_be(const redlock_lock *lock, const struct rl_slots *slots);

/* After every step of a lock: what home is asked for may be wanted no more. */
void rl_permit_follow(redlock_lock *lock);

/* The turn of this place of the lock's, at home, has these slots. They are for the attempt that is
 * made in that turn; but for one that asks home just now, with its last try, which need not wait
 * for the answer: true, RL_EV_READY is to follow. */
bool rl_permit_turn(redlock_lock *lock, uint32_t home, uint64_t place,
                    const struct rl_slots *slots);

/* Asks home. False: there is none that answers. */
bool rl_permit_peek(redlock_lock *lock);

/* An acquire begins. */
void rl_permit_begin(redlock_lock *lock);

#endif
