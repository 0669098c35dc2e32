/* May a node vote if it may have forgotten what it voted for? A node that restarted without its
 * data, or a replica that took its place, would grant a lock that is held, and two clients could
 * hold it. With a guard the client reads INFO of each node whenever it connects. The client does
 * not use a replica, or a node that is loading its data or may evict keys. Nodes that report that
 * they are the same server have one vote together. A node that has changed is in quarantine for
 * max_ttl_ms and the drift allowance: the client asks it for no acquire votes until every lock that
 * it may have forgotten is over. It still takes releases, repairs and extensions, though its yes to
 * an extension does not count. docs/guarantees.md says what this ensures and what it does not.
 *
 * redlock.h includes this file. */
#ifndef REDLOCK_GUARD_H
#define REDLOCK_GUARD_H

#include "redlock/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What counts as a change. */
enum redlock_guard {
    REDLOCK_GUARD_OFF = 0,  /* INFO is not read; operators are responsible, see docs/nodes.md */
    REDLOCK_GUARD_OBSERVED, /* changed: its run_id or replication ID, while this client is open */
    REDLOCK_GUARD_STRICT    /* and also, when first seen, a recently started node */
};

/* "off", "observed" or "strict"; "?" for a number that is no guard. Static. Any thread. Since
 * 0.1. */
REDLOCK_API const char *redlock_guard_name(enum redlock_guard guard);

#ifdef __cplusplus
}
#endif

#endif /* REDLOCK_GUARD_H */
