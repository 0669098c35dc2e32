/* One Redis node: kept connected, sent commands, its answers matched to them.
 *
 *     idle -> resolving -> connecting -> handshake -> up
 *               ^    \         \            |         |
 *               |     +---------+-----------+---------+--> backoff (or the next address at once)
 *               +----------------------------------------------+
 *     closed, from everywhere, for good
 *
 * Happy path: rl_node_start(), `up`, rl_node_send(), `answer` for each request.
 *
 * Failure modes: a node that does not resolve, connect or shake hands before connect_timeout; whose
 * connection breaks; that answers with what Redis does not say; that answers nothing for stall_ns;
 * or that leaves its oldest request without an answer for RL_NODE_LATE_STALLS times as long, even
 * if it answers something now and then. Each of these ends the connection: `down` comes if the node
 * was up, then every request that is out is answered with RL_UNANSWERED, and the node is connected
 * again after a pause that doubles up to a cap and is jittered.
 *
 * Can an answer reach the wrong request? Answers come in the order of the commands on one
 * connection. The list of requests is hiredis's list of callbacks, kept in step with it: appended
 * when rl_conn_send() succeeds, shifted by one for each reply, emptied when the connection ends. A
 * request that its owner has given up stays in the list until then, so that its late reply is
 * matched to it and to no other.
 *
 * Can an answer be missed? A request leaves the list in two places only, node_reply() and
 * node_fail_requests(), and both call `answer` for it.
 */
#ifndef RL_REDIS_NODE_H
#define RL_REDIS_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/command.h"
#include "redis/conn.h"
#include "redis/handshake.h"
#include "redis/io.h"
#include "redis/resolve.h"
#include "redis/url.h"

#define RL_NODE_REQUESTS_MAX 65536u /* without an answer; more are refused as busy */
#define RL_NODE_LATE_STALLS 4

/* What lies unsent for one node, since it takes less than it is sent, is bounded: a command that
 * finds more there is refused as busy. Releases may take the room that the others leave: half. */
#define RL_NODE_UNSENT_MAX (8u << 20) /* bytes */
#define RL_NEVER_NS UINT64_MAX

enum rl_node_state {
    RL_NODE_IDLE,
    RL_NODE_RESOLVING,
    RL_NODE_CONNECTING,
    RL_NODE_HANDSHAKE,
    RL_NODE_UP,
    RL_NODE_BACKOFF,
    RL_NODE_CLOSED,
    RL_NODE_STATES
};

/* A command that was sent and is not answered yet. The memory is the caller's, until `answer`. */
struct rl_request {
    struct rl_request *next;
    uint64_t sent_ns;
    const struct rl_target *target; /* as long as the request is out */
    uint32_t ttl_ms;
    uint64_t counter;
    uint8_t kind; /* enum rl_command_kind */
    bool whole_script;
    bool announces; /* a release of what was held */
    char token[RL_COMMAND_TOKEN_LEN];
};

struct rl_node;

/* The owner's duties. In all of these the owner may send to this and to other nodes, and must not
 * close any.
 *   - `judge`: it says that it is this server (if INFO is read), and would be up now: 0, or why it
 *     must not be, and a detail for people;
 *   - `answer`: exactly once for each request; the request's memory is the owner's again;
 *   - `again`: a command that acquires was answered NOSCRIPT; whether to send it again, whole,
 *     behind all that was sent since;
 *   - `up`, `down`: the node can, cannot be sent to from now on;
 *   - `failed`: an attempt to connect ended without success (the owner counts it);
 *   - `deadline`: rl_node_deadline_ns() has changed;
 *   - `dirty`: call rl_node_flush() before the loop polls again. */
struct rl_node_events {
    int16_t (*judge)(struct rl_node *node, const struct rl_info *info, char detail[RL_DETAIL_MAX]);
    void (*answer)(struct rl_node *node, struct rl_request *request,
                   const struct rl_answer *answer);
    bool (*again)(struct rl_node *node, struct rl_request *request);
    void (*up)(struct rl_node *node);
    void (*down)(struct rl_node *node);
    void (*failed)(struct rl_node *node);
    void (*deadline)(struct rl_node *node);
    void (*dirty)(struct rl_node *node);
};

struct rl_node_options {
    struct rl_handshake_options handshake; /* its strings outlive the node */
    uint64_t connect_timeout_ns;
    uint64_t stall_ns;
    uint64_t backoff_min_ns;
    uint64_t backoff_max_ns;
};

struct rl_node {
    const struct rl_node_options *options;
    const struct rl_node_events *events;
    struct rl_io *io;
    uint64_t (*clock_ns)(void);
    struct rl_conn *conn;
    struct rl_resolve *resolve;
    struct rl_request *head; /* without an answer, oldest first */
    struct rl_request **tail;
    uint32_t waiting; /* how many */
    uint64_t deadline_ns;
    uint64_t pause_ns; /* the last backoff */
    uint64_t random;   /* state of the jitter */
    struct rl_address addresses[RL_ADDRESSES_MAX];
    uint32_t address_count;
    uint32_t address_next;
    uint64_t connects;
    uint64_t failures;
    uint64_t requests;
    uint64_t answers;
    uint64_t answers_seen;      /* when the stall deadline was set */
    uint8_t state;              /* enum rl_node_state */
    int16_t reason;             /* why it is not up; 0 if it is */
    char detail[RL_DETAIL_MAX]; /* what the node or the system said last */
    char hint[RL_DETAIL_MAX];   /* an error that the handshake overlooked: why it may end now */
    struct rl_request steps[RL_STEPS];
    struct rl_info info; /* of the handshake */
    struct rl_url url;
};

/* url is copied; options, events and io outlive the node. seed: any number, different for each
 * node. */
void rl_node_init(struct rl_node *node, struct rl_io *io, const struct rl_url *url,
                  const struct rl_node_options *options, const struct rl_node_events *events,
                  uint64_t (*clock_ns)(void), uint64_t seed);

void rl_node_start(struct rl_node *node);

bool rl_node_is_up(const struct rl_node *node);

/* Sends a command that was formatted as wire[0..length), with wire[length] == 0. Returns 0, and
 * `answer` will come; or why it was not sent, and it will not. */
int16_t rl_node_send(struct rl_node *node, struct rl_request *request, const char *wire,
                     size_t length, uint64_t now_ns);

/* It takes less than it is sent: what is not a release would be refused as busy. */
bool rl_node_is_clogged(const struct rl_node *node);

/* Where it is connected to; only while it is up. */
const struct rl_address *rl_node_address(const struct rl_node *node);

/* The next pause before connecting: it doubles from *last_ns (0: the first) up to the cap, with a
 * jitter of half of itself. */
uint64_t rl_node_pause_ns(const struct rl_node_options *options, uint64_t *last_ns,
                          uint64_t *random);

void rl_node_flush(struct rl_node *node);

/* What was sent or begun since since_ns goes out at now_ns, so its answer is waited for from then
 * on. */
void rl_node_put_off(struct rl_node *node, uint64_t since_ns, uint64_t now_ns);

/* To be called when rl_node_deadline_ns() has come. */
void rl_node_tick(struct rl_node *node, uint64_t now_ns);
uint64_t rl_node_deadline_ns(const struct rl_node *node);

/* Ends the connection; requests are answered, `down` does not come. Not from inside an event. */
void rl_node_close(struct rl_node *node);

/* In the child after fork(): closes the descriptor, touches nothing else. */
void rl_node_forget(struct rl_node *node);

#endif
