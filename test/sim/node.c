/* See node.h. A key's end is kept in the node's own milliseconds, as Redis keeps it, and once more
 * in true time for the checker. It expires when the node's clock, cut to milliseconds, has reached
 * that time: up to 1 ms early, the earliest that Redis's granularity allows.
 *
 * A stale replica: now and then, after a command, the node's whole state is saved. A replica that
 * takes its place has this state. */
#include "sim/node.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sim/kind.h"
#include "sim/world.h"

#define NOTED_PERCENT 5

static uint64_t node_us(const struct sim_node *me) {
    return sim_clock_read(&me->clock, me->world->now_ns) / 1000;
}

static void schedule(struct sim_world *world, uint32_t node, uint64_t at_ns) {
    struct sim_event event = {.at_ns = at_ns,
                              .kind = SIM_EV_NODE,
                              .node = (uint8_t)node,
                              .arg = ++world->nodes[node].generation};
    sim_queue_add(&world->queue, &event);
}

/* -- Serving -- */

static void ran_for(struct sim_node *me, const struct sim_conn *conn, struct sim_ran what) {
    struct sim_world *world = me->world;
    const bool is_present = conn->generation == world->clients[conn->client].generation;
    if (what.place != NULL && is_present && sim_check_line_place(world, conn->client, what.place)) {
        sim_node_learnt(me);
    }
    if (what.command == SIM_JOIN && is_present) {
        sim_check_line_joins(world, me->index, conn->client);
    }
    world->stats.commands[what.command]++;
    sim_check_line_look(world, me->index);
    sim_check_readers_look(world, me->index, conn->id, false);
    sim_check_left(me, &what);
    const char *text = what.token != NULL ? what.token : what.place;
    uint32_t token = text != NULL ? sim_check_token(world, text) : 0;
    if (what.command == SIM_TAKE && is_present) {
        sim_check_line_takes(world, me->index, token, &what);
    }
    if (what.command == SIM_RELEASE) {
        sim_check_released(world, me->index, token, conn->id, what.verdict == SIM_YES);
    }
    sim_trace(world, (struct sim_note){.kind = SIM_NOTE_RAN,
                                       .client = conn->client,
                                       .node = me->index,
                                       .token = token,
                                       .a = what.command,
                                       .b = what.verdict,
                                       .c = what.command == SIM_RELEASE ? what.native : what.ttl_ms,
                                       .fence = what.fence,
                                       .resource = what.resource,
                                       .take = what.take,
                                       .permits = (uint8_t)what.permits});
}

static void ran(void *owner, const struct server_ran *told) {
    struct sim_node *me = owner;
    struct sim_world *world = me->world;
    const struct sim_conn *conn = told->connection->owner;
    const bool is_present = conn->generation == world->clients[conn->client].generation;
    struct sim_ran what;
    uint32_t nth = 0;
    if (is_present && resp_is(&told->command->args[0], "subscribe")) {
        sim_check_line_listens(world, me->index, conn->client);
    }
    for (; sim_wire_read(told, nth, &what); nth++) {
        sim_check_permits_ran(world, me->index, &what);
        ran_for(me, conn, what);
    }
    if (nth == 0) {
        sim_check_permits_ran(world, me->index, NULL);
        return;
    }
    if (world->options.faults & 1u << SIM_FAULT_STALE &&
        sim_chance(&world->past_random, NOTED_PERCENT)) {
        server_keys_copy(&me->past, &me->server->keys);
    }
}

static void say(struct server_connection *peer) {
    struct sim_conn *conn = peer->owner;
    if (peer->output.length > 0) {
        sim_net_send(conn, SIM_TO_CLIENT, peer->output.data, peer->output.length,
                     conn->world->now_ns);
        bytes_consume(&peer->output, peer->output.length);
    }
    if (peer->ended) {
        uint64_t behind_ns = conn->last_ns[SIM_TO_CLIENT] > conn->world->now_ns
                                 ? conn->last_ns[SIM_TO_CLIENT] - conn->world->now_ns
                                 : 0;
        sim_conn_break(conn, behind_ns + 1, 0);
    }
}

/* A message to a subscriber: it goes out behind the command that published it. */
static void told(void *owner, struct server_connection *peer) {
    struct sim_node *me = owner;
    sim_check_permits_told(me->world, peer->output.data, peer->output.length);
    sim_check_heir(me->world, peer->output.data, peer->output.length);
    if (sim_conn_is_sound(peer->owner)) {
        sim_check_line_told(me->world, me->index, peer->output.data, peer->output.length);
    }
    say(peer);
}

static const struct server_hooks hooks = {.changed = sim_node_changed, .ran = ran, .told = told};

static void end_errors(struct sim_node *me) {
    struct server *server = me->server;
    me->error_until_ns = 0;
    server->is_replica = server->is_loading = server->cannot_save = false;
    server->is_alone = server->is_busy = false;
    server->is_full = strcmp(server->policy, "noeviction") != 0;
}

static void disconnect(struct sim_conn *conn) {
    server_disconnect(conn->peer);
    conn->peer = NULL;
}

static void serve(struct sim_node *me, struct sim_piece *piece) {
    struct sim_conn *conn = piece->conn;
    if (me->error_until_ns != 0 && me->world->now_ns >= me->error_until_ns) {
        end_errors(me);
    }
    sim_conn_read(conn, piece->length);
    if (conn->peer == NULL) {
        /* it was closed by the node */
    } else if (piece->length == 0) {
        disconnect(conn);
    } else {
        server_receive(conn->peer, piece->bytes, piece->length, node_us(me));
        say(conn->peer);
    }
    sim_piece_free(me->world, piece);
}

/* -- Receiving -- */

static void refuse(struct sim_conn *conn, int error) {
    sim_conn_break(conn, sim_between(&conn->world->net_random, 0, RL_NS_PER_MS), error);
}

void sim_node_accept(struct sim_conn *conn) {
    struct sim_world *world = conn->world;
    struct sim_node *me = &world->nodes[conn->node];
    if (me->is_down) {
        refuse(conn, ECONNREFUSED);
        return;
    }
    conn->life = me->life;
    conn->peer = server_connect(me->server, conn);
    struct sim_event event = {
        .at_ns = world->now_ns + sim_skewed(&world->net_random, world->options.delay_min_ns,
                                            world->options.delay_max_ns),
        .kind = SIM_EV_UP,
        .client = conn->client,
        .node = conn->node,
        .what = conn};
    conn->last_ns[SIM_TO_CLIENT] = event.at_ns;
    sim_queue_add(&world->queue, &event);
}

void sim_node_receive(struct sim_world *world, uint32_t node, struct sim_piece *piece) {
    struct sim_node *me = &world->nodes[node];
    if (me->is_down || piece->conn->life != me->life) {
        refuse(piece->conn, ECONNRESET);
        sim_piece_free(world, piece);
    } else if (me->is_paused) {
        piece->next = NULL;
        *me->waiting_tail = piece;
        me->waiting_tail = &piece->next;
        me->waiting_count++;
    } else {
        serve(me, piece);
    }
}

/* The oldest piece of some connection, in any order of connections. */
static struct sim_piece *take_waiting(struct sim_world *world, struct sim_node *me) {
    uint32_t skip = sim_pick(&world->net_random, me->waiting_count);
    const struct sim_piece *chosen = me->waiting;
    while (skip-- > 0) {
        chosen = chosen->next;
    }
    struct sim_piece **at = &me->waiting;
    while ((*at)->conn != chosen->conn) {
        at = &(*at)->next;
    }
    struct sim_piece *piece = *at;
    *at = piece->next;
    if (*at == NULL) {
        me->waiting_tail = at;
    }
    me->waiting_count--;
    return piece;
}

/* -- Faults -- */

static void drop_waiting(struct sim_node *me) {
    while (me->waiting != NULL) {
        struct sim_piece *piece = me->waiting;
        me->waiting = piece->next;
        sim_piece_free(me->world, piece);
    }
    me->waiting_tail = &me->waiting;
    me->waiting_count = 0;
}

void sim_node_pause(struct sim_world *world, uint32_t node, uint64_t until_ns) {
    struct sim_node *me = &world->nodes[node];
    if (me->is_down || until_ns <= me->paused_until_ns) {
        return;
    }
    me->is_paused = true;
    me->paused_until_ns = until_ns;
    schedule(world, node, until_ns);
}

void sim_node_hang_up(struct sim_world *world, uint32_t node) {
    struct sim_node *me = &world->nodes[node];
    drop_waiting(me);
    while (me->server->first != NULL) {
        struct sim_conn *conn = me->server->first->owner;
        int error = sim_chance(&world->net_random, 50) ? ECONNRESET : 0;
        sim_conn_break(conn, sim_between(&world->net_random, 0, 5 * RL_NS_PER_MS), error);
        disconnect(conn);
    }
}

void sim_node_go_down(struct sim_world *world, uint32_t node, uint64_t until_ns) {
    struct sim_node *me = &world->nodes[node];
    me->is_down = true;
    me->is_paused = false;
    me->paused_until_ns = 0;
    me->down_until_ns = until_ns;
    sim_node_hang_up(world, node);
    schedule(world, node, until_ns);
}

void sim_node_errors(struct sim_world *world, uint32_t node, enum sim_errors kind,
                     uint64_t until_ns) {
    struct sim_node *me = &world->nodes[node];
    end_errors(me);
    me->error_until_ns = until_ns;
    me->server->is_full = kind == SIM_ERRORS_FULL;
    me->server->is_replica = kind == SIM_ERRORS_REPLICA;
    me->server->is_loading = kind == SIM_ERRORS_LOADING;
    me->server->cannot_save = kind == SIM_ERRORS_SAVE;
    me->server->is_alone = kind == SIM_ERRORS_ALONE;
    me->server->is_busy = kind == SIM_ERRORS_BUSY;
}

/* A process starts, with its data. */
static void start(struct sim_node *me) {
    struct server *server = me->server;
    struct server_keys *kept = me->is_emptied ? NULL : &server->keys;
    server_restart(server, ++me->world->servers, node_us(me), kept);
    sim_kind_restart(me->world, me->index);
    if (me->is_emptied) {
        server_make_id(server->replid, ++me->world->servers);
        sim_node_see_all(me, false);
    }
    me->is_emptied = false;
}

void sim_node_resume(struct sim_world *world, uint32_t node) {
    struct sim_node *me = &world->nodes[node];
    sim_trace(world, (struct sim_note){
                         .kind = SIM_NOTE_NODE_ON, .client = SIM_NOBODY, .node = (uint8_t)node});
    if (me->is_down) {
        me->is_down = false;
        me->down_until_ns = 0;
        me->life++;
        if (!me->is_promoted) {
            start(me);
        }
        me->is_promoted = false;
    }
    me->is_paused = false;
    me->paused_until_ns = 0;
    while (me->waiting_count > 0) {
        serve(me, take_waiting(world, me));
    }
}

/* The keys are gone at once: no client relies on keys that the node will not have again. */
void sim_node_forget(struct sim_world *world, uint32_t node) {
    struct sim_node *me = &world->nodes[node];
    assert(me->is_down);
    server_forget_keys(me->server);
    server_keys_clear(&me->past);
    me->is_emptied = true;
    me->is_promoted = false;
    sim_node_see_all(me, false);
}

void sim_node_flush(struct sim_world *world, uint32_t node) {
    struct sim_node *me = &world->nodes[node];
    server_forget_keys(me->server);
    sim_node_see_all(me, false);
}

void sim_node_fail_over(struct sim_world *world, uint32_t node, bool same_server) {
    struct sim_node *me = &world->nodes[node];
    struct server *server = me->server;
    char run_id[SERVER_ID_SIZE];
    uint64_t now_us = node_us(me), started_us = server->started_us;
    memcpy(run_id, server->run_id, sizeof run_id);
    server_restart(server, ++world->servers, now_us, &me->past);
    server_make_id(server->replid, ++world->servers);
    if (same_server) {
        memcpy(server->run_id, run_id, sizeof run_id);
        server->started_us = started_us;
    } else {
        server->started_us =
            now_us - sim_between(&world->past_random, 0, SIM_OLD_S) * UINT64_C(1000000);
    }
    sim_node_see_all(me, true);
    me->is_promoted = true;
    me->is_emptied = false;
}

void sim_node_evicts(struct sim_world *world, uint32_t node, bool evicts) {
    struct server *server = world->nodes[node].server;
    server->policy = evicts ? "allkeys-random" : "noeviction";
    server->maxmemory = evicts ? 1 << 20 : 0;
    server->is_full = evicts;
}

bool sim_node_is_evicting(const struct sim_world *world, uint32_t node) {
    return strcmp(world->nodes[node].server->policy, "noeviction") != 0;
}

void sim_node_change_policy(struct sim_world *world, uint32_t node) {
    const bool evicts = !sim_node_is_evicting(world, node);
    sim_node_hang_up(world, node);
    sim_node_evicts(world, node, evicts);
    while (evicts && server_evict(world->nodes[node].server)) {
    }
}

void sim_node_heal(struct sim_world *world, uint32_t node) {
    struct sim_node *me = &world->nodes[node];
    if (sim_node_is_evicting(world, node)) {
        sim_node_go_down(world, node, world->now_ns);
        sim_node_evicts(world, node, false);
    }
    end_errors(me);
}

/* -- Life -- */

void sim_node_start(struct sim_world *world, uint32_t node) {
    struct sim_node *me = &world->nodes[node];
    me->world = world;
    me->index = (uint8_t)node;
    me->life = 1;
    me->waiting_tail = &me->waiting;
    me->server = server_new(++world->servers, node_us(me));
    me->server->hooks = &hooks;
    me->server->owner = me;
    sim_kind_init(world, node);
    me->server->ends_early = true;
    if (world->options.broken >= SIM_BREAKS) {
        me->server->broken = UINT64_C(1) << (world->options.broken - SIM_BREAKS);
    }
    me->server->random = world->options.seed + node;
    if (!sim_chance(&world->past_random, 15)) {
        me->server->started_us -= SIM_OLD_S * UINT64_C(1000000);
    }
}

void sim_node_free(struct sim_world *world, uint32_t node) {
    struct sim_node *me = &world->nodes[node];
    drop_waiting(me);
    while (me->server->first != NULL) {
        disconnect(me->server->first->owner);
    }
    server_free(me->server);
    server_keys_free(&me->past);
}
