/* Prints the keys and lines of the nodes, for the report of a failure. */
#include <stdio.h>

#include "sim/check_line.h"
#include "sim/world.h"

static void print_places(const struct sim_world *world, uint32_t node, uint32_t resource,
                         bool reads) {
    char place[SIM_PLACE_LENGTH];
    uint32_t at = 0, client;
    uint64_t number;
    while (sim_node_place(world, node, resource, reads, &at, place)) {
        if (sim_check_line_whose(world, place, &client, &number)) {
            printf(" c%u's token %u", (unsigned)client + 1, sim_check_line_token(world, number));
        } else {
            printf(" of one who is gone");
        }
    }
    printf("%s", at == 1 ? " nobody" : "");
}

void sim_check_line_print(const struct sim_world *world) {
    for (uint32_t n = 0; n < world->options.nodes; n++) {
        for (uint32_t r = 0; r < world->options.resources; r++) {
            const struct sim_seen *key = &world->check.seen[n][r];
            const bool is_slot = world->options.permits > 0;
            printf("n%u%s %s%u: ", (unsigned)n + 1, world->nodes[n].is_down ? " (down)" : "",
                   is_slot ? "slot " : "r", (unsigned)r + !is_slot);
            if (world->now_ns >= key->expires_ns ||
                (key->token == 0 && key->reserved == 0 && !key->is_shared)) {
                printf("free");
            } else if (key->token != 0) {
                printf("token %u", (unsigned)key->token);
            } else if (key->is_shared) {
                sim_check_readers_print(world, n, r);
            } else if (key->reserved == SIM_RESERVED_FOR_NOBODY) {
                printf("reserved");
            } else {
                printf("reserved for c%u's token %u", key->reserved - SIM_RESERVED_FOR + 1u,
                       sim_check_line_token(world, key->place));
            }
            if (!is_slot || r == 0) {
                printf("; in line:");
                print_places(world, n, r, false);
            }
            if (sim_options_reads(&world->options)) {
                printf("; to read:");
                print_places(world, n, r, true);
            }
            printf("\n");
        }
    }
}
