/* Releases by a command of the server's own, DELIFEQ or DELEX, in place of the script.
 *
 * Happy path: INFO says a version that has one. When the first release on a connection, the script,
 * has been answered, it is sent once more, as the command. That trial is of a key that the user has
 * anyway, does nothing, since the script has run, and nobody waits for it. Its answer is one that
 * the script could give: from then on, on this connection, a release is the command alone.
 *
 * Failure modes: there is no such command, or it has another name; the ACL forbids it; something
 * between the client and the server does not let it through. Then the trial is answered otherwise,
 * and releases stay scripts until the next connection. Or the connection ends before the answer,
 * perhaps for the trial's sake: then nothing is tried on the next connection; when it happens
 * again, on the next three; and so on, up to 127. Without a guard no INFO is read, and nothing is
 * tried.
 *
 * Why not right behind the script, in the same write? The script may not have run: a server that
 * does not have it says NOSCRIPT, and it is sent again, whole. The trial would have deleted the key
 * before, and the owner, or who releases by a token, would be told that it was not there.
 *
 * Can a release be lost to a server that does not take the command? No. What a client says last,
 * and does not hear the answer to, is the command only where it was answered before. If it is
 * refused later (the ACL has changed, or the server is a replica by now), the release goes out
 * again at once, as the script, whatever the error is. The owner gets the answer to that one, so a
 * verdict is always the script's: on a replica, or where writing is forbidden, the command is
 * refused for an absent key, too, and the script answers 0. Between the two the key stands as it
 * was. What was sent meanwhile runs before the script, which does no harm: a token is of one
 * attempt.
 */
#ifndef RL_REDIS_NATIVE_H
#define RL_REDIS_NATIVE_H

#include "redis/node_data.h"

/* The handshake is over. */
void rl_native_begin(struct rl_node *node);

/* How a lock's one key is released there now: RELEASE, DELIFEQ or DELEX. */
enum rl_command_kind rl_native_kind(const struct rl_node *node);

/* A request is answered: if it is a release whose script has run, and there is something to be
 * tried, it is sent once more, as that. */
void rl_native_try(struct rl_node *node, const struct rl_request *request,
                   const struct rl_answer *answer);

/* The trial was answered, or its connection has ended before. */
void rl_native_tried(struct rl_node *node, const struct rl_answer *answer);
void rl_native_lost(struct rl_node *node);

/* A request was answered with an error. True: it was a native release, and is sent again as the
 * script. */
bool rl_native_resend(struct rl_node *node, struct rl_request *request,
                      const struct rl_answer *answer);

#endif
