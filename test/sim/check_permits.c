/* See check_permits.h. */
#include "sim/check_permits.h"

#include <stdlib.h>
#include <string.h>

#include "redis/command.h"
#include "sim/world.h"

const char *sim_check_last(const char *bytes, size_t length, const char *what, size_t size) {
    const char *found = NULL, *at = bytes;
    while (at != NULL && (size_t)(bytes + length - at) >= size) {
        found = memcmp(at, what, size) == 0 ? at : found;
        at = memchr(at + 1, what[0], (size_t)(bytes + length - at - 1));
    }
    return found;
}

static uint32_t bits(uint32_t mask) {
    uint32_t count = 0;
    for (; mask != 0; mask &= mask - 1) {
        count++;
    }
    return count;
}

void sim_check_permits_hold(struct sim_world *world, uint32_t client, const struct sim_hold *hold) {
    if (world->options.permits == 0 || hold->take == 0) {
        return;
    }
    world->stats.permits += hold->take;
    if (bits(hold->resources) != hold->take || hold->resources >> hold->permits != 0) {
        sim_check_fail(world, SIM_COUNT, "c%u was granted slots %x (a mask) and takes %u of %u",
                       (unsigned)client + 1, (unsigned)hold->resources, hold->take, hold->permits);
    }
}

/* The number of held permits, and of how many. */
void sim_check_permits_step(struct sim_world *world) {
    uint32_t held = 0, most = 0;
    for (uint32_t c = 0; c < world->options.clients && world->options.permits > 0; c++) {
        for (uint32_t i = 0; i < world->options.locks; i++) {
            const struct sim_hold *hold = &world->check.holds[c][i];
            if (hold->is_open && world->now_ns < hold->until_ns) {
                held += hold->take;
                most = hold->permits > most ? hold->permits : most;
            }
        }
    }
    if (held > most) {
        sim_check_fail(world, SIM_COUNT, "%u permits are held, and there are %u", (unsigned)held,
                       (unsigned)most);
    }
    world->stats.permits_full += held > 0 && held == most;
}

/* -- Permits given out by nodes -- */

static uint32_t kept(const struct sim_world *world, uint32_t node) {
    static const char name[] = RL_COMMAND_PERMITS_PREFIX "{r1}";
    const struct server_key *key =
        server_keys_find(&world->nodes[node].server->keys, 0, name, sizeof name - 1);
    return key != NULL ? (uint32_t)strtoul(key->value.data, NULL, 10) : 0;
}

static bool gives(const struct sim_ran *ran) {
    return (ran->command == SIM_TAKE || ran->command == SIM_JOIN || ran->command == SIM_PEEK ||
            ran->command == SIM_RESIZE) &&
           ran->verdict == SIM_YES;
}

/* The line; what is given up may be handed on within its client, whatever its number. */
static bool serves(struct sim_world *world, const struct sim_seen *seen,
                   const struct sim_ran *ran) {
    uint32_t by = SIM_CLIENTS_MAX;
    if (ran->command == SIM_RELEASE) {
        uint32_t token = sim_check_token(world, ran->token);
        by = world->check.tokens[token].client;
    }
    return ran->command == SIM_LEAVE ||
           (ran->command == SIM_RELEASE && seen->reserved != SIM_RESERVED_FOR + by);
}

void sim_check_permits_told(struct sim_world *world, const char *bytes, size_t length) {
    struct sim_turns *turns = &world->check.turns;
    struct sim_turn turn = {.slots = 0};
    const char *at = sim_check_last(bytes, length, "\nturn ", 6);
    if (world->options.permits == 0 || at == NULL || turns->count == SIM_TURNS_MAX ||
        at + 6 + SIM_PLACE_LENGTH >= bytes + length ||
        !sim_check_line_whose(world, at + 6, &turn.client, &turn.number)) {
        return;
    }
    for (at += 6 + SIM_PLACE_LENGTH; at + 1 < bytes + length && at[0] == ' ';) {
        char *behind;
        unsigned long slot = strtoul(at + 1, &behind, 10); /* "\r\n" is behind the last */
        turn.slots |= slot < SIM_RESOURCES_MAX ? 1u << slot : 0;
        at = behind;
    }
    turns->items[turns->count++] = turn;
}

/* If setting keys is refused, they are not set: the script ends with that error. */
static void check_turns(struct sim_world *world, uint32_t node, const struct sim_ran *ran) {
    struct sim_turns *turns = &world->check.turns;
    const bool failed = ran == NULL || ran->verdict == SIM_ERROR ||
                        world->nodes[node].error_until_ns > world->now_ns;
    for (uint32_t i = 0; i < turns->count && !failed; i++) {
        const struct sim_turn *turn = &turns->items[i];
        for (uint32_t slot = 0; turn->slots >> slot != 0; slot++) {
            const struct sim_seen *seen = &world->check.seen[node][slot];
            bool is_its =
                (seen->reserved == SIM_RESERVED_FOR + turn->client &&
                 seen->place == turn->number) ||
                (seen->token != 0 && world->check.tokens[seen->token].place == turn->number);
            if (turn->slots >> slot & 1 && !is_its) {
                sim_check_fail(world, SIM_COUNT, "n%u tells c%u of slot %u, which is not its",
                               (unsigned)node + 1, (unsigned)turn->client + 1, (unsigned)slot);
            }
        }
    }
    turns->count = 0;
}

/* A release names all slots of the token: a slot left out would never be released. (Except a slot
 * that home gave in answer to a late JOIN, which expires like a reservation.) */
static void check_release(struct sim_world *world, uint32_t node, const struct sim_ran *ran) {
    const uint32_t token = sim_check_token(world, ran->token);
    for (uint32_t i = 0; i < world->options.resources; i++) {
        const struct sim_seen *seen = &world->check.seen[node][i];
        if (token != 0 && seen->token == token && world->now_ns < seen->expires_ns &&
            world->now_ns + SIM_RESERVED_NS < seen->expires_ns && !seen->is_passed &&
            !(ran->resource >> i & 1)) {
            sim_check_fail(world, SIM_ORPHAN,
                           "n%u is to release slots %x (a mask) of token %u, and has slot %u",
                           (unsigned)node + 1, ran->resource, (unsigned)token, (unsigned)i);
        }
    }
}

void sim_check_permits_ran(struct sim_world *world, uint32_t node, const struct sim_ran *ran) {
    struct sim_seen *seen = world->check.seen[node];
    check_turns(world, node, ran);
    if (world->options.permits > 0 && ran != NULL && ran->command == SIM_RELEASE) {
        check_release(world, node, ran);
    }
    const uint32_t permits = world->options.permits > 0 ? kept(world, node) : 0;
    for (uint32_t i = 0; i < world->options.resources && world->options.permits > 0; i++) {
        bool is_given = seen[i].token != 0 || seen[i].reserved >= SIM_RESERVED_FOR;
        bool counts = ran != NULL && (gives(ran) || serves(world, &seen[i], ran));
        if (seen[i].is_fresh && is_given && counts && i >= permits && permits > 0) {
            sim_check_fail(world, SIM_COUNT, "n%u gives out slot %u, and keeps that there are %u",
                           (unsigned)node + 1, (unsigned)i, (unsigned)permits);
        }
        seen[i].is_fresh = false;
    }
    if (world->options.permits > 0 && ran != NULL && gives(ran) && permits != ran->permits) {
        sim_check_fail(world, SIM_COUNT, "n%u says yes for %u permits, and keeps that there are %u",
                       (unsigned)node + 1, ran->permits, (unsigned)permits);
    }
}
