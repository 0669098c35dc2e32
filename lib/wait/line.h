/* Waiting in turn across processes: the places of a client's locks in the lines of their resources
 * (core/line.h), driven.
 *
 *     refused -> rl_line_follow() -> JOIN at home ... TURN -> the turn steps the lock -> TAKE
 *                                                 ... PASS, from each node: a vote
 *
 * Who waits: of the locks of one client that want a resource, one is active (core/waitlist.h). It
 * waits in the line for all of them, with the time that the longest of them has waited. So a
 * thousand waiters of one process are one place, and local and remote waiters are served in the
 * order in which they came.
 *
 * Handing on: whoever releases while another lock of this client is next
 *   - lets that one ask at once, behind the release, if nobody else is known to wait;
 *   - puts it in line first, if others are: home decides who is next, by the time waited.
 * To another client: a lock that has waited is told by home who comes next, in home's pass (which
 * a won attempt waits for, 1 ms at most) or later, and its release passes the keys on. The tokens
 * that were given up last are remembered: what is passed to them late is released.
 *
 * What is known of others: the answers to TAKE, and to a release of what was held, say whether
 * somebody waits. Who knows of waiters leaves the keys of other nodes reserved, and joins
 * without asking for votes first. A lock that was just released is not asked for again before
 * home has answered the release: its SETs would be behind the release everywhere but at home, where
 * the next is served, and would win.
 *
 * Failure modes: a node that fails is no home (core/line.h); without memory for a JOIN the line is
 * done without, and a LEAVE that cannot be sent costs the next one a grace.
 *
 * Can a lock wait for ever? It waits for a turn or a `plain` or `alone` call, in the queue of the
 * loop's turn; for an event of its line, which has a deadline in each state of waiting; or for the
 * answer to a release, with a deadline too. And the acquire's own deadline and tries run all the
 * while in its core.
 *
 * Can the active lock go, and its place stay? Every step of a lock ends in rl_line_follow(), which
 * gives up the place of each of its resources that no lock of ours waits for.
 */
#ifndef RL_WAIT_LINE_H
#define RL_WAIT_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/state.h"

/* Whether an acquire that nothing of this client is in the way of must not ask for votes at once:
 * others are known to wait, or home is about to say. Its lock begins as one that waits then. */
bool rl_line_holds_up(const redlock_lock *lock, bool may_wait);

/* ... and it waits then. */
bool rl_line_enter(redlock_lock *lock, bool may_wait);

/* The lock is first of this client's, and waits: in line, for home's answer to a release, or not
 * any more. */
void rl_line_go(redlock_lock *lock);

/* Home has answered a release of the resource, or will not: who waits for that may go on. */
void rl_line_released_told(struct rl_resource *resource);

/* To be called after every step of a lock. */
void rl_line_follow(redlock_lock *lock);

/* Before a lock that has a call (enum rl_line_call) is stepped: the place of its turn, or none (0);
 * *pause: the line is of no use, it is to pause. */
uint64_t rl_line_take_call(redlock_lock *lock, bool *pause);

/* The lock of ours that asks or holds; of readers: that waits for all of them. NULL: none. */
redlock_lock *rl_line_active(const struct rl_resource *resource);
/* The resource in whose line the lock is, or was last. */
struct rl_resource *rl_line_of(const redlock_lock *lock);
/* The lock of ours that waits in this line, or asks in its turn; or is about to, its place having
 * been taken ahead of it. NULL: none. */
redlock_lock *rl_line_waiter(const struct rl_resource *resource);
/* A place for this lock, if there is none of ours. */
void rl_line_want(struct rl_resource *resource, redlock_lock *lock);

/* Something has happened to the line; lock: who waits in it, or has until now. */
void rl_line_feed(struct rl_resource *resource, redlock_lock *lock, struct rl_line_event *event);

/* A node has answered something that was sent for the resource: one that was passed over as home
 * may be home again. */
void rl_line_answered(struct rl_resource *resource, uint32_t node, const struct rl_request *request,
                      const struct rl_answer *answer);

/* A number for a place. */
uint64_t rl_line_new_place(struct rl_resource *resource);

/* Nodes that may be home, if a quorum may vote, as a mask. */
uint32_t rl_line_homes(const redlock_client *client);

static inline redlock_client *rl_line_client(const struct rl_resource *resource) {
    return RL_CONTAINER(resource->table, redlock_client, resources);
}

#endif
