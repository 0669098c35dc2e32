/* The data of a node: states, requests, its owner's duties. The moves between the states, the list
 * of unanswered requests with their deadlines, and what must always be true. */
#ifndef RL_REDIS_NODE_STATE_H
#define RL_REDIS_NODE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/command.h"
#include "redis/conn.h"
#include "redis/handshake.h"
#include "redis/url.h"

#define RL_NODE_REQUESTS_MAX 65536u /* unanswered; more are refused as busy */
#define RL_NODE_LATE_STALLS 4
#define RL_BATCH_MAX 64u /* locks in one command: a node runs nothing else meanwhile */

/* The limit of unsent bytes for one node that reads too slowly: a command beyond it is refused as
 * busy. The other half of the room is reserved for releases. */
#define RL_NODE_UNSENT_MAX (8u << 20) /* bytes */

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

struct rl_node;

/* The owner's duties. In all of these the owner may send to this and to other nodes, and must not
 * close any.
 *   - `judge`: the node has reported which server it is (if INFO is read), and is about to be up:
 *     0, or why it must not be, and a human-readable detail;
 *   - `config`: the node has reported the set's configuration, valid within the call; NULL: it has
 *     none. Returns as judge;
 *   - `answer`: exactly once for each request; the request's memory belongs to the owner again;
 *   - `again`: a command that acquires was answered NOSCRIPT; whether to send it again, whole,
 *     after all that was sent since;
 *   - `flushed`: a database was flushed; the connection ends. Only with INFO, and hiredis 1.x;
 *   - `up`, `down`: from now on the node can, or cannot, be sent to;
 *   - `credentials`: the node has accepted newer ones (0), or refuses them (why), and the old ones
 *     stay in use. Called once, not at each connect;
 *   - `failed`: an attempt to connect ended without success (the owner counts it);
 *   - `deadline`: rl_node_deadline_ns() has changed;
 *   - `dirty`: call rl_node_flush() before the loop polls again. */
struct rl_node_events {
    int16_t (*judge)(struct rl_node *node, const struct rl_info *info, char detail[RL_DETAIL_MAX]);
    int16_t (*config)(struct rl_node *node, const struct rl_config *config,
                      char detail[RL_DETAIL_MAX]);
    void (*answer)(struct rl_node *node, struct rl_request *request,
                   const struct rl_answer *answer);
    bool (*again)(struct rl_node *node, struct rl_request *request);
    void (*flushed)(struct rl_node *node);
    void (*up)(struct rl_node *node);
    void (*down)(struct rl_node *node);
    void (*failed)(struct rl_node *node);
    void (*credentials)(struct rl_node *node, int16_t reason);
    void (*deadline)(struct rl_node *node);
    void (*dirty)(struct rl_node *node);
};

struct rl_node_options {
    struct rl_handshake_options handshake; /* its strings outlive the node */
    uint64_t connect_timeout_ns;
    uint64_t stall_ns;
    uint64_t backoff_min_ns;
    uint64_t backoff_max_ns;
    uint32_t requests_max; /* RL_NODE_REQUESTS_MAX and RL_NODE_UNSENT_MAX, less in a simulation */
    size_t unsent_max;
};

/* native.h. The kinds are of enum rl_command_kind. */
struct rl_native {
    struct rl_request trial;
    uint8_t kind;    /* the command for a release of one key, on this connection */
    uint8_t offered; /* what is still to be tried there; RL_COMMAND_RELEASE: nothing */
    uint8_t pause;   /* after a trial that ended with its connection: skip so many connections */
    uint8_t rest;    /* how many of these connections are left */
};

/* credentials.h. */
struct rl_credentials {
    bool has_password; /* false: there are none */
    char user[RL_URL_USER_MAX + 1];
    char password[RL_URL_PASSWORD_MAX + 1];
};

enum rl_auth_state {
    RL_AUTH_SETTLED, /* those of the URL are the newest */
    RL_AUTH_OFFERED, /* newer ones are not tried on this connection, or there is none */
    RL_AUTH_SENT,    /* AUTH with them is outstanding */
    RL_AUTH_REFUSED, /* on this connection; tried again on the next */
    RL_AUTH_STATES
};

struct rl_auth {
    struct rl_credentials offered;
    struct rl_credentials later;   /* offered while others were outstanding */
    uint8_t state;                 /* enum rl_auth_state */
    bool is_skipped;               /* the offered ones, in the next handshake */
    bool is_cut_live;              /* the server has hung up on them on a live connection */
    int16_t reason;                /* why the offered ones were refused last, or 0 */
    char words[RL_REPLY_TEXT_MAX]; /* that reason in the node's words */
};

struct rl_node {
    const struct rl_node_options *options;
    const struct rl_node_events *events;
    struct rl_io *io;
    struct rl_dialer *dialer; /* NULL: the world; the owner sets it before the start */
    struct rl_conn *conn;
    void *resolve;           /* a look-up of the world */
    struct rl_request *head; /* unanswered, oldest first */
    struct rl_request **tail;
    struct rl_request *unwritten; /* of them, the first that was sent since the last flush */
    uint32_t waiting;             /* how many */
    struct rl_request *batch;     /* of them, the first of those that are not in the connection */
    uint32_t batch_n;             /* how many these are */
    uint64_t deadline_ns;
    uint64_t up_ns;    /* since when it is up, or was last */
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
    bool is_reached;            /* connecting: only the TLS handshake is missing */
    int16_t reason;             /* why it is not up; 0 if it is */
    char detail[RL_DETAIL_MAX]; /* the last message of the node or the system */
    char hint[RL_DETAIL_MAX];   /* an error that the handshake ignored: it may be why it ends */
    struct rl_request steps[RL_STEPS];
    struct rl_native native; /* how it releases one key */
    uint32_t known;      /* a bit for each kind whose script was sent whole on this connection */
    struct rl_info info; /* of the handshake */
    struct rl_config_key config; /* the same; epoch 0: the node has none */
    struct rl_url url;           /* with the credentials that the node accepted last */
    struct rl_request auth_request;
    struct rl_auth auth;    /* newer ones */
    uint64_t auth_again_ns; /* before then rl_node_offer_again() does nothing */
};

/* Asserts that the move is one of the table. */
void rl_node_move(struct rl_node *node, enum rl_node_state to);

void rl_node_set_deadline(struct rl_node *node, uint64_t at_ns);

/* Appends a sent request to the list of unanswered requests. */
void rl_node_push(struct rl_node *node, struct rl_request *request);

/* Appends a request on a connection that is up, and sets the deadline. */
void rl_node_push_live(struct rl_node *node, struct rl_request *request, uint64_t now_ns);

/* Appends an extension of one key to the list and to the batch; and the batch, if there is one, to
 * the connection. Without memory the connection is broken, which ends its requests. */
void rl_node_batch(struct rl_node *node, struct rl_request *request, uint64_t now_ns);
void rl_node_write_batch(struct rl_node *node);

/* Sends a request again, which is in no list, in its present form. False: the connection is
 * broken. */
bool rl_node_resend(struct rl_node *node, struct rl_request *request);

/* Decides, before the request is written, whether the script is sent whole: the first time on this
 * connection. So a client's last command, and one that must not be sent again, need no second round
 * trip. */
void rl_node_put_script(const struct rl_node *node, struct rl_request *request);

/* Later requests will find the script; or an answer shows that they will not. */
void rl_node_script_sent(struct rl_node *node, const struct rl_request *request);
void rl_node_script_missing(struct rl_node *node, enum rl_command_kind kind);

/* Reserves room for a command of so many bytes, and for its release if it acquires. False: no
 * memory. */
bool rl_node_reserve(struct rl_node *node, const struct rl_request *request, size_t length);

/* Everything sent is written now: the node's latency counts from here, without the writes to the
 * nodes before it. A request that is sent again keeps its first time. */
void rl_node_note_written(struct rl_node *node);

/* How long the node has taken for the request so far. If the node is slow and its socket is full,
 * the wait for the socket counts. */
uint64_t rl_request_latency_ns(const struct rl_request *request, uint64_t now_ns);

/* Asserts what must hold between two events. */
void rl_node_invariant(const struct rl_node *node);

/* -- For all users; node.h has the rest -- */

bool rl_node_is_up(const struct rl_node *node);

/* The address that it is connected to; only while it is up. */
const struct rl_address *rl_node_address(const struct rl_node *node);

/* When rl_node_tick() is due. */
uint64_t rl_node_deadline_ns(const struct rl_node *node);

/* Requests that were sent or begun since since_ns are written at now_ns: the wait for their answers
 * starts then. */
void rl_node_put_off(struct rl_node *node, uint64_t since_ns, uint64_t now_ns);

#endif
