/* Releases, as the line needs them (line.h): each passes the keys on to a client that is known to
 * come next, or makes home serve the next one, and reports what home knows.
 *
 * Happy path: rl_line_plan_release(), then the driver sends what the plan says,
 * rl_line_release_sent(); home's answer says whether another client waits: rl_line_learn().
 *
 * Failure modes: home does not answer. Then the next acquire goes on without its answer after the
 * node timeout or half of its own time, and the release is pending as any other.
 *
 * Which releases serve? All but two, including those of failed attempts: while our token stood
 * there, another client may have joined. The first exception is a release behind which the next
 * lock of this client asks at once: it only looks whether other clients wait, which are then next.
 * (Only once: behind the next release the lock waits, if home has not answered by then. A client
 * that joined meanwhile is passed over once.) The second is the release of a turn that other nodes
 * refused: the key is reserved, and its lock joins again behind the release.
 */
#ifndef RL_WAIT_LINE_RELEASE_H
#define RL_WAIT_LINE_RELEASE_H

#include "client/state.h"

/* Home as seen without listening: a node, or RL_LINE_NO_HOME if none may vote. */
uint32_t rl_line_home(const struct rl_resource *resource);

/* Learns about other clients from the answer to a SET or TAKE of an attempt, or to a release. To be
 * called before the vote is counted. */
void rl_line_learn(redlock_lock *lock, struct rl_client_node *member,
                   const struct rl_request *request, const struct rl_answer *answer);

/* Plans a release of the lock's present token, which is about to be sent. If other clients wait,
 * the next lock of this client joins first. */
void rl_line_plan_release(redlock_lock *lock, struct rl_release_plan *plan);
/* Plans a release that is sent again. */
void rl_line_plan_retry(const redlock_lock *lock, uint32_t grace_ms, struct rl_release_plan *plan);
/* The release was sent to the node, to serve or to look: home will say whether another client
 * waits. */
void rl_line_release_sent(redlock_lock *lock, uint32_t node, enum rl_release_mode mode);

/* -- What the holder hears --
 *
 * Home notifies the holder of the client that comes next (line.h), and its release passes the keys
 * on. Holders that have waited hear it, and those that may linger (lock/reentrancy.h), which listen
 * at home from before their attempt on.
 *
 * Can another client want a lock that counts as unwanted? Only if no message of home says so: that
 * client does not stand in line; it stands in line at another node, since it cannot reach home or
 * does not know all nodes; or it was the first in line already when home's key became free and this
 * client won it, since home notifies a holder only when the first in line changes. (A lock that was
 * won without home counts as wanted: home may have given its key to another client, and would not
 * know the holder.)
 */

/* To be called after every step of a lock, before rl_line_follow(). before: the core's state until
 * then. */
void rl_hear_follow(redlock_lock *lock, uint8_t before);

/* Whether no other lock, of this client or of another, is known to want what the lock holds, and
 * this client would have heard of another client. */
bool rl_hear_is_unwanted(const redlock_lock *lock, uint64_t now_ns);

/* Whether the client hears of any successor: else none of its locks lingers. */
bool rl_hear_has_any(const redlock_client *client);

/* Another client wants what the lock holds, or may want it unheard. */
void rl_hear_wanted(redlock_lock *lock);

/* Whether the lock was unwanted until now, and the client does not hear of others any more. */
bool rl_hear_is_deaf(const redlock_lock *lock);

#endif
