/* May a node vote that may have forgotten what it voted for? A node restarted without its data, or
 * a replica that took its place, would grant a lock that is held, and two could hold it. With a
 * guard the client reads INFO of each node whenever it connects. A replica and a node that is
 * loading its data or may evict keys are not used at all. Nodes that say that they are one server
 * have one vote together. A node that has changed is in quarantine for max_ttl_ms and the drift
 * allowance: until every lock is over that it may have forgotten it is asked for no vote to
 * acquire. It still takes releases, repairs and extensions, though its yes to an extension does not
 * count. What this assures, and what not: docs/guarantees.md.
 *
 * redlock.h includes this file. */
#ifndef REDLOCK_GUARD_H
#define REDLOCK_GUARD_H

#ifdef __cplusplus
extern "C" {
#endif

enum redlock_guard {
    REDLOCK_GUARD_OFF = 0,  /* INFO is not read; operators see to it, docs/operations.md says how */
    REDLOCK_GUARD_OBSERVED, /* changed: while this client looks on, its run_id or replication id */
    REDLOCK_GUARD_STRICT    /* and also, when seen first, a node that started lately */
};

#ifdef __cplusplus
}
#endif

#endif /* REDLOCK_GUARD_H */
