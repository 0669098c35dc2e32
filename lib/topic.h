/* Topics: what the nodes are asked for, so that somebody hears of the releases of a resource.
 *
 *     none -> subscribed on each node that listens -> idle for a while -> unsubscribing -> none
 *
 * Happy path: rl_topic_get() subscribes on every listener (redis/listener.h) that is up, and makes
 * them connect if none was wanted before; each confirms, and then passes messages on to notice.h.
 *
 * Failure modes: a listener is lost, and what it was asked for is asked again on its next
 * connection; a topic is wanted again while it is being unsubscribed, and the order of the answers
 * of that node decides when it is asked for again; a listener says something of a channel that it
 * was not asked for, and loses its connection.
 *
 * Can a topic go too early or never? It is freed when it is not wanted and no node can say anything
 * about it any more: `asked` is 0, or all connections are closed.
 */
#ifndef RL_TOPIC_H
#define RL_TOPIC_H

#include <stdbool.h>
#include <stdint.h>

#include "redlock/redlock.h"

#define RL_TOPICS_MAX 4096

struct rl_ear;
struct rl_resource;

/* Masks have a bit for each node. */
struct rl_topic {
    struct rl_topic *next;
    struct rl_topic *previous;
    struct rl_resource *resource; /* a reference */
    redlock_lock *lock;           /* who waits: only the first in line does; or NULL */
    struct rl_ear *ears;
    uint64_t until_ns;  /* without lock and ears: when it is given up */
    uint32_t asked;     /* may send messages: SUBSCRIBE is out or confirmed */
    uint32_t confirmed; /* of them */
    uint32_t leaving;   /* of them: UNSUBSCRIBE is out */
    uint32_t heard;     /* a release, since the last attempt */
    bool has_quorum;    /* of confirmations */
    bool due;           /* try once, whatever was heard */
    bool is_ending;
};

/* How many nodes are in a mask. */
static inline uint32_t rl_mask_count(uint32_t mask) {
    uint32_t count = 0;
    for (; mask != 0; mask &= mask - 1) {
        count++;
    }
    return count;
}

/* The topic of a resource, subscribed or about to be, for somebody who is going to want it. NULL if
 * it cannot be had: no memory, or too many of them. */
struct rl_topic *rl_topic_get(redlock_client *client, struct rl_resource *resource);

bool rl_topic_is_wanted(const struct rl_topic *topic);

/* Unsubscribes; it is freed when that is confirmed, which may be at once. */
void rl_topic_end(redlock_client *client, struct rl_topic *topic);

/* Closes all connections and frees all topics; none is wanted. */
void rl_topic_close_all(redlock_client *client);

/* A node can, cannot be sent to from now on. */
void rl_topic_node_up(redlock_client *client, uint32_t index);
void rl_topic_node_down(redlock_client *client, uint32_t index);

#endif
