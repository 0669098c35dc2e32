/* The life of one lock, as a pure function from an event to the actions that the driver must take.
 *
 *                       +--> fencing --+
 *                       |              v
 *     idle -> ready -> trying ----> granted -> held <-> extending
 *      |      ^  ^      | |            |         \        /   \
 *      v      |  +- backoff <----------+       releasing     lost
 *     waiting-+ <-------+
 *
 * Happy path: ACQUIRE asks the driver for a token; ATTEMPT sends SET to the nodes; VOTEs come in
 * until a quorum has granted; TELL, fed just before the user's callback, makes the lock held;
 * RELEASE deletes it everywhere. A lock that is not first in its client's waitlist (waitlist.h)
 * waits for TURN before it asks. So does a lock that was refused, in the line of all clients
 * (place.h): it then asks by TAKE, or the holder passes it the keys. The nodes' messages about
 * passed keys are votes, and the lock asks those nodes whose vote does not come in time. Such a
 * hold begins with a lease, and extends itself. If the driver must first find out what to request
 * from the nodes (which slots of a semaphore), the lock stays in READY until the driver knows. If
 * there is nothing to request, the attempt counts as refused, without a vote. With a watchdog
 * (timing.h) the lock extends itself. ADOPT starts from a token that is held already; DISOWN leaves
 * one behind.
 *
 * Failure modes: an attempt that cannot win, comes too late or is cancelled is released on every
 * node. The lock then retries after a pause, or gives up. A held lock ends as lost at the end of
 * its validity, whatever the network does, or when an extension finds the token gone from too many
 * nodes.
 *
 * The safety argument:
 *
 *  1. Can two clients hold it? A lock is held from TELL to valid_until. At every instant of that
 *     window a quorum of nodes has its token. Each granted vote belongs to a SET or an extension
 *     that was sent at or after round.sent_ns (or to a key that was passed, see 7). The command ran
 *     after it was sent, and the key lives for ttl by the node's clock, which is more than
 *     valid_until - sent (quorum.h). Two quorums share a node, which holds one token. So no. This
 *     relies on the following:
 *      - only votes of the current round are counted (rl_round_vote compares the id);
 *      - validity runs from the sending (of a grant: of its SETs), never from an answer;
 *      - a node that may have forgotten what it voted for gives no vote (guard.h): it is not asked
 *        to grant, and its yes to an extension does not count;
 *      - every step checks the clock first (lock_expire): a vote that arrives after valid_until
 *        cannot prolong anything, even if the timer has not fired yet;
 *      - an extension never shortens a key (command.c), since one that runs late, after a longer
 *        one that was counted, would end the lock early. A shorter ttl shortens only the validity;
 *      - TELL checks the clock again, since the loop may have been blocked after the last vote.
 *     Readers do not conflict with each other; a writer conflicts with everyone. Where a writer has
 *     its token on a node, a reader has a lease beside the leases of other readers. The argument
 *     needs two things of a reader's yes: there was no writer when the node said yes; and the node
 *     lets no writer in while the lease lives. Both hold, since the resource's key exists exactly
 *     as long as the last lease, and is marked as shared: like a token, it refuses a SET NX, a TAKE
 *     and another library's client. And any token refuses a reader. Only the reader itself prolongs
 *     its lease; no lease is ever shortened, and none is prolonged after it has ended.
 *  2. Can a key be orphaned? may_hold has a bit for every node to which a SET of the current token
 *     was sent, until that node answers that the SET did not run. If the token belongs to a place,
 *     it has a bit for every node that is up, since a release may have written the token there
 *     before the lock asked. Every way out of an attempt or a hold goes through
 *     rl_lock_release_all(), which releases on all nodes that are up. For the other nodes of
 *     may_hold the release becomes pending (pending.h). A node that is up gets the release after
 *     the SET, on one connection.
 *  3. Can a callback be missed or run twice? Each operation ends in exactly one place: an acquire
 *     where the state leaves waiting to granted, an extend where it leaves extending, a release
 *     where it leaves releasing; only rl_lock_lose(), which leaves held or extending, sets lost.
 *  4. Can an adoption make two holders? No: to the nodes it is one holder with one token, before
 *     and after; validity comes from a round of extensions that a quorum answered, exactly as in 1.
 *     An adoption that fails releases nothing, since another client may hold the lock by this
 *     token.
 *  5. Can a repair take the lock from another client? A repair is SET NX, so it never overwrites;
 *     it is sent only while validity lasts, after a round that a quorum renewed, and its answer is
 *     not a vote.
 *  6. Can one server vote twice? Nodes that report the same server are duplicates: in each round
 *     only the first yes among them counts (on_vote). The report is not proof, and a hostile node
 *     may copy another's identity; the client still asks both. Whichever grants, the round has one
 *     vote from both, which is all that the honest node would have had. A copy that refuses, fails
 *     or is silent takes nothing from it; a copy that grants first could have done so under its own
 *     identity. Dropping a vote cannot make two holders: argument 1 needs only that a quorum of
 *     nodes granted. Duplicates remain duplicates until no round can be open in which one of them
 *     voted as another server (eligibility.h).
 *  7. Can a turn in line, or a lock that is passed, make two holders? Argument 1 needs two things
 *     of a node: its key outlives the validity that counts on its yes, which starts no earlier than
 *     the yes; and the key overwrote no other that a client still counts on. In detail:
 *      - a token may be in a key before its attempt begins. It was written where the key was absent
 *        or reserved or, in a pass, over the token of the holder that passed it (release_line.lua
 *        compares), which no longer holds when it sends the release. A reservation belongs to no
 *        client: a release leaves it in place of a token that its owner has given up;
 *      - a turn is not a vote, nor is JOIN's yes: home has the token in its key, and the lock still
 *        asks the nodes. TAKE says yes if the key is absent, as SET NX does; if it is reserved; or
 *        if it has the lock's own token, whose life TAKE prolongs and never shortens;
 *      - a pass is a vote, although the lock sent no command. The message says when the node wrote
 *        the token, for how long, and with which fence, and is signed with the node's secret. It
 *        counts only in the round of that token, once per node, and only if the node may vote and
 *        was eligible when it wrote the key: the lower bound on that moment (calibration.h) is
 *        after the node's quarantine;
 *      - each vote has its own start: validity is the lease from the earliest start, and no pass
 *        with a shorter lease counts. So no key ends before the validity that counts on it. If a
 *        node's pass does not count, the lock asks that node by TAKE, for as long a life;
 *      - after the grant it is a hold like any other: the validity of an extension runs from its
 *        sending;
 *      - a token that was given up is never used again. So a release that is late or sent twice
 *        finds its own token or none, and a key that is passed to the token later is released;
 *      - LEAVE deletes a key with the token only if the nodes were never asked with it (place.h).
 *     If the line is lost, or nodes disagree on it, only order suffers. Fences still grow: every
 *     script that writes a token increments the counter, and a pass sets it above its releaser's
 *     fence (fence.h).
 *  8. Can an upgrade make two holders? It is a round of a reader that wants to be the writer; a
 *     node that says yes has converted the lease to the token. Until a quorum has done so, the hold
 *     is the reader's. From then on argument 1 applies to a writer. In detail:
 *      - a node converts if no other lease lives there, or if it has converted already. Any other
 *        reader that is still valid has leases on a quorum, so some node of every quorum refuses;
 *      - only answers to this round count, from nodes that may vote, and once for each server;
 *      - a writer counts on these nodes alone, and on each for the ttl of this round. The reader's
 *        validity may exceed this ttl, by the promise of another quorum, whose leases keep no
 *        reader out. So the round asks for the longest ttl that was ever requested: then validity
 *        is not shortened, and does not outlast the converted keys. (If the set was given a lower
 *        limit meanwhile, the round asks for that, and validity is shortened to it.)
 *      - a converted key stays converted until an extension that converts makes it a lease again.
 *        Such an extension is sent only while the hold counts as a reader's, after a downgrade or a
 *        failed upgrade, and never while an upgrade is open. But it may run late, when the token is
 *        already there. So a node that has not answered it has no vote in an upgrade, or in an
 *        extension of a writer that was upgraded (mode/mode.h);
 *      - other late commands do no harm. A conversion to the token needs a lease of this token,
 *        which a release ends, and it keeps more clients out, not fewer. An extension that does not
 *        convert leaves token and lease as they are. Any token, even its own, refuses a reader's
 *        repair; a writer's repair is SET NX.
 *     With a fence the upgrade increments the counters, as a grant does (fence.h). If the nodes
 *     return different numbers, a raise to the largest follows, on nodes that have the token; until
 *     that has a quorum, the hold is the reader's, with the reader's fence. Such an upgrade
 *     prolongs nothing, and need not: the reader's validity remains. If the upgrade is not won, or
 *     is cancelled, the hold is as before. Where a node has converted, the token replaces the
 *     lease, for no less time, and the reader's extensions accept either. Such a node keeps other
 *     readers out unnecessarily until an extension that converts has run. A downgrade makes no
 *     second holder either: a node lets others in only after the hold counts as a reader's, and the
 *     lease that it leaves ends no earlier than the token would have. An adopter cannot know which
 *     commands were sent before, so an adopted hold is never upgraded (lock/lock.c).
 *  9. Can a change of the nodes make two holders? A round is won by a majority of each side of its
 *     electorate, and takes the electorate of the client's current configuration (redis/config.h).
 *     A vote counts only if it came on a connection that has read this configuration. The driver
 *     ensures this: only such nodes are voters, a command is answered on its own connection or not
 *     at all, and when the client adopts another configuration, CHANGED ends the pending
 *     operations. test/model/proof/sets.py proves what the sides must have in common, and when an
 *     administrator may move from one to the other. An extension reaches new nodes that do not have
 *     the key yet. When a majority of the old nodes has renewed in the same round, the client asks
 *     these new nodes to set the key. Their yes is as good as an attempt's, since the key lives
 *     there for the round's ttl from then on. The key overwrites only a reservation, on which
 *     nobody relies, and which every waiting client leaves after a failed try. Another client's key
 *     is in the way only while that client's own attempt at both majorities is failing. The round
 *     is lost for good when the old nodes say so.
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

/* For drivers whose locks use few of many nodes. rl_lock_nodes(): nodes whose votes the core
 * counts, or to which it may have to send a release. rl_lock_renumber(), not within a step: gives
 * the node at each number another one, which no other node has, and for which there is a ballot;
 * RL_SEATS_MAX for a node that is not among rl_lock_nodes(). rl_renumber(): does this to a mask
 * that the driver keeps. */
uint32_t rl_lock_nodes(const struct rl_lock *lock);
void rl_lock_renumber(struct rl_lock *lock, const uint8_t to[RL_SEATS_MAX]);
uint32_t rl_renumber(uint32_t nodes, const uint8_t to[RL_SEATS_MAX]);

/* For a lock that neither asks nor holds: copies the last round and token of the lock whose hold it
 * shared. */
void rl_lock_copy_past(struct rl_lock *lock, const struct rl_lock *from);

/* -- Queries -- */

/* When RL_EV_TICK is due, RL_NEVER if no deadline is set. */
uint64_t rl_lock_wake_ns(const struct rl_lock *lock);

/* When the loss of a held lock is due, which RL_EV_TICK reports; RL_NEVER if it is not held. For
 * drivers with many locks, since rl_lock_wake_ns() may name a less urgent deadline. */
uint64_t rl_lock_lost_ns(const struct rl_lock *lock);

/* Whether the lock is held, and its validity has not ended at now_ns. */
bool rl_lock_is_valid(const struct rl_lock *lock, uint64_t now_ns);

/* Whether the lock is held or extending, whatever the time. */
bool rl_lock_is_holding(const struct rl_lock *lock);

/* The fence of the last grant; 0 before it, or if the acquire did not ask for one. */
uint64_t rl_lock_fence(const struct rl_lock *lock);

/* Whether an attempt or a hold uses this token, so that no release of it was sent yet. */
bool rl_lock_has_token(const struct rl_lock *lock, const char *token);

/* Whether an acquire (waiting to granted) is pending. */
bool rl_lock_is_acquiring(const struct rl_lock *lock);

/* Whether the lock keeps its place in line: it asks the nodes, holds, or waits for its turn. */
bool rl_lock_is_in_line(const struct rl_lock *lock);

#endif
