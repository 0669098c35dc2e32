/* Whose a place is, and who listens: see check_line.h. */
#include "sim/check_line.h"
#include "sim/world.h"

static uint64_t hex(const char *text) {
    uint64_t value = 0;
    for (size_t i = 0; i < SIM_PLACE_LENGTH / 2; i++) {
        unsigned digit = (unsigned char)text[i];
        value = value << 4 | (digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    return value;
}

bool sim_check_line_whose(const struct sim_world *world, const char *place, uint32_t *client,
                          uint64_t *number) {
    uint64_t id = hex(place);
    *number = hex(place + SIM_PLACE_LENGTH / 2);
    for (uint32_t c = 0; c < world->options.clients; c++) {
        if (world->check.line.ids[c] == id) {
            *client = c;
            return true;
        }
    }
    return false;
}

bool sim_check_line_place(struct sim_world *world, uint32_t client, const char *place) {
    uint64_t *id = &world->check.line.ids[client], now = hex(place);
    bool is_new = *id != now;
    *id = now;
    return is_new;
}

void sim_check_line_listens(struct sim_world *world, uint32_t node, uint32_t client) {
    world->check.line.listened[node][client] = true;
}

void sim_check_line_joins(struct sim_world *world, uint32_t node, uint32_t client) {
    if (!world->check.line.listened[node][client]) {
        sim_check_fail(world, SIM_ORDER, "c%u joins at n%u, where it has never listened",
                       client + 1u, node + 1u);
    }
}
