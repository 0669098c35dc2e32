/* The result of any query about a resource on real nodes, copied in its callback. */
#ifndef LIVE_SEEN_H
#define LIVE_SEEN_H

#include "live/live.h"
#include "redlock/semaphore.h"
#include "redlock/token.h"

#define SEEN_MAX 8 /* readers, slots and waiters, of each */

struct seen_words {
    char token[64], holder[160];
};

struct seen {
    struct live *live;
    int count, status;
    redlock_node_holder nodes[LIVE_NODES_MAX];
    struct seen_words of_node[LIVE_NODES_MAX];
    size_t answered, shared, held; /* numbers of nodes */
    int32_t permits[LIVE_NODES_MAX];
    int has_quorum;
    char token[64], holder[128]; /* that a quorum has */
    int64_t remaining_ms;
    size_t reading, n_readers;
    redlock_reader readers[SEEN_MAX];
    struct seen_words of_reader[SEEN_MAX];
    size_t n_slots;
    redlock_slot slots[SEEN_MAX];
    struct seen_words of_slot[SEEN_MAX];
    size_t waiting, n_waiters;
    redlock_waiter waiters[SEEN_MAX];
    struct seen_words of_waiter[SEEN_MAX];
};

/* A query's callback; its data is a struct seen with nothing but `live`. */
void seen_cb(redlock_query *query, int status, void *data);

/* Waits for it, once `submitted`, the status of the query's call, is 0. Returns its status. */
int seen_wait(struct seen *seen, int submitted);

#endif
