/* Listening: the second connections to nodes on which a client hears what is published.
 *
 *     the client's own channel, for each node:
 *     off -> wanted -> asked -> confirmed -> lingers -> off
 *
 * Two use it. The lines of resources (order between clients) want the client's own channel,
 * rl_listening_want(), while a lock of it waits, or holds by what came of that: at home, or on
 * every node if each may pass it the lock. And subscriptions (notification.h) want a connection to
 * every node. One connection to a node serves both; it is open while either wants that node, and
 * where nobody waits there is none.
 *
 * Happy path: a node is wanted; its listener (redis/listener.h) connects and subscribes;
 * `confirmed`; `told` for each message. Some seconds after it was last wanted the channel is left,
 * and the connection closed if no subscription needs it: a loop of acquires finds it in place.
 *
 * Failure modes: the connection is lost (`lost`), and made anew, and confirmed again; an ACL
 * forbids it, or the connection fails again and again before it is confirmed, as with a proxy that
 * has no such command (`lost`, and rl_listening_refused() from then on); no memory (refused as
 * well). A refusal is remembered, also while the node is not wanted, until the listener would try
 * again. A node says what it was not asked for: the listener ends that connection.
 *
 * Can a message be missed while rl_listening_confirmed() says yes? Only if the connection is lost
 * before it comes, and then `lost` comes: a channel that is being left counts as not confirmed.
 * Can a message come for nobody? Yes, while it lingers: whoever attends has to answer that.
 */
#ifndef RL_NODES_LISTENING_H
#define RL_NODES_LISTENING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/state.h"

#define RL_LISTENING_LINGER_NS (UINT64_C(5) * 1000000000)
#define RL_LISTENING_FAILURES 2 /* connections lost without a confirmation, until it is refused */

/* What is said of the client's own channel. Each may want other nodes, or this one no longer; none
 * runs the user's code. */
struct rl_listening_events {
    /* From now on what is published there is heard. */
    void (*confirmed)(redlock_client *client, uint32_t node);

    /* No longer; or it is refused now, see rl_listening_refused(). */
    void (*lost)(redlock_client *client, uint32_t node);

    /* Bytes from anybody, at most RL_PAYLOAD_MAX, valid within the call. */
    void (*told)(redlock_client *client, uint32_t node, const char *payload, size_t length);
};

/* The same of all other channels. */
struct rl_listening_topics {
    void (*up)(redlock_client *client, uint32_t node);   /* subscribed to nothing yet */
    void (*down)(redlock_client *client, uint32_t node); /* subscribed to nothing any more */

    /* False if this was not asked for. */
    bool (*confirmed)(redlock_client *client, uint32_t node, const char *channel, size_t length,
                      bool subscribed);
    bool (*message)(redlock_client *client, uint32_t node, const char *channel, size_t length);
};

/* random: of the client's id, which no other client may have. */
void rl_listening_init(redlock_client *client, uint64_t random);

/* Who is told, from now on; one of each. */
void rl_listening_attend(redlock_client *client, const struct rl_listening_events *events);
void rl_listening_serve(redlock_client *client, const struct rl_listening_topics *topics);

/* -- The client's own channel -- */

/* Wants it on a node, or no longer. A flag, not counted. What is confirmed already is not reported
 * again; of the events none comes inside the call. Of no effect in a client that closes. */
void rl_listening_want(redlock_client *client, uint32_t node, bool wanted);

/* It is wanted, and what is published is heard. */
bool rl_listening_confirmed(const redlock_client *client, uint32_t node);

/* The same, wanted or not: it would be confirmed as soon as it is wanted. */
bool rl_listening_lingers(const redlock_client *client, uint32_t node);

/* It cannot be had on this node for the time being: do without the node. */
bool rl_listening_refused(const redlock_client *client, uint32_t node);

/* Since when that is so, at the latest: what it has published since then was heard. */
uint64_t rl_listening_since_ns(const redlock_client *client, uint32_t node);

/* -- For subscriptions -- */

/* Wants a connection to every node, or no longer. False: no memory. */
bool rl_listening_everywhere(redlock_client *client, bool wanted);

bool rl_listening_is_up(const redlock_client *client, uint32_t node);

/* As rl_listener_ask(). */
bool rl_listening_ask(redlock_client *client, uint32_t node, const char *channel, size_t length,
                      bool subscribe);

/* -- For the client -- */

/* A node can, cannot be sent to from now on. */
void rl_listening_node_up(redlock_client *client, uint32_t node);
void rl_listening_node_down(redlock_client *client, uint32_t node);

/* A node has accepted newer credentials. */
void rl_listening_authorized(redlock_client *client, uint32_t node);

/* Whether there is something to be written; writes it. */
bool rl_listening_is_dirty(const redlock_client *client);
void rl_listening_flush(redlock_client *client);

/* Closes all connections, without an event. Subscriptions are closed before. */
void rl_listening_close(redlock_client *client);

#endif
