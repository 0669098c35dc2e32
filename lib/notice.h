/* Notices: who waits for a lock hears on the nodes that it was released, instead of finding out.
 *
 * Happy path: a lock with `notify` fails its first attempt; its resource becomes a topic; every
 * node that is up gets a second connection (redis/listener.h), which subscribes to the topic's
 * channel; the holder's release publishes; when a quorum of nodes has said so, the lock that waits
 * tries again within a few milliseconds (RL_EV_NOTICE). Some seconds after nobody wants a topic any
 * more it is given up, and after the last topic the connections are: a loop of acquires finds both
 * in place.
 *
 * Failure modes: nobody listens for lack of memory, permission or a connection; a message is lost;
 * there are more topics than RL_TOPICS_MAX. The lock then tries again when its pause is over, as
 * without notices. Nothing waits for a listener and no vote depends on one.
 *
 * Can a wake-up be missed while the nodes work? A release counts for an attempt only if it comes
 * after it; so what is remembered of a topic is forgotten when an attempt begins (rl_notice_begin),
 * and what comes while the attempt is under way is acted on when it has failed. A release between
 * an attempt and the moment at which a quorum confirmed the subscription is not heard at all: at
 * that moment one more attempt is due (`due`). What can be missed is a release that was heard by
 * less than a quorum, because the others had let go before the attempt began: the pause ends that.
 *
 * Can notices make a storm? Only releases of what was held are published, not the clean-up after an
 * attempt that failed; and it takes a quorum of nodes, as many as a holder had, to wake a lock.
 * Each message wakes one lock of a client at most, the first in its line. Several clients are kept
 * apart by the core's random few milliseconds.
 *
 * Others than locks may listen too (struct rl_ear): an election that watches who leads.
 *
 * What the nodes are asked for, and when the connections open and close: topic.h.
 */
#ifndef RL_NOTICE_H
#define RL_NOTICE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/deadline.h"
#include "redis/listener.h"
#include "redlock/redlock.h"
#include "topic.h"

#define RL_NOTICE_LINGER_NS (UINT64_C(5) * 1000000000)
#define RL_NOTICE_SWEEP_NS (UINT64_C(1) * 1000000000) /* how often idle topics are looked through */

struct rl_resource;

/* Somebody who is told of releases without waiting for the lock. */
struct rl_ear {
    struct rl_ear *next;
    struct rl_topic *topic;           /* NULL: does not listen */
    uint32_t heard;                   /* nodes, since it was told last */
    void (*told)(struct rl_ear *ear); /* must not run the user's code */
};

struct rl_notice {
    struct rl_listener *listeners; /* one for each node; NULL before the first topic */
    struct rl_topic *topics;
    uint32_t count;
    uint32_t ending;   /* of them */
    uint32_t dirty;    /* listeners to flush, as a mask */
    uint64_t sweep_ns; /* when idle topics are looked through, RL_NEVER if there are none */
    struct rl_deadline deadline;
};

void rl_notice_init(redlock_client *client);

/* -- For topic.c -- */

/* A release was heard of: by these nodes. */
void rl_notice_heard(redlock_client *client, struct rl_topic *topic, uint32_t nodes);

/* A quorum of nodes has confirmed the subscription. */
void rl_notice_due(redlock_client *client, struct rl_topic *topic);

/* What is looked at next has changed. */
void rl_notice_deadline(redlock_client *client);

/* -- For the rest of the client -- */

/* To be called when an attempt of the lock begins, and after every step of a lock. */
void rl_notice_begin(redlock_lock *lock);
void rl_notice_follow(redlock_lock *lock);

/* Tries once, soon, if the lock is pausing between two attempts. */
void rl_notice_wake(redlock_lock *lock);

/* Begins to tell, or not any more. False if it cannot be had: no memory, too many topics. */
bool rl_notice_watch(redlock_client *client, struct rl_ear *ear, struct rl_resource *resource);
void rl_notice_unwatch(redlock_client *client, struct rl_ear *ear);

void rl_notice_tick(redlock_client *client, uint64_t now_ns);
void rl_notice_flush(redlock_client *client);

/* Ends all of it. Locks may still be stepped afterwards. */
void rl_notice_close(redlock_client *client);

/* In the child after fork(). */
void rl_notice_forget(redlock_client *client);

#endif
