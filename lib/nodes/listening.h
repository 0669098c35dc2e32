/* Listening: a second connection to each node, on which a client receives published messages.
 *
 *     the client's own channel, for each node:
 *     off -> wanted -> asked -> confirmed -> lingers -> off
 *
 * It has two users. The lines of resources (order between clients) want the client's own channel,
 * rl_listening_want(), while one of its locks waits, or holds after waiting: at home, or on every
 * node if the lock may be passed to it. Subscriptions (notification.h) want a connection to every
 * node. One connection to a node serves both, and is open while either wants that node, so a client
 * that waits for nothing has none.
 *
 * Happy path: a node is wanted; its listener (redis/listener.h) connects and subscribes;
 * `confirmed`; `told` for each message. Some seconds after it was last wanted, the client leaves
 * the channel, and closes the connection if no subscription needs it. So a loop of acquires finds
 * it in place.
 *
 * Failure modes: the connection is lost (`lost`), reconnected, and confirmed again. An ACL forbids
 * listening, or the connection fails again and again before it is confirmed, as with a proxy that
 * lacks the command: `lost`, and rl_listening_refused() from then on. Without memory it is refused
 * as well. A refusal is remembered, even while the node is not wanted, until the listener would try
 * again. If a node sends something that was not requested, the listener closes that connection.
 *
 * Can a message be missed while rl_listening_confirmed() says yes? Only if the connection is lost
 * first, and then `lost` follows: a channel that is being left counts as not confirmed. Can a
 * message arrive for which no lock waits? Yes, while the channel lingers; the handler of `told`
 * must cope with that.
 */
#ifndef RL_NODES_LISTENING_H
#define RL_NODES_LISTENING_H

#include "client/state.h"

#define RL_LISTENING_LINGER_NS (UINT64_C(5) * 1000000000)
#define RL_LISTENING_FAILURES 2 /* connections lost unconfirmed before it counts as refused */

/* Events of the client's own channel. A handler may want other nodes, or no longer want this one.
 * It must not run user code. */
struct rl_listening_events {
    /* From now on messages that are published there arrive. */
    void (*confirmed)(redlock_client *client, uint32_t node);

    /* Messages no longer arrive, or the channel is refused now, see rl_listening_refused(). */
    void (*lost)(redlock_client *client, uint32_t node);

    /* A message, from any sender: at most RL_PAYLOAD_MAX bytes, valid within the call. */
    void (*told)(redlock_client *client, uint32_t node, const char *payload, size_t length);
};

/* Events of all other channels. */
struct rl_listening_topics {
    void (*up)(redlock_client *client, uint32_t node);   /* subscribed to nothing yet */
    void (*down)(redlock_client *client, uint32_t node); /* subscribed to nothing any more */

    /* Returns false if this was not requested. */
    bool (*confirmed)(redlock_client *client, uint32_t node, const char *channel, size_t length,
                      bool subscribed);
    bool (*message)(redlock_client *client, uint32_t node, const char *channel, size_t length);
};

/* random: makes the client's id, which must be unique among clients. */
void rl_listening_init(redlock_client *client, uint64_t random);
void rl_listening_due(struct rl_deadline *item, uint64_t now_ns);

/* Sets the receiver of each kind of events. */
void rl_listening_attend(redlock_client *client, const struct rl_listening_events *events);
void rl_listening_serve(redlock_client *client, const struct rl_listening_topics *topics);

/* -- The client's own channel -- */

/* Wants the channel on a node, or stops wanting it; a flag, not a count. A channel that is already
 * confirmed is not reported again; no event occurs inside the call. No effect in a client that is
 * closing. */
void rl_listening_want(redlock_client *client, uint32_t node, bool wanted);

/* Whether the channel is wanted, and its messages arrive. */
bool rl_listening_confirmed(const redlock_client *client, uint32_t node);

/* Whether its messages arrive, wanted or not: the channel would be confirmed as soon as it is
 * wanted. */
bool rl_listening_lingers(const redlock_client *client, uint32_t node);

/* Whether the channel is unavailable on this node for the present; do without the node. */
bool rl_listening_refused(const redlock_client *client, uint32_t node);

/* All messages of the node since this time were received. */
uint64_t rl_listening_since_ns(const redlock_client *client, uint32_t node);

/* -- For subscriptions -- */

/* Wants a connection to every node, or stops wanting it. False: no memory. */
bool rl_listening_everywhere(redlock_client *client, bool wanted);

bool rl_listening_is_up(const redlock_client *client, uint32_t node);

/* Subscribes to a channel on a node, or unsubscribes; only while its listener is up. Without memory
 * the connection breaks, and the next one subscribes again. */
void rl_channel_ask(redlock_client *client, struct rl_channel *channel, uint32_t node,
                    const char *name, size_t length, bool subscribe);

/* A node has confirmed a request. Returns false if there was none. */
bool rl_channel_confirm(struct rl_channel *channel, uint32_t node, bool subscribed);

/* The node will report nothing more on the channel. */
void rl_channel_lose(struct rl_channel *channel, uint32_t node);

/* -- For the client -- */

/* A node has joined an open client. False: no memory. */
bool rl_listening_join(redlock_client *client, uint32_t node);

/* A node is up, or down. */
void rl_listening_node_up(redlock_client *client, uint32_t node);
void rl_listening_node_down(redlock_client *client, uint32_t node);

/* A node has accepted newer credentials. */
void rl_listening_authorized(redlock_client *client, uint32_t node);

/* Whether there is something to write; writes it. */
bool rl_listening_is_dirty(const redlock_client *client);
void rl_listening_flush(redlock_client *client);

/* Closes all connections, without an event. Subscriptions must have been closed before. */
void rl_listening_close(redlock_client *client);

#endif
