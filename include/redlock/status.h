/* The status codes of libredlock: one table, from which the numbers, the names and the sentences
 * are made. redlock.h includes this file. */
#ifndef REDLOCK_STATUS_H
#define REDLOCK_STATUS_H

#if defined(__GNUC__)
#define REDLOCK_API __attribute__((visibility("default")))
#else
#define REDLOCK_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, value, text). REDLOCK_OK is 0, all errors are negative. The numbers are part of the ABI.
 *
 * The first block is returned by functions: nothing was submitted. The second block is the result
 * of an operation. The third is the reason why one node's vote failed
 * (redlock_node_outcome.reason). */
#define REDLOCK_STATUS_MAP(X)                                                                   \
    X(OK, 0, "success")                                                                         \
    /* returned at once */                                                                      \
    X(ERR_INVALID, -1, "invalid argument or option")                                            \
    X(ERR_NOMEM, -2, "out of memory")                                                           \
    X(ERR_SYSTEM, -3, "the operating system or libuv reported an error")                        \
    X(ERR_URL, -4, "invalid node URL")                                                          \
    X(ERR_NO_TLS, -5, "rediss:// needs TLS, and this library was built without TLS")            \
    X(ERR_DUPLICATE, -6, "two node URLs name the same server")                                  \
    X(ERR_CLOSED, -7, "the client is closing or closed")                                        \
    X(ERR_FORKED, -8, "the client was opened before fork(); open a new one in this process")    \
    X(ERR_BUSY, -9, "in use by a pending operation, or by other objects that share the hold")   \
    X(ERR_NOT_HELD, -10, "the lock is not held")                                                \
    X(ERR_IDLE, -11, "there is no pending operation to cancel")                                 \
    X(ERR_ALREADY_HELD, -12, "it is already held")                                              \
    X(ERR_PART_HELD, -13, "the owner already holds a part of these resources")                  \
    X(ERR_NOT_OWNER, -14, "another owner holds it, or lost it and has not unlocked it")         \
    X(ERR_WRONG_THREAD, -15, "the call would wait for the thread that makes it")                \
    X(ERR_WOULD_DEADLOCK, -16, "it would wait for itself, or for one that waits for it")        \
    /* how an operation ends */                                                                 \
    X(ERR_HELD, -20, "held by another")                                                         \
    X(ERR_NO_QUORUM, -21, "no quorum of nodes")                                                 \
    X(ERR_EXPIRED, -22, "validity ran out")                                                     \
    X(ERR_DEADLINE, -23, "the deadline passed")                                                 \
    X(ERR_CANCELED, -24, "canceled")                                                            \
    X(ERR_LOST, -25, "the lock was lost")                                                       \
    X(ERR_UNKNOWN, -26, "the outcome of the extension is unknown")                              \
    X(ERR_MAX_HOLD, -27, "the maximum hold time is over")                                       \
    X(ERR_PERMITS, -29, "the semaphore has another number of permits")                          \
    X(ERR_SILENT, -30, "no sign of life, so it was not renewed")                                \
    /* why a node's vote failed */                                                              \
    X(ERR_NODE_DOWN, -40, "not connected")                                                      \
    X(ERR_NODE_RESOLVE, -41, "host name not resolved")                                          \
    X(ERR_NODE_CONNECT, -42, "connection refused or unreachable")                               \
    X(ERR_NODE_TIMEOUT, -43, "no answer in time")                                               \
    X(ERR_NODE_DISCONNECTED, -44, "connection lost before the answer")                          \
    X(ERR_NODE_PROTOCOL, -45, "protocol error: unexpected reply")                               \
    X(ERR_NODE_AUTH, -46, "authentication failed")                                              \
    X(ERR_NODE_PERMISSION, -47, "permission denied by an ACL")                                  \
    X(ERR_NODE_DATABASE, -48, "cannot select the database")                                     \
    X(ERR_NODE_LOADING, -49, "loading its dataset")                                             \
    X(ERR_NODE_READONLY, -50, "read-only replica")                                              \
    X(ERR_NODE_OOM, -51, "out of memory on the node")                                           \
    X(ERR_NODE_MISCONF, -52, "refuses writes: persistence or replication misconfigured")        \
    X(ERR_NODE_BUSY, -53, "busy, or too many requests or clients")                              \
    X(ERR_NODE_CLUSTER, -54,                                                                    \
      "refused by a cluster node: the key is another node's, or the keys are in several slots") \
    X(ERR_NODE_WRONGTYPE, -55, "the key holds a value that is not a string")                    \
    X(ERR_NODE_ERROR, -56, "error reply")                                                       \
    X(ERR_NODE_SKIPPED, -57, "skipped: the outcome was already decided")                        \
    X(ERR_NODE_EVICTS, -58, "may evict keys, and thus forget locks")                            \
    /* up, but in quarantine: it may have forgotten what it voted for */                        \
    X(ERR_NODE_RESTARTED, -59, "restarted; in quarantine")                                      \
    X(ERR_NODE_REPLICATION_CHANGED, -60, "its replication ID changed; in quarantine")           \
    X(ERR_NODE_RECENTLY_STARTED, -61, "recently started; in quarantine")                        \
    X(ERR_NODE_WAS_REPLICA, -62, "was a replica until recently; in quarantine")                 \
    X(ERR_NODE_WAS_EVICTING, -63, "eviction was only recently disabled; in quarantine")         \
    X(ERR_NODE_PERMITS, -64, "has another number of permits of this semaphore")                 \
    X(ERR_NODE_TLS, -65, "TLS failed")                                                          \
    X(ERR_NODE_CERTIFICATE, -66, "certificate not accepted")                                    \
    X(ERR_NODE_CONFIG, -67, "its configuration is not this client's")                           \
    X(ERR_NODE_FLUSHED, -68, "a database was flushed; in quarantine")

#define REDLOCK_STATUS_ENUM_(name, value, text) REDLOCK_##name = (value),
enum redlock_status { REDLOCK_STATUS_MAP(REDLOCK_STATUS_ENUM_) REDLOCK_STATUS_END_ = -1000 };
#undef REDLOCK_STATUS_ENUM_

/* What causes each status, and what to do about it.
 *
 *     REDLOCK_OK
 *         cause: it was done.
 *         remedy: none is needed.
 *     REDLOCK_ERR_INVALID
 *         cause: an argument is NULL or out of its range, an option too, or a struct was not begun
 *             with its initializer.
 *         remedy: fix the call. The message, or the option `error`, names what is wrong; the
 *             function's description has the ranges.
 *     REDLOCK_ERR_NOMEM
 *         cause: malloc, or the client's allocator, gave no memory. Nothing was submitted, and
 *             nothing is left behind.
 *         remedy: free some, and call again.
 *     REDLOCK_ERR_SYSTEM
 *         cause: the system gave no socket, descriptor, thread, timer or random bytes, or libuv
 *             refused.
 *         remedy: the message has the system's words; most often it is a limit (ulimit -n,
 *             threads, a seccomp filter).
 *     REDLOCK_ERR_URL
 *         cause: a node's URL cannot be parsed.
 *         remedy: the option `error` says which part of which URL. Special characters in a user, a
 *             password or a path are written %XX.
 *     REDLOCK_ERR_NO_TLS
 *         cause: a URL is rediss://, and this library was built without OpenSSL.
 *         remedy: build it with -Dtls=enabled, or take a package that has TLS; redlock_has_tls()
 *             says which it is.
 *     REDLOCK_ERR_DUPLICATE
 *         cause: two URLs lead to one server, which must not have two votes: by the same host and
 *             port, or, with a guard, by what the server says of itself.
 *         remedy: name each server once. Two names for one machine, and a proxy in front of
 *             several, are the usual mistakes.
 *     REDLOCK_ERR_CLOSED
 *         cause: redlock_client_close(), or redlock_blocking_close(), was called before.
 *         remedy: none for this client; open another one.
 *     REDLOCK_ERR_FORKED
 *         cause: the client is the parent's, and this process came from its fork().
 *         remedy: open a client in the child, after fork(). The parent's goes on.
 *     REDLOCK_ERR_BUSY
 *         cause: an operation of this object is pending, here or in another thread, or other
 *             objects of the owner share its hold.
 *         remedy: wait for the callback, or cancel. Each task that locks at the same time needs an
 *             object of its own.
 *     REDLOCK_ERR_NOT_HELD
 *         cause: it was never acquired, or was released before.
 *         remedy: look for a release too many. After a loss the answer is ERR_LOST, once.
 *     REDLOCK_ERR_IDLE
 *         cause: nothing that redlock_cancel() could end is pending: it has ended, or was the
 *             watchdog's. Of redlock_election_resign(): it is no candidate.
 *         remedy: none is needed.
 *     REDLOCK_ERR_ALREADY_HELD
 *         cause: the object holds it, or its owner does, without the fence that this call wants.
 *         remedy: release first, or set `owner` to share a hold; set `fencing` on the owner's
 *             first acquire.
 *     REDLOCK_ERR_PART_HELD
 *         cause: the owner holds some of these resources by another lock, and would wait for
 *             itself.
 *         remedy: release that first, or acquire all of them by one lock of several resources.
 *     REDLOCK_ERR_NOT_OWNER
 *         cause: another thread, or owner, holds the mutex, or lost it and has not unlocked it
 *             yet.
 *         remedy: unlock in the thread that locked. A task that moves between threads has a mutex
 *             with `owner` set.
 *     REDLOCK_ERR_WRONG_THREAD
 *         cause: a function that waits was called inside on_lost, on the loop's thread, for which
 *             it would wait.
 *         remedy: set a flag there, or wake another thread, and call from that.
 *     REDLOCK_ERR_WOULD_DEADLOCK
 *         cause: the owner reads and wants to write; or, of an upgrade, another reader wants to
 *             upgrade too.
 *         remedy: release, acquire exclusively, and look again at what was read.
 *     REDLOCK_ERR_HELD
 *         cause: other clients hold it on so many nodes that no quorum is left.
 *         remedy: wait for longer (wait_ms, timeout_ms), or do without. `redlock status KEY` shows
 *             its holder and its waiters.
 *     REDLOCK_ERR_NO_QUORUM
 *         cause: so many nodes failed, are down or may not vote that no quorum is left.
 *         remedy: the message says why, node by node; each reason is below. `redlock doctor`
 *             checks the nodes. New nodes vote when max_ttl_ms has passed.
 *     REDLOCK_ERR_EXPIRED
 *         cause: a quorum granted or renewed too late: validity was over, or less than
 *             min_validity_ms. As a loss: it was not extended in time.
 *         remedy: a ttl that is long beside the nodes' latency; for a loss, auto_extend, and a
 *             loop that is not blocked.
 *     REDLOCK_ERR_DEADLINE
 *         cause: wait_ms, or timeout_ms, is over, or would be before the next attempt.
 *         remedy: ask redlock_lock_attempt_status(), or that of the mutex: ERR_HELD is a busy
 *             lock, ERR_NO_QUORUM an outage.
 *     REDLOCK_ERR_CANCELED
 *         cause: redlock_cancel(), a release, free or close ended it. Nothing of it stays on a
 *             live node.
 *         remedy: none is needed.
 *     REDLOCK_ERR_LOST
 *         cause: so many nodes no longer have the key that no quorum has it: they were restarted
 *             or emptied, another client deleted it, or validity was over before.
 *         remedy: treat what was done since as unprotected; stop, or check it, and acquire again.
 *             `redlock doctor` finds nodes that evict or forget.
 *     REDLOCK_ERR_UNKNOWN
 *         cause: too many nodes did not answer an extension, or a change of the mode. Validity is
 *             what it was.
 *         remedy: call again until validity ends; the watchdog does so by itself.
 *     REDLOCK_ERR_MAX_HOLD
 *         cause: max_hold_ms is over, and the lock was ended, though it could be extended.
 *         remedy: raise max_hold_ms if the work may take so long; if not, the work hangs.
 *     REDLOCK_ERR_PERMITS
 *         cause: the semaphore has another number of permits on the nodes, and some of them are in
 *             use.
 *         remedy: let all clients name the same number; redlock_set_permits() changes it on the
 *             nodes.
 *     REDLOCK_ERR_SILENT
 *         cause: the program gave no sign of life (redlock_lock_alive()) for max_silence_ms, and
 *             the watchdog stopped.
 *         remedy: find out what the work waited for; raise max_silence_ms if its steps may take
 *             so long, or give a sign more often.
 *     REDLOCK_ERR_NODE_DOWN
 *         cause: there was no connection to it when the vote was asked for; it is being connected
 *             again.
 *         remedy: the reason before it, in redlock_client_message(), is the one to fix.
 *     REDLOCK_ERR_NODE_RESOLVE
 *         cause: its host's name is not known to the resolver.
 *         remedy: check the name in the URL, and the resolver (getent hosts NAME); or name an
 *             address.
 *     REDLOCK_ERR_NODE_CONNECT
 *         cause: nothing listens there, a firewall refuses, or there is no route.
 *         remedy: is the server running, is the port right, does it listen on that address (bind,
 *             protected-mode)?
 *     REDLOCK_ERR_NODE_TIMEOUT
 *         cause: no answer within node_timeout_ms, or no connection within connect_timeout_ms.
 *         remedy: a node that hangs, swaps or runs a long command; a link that drops packets; or a
 *             node that is farther away than node_timeout_ms allows.
 *     REDLOCK_ERR_NODE_DISCONNECTED
 *         cause: the connection broke while an answer was outstanding: the node ended, or cut it
 *             (CLIENT KILL, timeout, output buffer limits).
 *         remedy: none if the node was restarted; else its log says why.
 *     REDLOCK_ERR_NODE_PROTOCOL
 *         cause: what came is no answer that Redis gives to this command.
 *         remedy: is it a Redis server, and not a web server, a Sentinel or a proxy? Is it
 *             rediss:// that it speaks?
 *     REDLOCK_ERR_NODE_AUTH
 *         cause: the user or the password is wrong or missing, or the node has none and one was
 *             given.
 *         remedy: check the URL, or set new ones by redlock_client_set_credentials().
 *     REDLOCK_ERR_NODE_PERMISSION
 *         cause: the user's ACL forbids a command, a key or a channel that is needed.
 *         remedy: `redlock doctor --acl USER` prints what to allow.
 *     REDLOCK_ERR_NODE_DATABASE
 *         cause: the node has no database of the number in the URL.
 *         remedy: name one that it has, or none.
 *     REDLOCK_ERR_NODE_LOADING
 *         cause: it has started, and is reading its data.
 *         remedy: none: it votes when it has loaded, and its quarantine is over.
 *     REDLOCK_ERR_NODE_READONLY
 *         cause: it is a replica.
 *         remedy: name independent servers; a replica becomes one by REPLICAOF NO ONE.
 *     REDLOCK_ERR_NODE_OOM
 *         cause: maxmemory is reached, and it refuses writes.
 *         remedy: raise maxmemory, or move other data elsewhere; locks need little.
 *     REDLOCK_ERR_NODE_MISCONF
 *         cause: it cannot save (the disk is full), or has fewer replicas than
 *             min-replicas-to-write, and refuses writes.
 *         remedy: its log says which. A lock node needs no replicas.
 *     REDLOCK_ERR_NODE_BUSY
 *         cause: a script blocks it, it has as many clients as it may have, or so many requests to
 *             it are pending that no more are sent.
 *         remedy: end the script (SCRIPT KILL), raise maxclients; if the requests are too many,
 *             use fewer locks at once or a faster node.
 *     REDLOCK_ERR_NODE_CLUSTER
 *         cause: it is a member of a Redis Cluster.
 *         remedy: name servers that are independent: cluster-enabled no.
 *     REDLOCK_ERR_NODE_WRONGTYPE
 *         cause: a key of the lock's name exists and is a list, a hash or the like, of another
 *             program.
 *         remedy: give the resource another name, a prefix for example, or delete that key.
 *     REDLOCK_ERR_NODE_ERROR
 *         cause: the node answered with an error that has no status of its own.
 *         remedy: the message has the node's words.
 *     REDLOCK_ERR_NODE_SKIPPED
 *         cause: the round was decided before this node was needed.
 *         remedy: none is needed.
 *     REDLOCK_ERR_NODE_EVICTS
 *         cause: its maxmemory-policy may evict keys, and with them locks. With a guard it is not
 *             used.
 *         remedy: set maxmemory-policy noeviction; it votes max_ttl_ms later.
 *     REDLOCK_ERR_NODE_RESTARTED
 *         cause: its run_id changed: it was started anew, and may have forgotten locks.
 *         remedy: none: it votes again when max_ttl_ms have passed. The message says when.
 *     REDLOCK_ERR_NODE_REPLICATION_CHANGED
 *         cause: its replication ID changed: another server's data came in its place, by a
 *             failover for example.
 *         remedy: as for a restart. Lock nodes should have no automatic failover.
 *     REDLOCK_ERR_NODE_RECENTLY_STARTED
 *         cause: when this client first saw it, it had been up for less than max_ttl_ms (strict
 *             guard).
 *         remedy: none: it votes when max_ttl_ms have passed. For nodes that are known to be new:
 *             REDLOCK_GUARD_OBSERVED.
 *     REDLOCK_ERR_NODE_FLUSHED
 *         cause: FLUSHALL, FLUSHDB or SWAPDB, of whatever database, since this client saw it
 *             first. Noticed when it is connected again; the first two at once, if the library was
 *             built with hiredis 1.x, and the server has RESP3 and allows the user HELLO and
 *             CLIENT TRACKING.
 *         remedy: as for a restart. Take these commands from all users: -flushall -flushdb
 *             -swapdb.
 *     REDLOCK_ERR_NODE_WAS_REPLICA
 *         cause: it is a primary now, and may lack what its primary had granted.
 *         remedy: as for a restart.
 *     REDLOCK_ERR_NODE_WAS_EVICTING
 *         cause: its maxmemory-policy was changed to noeviction; it may have evicted locks before.
 *         remedy: as for a restart.
 *     REDLOCK_ERR_NODE_PERMITS
 *         cause: it keeps another number of permits for this semaphore, and some of them are in
 *             use.
 *         remedy: as for ERR_PERMITS; `redlock status KEY` shows each node's number.
 *     REDLOCK_ERR_NODE_TLS
 *         cause: the handshake failed: no TLS on that port, a version or cipher that one side
 *             refuses, or a broken stream.
 *         remedy: the message has OpenSSL's words. Is it the TLS port; does the server want a
 *             client certificate (tls_cert, tls_key)?
 *     REDLOCK_ERR_NODE_CERTIFICATE
 *         cause: its certificate is expired, for another name, or from an authority that is not
 *             trusted here.
 *         remedy: the message says which. Name the authority (tls_ca) or the name in it
 *             (tls_server_name), or renew it.
 *     REDLOCK_ERR_NODE_CONFIG
 *         cause: the nodes of this set know their configuration (`redlock set`), and this node has
 *             another one, none, or one that cannot be read: it was down during a change, has
 *             forgotten it, or belongs to another set.
 *         remedy: `redlock set show` compares the nodes; `redlock set resume` writes what is
 *             missing. If it belongs to another set, correct the list of nodes. */

/* A text for a status code, e.g. "held by another". Never NULL, static. Any thread.
 * Since 0.1. */
REDLOCK_API const char *redlock_strerror(int status);

/* The name of a status code without its prefix, e.g. "ERR_HELD"; "ERR_?" for any other number.
 * Static. Any thread. Since 0.1. */
REDLOCK_API const char *redlock_err_name(int status);

/* 1 if the same call may succeed later although the caller changes nothing: HELD, NO_QUORUM,
 * EXPIRED, DEADLINE, UNKNOWN, BUSY, NOMEM; else 0. Any thread. Since 0.1. */
REDLOCK_API int redlock_is_retryable(int status);

#ifdef __cplusplus
}
#endif

#endif /* REDLOCK_STATUS_H */
