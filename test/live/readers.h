/* Readers of real nodes, and how many leases those have. */
#ifndef LIVE_READERS_H
#define LIVE_READERS_H

#include "live/live.h"

redlock_lock *readers_lock(redlock_client *client, const char *resource, enum redlock_mode mode);

/* Acquires with one try, and waits until every node has the lease. */
void readers_hold(struct live *live, redlock_lock *lock, int64_t ttl_ms);

/* Downgrades or upgrades. Returns the status. */
int readers_change(struct live *live, redlock_lock *lock,
                   int (*how)(redlock_lock *, redlock_lock_cb, void *));

/* Leases on all nodes together. */
size_t readers_count(const struct live *live, const char *resource);

/* On how many nodes a plain client's SET NX got in. What it has set is deleted. */
size_t readers_set_nx(const struct live *live, const char *resource);

/* How many clients stand in the readers' line, on all nodes together. */
size_t readers_waiting(const struct live *live, const char *resource);

#endif
