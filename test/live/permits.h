/* Permits of real nodes. */
#ifndef LIVE_PERMITS_H
#define LIVE_PERMITS_H

#include "live/live.h"
#include "redlock/semaphore.h"

/* Of the resource "key". */
redlock_lock *permits_lock(redlock_client *client, int32_t permits, int32_t take);

/* Acquires with one try, and waits until every node has the slots. */
void permits_hold(struct live *live, redlock_lock *lock, int64_t ttl_ms);

/* Releases, and waits until every node has done so. A quorum is enough for the callback: who asks
 * home then may be before the release there, where its script was not known. */
void permits_release(struct live *live, redlock_lock *lock);

/* On how many nodes a slot's key has this lock's token. */
size_t permits_count(const struct live *live, int32_t slot, const redlock_lock *lock);

/* How many stand in the line for permits, on all nodes together. */
size_t permits_waiting(const struct live *live);

/* Options with which it waits for as long as it takes. */
redlock_acquire_options permits_patient(int64_t ttl_ms);

#endif
