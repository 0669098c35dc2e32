/* The network: connections between each client and each node.
 *
 * Happy path: a connection carries messages in order, each direction with a delay of its own.
 *
 * Failure modes: a message is lost, and then so is the connection (TCP hides less); a link is
 * clogged or cut, in one direction or both; a connection is reset, or swallows everything; a client
 * closes a connection on which commands are still under way: these may arrive later, also much
 * later than what is sent on the next connection.
 *
 * Messages of one connection never overtake each other. Messages of different connections may.
 */
#ifndef SIM_NET_H
#define SIM_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/node.h"
#include "sim/options.h"

struct sim_world;
struct sim_event;

enum sim_direction { SIM_TO_NODE, SIM_TO_CLIENT };

struct sim_conn {
    struct sim_conn *next_free;
    uint64_t last_ns[2];       /* nothing that is sent from now on arrives before this */
    uint64_t held_until_ns[2]; /* nothing at all arrives before this */
    uint32_t id;
    uint32_t references; /* the client's, messages', events' */
    uint32_t life;       /* of the node when it accepted; 0 before */
    uint8_t client;
    uint8_t node;
    bool is_closed;  /* the client has let go of it */
    bool is_drained; /* what was under way when it was closed still arrives */
    bool is_stray;   /* what is sent on it comes late, and does come */
    bool is_swallowing;
    bool is_breaking; /* a SIM_EV_BREAK is scheduled */
};

/* A command on its way to a node, and back as its reply. */
struct sim_message {
    struct sim_message *next;
    struct sim_conn *conn;
    uint64_t made_ns; /* true time at which the client asked for it */
    uint64_t fence;   /* of a SET the floor, 0 for none; of its reply the counter; of a raise */
    struct sim_identity identity; /* of the reply to a hello */
    uint32_t number;              /* of the request on its connection */
    uint32_t token;
    uint32_t ttl_ms;
    uint8_t command; /* enum sim_command */
    uint8_t verdict; /* enum sim_verdict, of the reply */
    uint8_t resource;
};

/* Between one client and one node. */
struct sim_wire {
    uint64_t cut_until_ns[2];
    uint64_t clogged_until_ns[2];
    uint64_t extra_ns[2]; /* always so much slower: for stories */
};

struct sim_net {
    struct sim_wire wires[SIM_CLIENTS_MAX][SIM_NODES_MAX];
    struct sim_conn *free_conns;
    struct sim_message *free_messages;
    uint32_t conns; /* made so far */
};

struct sim_conn *sim_conn_open(struct sim_world *world, uint32_t client, uint32_t node);

/* The client lets go of it. Messages under way may be lost. */
void sim_conn_close(struct sim_world *world, struct sim_conn *conn);

/* The connection is gone; the client is told after a while, unless it is never to be told. */
void sim_conn_break(struct sim_world *world, struct sim_conn *conn, uint64_t after_ns);

/* Whether commands sent now will arrive, as far as the connection knows. */
bool sim_conn_is_sound(const struct sim_world *world, const struct sim_conn *conn);

struct sim_message *sim_message_new(struct sim_world *world, struct sim_conn *conn);
void sim_message_free(struct sim_world *world, struct sim_message *message);

/* Sends a message, which is the network's from now on. */
void sim_net_send(struct sim_world *world, struct sim_message *message, enum sim_direction way);

/* SIM_EV_DELIVER, SIM_EV_REPLY: false if the message has to wait and was put back. */
bool sim_net_arrives(struct sim_world *world, const struct sim_event *event);

void sim_conn_release(struct sim_world *world, struct sim_conn *conn);
void sim_net_heal(struct sim_world *world);
void sim_net_free(struct sim_world *world);

#endif
