/* The life of one lock: a pure step from an event to the actions that the driver has to take.
 *
 *                       +--> fencing --+
 *                       |              v
 *     idle -> ready -> trying ----> granted -> held <-> extending
 *      |      ^  ^      | |            |         \        /   \
 *      v      |  +- backoff <----------+       releasing     lost
 *     waiting-+ <-------+
 *
 * Happy path: ACQUIRE asks the driver for a token; ATTEMPT sends SET to the nodes; VOTEs come
 * in until a quorum granted; TELL, fed just before the user's callback, makes the lock held;
 * RELEASE deletes it everywhere. A lock that is not first in its client's line (waitlist.h) waits
 * for TURN before it asks, and so does a lock that was refused, in the line of all clients
 * (place.h): it then asks by TAKE, or is passed the keys: their messages are votes, and the lock
 * asks nodes whose vote does not come in time. Such a hold has a lease at first, and extends
 * itself. If the driver has to find out first what to request from the nodes (which slots of a
 * semaphore), READY lasts until it has, or knows that there is nothing: a refused attempt without a
 * vote. With a watchdog (timing.h) the lock extends itself. ADOPT begins with a token that is held
 * already, and DISOWN leaves one behind.
 *
 * Failure modes: an attempt that cannot win, comes too late or is cancelled is released on every
 * node and tried again after a pause, or given up. A held lock ends as lost at the end of its
 * validity, whatever the network does, or when an extension finds the token gone from too many
 * nodes.
 *
 * The safety argument, on paper:
 *
 *  1. Can two clients hold it? A lock is held from TELL to valid_until. At every instant of that
 *     window a quorum of nodes has its token: each granted vote belongs to a SET or an extension
 *     sent at or after round.sent_ns (or to a key that was passed, 7), runs at the node after that,
 *     and lives there for ttl by the node's clock, which is more than valid_until - sent
 *     (quorum.h). Two quorums share a node, which holds one token. So no. This rests on the
 *     following:
 *      - only votes of the current round are counted (rl_round_vote compares the id);
 *      - validity runs from the sending (of a grant: of its SETs), never from an answer;
 *      - a node that may have forgotten what it voted for gives no vote (guard.h): it is not asked
 *        to grant, and its yes to an extension does not count;
 *      - every step first looks at the clock (lock_expire): a vote that arrives after valid_until
 *        cannot prolong anything, also when the timer has not fired yet;
 *      - an extension never shortens a key (command.c): one that runs late, after a longer one that
 *        was counted, would end the lock early. A shorter ttl shortens validity here, alone;
 *      - TELL looks at the clock again, since the loop may have been blocked after the last vote.
 *     Readers do not conflict with each other, and a writer conflicts with everybody. A reader has
 *     a lease on the node, beside those of other readers, where a writer has its token. The
 *     argument needs two things of a reader's yes: from then on, as long as the lease lives, the
 *     node lets no writer in; and there was no writer when it said yes. Both are true, since the
 *     resource's key exists exactly as long as the last lease, and says that it is shared: it
 *     refuses a SET NX, a TAKE and another library's client as a token does. And any token refuses
 *     a reader. Only its own reader prolongs a lease; no lease is ever shortened, and none that has
 *     ended is prolonged.
 *  2. Can a key be orphaned? may_hold has a bit for every node to which a SET of the present token
 *     was sent and which has not answered that it did not run; and for all nodes that are up, if
 *     the token is a place's, since nodes may have been passed its key without being asked. Every
 *     way out of an attempt or a hold goes through rl_lock_release_all(), which releases on all
 *     nodes that are up. For nodes of may_hold that are not up the release is pending (pending.h).
 *     A node that is up gets the release after the SET, on one connection.
 *  3. Can a callback be missed or run twice? Each operation is ended in exactly one place: acquire
 *     where the state leaves waiting to granted, extend where it leaves extending,
 *     release where it leaves releasing; lost is set only in rl_lock_lose(), which leaves held or
 *     extending.
 *  4. Can an adoption make two holders? No: for the nodes it is one holder with one token, before
 *     and after; validity comes from a round of extensions that a quorum answered, exactly as in 1.
 *     An adoption that fails releases nothing: another client may hold by the token.
 *  5. Can a repair take the lock from another client? A repair is SET NX, so it never overwrites;
 *     it is sent only while validity lasts, after a round that a quorum renewed, and its answer
 *     counts for nothing.
 *  6. Can one server vote twice? Nodes that report the same server are duplicates: only the first
 *     yes of these counts in each round (on_vote). The report is not proof: a node that only copies
 *     another's identity is asked like any other, and so is the other. Whichever of them grants,
 *     the round has one vote from both, which is all that the honest node would have had; a copy
 *     that refuses, fails or is silent takes nothing from it; and a copy that grants first could
 *     have granted as well under its own identity. Counting a vote less cannot make two holders:
 *     argument 1 needs only that a quorum of nodes granted. Duplicates remain duplicates until no
 *     round can be open in which one of them voted as another server (eligibility.h).
 *  7. Can a turn in line, or a lock that is passed, make two holders? Argument 1 needs two things
 *     of a node: its yes stands there for as long as it is counted on, which starts no earlier than
 *     the yes; and it overwrote no other yes that is counted on. In detail:
 *      - a token may be in a key before its attempt begins. It was written over nothing, over a
 *        reservation, or, where it was passed, over the token of the holder that passed it
 *        (release_line.lua compares), which no longer holds when it sends the release. A
 *        reservation belongs to no client: a release leaves it in place of a token that its owner
 *        has given up;
 *      - a turn is no vote, nor is JOIN's yes: home has the token in its key, and the lock asks the
 *        nodes. TAKE says yes where the key is absent, as SET NX does; where it is reserved; or
 *        where it has the lock's own token, whose life TAKE prolongs and never shortens;
 *      - a pass is a vote, though no command was sent. The message says when the node wrote the
 *        token, for how long, and with which fence; the node's secret signs it. It counts only in
 *        the round of that token, once for a node, and only if the node may vote, and might when it
 *        wrote: the bound on that moment (calibration.h) is after the node's quarantine;
 *      - each vote has its own start: validity is the lease from the earliest of them, and no pass
 *        with a shorter lease counts. So no key ends before the validity that counts on it. A node
 *        whose pass does not count is asked, by TAKE, for as long a life;
 *      - after the grant it is a hold like any other: extensions run from their sending;
 *      - a token that was given up is never used again. So a release (which may be late, or sent
 *        twice) finds its own token or none, and a key that is passed to the token later is
 *        released;
 *      - LEAVE deletes a key with the token only if the nodes were never asked with it (place.h).
 *     If the line is lost, or nodes disagree on it, only order suffers. Fences grow as before:
 *     every script that writes a token counts up, and a pass counts to more than its releaser's
 *     fence (fence.h).
 *  8. Can an upgrade make two holders? It is a round of a reader that wants to be the writer; a
 *     node that says yes has converted the lease to the token. Until a quorum has, the hold is the
 *     reader's. From then on argument 1 applies to a writer, in detail:
 *      - a node converts if no other lease lives there, or if it has converted already. Any other
 *        reader whose validity is not over has leases on a quorum: one of these nodes refuses;
 *      - only answers to this round count, from nodes that may vote, and once for each server;
 *      - a writer counts on these nodes alone, and on each for the ttl of this round. The reader's
 *        validity may be longer than that of this ttl: another quorum may have promised it, whose
 *        leases keep no reader out. So the round asks for the longest ttl that was ever requested:
 *        validity is not shortened, and ends with the converted keys;
 *      - a converted key stays so. Only an extension that converts makes it a lease again. Such an
 *        extension is sent when the hold counts as a reader's, after a downgrade or an upgrade that
 *        was not won, and never while an upgrade is open. But it may run late: a node that has not
 *        answered it counts for no upgrade, and for no extension of a writer that has been
 *        upgraded, since the token may be there before it runs (mode/mode.h);
 *      - other late commands do no harm: a conversion to the token needs a lease of this token,
 *        which a release ends, and keeps more clients out, not fewer; an extension that does not
 *        convert leaves token and lease as they are; any token, even its own, refuses the repair of
 *        a reader, and the repair of a writer is SET NX.
 *     With a fence the upgrade counts up, as a grant does (fence.h): the numbers that a quorum
 *     voted may have to be raised to the largest first, only where the token is, and until that has
 *     a quorum the hold is the reader's, with the reader's fence. The upgrade then prolongs
 *     nothing, which is not needed: the validity is no less than the reader had. If the upgrade is
 *     not won, or is cancelled, the hold is as before. Where a node has converted, the token stands
 *     in place of the lease, for no less time, and the reader's extensions accept either. Such a
 *     node keeps other readers out unnecessarily until an extension that converts has run. A
 *     downgrade makes no second holder either: a node lets others in only after the hold has
 *     counted as a reader's, and the lease that it leaves ends no earlier than the token would
 *     have. An adopter cannot know which commands were sent before: an adopted hold is never
 *     upgraded (lock/lock.c).
 *  9. Can a change of the nodes make two holders? A round is won by a majority of each side of its
 *     electorate, and begins with that of the configuration that the client has (redis/config.h).
 *     A vote counts only if it came on a connection that has read this configuration. The driver
 *     sees to that: only such nodes are voters, a command is answered on its own connection or not
 *     at all, and when another configuration is adopted CHANGED ends what is under way. What the
 *     sides must have in common, and when an administrator may go from one to the other, is proved
 *     in test/model/proof/sets.py. An extension reaches new nodes that do not have the key yet.
 *     They are asked to set it when a majority of the old nodes has renewed in the same round, and
 *     that is their vote: it is as good as an attempt's, since the key lives there for the round's
 *     ttl from then on. It overwrites nothing but a reservation, which nobody relies on, and which
 *     every client that waits in line leaves when it has tried in vain. Another client's key is in
 *     the way only while that client asks for both majorities, in vain. The round is lost for good
 *     when the old nodes say so.
 */
#ifndef RL_CORE_LOCK_H
#define RL_CORE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/lock_data.h"

/* rules and ballots (one for each node, zero) must outlive the lock. */
void rl_lock_init(struct rl_lock *lock, const struct rl_rules *rules, struct rl_ballot *ballots);

/* The step. out is overwritten. */
void rl_lock_step(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);

/* For drivers that send with a delay: commands requested since `since_ns` are sent at now_ns, and
 * the wait for their votes starts then. Nothing else changes: validity runs from the request, and
 * an attempt that can no longer win is not waited for. */
void rl_lock_put_off(struct rl_lock *lock, uint64_t since_ns, uint64_t now_ns);

/* For drivers whose locks have few of many nodes. Which nodes the core counts votes of, or may have
 * to send a release. And: the node at each number has another number from now on, which is no other
 * node's, and for which there is a ballot; RL_SEATS_MAX: none, and it is none of these. Not within
 * a step. And: so renumbered, a mask that the driver keeps. */
uint32_t rl_lock_nodes(const struct rl_lock *lock);
void rl_lock_renumber(struct rl_lock *lock, const uint8_t to[RL_SEATS_MAX]);
uint32_t rl_renumber(uint32_t nodes, const uint8_t to[RL_SEATS_MAX]);

/* For a lock that neither asks nor holds: copies the last round and token of another lock, whose
 * hold it shared. */
void rl_lock_copy_past(struct rl_lock *lock, const struct rl_lock *from);

/* -- Queries -- */

/* When RL_EV_TICK is due, RL_NEVER if no deadline is set. */
uint64_t rl_lock_wake_ns(const struct rl_lock *lock);

/* When the loss of a held lock is due, which RL_EV_TICK reports; RL_NEVER if it is not held. For
 * drivers with many locks: rl_lock_wake_ns() alone may name something less urgent. */
uint64_t rl_lock_lost_ns(const struct rl_lock *lock);

/* Whether the lock is held, and its validity has not ended at now_ns. */
bool rl_lock_is_valid(const struct rl_lock *lock, uint64_t now_ns);

/* Whether the lock is held or extending, whatever the time. */
bool rl_lock_is_holding(const struct rl_lock *lock);

/* The fence of the last grant; 0 before it, or if the acquire did not ask for one. */
uint64_t rl_lock_fence(const struct rl_lock *lock);

/* Whether there is an attempt or a hold with this token, so that no release of it was sent. */
bool rl_lock_has_token(const struct rl_lock *lock, const char *token);

/* Whether an acquire (waiting to granted) is pending. */
bool rl_lock_is_acquiring(const struct rl_lock *lock);

/* Whether the lock keeps its place in line: it asks the nodes, holds, or waits for its turn. */
bool rl_lock_is_in_line(const struct rl_lock *lock);

#endif
