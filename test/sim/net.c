/* See net.h. */
#include "sim/net.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/client.h"
#include "sim/world.h"

static const uint32_t piece_rooms[SIM_PIECE_SIZES] = {512, 8192};

/* -- Pieces -- */

static struct sim_piece *piece_new(struct sim_conn *conn, size_t length) {
    struct sim_net *net = &conn->world->net;
    uint32_t size = 0;
    while (size < SIM_PIECE_SIZES && piece_rooms[size] < length) {
        size++;
    }
    struct sim_piece *piece = size < SIM_PIECE_SIZES ? net->free_pieces[size] : NULL;
    if (piece != NULL) {
        net->free_pieces[size] = piece->next;
    } else {
        uint32_t room = size < SIM_PIECE_SIZES ? piece_rooms[size] : (uint32_t)length;
        piece = malloc(sizeof *piece + room);
        if (piece == NULL) {
            abort();
        }
        piece->room = room;
    }
    piece->next = NULL;
    piece->conn = conn;
    piece->length = (uint32_t)length;
    return piece;
}

void sim_piece_free(struct sim_world *world, struct sim_piece *piece) {
    for (uint32_t i = 0; i < SIM_PIECE_SIZES; i++) {
        if (piece->room == piece_rooms[i]) {
            piece->next = world->net.free_pieces[i];
            world->net.free_pieces[i] = piece;
            return;
        }
    }
    free(piece);
}

/* -- Connections -- */

struct sim_conn *sim_conn_open(struct sim_client *client, uint32_t node) {
    struct sim_world *world = client->sim;
    struct sim_conn *conn = calloc(1, sizeof *conn);
    if (conn == NULL) {
        abort();
    }
    conn->stream.ops = &sim_conn_ops;
    conn->world = world;
    conn->id = ++world->net.count;
    conn->client = client->index;
    conn->generation = client->generation;
    conn->node = (uint8_t)node;
    conn->next = world->net.conns;
    world->net.conns = conn;
    conn->next_open = client->conns;
    if (client->conns != NULL) {
        client->conns->previous_open = conn;
    }
    client->conns = conn;
    return conn;
}

static void piece_send(struct sim_conn *conn, enum sim_direction way, const char *bytes,
                       size_t length, uint64_t at_ns);

/* The node learns that it is closed, unless this is lost like everything else. */
static void say_end(struct sim_conn *conn) {
    uint64_t now_ns = conn->world->clients[conn->client].at_ns;
    now_ns = now_ns > conn->world->now_ns ? now_ns : conn->world->now_ns;
    piece_send(conn, SIM_TO_NODE, "", 0, now_ns + conn->world->options.delay_min_ns);
}

void sim_conn_cut(struct sim_conn *conn) {
    if (!conn->is_swallowing) {
        say_end(conn);
        conn->is_swallowing = true;
    }
}

static void conn_close(struct rl_stream *stream) {
    struct sim_conn *conn = (struct sim_conn *)stream;
    struct sim_client *client = &conn->world->clients[conn->client];
    if (conn->state == SIM_CONN_CLOSED) {
        sim_check_fail(conn->world, SIM_SEAM, "c%u closes a stream twice", conn->client + 1u);
        return;
    }
    conn->state = SIM_CONN_CLOSED;
    conn->is_drained = conn->is_stray || sim_chance(&conn->world->net_random, 70);
    if (conn->previous_open != NULL) {
        conn->previous_open->next_open = conn->next_open;
    } else {
        client->conns = conn->next_open;
    }
    if (conn->next_open != NULL) {
        conn->next_open->previous_open = conn->previous_open;
    }
    if (!conn->is_swallowing) {
        say_end(conn);
    }
    sim_client_closed_conn(client, conn);
}

void sim_conn_break(struct sim_conn *conn, uint64_t after_ns, int error) {
    if (conn->is_breaking || conn->state >= SIM_CONN_ENDED) {
        return;
    }
    struct sim_event event = {.at_ns = conn->world->now_ns + after_ns,
                              .kind = SIM_EV_BREAK,
                              .client = conn->client,
                              .node = conn->node,
                              .what = conn};
    conn->is_breaking = true;
    conn->error = error;
    sim_check_trouble(conn->world, conn->client, conn->node, conn->world->now_ns);
    sim_queue_add(&conn->world->queue, &event);
}

bool sim_conn_is_sound(const struct sim_conn *conn) {
    const struct sim_wire *wire = &conn->world->net.wires[conn->client][conn->node];
    uint64_t now_ns = conn->world->now_ns;
    bool is_sound = conn->state == SIM_CONN_UP && !conn->is_swallowing && !conn->is_breaking;
    for (uint32_t way = 0; way < 2; way++) {
        is_sound = is_sound && conn->held_until_ns[way] <= now_ns;
        is_sound = is_sound && wire->drips_until_ns[way] <= now_ns;
    }
    return is_sound;
}

/* -- Writing -- */

/* A stream takes as many bytes as it has room for. */
static size_t conn_write(struct rl_stream *stream, const char *bytes, size_t length) {
    struct sim_conn *conn = (struct sim_conn *)stream;
    struct sim_world *world = conn->world;
    struct sim_client *client = &world->clients[conn->client];
    if (conn->state != SIM_CONN_UP) {
        sim_check_fail(world, SIM_SEAM, "c%u writes to a stream that is not up", conn->client + 1u);
        return 0;
    }
    if (!client->is_inside) {
        sim_check_fail(world, SIM_SEAM, "c%u writes outside of its turn", conn->client + 1u);
    }
    uint32_t room = world->options.room;
    size_t taken = conn->unread < room ? room - conn->unread : 0;
    taken = taken < length ? taken : length;
    if (taken < length) {
        conn->wants_room = true;
        world->stats.short_writes++;
        sim_check_trouble(world, conn->client, conn->node, client->at_ns);
    }
    if (taken > 0) {
        conn->unread += (uint32_t)taken;
        sim_net_send(conn, SIM_TO_NODE, bytes, taken, client->at_ns);
    }
    return taken;
}

static void conn_fail(struct rl_stream *stream, int error) {
    sim_conn_break((struct sim_conn *)stream, 0, error);
}

const struct rl_stream_ops sim_conn_ops = {.write = conn_write,
                                           .fail = conn_fail,
                                           .close = conn_close};

static void room_later(struct sim_conn *conn) {
    struct sim_event event = {
        .at_ns = conn->world->now_ns + sim_between(&conn->world->net_random, 0, RL_NS_PER_MS),
        .kind = SIM_EV_ROOM,
        .client = conn->client,
        .node = conn->node,
        .what = conn};
    sim_queue_add(&conn->world->queue, &event);
}

void sim_conn_read(struct sim_conn *conn, uint32_t length) {
    assert(conn->unread >= length);
    conn->unread -= length;
    if (conn->wants_room && conn->state == SIM_CONN_UP) {
        conn->wants_room = false;
        room_later(conn);
    }
}

/* -- In transit -- */

/* Lost data is not sent again: the connection is dead from here on, and its owner may be notified,
 * or must detect it. */
static bool is_lost(struct sim_conn *conn) {
    struct sim_world *world = conn->world;
    uint32_t ppm = world->phase == SIM_SAFETY ? world->options.loss_ppm : 0;
    if (ppm == 0 || sim_pick(&world->net_random, 1000000) >= ppm) {
        return false;
    }
    world->stats.faults[SIM_FAULT_LOSS]++;
    sim_check_trouble(world, conn->client, conn->node, world->now_ns);
    conn->is_swallowing = true;
    if (sim_chance(&world->net_random, 70)) {
        sim_conn_break(conn, sim_skewed(&world->net_random, 0, world->options.fault_ns / 2),
                       ECONNRESET);
    }
    return true;
}

/* A client is promised nothing if most votes arrive after the node timeout, so a healed network
 * delivers them in time. */
static uint64_t delay_max_ns(const struct sim_world *world) {
    const struct sim_options *options = &world->options;
    uint64_t in_time_ns = options->node_timeout_ms * RL_NS_PER_MS / 3;
    bool is_slow = world->phase != SIM_SAFETY && options->delay_max_ns > in_time_ns;
    return is_slow ? in_time_ns : options->delay_max_ns;
}

static uint64_t delay(struct sim_world *world, const struct sim_wire *wire, enum sim_direction way,
                      uint64_t at_ns) {
    const struct sim_options *options = &world->options;
    uint64_t most_ns = delay_max_ns(world);
    uint64_t delay_ns = options->delay_min_ns == most_ns
                            ? options->delay_min_ns
                            : sim_skewed(&world->net_random, options->delay_min_ns, most_ns);
    if (at_ns < wire->clogged_until_ns[way]) {
        delay_ns += sim_between(&world->net_random, 0, options->clog_ns);
    }
    return delay_ns;
}

static void piece_send(struct sim_conn *conn, enum sim_direction way, const char *bytes,
                       size_t length, uint64_t at_ns) {
    struct sim_piece *piece = piece_new(conn, length);
    memcpy(piece->bytes, bytes, length);
    if (at_ns < conn->last_ns[way]) {
        at_ns = conn->last_ns[way];
    }
    conn->last_ns[way] = at_ns;
    struct sim_event event = {.at_ns = at_ns,
                              .kind = way == SIM_TO_NODE ? SIM_EV_DELIVER : SIM_EV_REPLY,
                              .client = conn->client,
                              .node = conn->node,
                              .what = piece};
    sim_queue_add(&conn->world->queue, &event);
}

/* Up to the next split, or all of it. A dripping wire carries a few bytes at a time. */
static size_t split(struct sim_world *world, bool drips, size_t length) {
    if (drips && length > 1) {
        return (size_t)sim_between(&world->net_random, 1, length < 40 ? length : 40);
    }
    if (length > 1 && world->options.split_percent > 0 &&
        sim_chance(&world->net_random, world->options.split_percent)) {
        return (size_t)sim_between(&world->net_random, 1, length - 1);
    }
    return length;
}

void sim_net_send(struct sim_conn *conn, enum sim_direction way, const char *bytes, size_t length,
                  uint64_t at_ns) {
    struct sim_world *world = conn->world;
    bool in_vain = conn->is_swallowing || (way == SIM_TO_CLIENT && conn->state >= SIM_CONN_ENDED);
    if (in_vain || is_lost(conn)) {
        if (way == SIM_TO_CLIENT) {
            world->check.unheard_ns[conn->client][conn->node] = world->now_ns;
        }
        return;
    }
    const struct sim_wire *wire = &world->net.wires[conn->client][conn->node];
    bool drips = at_ns < wire->drips_until_ns[way];
    uint64_t arrives_ns = at_ns + delay(world, wire, way, at_ns);
    while (length > 0) {
        size_t now = split(world, drips, length);
        piece_send(conn, way, bytes, now, arrives_ns);
        bytes += now;
        length -= now;
        if (length > 0) {
            world->stats.splits++;
            arrives_ns += sim_skewed(&world->net_random, 0,
                                     drips ? world->options.drip_ns : 2 * RL_NS_PER_MS);
        }
    }
}

/* Data delayed by a cut delays what follows on its connection, even after the cut is healed. */
bool sim_net_arrives(struct sim_world *world, const struct sim_event *event,
                     enum sim_direction way) {
    const struct sim_wire *wire = &world->net.wires[event->client][event->node];
    bool is_piece = event->kind == SIM_EV_DELIVER || event->kind == SIM_EV_REPLY;
    struct sim_conn *conn =
        is_piece ? ((struct sim_piece *)event->what)->conn : (struct sim_conn *)event->what;
    uint64_t *held_ns = &conn->held_until_ns[way];
    if (*held_ns < wire->cut_until_ns[way]) {
        *held_ns = wire->cut_until_ns[way];
    }
    if (world->now_ns >= *held_ns) {
        return true;
    }
    struct sim_event later = *event;
    later.at_ns = *held_ns;
    sim_queue_add(&world->queue, &later);
    return false;
}

/* -- All of it -- */

void sim_net_heal(struct sim_world *world) {
    for (uint32_t c = 0; c < world->options.clients; c++) {
        for (uint32_t n = 0; n < world->options.nodes; n++) {
            world->net.wires[c][n] = (struct sim_wire){.cut_until_ns = {0, 0}};
        }
    }
}

void sim_net_free(struct sim_world *world) {
    for (uint32_t i = 0; i < SIM_PIECE_SIZES; i++) {
        while (world->net.free_pieces[i] != NULL) {
            struct sim_piece *piece = world->net.free_pieces[i];
            world->net.free_pieces[i] = piece->next;
            free(piece);
        }
    }
    while (world->net.conns != NULL) {
        struct sim_conn *conn = world->net.conns;
        world->net.conns = conn->next;
        free(conn);
    }
}
