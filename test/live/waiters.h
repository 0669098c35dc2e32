/* Clients that wait for one key in turn, each with a client, and so connections, of its own.
 *
 *     waiters_open(&w, live, 4, "key");
 *     waiters_line_up(&w, 0, 4);      each asks, and stands in the line before the next one asks
 *     ... release what is in their way ...
 *     LIVE_UNTIL(live, w.count == 4); who is granted it notes itself down, and releases
 *     waiters_expect(&w, "0123");
 *     waiters_end(&w);                closes them and demands that nodes have nothing left
 */
#ifndef LIVE_WAITERS_H
#define LIVE_WAITERS_H

#include "live/live.h"
#include "spent.h"

#define WAITERS_MAX 8
#define WAITERS_TTL_MS 30000
#define WAITERS_GRACE_MS 250 /* how long a turn is kept for its client */

struct waiters;

struct waiter {
    struct waiters *crowd;
    redlock_client *client; /* NULL: closed */
    redlock_lock *lock;
    int status; /* of the last notification */
    int told;
    uint64_t fence;
};

struct waiters {
    struct live *live;
    const char *key;
    size_t n;
    struct waiter w[WAITERS_MAX];
    redlock_acquire_options options;
    bool keeps; /* the client that is granted it keeps it */
    char order[WAITERS_MAX + 1];
    size_t count;    /* grants */
    size_t released; /* ... that are over */
    uint64_t at_ns[WAITERS_MAX];
    struct spent since; /* they were opened */
};

void waiters_open(struct waiters *w, struct live *live, size_t n, const char *key);

/* One asks; returns at once. */
void waiters_ask(struct waiters *w, size_t i);

/* Those from first on, one after the other. */
void waiters_line_up(struct waiters *w, size_t first, size_t n);

/* How many stand in a node's line for a key; in all of them; the node with the longest. */
size_t waiters_at(const struct live *live, size_t node, const char *key);
size_t waiters_standing(const struct live *live, const char *key);
size_t waiters_home(const struct live *live, const char *key);

/* Checks that they were served in this order, unless a turn was missed while the machine stalled
 * for longer than it is kept: then that is printed, and all must have been served. */
void waiters_expect(const struct waiters *w, const char *order);
bool waiters_missed_a_turn(const struct waiters *w);

/* Lines are empty, keys are gone, all requests have been answered. */
bool waiters_is_over(const struct waiters *w);
void waiters_close(struct waiters *w);
void waiters_end(struct waiters *w); /* ... and the test */

#endif
