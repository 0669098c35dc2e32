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
    X(ERR_NODE_CERTIFICATE, -66, "certificate not accepted")

#define REDLOCK_STATUS_ENUM_(name, value, text) REDLOCK_##name = (value),
enum redlock_status { REDLOCK_STATUS_MAP(REDLOCK_STATUS_ENUM_) REDLOCK_STATUS_END_ = -1000 };
#undef REDLOCK_STATUS_ENUM_

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
