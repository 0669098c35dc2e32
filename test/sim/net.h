/* The network: connections between each simulated process and each node, as byte streams.
 *
 * Happy path: a process dials, the node accepts, bytes go both ways, each piece with its own delay,
 * in order.
 *
 * Failure modes: a piece is lost, and then so is the connection (TCP hides less); a wire is
 * clogged, drips or is cut, in one direction or both; a connection is refused, reset, swallows
 * everything or is never answered; a piece is split at any byte; a node accepts only a limited
 * amount of unread bytes (a stream's room); a process closes a connection on which commands are
 * still in transit: these may arrive later, even much later than commands on the next connection.
 *
 * Pieces of one connection never overtake each other. Pieces of different connections may.
 *
 * A connection is the world's rl_stream at the same time. Its memory stays until the history ends,
 * so a call on a closed one is always detected. */
#ifndef SIM_NET_H
#define SIM_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/world.h"
#include "sim/options.h"

struct sim_world;
struct sim_client;
struct sim_event;
struct server_connection;

enum sim_direction { SIM_TO_NODE, SIM_TO_CLIENT };

enum sim_conn_state {
    SIM_CONN_DIALING,
    SIM_CONN_UP,
    SIM_CONN_ENDED, /* its owner was told */
    SIM_CONN_CLOSED /* by its owner */
};

struct sim_conn {
    struct rl_stream stream; /* the first member */
    struct sim_world *world;
    struct sim_conn *next;      /* all of the world */
    struct sim_conn *next_open; /* those of one process that are not closed */
    struct sim_conn *previous_open;
    struct server_connection
        *peer;                 /* the node's end, NULL before it accepted and after it is gone */
    uint64_t last_ns[2];       /* data sent from now on arrives no earlier than this */
    uint64_t held_until_ns[2]; /* nothing at all arrives before this */
    uint32_t id;
    uint32_t life;       /* of the node when it accepted; 0 before */
    uint32_t generation; /* of its process */
    uint32_t unread;     /* accepted bytes that the node has not read */
    int error;           /* the error of the end, while is_breaking */
    uint8_t client;
    uint8_t node;
    uint8_t state; /* enum sim_conn_state */
    bool wants_room;
    bool is_drained;    /* data in transit when it was closed still arrives */
    bool is_stray;      /* data sent on it arrives late, but does arrive */
    bool is_swallowing; /* in both directions */
    bool is_breaking;   /* a SIM_EV_BREAK is scheduled */
    bool listens;       /* it has subscribed */
};

/* Bytes in transit. */
struct sim_piece {
    struct sim_piece *next;
    struct sim_conn *conn;
    uint32_t length;
    uint32_t room;
    char bytes[];
};

/* Between one process and one node. */
struct sim_wire {
    uint64_t cut_until_ns[2];
    uint64_t clogged_until_ns[2];
    uint64_t drips_until_ns[2]; /* bytes arrive almost one by one */
};

#define SIM_PIECE_SIZES 2

struct sim_net {
    struct sim_wire wires[SIM_CLIENTS_MAX][SIM_NODES_MAX];
    struct sim_conn *conns;
    struct sim_piece *free_pieces[SIM_PIECE_SIZES];
    uint32_t count; /* of connections, so far */
};

/* -- A process's end, for machine.c -- */

struct sim_conn *sim_conn_open(struct sim_client *client, uint32_t node);
extern const struct rl_stream_ops sim_conn_ops;

/* -- Sending -- */

/* Sends bytes, from at_ns on. */
void sim_net_send(struct sim_conn *conn, enum sim_direction way, const char *bytes, size_t length,
                  uint64_t at_ns);
void sim_piece_free(struct sim_world *world, struct sim_piece *piece);

/* The connection is gone; its owner is notified after a while, or never. error: an errno value, or
 * 0 for an orderly end. */
void sim_conn_break(struct sim_conn *conn, uint64_t after_ns, int error);

/* Its process is gone: the node learns of that behind the data in transit, and nothing sent from
 * now on arrives. */
void sim_conn_cut(struct sim_conn *conn);

/* The node has read that. */
void sim_conn_read(struct sim_conn *conn, uint32_t length);

/* Whether data sent now will arrive, and its answer, as far as the connection knows. */
bool sim_conn_is_sound(const struct sim_conn *conn);

/* -- Events: false if it has to wait and was put back -- */

/* SIM_EV_DIAL, SIM_EV_UP, SIM_EV_DELIVER, SIM_EV_REPLY */
bool sim_net_arrives(struct sim_world *world, const struct sim_event *event,
                     enum sim_direction way);

void sim_net_heal(struct sim_world *world);
void sim_net_free(struct sim_world *world);

#endif
