/* See kind.h. */
#include "sim/kind.h"

#include <stdio.h>

#include "sim/world.h"

#define KINDS 3

void sim_kind_derive(struct sim_options *options) {
    struct sim_random random = sim_random_stream(options->seed, 18);
    const uint32_t one = sim_pick(&random, KINDS);
    const bool is_mixed = sim_chance(&random, 60);
    for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
        options->kinds[i] = (uint8_t)(is_mixed ? sim_pick(&random, KINDS) : one);
    }
    options->kind_percent = sim_chance(&random, 50) ? (uint32_t)sim_between(&random, 5, 50) : 0;
    options->forbid_percent = sim_chance(&random, 50) ? (uint32_t)sim_between(&random, 10, 60) : 0;
}

void sim_kind_print(const struct sim_options *options) {
    static const char *const names[KINDS] = {"script", "DELIFEQ", "DELEX"};
    printf("releases        ");
    for (uint32_t i = 0; i < options->nodes; i++) {
        printf("%s, ", names[options->kinds[i]]);
    }
    printf("%u %% of starts change that, %u %% of errors forbid it\n", options->kind_percent,
           options->forbid_percent);
}

/* From now on; clients find out when they connect. */
static void set(struct sim_world *world, uint32_t node, enum server_native native) {
    static const enum server_words words[KINDS] = {[SERVER_SCRIPT_ONLY] = SERVER_REDIS_7,
                                                   [SERVER_DELIFEQ] = SERVER_VALKEY,
                                                   [SERVER_DELEX] = SERVER_REDIS_8};
    struct server *server = world->nodes[node].server;
    server->native = native;
    server->words = words[native];
}

void sim_kind_init(struct sim_world *world, uint32_t node) {
    set(world, node, (enum server_native)world->options.kinds[node]);
}

void sim_kind_restart(struct sim_world *world, uint32_t node) {
    struct server *server = world->nodes[node].server;
    server_allow_all(server_add_user(server, "default", NULL));
    if (sim_chance(&world->kind_random, world->options.kind_percent)) {
        set(world, node, (enum server_native)sim_pick(&world->kind_random, KINDS));
    }
}

void sim_kind_may_forbid(struct sim_world *world, uint32_t node) {
    if (sim_chance(&world->kind_random, world->options.forbid_percent)) {
        struct server_user *user = server_add_user(world->nodes[node].server, "default", NULL);
        server_deny(user, "delifeq");
        server_deny(user, "delex");
    }
}
