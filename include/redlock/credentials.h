/* New users and passwords for the nodes while a client is open. redlock.h includes this file.
 *
 * Rotation: a password is changed without a restart, without a lost lock, and without a time in
 * which a client cannot connect. It does not matter whether the nodes or the client get the new one
 * first:
 *
 *   - The nodes first, both passwords valid for a while (ACL SETUSER app '>new', the usual way):
 *     then set it in the clients, and when all nodes use it (`credentials_pending` of redlock_stats
 *     is 0) remove the old one (ACL SETUSER app '<old').
 *   - The nodes first, the old one invalid at once (ACL SETUSER app resetpass '>new', CONFIG SET
 *     requirepass): open connections stay authenticated, as Redis does it. If one breaks before the
 *     client has the new password, its reconnect is refused; the client reconnects as soon as the
 *     new password is set.
 *   - The client first: the nodes refuse the new one, which is reported, and leave the connection
 *     as it was. The client keeps both. Each new connection tries the new one, then the old one,
 *     and uses the one that is valid there. When the nodes have the new password, set it once more:
 *     credentials_pending is 0 then.
 *   - Node by node, in any order: for each node one of these cases applies.
 *   - A new user: the same. Remove the old one (ACL DELUSER, which ends its connections) when
 *     credentials_pending is 0. That also ends the connections on which the client listens. They
 *     are reconnected as the new user, and a message that was missed meanwhile costs a waiting
 *     acquire one pause.
 *   - A wrong one: it is reported, and the old one stays in use for as long as it is valid. Set the
 *     right one, which replaces the wrong one.
 *
 * First login: credentials that are set right after redlock_client_open(), before the loop runs,
 * replace those of the URL, as if they were written there. A node that refuses them is down
 * (REDLOCK_ERR_NODE_AUTH); the client does not fall back to the URL's, nor to the user `default`
 * without a password. Setting them later is a rotation, as above: credentials that a node has
 * accepted before stay in use.
 *
 * None of this loses a lock: a lock needs a quorum of nodes once in its validity, and a node is
 * missing only while it refuses both. Only a quorum of nodes that refuse both, and whose
 * connections break, could lose one: do not kill connections before credentials_pending is 0.
 *
 * A lock can be lost if the new user may log in but has fewer permissions than the old one: the
 * node accepts it, the old credentials are dropped, and extensions are refused from then on
 * (REDLOCK_ERR_NODE_PERMISSION). Check first, with `redlock doctor --user NAME --password-file
 * FILE` as the new user; or set it for one node alone, and check its votes.
 *
 * When: on an open connection AUTH is sent in order, as soon as all earlier commands have been
 * answered; later commands wait for it, about one round trip. (Redis since 7.2, and Valkey before
 * 9, do not answer a wrong AUTH at all if answers to earlier commands are still to be written,
 * redis/redis#15640, and a client would take each later answer for another command's.) A connection
 * on which the client listens keeps its credentials, since Redis takes no AUTH while it is
 * subscribed (RESP2); the next one uses those that the node has accepted last. A node that is down
 * because it refused the client's credentials is retried at once. Refused credentials are sent
 * again on each new connection, and when an answer shows that the old ones are no longer valid; at
 * most once per reconnect_max_ms on one connection.
 *
 * Memory: credentials that a node accepts overwrite its old ones; credentials that replace others
 * which were not accepted overwrite those; closing the client overwrites all. A child of fork() has
 * copies, which are not wiped. The caller must wipe its own copies. Passwords appear in no message,
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
 * URL and of any that were set before. See above for what happens to open connections.
 *
 * node: its index, see redlock_client_options.nodes, or REDLOCK_ALL_NODES. user: NULL or "" for the
 * user `default`; at most REDLOCK_USER_MAX bytes. password: 1 to REDLOCK_PASSWORD_MAX
 * bytes. Both are used as they are, any bytes: nothing is percent-decoded. Copied.
 *
 * The nodes' answers to newer ones come later, for each node: REDLOCK_EVENT_CREDENTIALS_ACCEPTED or
 * REDLOCK_EVENT_CREDENTIALS_REFUSED in the trace, `credentials` of redlock_node_info,
 * `credentials_pending` of redlock_stats, and the sentence of redlock_client_message().
 *
 * Returns 0, or:
 *     REDLOCK_ERR_INVALID   client or password is NULL, the password is empty, one of them is too
 *                           long, or there is no such node; nothing was changed
 *     REDLOCK_ERR_NOMEM     they are set, but there was no memory to send them to every node: such
 *                           a node gets them with its next connection. Call again to retry.
 *     REDLOCK_ERR_CLOSED, REDLOCK_ERR_FORKED
 * On the client's thread, as everything in redlock.h. Since 0.1. */
REDLOCK_API int redlock_client_set_credentials(redlock_client *client, size_t node,
                                               const char *user, const char *password);

#ifdef __cplusplus
}
#endif

#endif /* REDLOCK_CREDENTIALS_H */
