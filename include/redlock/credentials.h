/* New users and passwords for the nodes while a client lives. redlock.h includes this file.
 *
 * Rotation: a password is changed without a restart, without a lost lock, and without a time in
 * which a client cannot connect. It does not matter who gets the new one first:
 *
 *   - The nodes first, both passwords valid for a while (ACL SETUSER app '>new', the usual way):
 *     then set it in the clients, and when all nodes use it (`credentials_pending` of redlock_stats
 *     is 0) remove the old one (ACL SETUSER app '<old').
 *   - The nodes first, the old one invalid at once (ACL SETUSER app resetpass '>new', CONFIG SET
 *     requirepass): connections that stand stay authenticated, which is how Redis does it. One that
 *     breaks before the client has the new password is refused; it is made again as soon as the new
 *     one is set.
 *   - The client first: the nodes refuse the new one, which is reported, and leave the connection
 *     as it was. The client keeps both. Each new connection tries the new one, then the one before,
 *     and uses what is valid there. When the nodes have the new password, set it once more:
 *     credentials_pending is 0 then.
 *   - Node by node, in any order: each node is one of these.
 *   - A new user: the same. Remove the old one (ACL DELUSER, which ends its connections) when
 *     credentials_pending is 0. That also ends the connections on which the client listens. They
 *     are made again as the new user, and what was missed meanwhile costs an acquire that waits one
 *     pause.
 *   - A wrong one: it is reported, and the one before stays in use for as long as it is valid. Set
 *     the right one: it replaces the wrong one.
 *
 * First login: set right after redlock_client_open(), before the loop runs, they replace those of
 * the URL, as if they were written there. A node that refuses them is down (REDLOCK_ERR_NODE_AUTH);
 * the client does not fall back to the URL's, nor to the user `default` without a password. What
 * was set later is a rotation, as above: what a node has accepted before stays in use.
 *
 * None of this loses a lock: a lock needs a quorum of nodes once in its validity, and a node is
 * missing only while it refuses both. Only a quorum of nodes that refuse both, and whose
 * connections break, could lose one: do not kill connections before credentials_pending is 0.
 *
 * What can lose one is a user who may log in and may not do what the one before may: it is
 * accepted, those before are forgotten, and extensions are refused from then on
 * (REDLOCK_ERR_NODE_PERMISSION). Look first, `redlock doctor --user NAME --password-file FILE` as
 * the new user; or set it for one node alone, and look at its votes.
 *
 * When: on a connection that stands AUTH is sent at once, in order, as soon as everything before it
 * has been answered; commands behind it wait for that, about one round trip. (Redis since 7.2, and
 * Valkey before 9, do not answer a wrong AUTH at all if answers to earlier commands are still to be
 * written, redis/redis#15640, and a client would take each later answer for another command's.) A
 * connection on which the client listens keeps its credentials, since Redis takes no AUTH while it
 * is subscribed (RESP2); the next one has those that the node has accepted last. A node that is
 * down because it refused what the client had is tried again at once. What was refused is said
 * again on each new connection, and when an answer shows that those before are no longer good; at
 * most once per reconnect_max_ms on one connection.
 *
 * Memory: what a node accepts overwrites what it had before; what replaces credentials that were
 * not accepted overwrites those; closing the client overwrites all. A child of fork() has copies,
 * which nobody wipes. The caller's copies are the caller's to wipe. Passwords appear in no message,
 * detail or event, not even where a server's error repeats them.
 */
#ifndef REDLOCK_CREDENTIALS_H
#define REDLOCK_CREDENTIALS_H

#include <stddef.h>

#include "redlock/redlock.h"

#ifdef __cplusplus
extern "C" {
#endif

#define REDLOCK_ALL_NODES ((size_t)-1) /* in place of a node's index */
#define REDLOCK_USER_MAX 128           /* bytes of a user's name */
#define REDLOCK_PASSWORD_MAX 512       /* bytes of a password */

/* Sets user and password for one node, or for all of them, from now on: instead of those of the
 * URL and of any that were set before. See above for what happens to connections that stand.
 *
 * node: the index of its URL in redlock_client_options.nodes, or REDLOCK_ALL_NODES. user: NULL or
 * "" for the user `default`; at most REDLOCK_USER_MAX bytes. password: 1 to REDLOCK_PASSWORD_MAX
 * bytes. Both are taken as they are, any bytes: nothing is percent-decoded. Copied.
 *
 * What the nodes answer to newer ones comes later, for each of them:
 * REDLOCK_EVENT_CREDENTIALS_ACCEPTED or REDLOCK_EVENT_CREDENTIALS_REFUSED in the trace,
 * `credentials` of redlock_node_info, `credentials_pending` of redlock_stats, and the sentence of
 * redlock_client_message().
 *
 * Returns 0, or:
 *     REDLOCK_ERR_INVALID   client or password is NULL, the password is empty, one of them is too
 *                           long, or there is no such node; nothing was changed
 *     REDLOCK_ERR_NOMEM     they are set, but there was no memory to send them to every node: such
 *                           a node gets them with its next connection. Calling again tries again.
 *     REDLOCK_ERR_CLOSED, REDLOCK_ERR_FORKED
 * On the client's thread, as everything in redlock.h. Since 0.1. */
REDLOCK_API int redlock_client_set_credentials(redlock_client *client, size_t node,
                                               const char *user, const char *password);

#ifdef __cplusplus
}
#endif

#endif /* REDLOCK_CREDENTIALS_H */
