/* See reserve.h. */
#include "client/reserve.h"

static bool reserve(redlock_client *client, struct rl_deadlines *heap, uint32_t needed) {
    if (needed <= heap->capacity) {
        return true;
    }
    uint32_t capacity = 2 * needed;
    struct rl_deadline **items = rl_alloc(&client->memory, capacity, sizeof(struct rl_deadline *));
    if (items == NULL) {
        return false;
    }
    rl_free(&client->memory, rl_deadlines_reserve(heap, items, capacity));
    return true;
}

bool rl_reserve_deadline(redlock_client *client, uint32_t resources) {
    uint32_t needed = client->user_count + 1 + client->resources.count + resources +
                      client->n_nodes + RL_CLIENT_DEADLINES;
    return reserve(client, &client->deadlines, needed) &&
           reserve(client, &client->ends, client->lock_count + 1);
}

bool rl_reserve_wire(redlock_client *client, const struct rl_target *target) {
    size_t room = rl_command_room(target);
    if (room <= client->io.wire_room) {
        return true;
    }
    char *wire = rl_alloc(&client->memory, 2, room);
    if (wire == NULL) {
        return false;
    }
    rl_free(&client->memory, client->io.wire);
    client->io.wire = wire;
    client->io.wire_room = room;
    return true;
}
