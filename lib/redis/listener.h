/* A second connection to a node, for receiving messages on channels.
 *
 *     off -> connecting -> handshake -> up
 *      ^         |             |         |
 *      |         +-------------+---------+--> backoff, or refused -> connecting
 *      +--- rl_listener_close(), from everywhere
 *
 * Happy path: rl_listener_open() with the address of the node's first connection, `up`,
 * rl_listener_ask() for each channel, `confirmed` for each of them, then any number of `message`.
 *
 * The owner opens a listener only while the node's first connection is up, and closes it when that
 * goes down, so a dead or silent node costs nothing more here, and no name is looked up.
 *
 * Failure modes: the connection is refused or lost, or the node sends something that was not
 * requested. Each ends only this connection: `down` comes if it was up, and it is reconnected after
 * the same pauses as a first connection. If an ACL forbids listening, the node is
 * left alone for RL_LISTENER_REFUSED_NS.
 *
 * Can it affect votes? No: it sends no commands of locks, has no part in a round, and nothing waits
 * for it. A missed message costs the pause between two attempts, as without a listener.
 */
#ifndef RL_REDIS_LISTENER_H
#define RL_REDIS_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redis/conn.h"
#include "redis/node.h"
#include "redis/url.h"

#define RL_LISTENER_REFUSED_NS (UINT64_C(60) * 1000000000)

enum rl_listener_state {
    RL_LISTENER_OFF,
    RL_LISTENER_CONNECTING,
    RL_LISTENER_HANDSHAKE,
    RL_LISTENER_UP,
    RL_LISTENER_BACKOFF,
    RL_LISTENER_REFUSED,
    RL_LISTENER_STATES
};

struct rl_listener;

/* The owner's duties. In all of these the owner may subscribe to channels and send to nodes; it
 * must not close this listener.
 *   - `config`: the node's configuration (NULL: none), valid within the call; false ends the
 *     connection;
 *   - `up`: connected, and subscribed to nothing yet;
 *   - `down`: subscribed to nothing any more, or (state refused) not allowed to be: see reason;
 *   - `unauthorized`: its credentials, which are the node's, were refused; `down` may follow;
 *   - `confirmed`, `message`: return false if this was not requested, which ends the connection. A
 *     payload has at most RL_PAYLOAD_MAX bytes, of any content and from any sender, and is valid
 *     within the call;
 *   - `deadline`: deadline_ns has changed;
 *   - `dirty`: call rl_listener_flush() before the loop polls again. */
struct rl_listener_events {
    bool (*config)(struct rl_listener *listener, const struct rl_config *config);
    void (*up)(struct rl_listener *listener);
    void (*down)(struct rl_listener *listener);
    void (*unauthorized)(struct rl_listener *listener);
    bool (*confirmed)(struct rl_listener *listener, const char *channel, size_t length,
                      bool subscribed);
    bool (*message)(struct rl_listener *listener, const char *channel, size_t length,
                    const char *payload, size_t payload_length);
    void (*deadline)(struct rl_listener *listener);
    void (*dirty)(struct rl_listener *listener);
};

struct rl_listener {
    const struct rl_node_options *options;
    const struct rl_listener_events *events;
    const struct rl_url *url;
    struct rl_io *io;
    struct rl_dialer *dialer; /* the node's; the owner sets it before opening */
    struct rl_conn *conn;
    struct rl_address address;
    uint64_t deadline_ns;
    uint64_t up_ns;    /* since when it is up, or was last */
    uint64_t pause_ns; /* the last backoff */
    uint64_t random;   /* state of the jitter */
    uint64_t failures;
    uint32_t waiting; /* unanswered commands */
    uint32_t steps;   /* unanswered steps of the handshake, as a mask */
    uint8_t state;    /* enum rl_listener_state */
    int16_t reason;   /* why it is not up; 0 if it is up or was not wanted */
    struct rl_received received;
};

/* url, options, events and io must outlive it. seed: any number, different for each. */
void rl_listener_init(struct rl_listener *listener, struct rl_io *io, const struct rl_url *url,
                      const struct rl_node_options *options,
                      const struct rl_listener_events *events, uint64_t seed);

/* Begins to connect, if it is off. `up` comes later; of the other events only `deadline` may come
 * inside this call. */
void rl_listener_open(struct rl_listener *listener, const struct rl_address *address);

/* Subscribes to one channel, or unsubscribes; only while it is up. False if there is no memory: the
 * connection is broken then, and `down` comes. */
bool rl_listener_ask(struct rl_listener *listener, const char *channel, size_t length,
                     bool subscribe);

bool rl_listener_is_up(const struct rl_listener *listener);
void rl_listener_flush(struct rl_listener *listener);

/* Call this when deadline_ns has come. */
void rl_listener_tick(struct rl_listener *listener, uint64_t now_ns);

/* The node has new credentials: if the old ones are why the listener is not up, it connects at
 * once. */
void rl_listener_authorized(struct rl_listener *listener);

/* Switches it off, at once and without an event. Not from inside an event. */
void rl_listener_close(struct rl_listener *listener);

#endif
