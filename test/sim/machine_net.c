/* The world of base/world.h, with a seed: streams and names. See client.h. */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "sim/client.h"
#include "sim/fault.h"
#include "sim/world.h"

#define NODE_PORT 6379

static struct sim_client *client_of(struct rl_world *world) {
    return (struct sim_client *)world;
}

/* -- Streams -- */

/* 10.0.0.n is node n; anything else is nowhere. */
static bool node_at(const struct rl_address *address, uint32_t nodes, uint32_t *node) {
    const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)&address->storage;
    uint32_t host = ntohl(in->sin_addr.s_addr);
    bool ours = in->sin_family == AF_INET && (host & 0xffffff00) == 0x0a000000 &&
                ntohs(in->sin_port) == NODE_PORT;
    *node = (host & 0xff) - 1;
    return ours && *node < nodes;
}

static void address_of(uint32_t host, uint32_t node, struct rl_address *out) {
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(NODE_PORT)};
    in.sin_addr.s_addr = htonl(host + node + 1);
    *out = (struct rl_address){.length = sizeof in};
    memcpy(&out->storage, &in, sizeof in);
}

struct rl_stream *sim_machine_dial(struct rl_world *table, const struct rl_address *to,
                                   const struct rl_stream_events *events, void *owner, int *error) {
    struct sim_client *client = client_of(table);
    struct sim_world *world = client->sim;
    uint32_t node;
    if (sim_fault_no_dial(client)) {
        *error = sim_chance(&world->net_random, 50) ? EMFILE : ENETUNREACH;
        return NULL;
    }
    bool exists = node_at(to, world->options.nodes, &node);
    struct sim_conn *conn = sim_conn_open(client, exists ? node : 0);
    conn->stream.events = events;
    conn->stream.owner = owner;
    if (!exists) {
        sim_conn_break(conn, sim_skewed(&world->net_random, 0, 100 * RL_NS_PER_MS), EHOSTUNREACH);
        return &conn->stream;
    }
    uint64_t delay_ns =
        sim_skewed(&world->net_random, world->options.delay_min_ns, world->options.delay_max_ns);
    conn->last_ns[SIM_TO_NODE] = client->at_ns + delay_ns;
    struct sim_event event = {.at_ns = conn->last_ns[SIM_TO_NODE],
                              .kind = SIM_EV_DIAL,
                              .client = client->index,
                              .node = (uint8_t)node,
                              .what = conn};
    sim_queue_add(&world->queue, &event);
    return &conn->stream;
}

void sim_client_closed_conn(struct sim_client *client, struct sim_conn *conn) {
    (void)conn;
    if (!client->is_inside) {
        sim_check_fail(client->sim, SIM_SEAM, "c%u closes a stream outside of its turn",
                       client->index + 1u);
    }
}

bool sim_client_up(struct sim_world *world, const struct sim_event *event) {
    struct sim_conn *conn = event->what;
    struct sim_client *client = &world->clients[event->client];
    if (!sim_net_arrives(world, event, SIM_TO_CLIENT) || sim_client_waits(world, event)) {
        return false;
    }
    if (conn->state == SIM_CONN_DIALING && !conn->is_swallowing) {
        conn->state = SIM_CONN_UP;
        sim_client_enter(client);
        conn->stream.events->up(conn->stream.owner);
        sim_client_leave(client);
        sim_client_schedule_turn(client);
    }
    return true;
}

bool sim_client_bytes(struct sim_world *world, const struct sim_event *event) {
    struct sim_piece *piece = event->what;
    struct sim_conn *conn = piece->conn;
    struct sim_client *client = &world->clients[event->client];
    if (!sim_net_arrives(world, event, SIM_TO_CLIENT) || sim_client_waits(world, event)) {
        return false;
    }
    if (conn->state == SIM_CONN_UP && !conn->is_swallowing) {
        sim_client_enter(client);
        conn->stream.events->bytes(conn->stream.owner, piece->bytes, piece->length);
        sim_client_leave(client);
        sim_client_schedule_turn(client);
    } else {
        world->check.unheard_ns[conn->client][conn->node] = world->now_ns;
    }
    sim_piece_free(world, piece);
    return true;
}

bool sim_client_break(struct sim_world *world, const struct sim_event *event) {
    struct sim_conn *conn = event->what;
    struct sim_client *client = &world->clients[event->client];
    if (sim_client_waits(world, event)) {
        return false;
    }
    if (conn->state < SIM_CONN_ENDED) {
        conn->state = SIM_CONN_ENDED;
        sim_client_enter(client);
        conn->stream.events->end(conn->stream.owner, conn->error, "");
        sim_client_leave(client);
        sim_client_schedule_turn(client);
    }
    return true;
}

bool sim_client_room(struct sim_world *world, const struct sim_event *event) {
    struct sim_conn *conn = event->what;
    struct sim_client *client = &world->clients[event->client];
    if (conn->state != SIM_CONN_UP) {
        return false;
    }
    if (sim_client_waits(world, event)) {
        return false;
    }
    sim_client_enter(client);
    conn->stream.events->room(conn->stream.owner);
    sim_client_leave(client);
    sim_client_schedule_turn(client);
    return true;
}

/* -- Names: "n1" is node 1 -- */

void *sim_machine_resolve(struct rl_world *table, const char *host, uint16_t port,
                          rl_resolved_cb done, void *owner, const char **error) {
    struct sim_client *client = client_of(table);
    struct sim_world *world = client->sim;
    if (sim_fault_no_dial(client)) {
        *error = "the system is out of something";
        return NULL;
    }
    struct sim_lookup *lookup = calloc(1, sizeof *lookup);
    if (lookup == NULL) {
        abort();
    }
    assert(host[0] == 'n' && port == NODE_PORT);
    (void)port; /* without assertions */
    lookup->done = done;
    lookup->owner = owner;
    lookup->node = (uint32_t)strtoul(host + 1, NULL, 10) - 1;
    lookup->next = client->lookups;
    client->lookups = lookup;
    client->lookups_open++;
    struct sim_event event = {
        .at_ns = client->at_ns + sim_skewed(&world->net_random, 0, world->options.resolve_ns),
        .kind = SIM_EV_RESOLVED,
        .client = client->index,
        .what = lookup};
    sim_queue_add(&world->queue, &event);
    return lookup;
}

void sim_machine_forget(struct rl_world *table, void *resolving) {
    struct sim_client *client = client_of(table);
    struct sim_lookup *lookup = resolving;
    if (lookup->is_over) {
        sim_check_fail(client->sim, SIM_SEAM, "c%u forgets a name that was told, or forgotten",
                       client->index + 1u);
        return;
    }
    lookup->is_over = true;
    client->lookups_open--;
}

/* Late, to nothing, to an address that is gone, or to several of which one is right. */
bool sim_client_resolved(struct sim_world *world, const struct sim_event *event) {
    struct sim_lookup *lookup = event->what;
    struct sim_client *client = &world->clients[event->client];
    struct rl_address addresses[2];
    uint32_t n = 1;
    if (lookup->is_over) {
        return false;
    }
    if (sim_client_waits(world, event)) {
        return false;
    }
    lookup->is_over = true;
    client->lookups_open--;
    address_of(0x0a000000, lookup->node, &addresses[0]);
    if (world->phase == SIM_SAFETY && world->options.names_percent > 0) {
        uint32_t luck = sim_pick(&world->net_random, 20);
        n = luck == 0 ? 0 : 1;
        if (luck == 1) {
            address_of(0x0a010000, lookup->node, &addresses[0]);
        } else if (luck == 2) {
            addresses[1] = addresses[0];
            address_of(0x0a010000, lookup->node, &addresses[0]);
            n = 2;
        }
    }
    sim_client_enter(client);
    lookup->done(lookup->owner, addresses, n, n == 0 ? "name not known" : NULL);
    sim_client_leave(client);
    sim_client_schedule_turn(client);
    return true;
}
