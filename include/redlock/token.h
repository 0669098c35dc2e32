/* Locks by their token: handed from one process to another, released by a script, queried; and
 * their waiters.
 *
 * On the nodes a lock is its token. Any party that knows it can keep the lock held, or end it:
 *
 *     process A: redlock_acquire(), redlock_lock_token(), redlock_disown()
 *     process B: redlock_adopt() with that token, work, redlock_release()
 *
 * Failure modes: no process adopts the token, and the keys expire after their ttl. Two processes
 * adopt one token: to the nodes they are one holder, and nothing keeps them apart; hand a token to
 * only one.
 *
 * Threads, units and the callback contract: as in redlock.h.
 */
#ifndef REDLOCK_TOKEN_H
#define REDLOCK_TOKEN_H

#include "redlock/redlock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Takes over a lock that is held by its token, for instance in another process: extends it on every
 * node and, if a quorum renewed it, holds it from now on as if it had been acquired. The lock must
 * be of the same resources, have the same holder, and be held in the mode of this one. options: as
 * for redlock_acquire(); tries, wait_ms, delay_ms, jitter_ms and owner have no meaning here, and
 * fencing is refused: a fence belongs to the grant, so hand it over with the token. The callback's
 * status:
 *     0                       the lock is held
 *     REDLOCK_ERR_LOST        too many nodes answered that the token is not there
 *     REDLOCK_ERR_NO_QUORUM   too many nodes did not answer
 *     REDLOCK_ERR_EXPIRED     a quorum renewed it too late
 *     REDLOCK_ERR_CANCELED    as for redlock_acquire()
 * After an error nothing is released: another party that knows the token may hold it.
 *
 * Returns as redlock_acquire(); REDLOCK_ERR_INVALID also if token is not what redlock_lock_token()
 * gives, REDLOCK_TOKEN_LENGTH hex digits in lower case, or is of permits whose slots were not named
 * (redlock_lock_set_slots()), REDLOCK_ERR_BUSY also while another lock of this client holds the
 * resource or is acquiring it. Since 0.1. */
REDLOCK_API int redlock_adopt(redlock_lock *lock, const char *token,
                              const redlock_acquire_options *options, redlock_lock_cb on_done,
                              void *data);

/* Leaves a held lock for another process to adopt: this object no longer holds it, but its keys
 * stay until their ttl ends, and any party that knows the token can adopt or release it. A pending
 * extension ends with REDLOCK_ERR_CANCELED. on_lost does not run.
 *
 * A grant is reported after a majority's answers. A node that has not answered yet may therefore
 * lack the keys: it may need the whole script, or a repair. To hand over a lock that is on every
 * node that is up, wait until `outstanding` of redlock_client_node() is 0 for each, at most for
 * node_timeout_ms.
 *
 * Returns 0, REDLOCK_ERR_NOT_HELD, REDLOCK_ERR_BUSY (acquired more than once, or shared by
 * other objects of its owner; or it was upgraded, and a node has not answered an earlier change of
 * its mode), REDLOCK_ERR_CLOSED, REDLOCK_ERR_FORKED. Since 0.1. */
REDLOCK_API int redlock_disown(redlock_lock *lock);

/* Releases a lock that this object does not hold, exclusive or shared, by its token: every node
 * deletes the keys that have the token, and a reader's lease. redlock_lock_outcome() says for each
 * node whether it was there. The callback's status and the errors: as for redlock_release(), and
 * REDLOCK_ERR_ALREADY_HELD, and REDLOCK_ERR_INVALID as for redlock_adopt(). Since 0.1. */
REDLOCK_API int redlock_release_token(redlock_lock *lock, const char *token,
                                      redlock_lock_cb on_done, void *data);

/* What one node has under a resource's key. Begin with REDLOCK_NODE_HOLDER_INIT. */
typedef struct redlock_node_holder {
    size_t size;      /* set by the initializer */
    const char *node; /* "host:port" or the path; valid as long as the client */
    int status;       /* 0: it answered; else why not, REDLOCK_ERR_NODE_... (or ERR_CANCELED) */
    int is_held; /* 1: the key exists, and is not reserved. It may have been passed to a waiting
                        * client that does not know yet */
    const char *token; /* "" if not held, or if the value is not of this library's kind */

    /* The name after the token, "" if none. For a value that is not of this library's kind, its
     * beginning in printable characters, or "(empty string)"; for another type its name, "(list)".
     */
    const char *holder;

    int64_t remaining_ms; /* until the key ends by the node's clock; -1: it never ends */
    uint32_t latency_us;  /* the node's own, as in redlock_node_outcome; 0: no answer */

    /* 1: the key is reserved, by a release that did not know which client comes next. No client
     * holds it: is_held is 0, and remaining_ms says until when it is reserved. */
    int is_reserved;

    /* 1: readers hold it (REDLOCK_SHARED), any number of them: is_held is 1, token and holder are
     * "", and remaining_ms is until the last of them ends. redlock_query_readers() lists them. */
    int is_shared;
} redlock_node_holder;

#define REDLOCK_NODE_HOLDER_INIT \
    { sizeof(redlock_node_holder), NULL, 0, 0, NULL, NULL, 0, 0, 0, 0 }

/* REDLOCK_NODE_HOLDER_INIT as a function, see redlock_client_options_init(). Since 0.1. */
REDLOCK_API int redlock_node_holder_init(redlock_node_holder *node_holder, size_t size);

typedef struct redlock_query redlock_query; /* opaque: the answers of the nodes */

/* status: see redlock_query_holder(). query: valid during the call. */
typedef void (*redlock_query_cb)(redlock_query *query, int status, void *data);

/* Asks every node for the holder of a resource; changes nothing. The callback runs when all nodes
 * that are up have answered or node_timeout_ms has passed:
 *     0                       a quorum answered
 *     REDLOCK_ERR_NO_QUORUM   fewer did; their answers can still be read
 *     REDLOCK_ERR_CANCELED    the client is closing
 * The answer may be outdated when it arrives: never act on it as if it were a lock. Each node
 * answers for one moment, but the nodes' moments differ, so a lock that changes hands just then may
 * be seen with both of its tokens, or none. Where users are restricted by an ACL, this needs TYPE,
 * PTTL and GETRANGE in scripts. on_done: not NULL.
 *
 * Returns 0, REDLOCK_ERR_INVALID (an argument is NULL, the length out of range),
 * REDLOCK_ERR_CLOSED, REDLOCK_ERR_FORKED, REDLOCK_ERR_NOMEM. Since 0.1. */
REDLOCK_API int redlock_query_holder(redlock_client *client, const void *resource, size_t length,
                                     redlock_query_cb on_done, void *data);

/* Node number index as it answered, of the nodes in use (see redlock_client_options.nodes) that
 * decide about the resource: of several sets those of one. The strings are valid during the
 * callback. Returns 0, or REDLOCK_ERR_INVALID (NULL, there are not so many, size unknown). Since
 * 0.1. */
REDLOCK_API int redlock_query_node(const redlock_query *query, size_t index,
                                   redlock_node_holder *node_holder);

/* The holder as reported by a quorum: if a quorum of all nodes has one token, sets what is not NULL
 * (the strings are valid during the callback; remaining_ms is until fewer than a quorum have it)
 * and returns 1. It also returns 1 if a quorum has one string with a ttl that is no token, like a
 * lock of another Redlock library: then *token is "", and *holder the beginning of that string, as
 * in redlock_node_holder. 0 if nothing has a quorum, or readers hold it. Since 0.1. */
REDLOCK_API int redlock_query_quorum(const redlock_query *query, const char **token,
                                     const char **holder, int64_t *remaining_ms);

/* How many more nodes than these a quorum needs, at least; 0: they are a quorum. nodes: bit i is
 * the node that redlock_query_node() has under index i, whatever it answered. With no node, 0, it
 * is the smallest quorum. A set of nodes has other nodes for other resources, and while its nodes
 * are being changed a quorum is a majority of the old ones and one of the new ones.
 *
 * Returns that number; 0 if query is NULL. Since 0.1. */
REDLOCK_API uint32_t redlock_query_lacks(const redlock_query *query, uint32_t nodes);

#define REDLOCK_WAITERS_MAX 1024 /* that one query asks for */

/* Asks every node for the waiters for a resource, in their order; changes nothing. Only the node
 * that is the resource's home has lines, one for exclusive access, and one for readers (see
 * docs/waiting.md). max: how many of each at most, 1 to REDLOCK_WAITERS_MAX; the
 * others are counted. The callback and its status: as for redlock_query_holder(), and
 * redlock_query_node() says which nodes have answered; one that did not may be the one that has the
 * lines. After the first answer of a node that has a line, the rest is requested, for another
 * node_timeout_ms.
 *
 * The line may move during the query: then a waiter may be missing. A client has one place in each,
 * however many of its locks wait. Clients of other libraries, and clients that wait for nodes,
 * stand in no line. Where users are restricted by an ACL, this needs ZRANGE, ZCARD, TIME and the
 * keys "libredlock:line:*" in scripts. For a semaphore's permits: redlock_query_permit_waiters().
 *
 * Returns as redlock_query_holder(); REDLOCK_ERR_INVALID also if max is out of range. Since 0.1. */
REDLOCK_API int redlock_query_waiters(redlock_client *client, const void *resource, size_t length,
                                      size_t max, redlock_query_cb on_done, void *data);

/* A client that waits. Begin with REDLOCK_WAITER_INIT. */
typedef struct redlock_waiter {
    size_t size;        /* set by the initializer */
    const char *node;   /* the node of its line; "host:port" or the path, as long as the client
                         * lives */
    const char *client; /* 16 hex digits: the same as long as the client lives; "" if not known */
    const char *holder; /* its lock's holder's name (redlock_lock_options), "" if none */
    int64_t waited_ms;  /* for how long */
    enum redlock_mode mode; /* the mode that it waits for */
    uint32_t take;          /* of a semaphore: how many permits it wants; else 0 */
} redlock_waiter;

#define REDLOCK_WAITER_INIT \
    { sizeof(redlock_waiter), NULL, NULL, NULL, 0, REDLOCK_EXCLUSIVE, 0 }

/* REDLOCK_WAITER_INIT as a function, see redlock_client_options_init(). Since 0.1. */
REDLOCK_API int redlock_waiter_init(redlock_waiter *waiter, size_t size);

/* The number of waiting clients, also beyond max, by a query for waiters. Since 0.1. */
REDLOCK_API size_t redlock_query_waiting(const redlock_query *query);

/* The waiter number index: first those that wait for exclusive access, or for permits, the next one
 * first, then the readers, which will get it together in their turn. If several nodes have a line,
 * for instance because clients spell the nodes differently, the longest comes first, then those
 * that stand only in another one. The strings are valid during the callback. Returns 0, or
 * REDLOCK_ERR_INVALID (NULL, there are not so many, size unknown). Since 0.1. */
REDLOCK_API int redlock_query_waiter(const redlock_query *query, size_t index,
                                     redlock_waiter *waiter);

/* Whether enough nodes can vote to grant a lock of this resource. Sets what is not NULL: how many
 * nodes decide about it (those of its set; while nodes are being changed, the old and the new
 * ones), how many servers of them may vote now, and how many make the smallest quorum. Asks no
 * node.
 *
 * Returns how many more must be able to vote, 0: they are a quorum; or REDLOCK_ERR_INVALID (client
 * or resource is NULL, the length out of range). Since 0.1. */
REDLOCK_API int redlock_client_lacks(const redlock_client *client, const void *resource,
                                     size_t length, size_t *nodes, size_t *voting, size_t *needed);

/* The home of a resource, the node where clients wait for it in line: its index, see
 * redlock_client_options.nodes. usual 0: among the nodes that may vote now, as all clients choose
 * it that see the nodes as this one does; 1: among all nodes, which is where the line is while all
 * may vote. Changes nothing, and asks no node.
 *
 * Returns that number, REDLOCK_ERR_NO_QUORUM (none may vote, and usual is 0) or REDLOCK_ERR_INVALID
 * (an argument is NULL, the length out of range). Since 0.1. */
REDLOCK_API int redlock_client_home(const redlock_client *client, const void *resource,
                                    size_t length, int usual);

#define REDLOCK_READERS_MAX 1024 /* that one query asks for */

/* Asks every node for the readers of a resource (REDLOCK_SHARED); changes nothing. max: how many
 * readers per node at most, 1 to REDLOCK_READERS_MAX, in the order in which their ttls end; the
 * others are counted. The callback and its status: as for redlock_query_holder(), and
 * redlock_query_node() says which nodes have answered. After a node's first answer the rest is
 * requested, for another node_timeout_ms; a reader that renews meanwhile may be missing. Where
 * users are restricted by an ACL, this needs GET, TIME, ZRANGEBYSCORE, ZCOUNT and the keys
 * "libredlock:readers:*" in scripts.
 *
 * Returns as redlock_query_waiters(). Since 0.1. */
REDLOCK_API int redlock_query_readers(redlock_client *client, const void *resource, size_t length,
                                      size_t max, redlock_query_cb on_done, void *data);

/* A reader. Begin with REDLOCK_READER_INIT. */
typedef struct redlock_reader {
    size_t size;          /* set by the initializer */
    const char *token;    /* "" if it is not of this library's kind */
    const char *holder;   /* as in redlock_node_holder */
    size_t votes;         /* of how many nodes; one server has one */
    int64_t remaining_ms; /* until fewer than a quorum have it; 0: fewer have it now */
} redlock_reader;

#define REDLOCK_READER_INIT \
    { sizeof(redlock_reader), NULL, NULL, 0, 0 }

/* REDLOCK_READER_INIT as a function, see redlock_client_options_init(). Since 0.1. */
REDLOCK_API int redlock_reader_init(redlock_reader *reader, size_t size);

/* The number of readers, also beyond max, by a query for readers: of the node that has the most.
 * Since 0.1. */
REDLOCK_API size_t redlock_query_reading(const redlock_query *query);

/* The reader number index: those that a quorum has come first. The strings are valid during the
 * callback. Returns 0, or REDLOCK_ERR_INVALID (NULL, there are not so many, size unknown). Since
 * 0.1. */
REDLOCK_API int redlock_query_reader(const redlock_query *query, size_t index,
                                     redlock_reader *reader);

#ifdef __cplusplus
}
#endif

#endif /* REDLOCK_TOKEN_H */
