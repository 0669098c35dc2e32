/* Waiting in turn across processes: the places of a client's locks in the lines of their resources
 * (core/place.h), driven.
 *
 *     refused -> rl_line_follow() -> JOIN at home ... TURN -> the turn steps the lock -> TAKE
 *                                                 ... PASS, from each node: a vote
 *
 * Which lock waits: among one client's locks that want a resource, one is active (core/waitlist.h).
 * It waits in line for all of them, ranked by how long the longest of them has waited. So a
 * thousand waiters of one process take one place, and local and remote waiters are served first
 * come, first served.
 *
 * Hand-over: a lock that is released while another lock of this client is next
 *   - lets the next lock ask at once, behind the release, if no other client is known to wait;
 *   - otherwise puts the next lock in line first: home decides which client is next, by the time
 *     waited.
 * To another client: home notifies a lock that has waited of its successor, in home's pass (for
 * which a won attempt waits, at most 1 ms) or later, and the lock's release passes the keys. The
 * client remembers the last tokens that it gave up, and releases keys that are passed to them late.
 *
 * Signs of other clients: the answers to TAKE, and to the release of a held lock, say whether
 * another client waits. A client that knows of waiters leaves the keys of other nodes reserved, and
 * joins the line before it asks for votes. It does not request a lock that it has just released
 * before home has answered the release: the new SETs would arrive right after the release and win
 * on every node but home, which serves the next client.
 *
 * Failure modes: a node that fails cannot be home (core/place.h); without memory for a JOIN the
 * lock goes on without the line; a LEAVE that cannot be sent costs the next client one grace
 * period.
 *
 * Can a lock wait for ever? No. For a lock behind another lock of this client, see waiting.h. In
 * every other stage (enum rl_stage) the lock is in the queue of the loop's turn; or it waits for an
 * event of its line, which has a deadline in each waiting state; or for the answer to a release,
 * which also has a deadline. The core applies the acquire's own deadline and number of tries all
 * the while.
 *
 * Can the active lock leave and its place stay? No: every step of a lock ends in rl_line_follow(),
 * which gives up the place at each of its resources for which no lock of ours waits.
 */
#ifndef RL_WAIT_LINE_H
#define RL_WAIT_LINE_H

#include "client/state.h"

/* For a lock that no other lock of this client blocks: whether it must still wait before it asks
 * for votes, because other clients are known to wait, or home's answer to a release is pending. */
bool rl_line_holds_up(const redlock_lock *lock);

/* The lock is the first of this client's waiters. It now waits in line, waits for home's answer to
 * a release, or asks the nodes. */
void rl_line_go(redlock_lock *lock);

/* Home has answered a release of the resource, or will not answer: a lock that waits for the answer
 * may go on. */
void rl_line_release_over(struct rl_resource *resource);

/* To be called after every step of a lock. */
void rl_line_follow(redlock_lock *lock);

/* Whether the lock waits among the locks of all clients, or asks in its turn there. */
static inline bool rl_line_is_queued(const redlock_lock *lock) {
    return lock->waiting.stage >= RL_STAGE_QUEUED;
}

/* Whether the loop's turn steps the lock. */
static inline bool rl_line_is_due(const redlock_lock *lock) {
    return lock->waiting.stage != RL_STAGE_NONE && lock->waiting.stage != RL_STAGE_QUEUED;
}

/* Before the loop's turn steps a lock that is past QUEUED: the place of its turn, or none (0);
 * *pause: no line can be used, and the lock must pause. */
uint64_t rl_line_take_turn(redlock_lock *lock, bool *pause);

/* Leaves the line: the lock's turn has come, but another lock of this client uses one of its
 * resources. */
void rl_line_step_back(redlock_lock *lock);

/* The lock that owns the ticket. */
static inline redlock_lock *rl_ticket_lock(struct rl_ticket *ticket) {
    return RL_CONTAINER(rl_tickets_of(ticket), redlock_lock, tickets);
}

/* The lock's i-th resource. */
static inline struct rl_resource *rl_lock_resource(const redlock_lock *lock, uint32_t i) {
    return rl_ticket_resource(&lock->tickets[i]);
}

/* This client's lock that asks or holds; for readers, the lock that waits for all of them. NULL:
 * none. */
static inline redlock_lock *rl_line_active(const struct rl_resource *resource) {
    struct rl_ticket *active = resource->waitlist.active;
    return active != NULL ? rl_ticket_lock(active) : NULL;
}
/* The resource in whose line the lock is, or was last. */
struct rl_resource *rl_line_of(const redlock_lock *lock);
/* The lock that uses this client's place in the line: it waits, asks in its turn, or has joined
 * ahead of time. NULL: none. */
redlock_lock *rl_line_waiter(const struct rl_resource *resource);
/* Takes a place for this lock unless this client has one in the line. False: no memory. */
bool rl_line_want(struct rl_resource *resource, redlock_lock *lock);

/* Listens where the resource needs it. lock: the lock that waits or holds, or has just stopped. */
void rl_line_listen(struct rl_resource *resource, const redlock_lock *lock);

/* Steps the line with an event. lock: the lock that waits in it, or has just stopped. */
void rl_line_feed(struct rl_resource *resource, redlock_lock *lock, struct rl_place_event *event);
void rl_line_feed_simple(struct rl_resource *resource, redlock_lock *lock,
                         enum rl_place_event_type type);

/* A node has answered a command for the resource: if it was avoided as home, it may be home
 * again. */
void rl_line_answered(struct rl_resource *resource, uint32_t node, const struct rl_request *request,
                      const struct rl_answer *answer);

/* The nodes that may be home, as a mask; 0 if fewer than a quorum may vote. */
rl_mask rl_line_homes(const struct rl_resource *resource);

#endif
