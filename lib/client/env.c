/* See env.h. */
#include "client/env.h"

#ifndef NDEBUG

#include <stdio.h>
#include <stdlib.h>

void rl_own_turn(redlock_client *client) {
    client->thread = pthread_self();
    client->has_thread = true;
}

void rl_own(const redlock_client *client, const char *function) {
    if (client->has_thread && !pthread_equal(client->thread, pthread_self()) &&
        !rl_io_is_forked(&client->io)) {
        fprintf(stderr,
                "libredlock: %s() was called in another thread than the one that runs the "
                "client's loop\n",
                function);
        abort();
    }
}

#endif

static bool reserve(redlock_client *client, struct rl_deadlines *heap, uint32_t needed) {
    if (needed <= heap->capacity) {
        return true;
    }
    uint32_t capacity = needed + needed / 2;
    struct rl_deadline **items = rl_alloc(&client->memory, capacity, sizeof(struct rl_deadline *));
    if (items == NULL) {
        return false;
    }
    rl_free(&client->memory, rl_deadlines_reserve(heap, items, capacity));
    return true;
}

bool rl_reserve_deadline(redlock_client *client) {
    uint32_t needed =
        client->user_count + client->resources.wait_count + 1 + RL_NODES_MAX + RL_CLIENT_DEADLINES;
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
