/* Releases by a native command of the server, DELIFEQ or DELEX, instead of the script.
 *
 * Happy path: INFO reports a version that has one. When the first release on a connection, by the
 * script, has been answered, it is sent once more as the native command. This trial uses a key to
 * which the user has access anyway, changes nothing, since the script has run, and no caller waits
 * for it. If its answer is one that the script could give, later releases on this connection use
 * the native command.
 *
 * Failure modes: there is no such command, or it has another name; the ACL forbids it; something
 * between the client and the server blocks it. Then the trial has another answer, and releases stay
 * scripts until the next connection. Or the connection ends before the answer, perhaps because of
 * the trial: then nothing is tried on the next connection; if it happens again, on the next three;
 * and so on, up to 127. Without a guard no INFO is read, and nothing is tried.
 *
 * Why not right after the script, in the same write? The script may not have run: a server that
 * lacks it answers NOSCRIPT, and the client sends it again, whole. The trial would have deleted the
 * key by then, and the owner, or a caller that releases by a token, would learn that the key was
 * not there.
 *
 * Can a release be lost to a server that does not accept the native command? No. A client's last
 * release, whose answer it may never see, is the native command only if that was answered before on
 * this connection. If the command is refused later (the ACL has changed, or the server has become a
 * replica), the release is sent again at once, as the script, whatever the error is. The owner gets
 * the answer to the script, so an error verdict is always the script's: on a replica, or where
 * writing is forbidden, the command is refused even for an absent key, whereas the script answers
 * 0. Between the two the key is unchanged. Commands that were sent meanwhile run before the
 * script, which does no harm: a token belongs to one attempt.
 */
#ifndef RL_REDIS_NATIVE_H
#define RL_REDIS_NATIVE_H

#include "redis/node_state.h"

/* The handshake is over. */
void rl_native_begin(struct rl_node *node);

/* The command that releases a single key there now: RELEASE, DELIFEQ or DELEX. */
enum rl_command_kind rl_native_kind(const struct rl_node *node);

/* A request was answered: if it is a release whose script has run, and there is a native command to
 * try, sends it once more as that command. */
void rl_native_try(struct rl_node *node, const struct rl_request *request,
                   const struct rl_answer *answer);

/* The trial was answered; or its connection has ended before that. */
void rl_native_tried(struct rl_node *node, const struct rl_answer *answer);
void rl_native_lost(struct rl_node *node);

/* A request was answered with an error. True: it was a native release, and is sent again as the
 * script. */
bool rl_native_resend(struct rl_node *node, struct rl_request *request,
                      const struct rl_answer *answer);

#endif
