/* Releases for the line (line.h): each passes the keys to the known next client, or makes home
 * serve the next one, and returns what home knows.
 *
 * Happy path: rl_line_plan_release(); the driver sends the planned release and calls
 * rl_line_release_sent(); home's answer says whether another client waits: rl_line_learn().
 *
 * Failure modes: home does not answer. Then the next acquire goes on without the answer after the
 * node timeout or half of its own time, and the release becomes pending like any other.
 *
 * Which releases make home serve the next client? All but two kinds, including those of failed
 * attempts: while our token stood there, another client may have joined. The first exception is a
 * release behind which the next lock of this client asks at once: it only looks whether other
 * clients wait, which are then next. (This happens once: if home has not answered by the next
 * release, the lock waits. A client that joined meanwhile is passed over once.) The second
 * exception is the release of a turn that other nodes refused: the key is reserved, and its lock
 * joins again behind the release.
 */
#ifndef RL_WAIT_LINE_RELEASE_H
#define RL_WAIT_LINE_RELEASE_H

#include "client/state.h"

/* Home, whether or not the client listens: a node, or RL_LINE_NO_HOME if none may vote. */
uint32_t rl_line_home(const struct rl_resource *resource);

/* Learns about other clients from the answer to an attempt's SET or TAKE, or to a release. Call
 * this before the vote is counted. */
void rl_line_learn(redlock_lock *lock, struct rl_client_node *member,
                   const struct rl_request *request, const struct rl_answer *answer);

/* Plans a release of the lock's current token, which is sent next. If other clients wait, the next
 * lock of this client joins first. */
void rl_line_plan_release(redlock_lock *lock, struct rl_release_plan *plan);
/* Plans a release that is sent again. */
void rl_line_plan_retry(const redlock_lock *lock, uint32_t grace_ms, struct rl_release_plan *plan);
/* The release was sent to the node, in mode SERVE or LOOK: home's answer will say whether another
 * client waits. */
void rl_line_release_sent(redlock_lock *lock, uint32_t node, enum rl_release_mode mode);

#endif
