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

#endif
