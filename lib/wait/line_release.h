/* Releases, as the line needs them (line.h): each passes the keys on, to a client that is known to
 * come next, or serves at home, and tells what home knows.
 *
 * Happy path: rl_line_plan_release(), and the driver sends what it says, rl_line_release_sent();
 * home's answer says whether somebody waits: rl_line_learn().
 *
 * Failure modes: home does not answer. Then the next acquire does without its answer when the node
 * timeout or half of its own time is over, and the release is pending as any other.
 *
 * Which releases serve? All but two, those of attempts that failed as well: while our token stood
 * there, somebody may have joined. Not the one behind which the next lock of this client asks at
 * once: it only looks whether others wait, who are the next then. (Once: behind the next release it
 * waits, if home has not answered by then. Who joined meanwhile is passed by once.) And not that of
 * a turn that was refused elsewhere: the key is reserved, and its lock joins again behind that.
 */
#ifndef RL_WAIT_LINE_RELEASE_H
#define RL_WAIT_LINE_RELEASE_H

#include "client/state.h"

/* Home as one sees it who does not listen, a node; RL_LINE_NO_HOME: none may vote. */
uint32_t rl_line_home(const struct rl_resource *resource);

/* To a SET or TAKE of an attempt, or to a release: what it says of others. Before its vote. */
void rl_line_learn(redlock_lock *lock, struct rl_client_node *place,
                   const struct rl_request *request, const struct rl_answer *answer);

/* A release of the lock's present token is about to be sent: how. The next lock of this client
 * joins first, if others wait. */
void rl_line_plan_release(redlock_lock *lock, struct rl_release_plan *plan);
/* The same for one that is sent again. */
void rl_line_plan_retry(const redlock_lock *lock, uint32_t grace_ms, struct rl_release_plan *plan);
/* It was sent to the node, to serve or to look: home will say who waits. */
void rl_line_release_sent(redlock_lock *lock, uint32_t node, enum rl_release_mode mode);

#endif
