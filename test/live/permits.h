/* Permits of real nodes. */
#ifndef LIVE_PERMITS_H
#define LIVE_PERMITS_H

#include "live/live.h"
#include "redlock/semaphore.h"

/* Of the resource "key". */
redlock_lock *permits_lock(redlock_client *client, int32_t permits, int32_t take);

/* Acquires with one try, and waits until every node has the slots. */
void permits_hold(struct live *live, redlock_lock *lock, int64_t ttl_ms);

/* Releases, and waits until every node has done so. A quorum is enough for the callback: a request
 * to home may then come before the release there, if its script was not known. */
void permits_release(struct live *live, redlock_lock *lock);

/* On how many nodes a slot's key has this lock's token. */
size_t permits_count(const struct live *live, int32_t slot, const redlock_lock *lock);

/* How many stand in the line for permits, on all nodes together. */
size_t permits_waiting(const struct live *live);

/* -- Waiting -- */

#define PERMITS_TTL_MS 60000 /* what is left behind does not end while a test waits */

struct permits_asker {
    redlock_lock *lock;
    struct live_done done;
};

/* Asks, for as long as it takes; and stands in line when this returns; has been granted. */
void permits_ask(struct permits_asker *a, redlock_client *client, int32_t permits, int32_t take);
void permits_line_up(struct live *live, struct permits_asker *a, redlock_client *client,
                     int32_t permits, int32_t take);
void permits_granted(struct live *live, const struct permits_asker *a);

/* Sets the number of permits on a quorum. */
void permits_set(struct live *live, int32_t permits);

/* -- Nodes -- */

/* The node that is asked for free slots. All are up, and there is no holder or waiter. */
size_t permits_home(struct live *live);

/* The n nodes from this one on do not run write commands until they continue; reset: commands that
 * arrived meanwhile never run, and their connections are closed. */
void permits_stop(struct live *live, size_t first, size_t n);
void permits_go_on(struct live *live, size_t first, size_t n, bool reset);

#endif
