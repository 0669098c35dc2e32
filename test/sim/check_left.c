/* The state in which a command must leave a node's lines: see check_line.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/command.h"
#include "sim/check_line.h"
#include "sim/key.h"
#include "sim/world.h"

#define CLIENT_LENGTH 16
#define TRIED_MOST 16 /* so many who do not listen are dropped by one command */

/* -- What the node has -- */

static const struct server_key *find(const struct sim_node *me, const char *name, size_t length) {
    const struct server_key *key = server_keys_find(&me->server->keys, 0, name, length);
    const uint64_t now_us = sim_clock_read(&me->clock, me->world->now_ns) / 1000;
    return key != NULL && !server_has_expired(me->server, key, now_us) ? key : NULL;
}

static const struct server_key *key_of(const struct sim_node *me, uint32_t resource) {
    char name[SIM_KEY_SIZE];
    return find(me, name, sim_key_name(&me->world->options, resource, name));
}

static bool has_value(const struct server_key *key, const char *value) {
    return key != NULL && key->value.length == strlen(value) &&
           memcmp(key->value.data, value, key->value.length) == 0;
}

static bool is_free(const struct server_key *key) {
    return key == NULL || has_value(key, RL_RESERVED);
}

static bool hears(const struct sim_node *me, const char *place) {
    char channel[64];
    int length = snprintf(channel, sizeof channel, "libredlock:client:%.16s", place);
    for (const struct server_connection *c = me->server->first; c != NULL; c = c->next) {
        if (c->n_channels > 0 && server_listens(c, channel, (size_t)length)) {
            return true;
        }
    }
    return false;
}

static bool place_at(const struct sim_node *me, uint32_t resource, bool reads, uint32_t at,
                     char place[SIM_PLACE_LENGTH + 1]) {
    place[SIM_PLACE_LENGTH] = '\0';
    return sim_node_place(me->world, me->index, resource, reads, &at, place);
}

/* Whether a place in the line could have been served. */
static bool has_waiter(const struct sim_node *me, uint32_t resource, bool reads) {
    char place[SIM_PLACE_LENGTH + 1];
    for (uint32_t at = 0; at < TRIED_MOST && place_at(me, resource, reads, at, place); at++) {
        if (hears(me, place)) {
            return true;
        }
    }
    return false;
}

static uint32_t count_places(const struct sim_node *me) {
    const uint32_t lines = me->world->options.permits > 0 ? 1 : 2;
    char place[SIM_PLACE_LENGTH + 1];
    uint32_t count = 0;
    for (uint32_t i = 0; i < lines * me->world->options.resources; i++) {
        for (uint32_t at = 0; place_at(me, i / lines, i % lines == 1, at, place); at++) {
            count++;
        }
    }
    return count;
}

/* -- Nobody is left who could have been served -- */

/* The command has dropped a waiter that does not listen, perhaps after it served others. */
static bool has_dropped(const struct sim_node *me, const struct sim_ran *ran) {
    const struct sim_check_line *line = &me->world->check.line;
    const bool has_left =
        ran->command == SIM_LEAVE && ran->verdict == SIM_YES && line->deleted == 0;
    return line->places[me->index] > count_places(me) + line->served + has_left;
}

static void check_served(const struct sim_node *me, uint32_t resource, const struct sim_ran *ran) {
    char place[SIM_PLACE_LENGTH + 1];
    const struct server_key *key = key_of(me, resource);
    const bool releases = ran->command == SIM_RELEASE;
    const bool shared = has_value(key, RL_SHARED_VALUE);
    const bool was_deleted = me->world->check.line.deleted >> resource & 1;
    const bool to_all = is_free(key) && (releases || was_deleted);
    const bool to_readers = (releases ? ran->reads && shared : is_free(key) || shared) &&
                            !place_at(me, resource, false, 0, place);
    if ((to_all && has_waiter(me, resource, false)) ||
        ((to_all || to_readers) && has_waiter(me, resource, true))) {
        sim_check_fail(me->world, SIM_STALL,
                       "n%u has run a %s for r%u, which is free or shared, and serves nobody",
                       me->index + 1u, releases ? "release" : "LEAVE", (unsigned)resource + 1);
    }
}

/* A writer that becomes a reader lets in the readers that wait. */
static void check_converted(const struct sim_node *me, uint32_t resource,
                            const struct sim_ran *ran) {
    const struct sim_seen *key = &me->world->check.seen[me->index][resource];
    const struct sim_leases *leases = &me->world->check.leases[me->index][resource];
    const bool is_converted = ran->verdict == SIM_YES && leases->count == 1 &&
                              leases->items[0].token == sim_check_token(me->world, ran->token) &&
                              key->is_shared;
    if (is_converted && has_waiter(me, resource, true)) {
        sim_check_fail(me->world, SIM_STALL, "n%u: r%u is read from now on, and a reader waits",
                       me->index + 1u, (unsigned)resource + 1);
    }
}

/* Free slots of those that the semaphore has there; 0 where that is not kept. */
static uint32_t count_free(const struct sim_node *me, uint32_t *permits) {
    static const char name[] = RL_COMMAND_PERMITS_PREFIX "{r1}";
    const struct server_key *kept = find(me, name, sizeof name - 1);
    char digits[8];
    uint32_t count = 0;
    if (kept == NULL || kept->value.length >= sizeof digits) {
        return 0;
    }
    snprintf(digits, sizeof digits, "%.*s", (int)kept->value.length, kept->value.data);
    *permits = (uint32_t)strtoul(digits, NULL, 10);
    for (uint32_t slot = 0; slot < *permits && slot < SIM_RESOURCES_MAX; slot++) {
        count += is_free(key_of(me, slot));
    }
    return count;
}

static void check_permits(const struct sim_node *me) {
    char place[SIM_PLACE_LENGTH + 1];
    uint32_t permits = 0;
    const uint32_t free_slots = count_free(me, &permits);
    for (uint32_t at = 0; place_at(me, 0, false, at, place); at++) {
        const char digits[] = {place[16], place[17], '\0'};
        const uint32_t wanted = (uint32_t)strtoul(digits, NULL, 16);
        if (wanted > free_slots) {
            return;
        }
        if (hears(me, place)) {
            sim_check_fail(me->world, SIM_STALL,
                           "n%u serves nobody: %u slots are free, the first in line wants %u",
                           me->index + 1u, (unsigned)free_slots, (unsigned)wanted);
        }
    }
}

/* -- A client that leaves has no place any more -- */

/* Reservations above a number of permits that was lowered end by themselves. */
static void check_gone(const struct sim_node *me, const struct sim_ran *ran) {
    char place[SIM_PLACE_LENGTH + 1];
    uint32_t keys = me->world->options.resources;
    if (ran->take > 0) {
        count_free(me, &keys);
    }
    for (uint32_t r = 0; r < me->world->options.resources; r++) {
        const struct server_key *key = key_of(me, r);
        bool is_there = ran->is_plain && r < keys && key != NULL &&
                        key->value.length >= SIM_PLACE_LENGTH &&
                        memcmp(key->value.data, ran->place, SIM_PLACE_LENGTH) == 0;
        for (uint32_t at = 0; !is_there && place_at(me, r, ran->reads, at, place); at++) {
            is_there = memcmp(place, ran->place, SIM_PLACE_LENGTH) == 0;
        }
        if (is_there && (ran->take > 0 || ran->resource >> r & 1)) {
            sim_check_fail(me->world, SIM_LEFTOVER, "n%u has run a LEAVE of %.40s, which is there",
                           me->index + 1u, ran->place);
        }
    }
}

/* -- Who is first in line knows it -- */

/* A place that is served is told so once on each connection of its client, half-open ones too. */
static void note_served(struct sim_check_line *line, const char *place) {
    if (memcmp(line->last_served, place, SIM_PLACE_LENGTH) != 0) {
        memcpy(line->last_served, place, SIM_PLACE_LENGTH);
        line->served++;
    }
}

void sim_check_heir(struct sim_world *world, const char *bytes, size_t length) {
    static const char *const words[] = {"\nturn ", "\nshut ", "\npass "};
    struct sim_check_line *line = &world->check.line;
    const char *at = sim_check_last(bytes, length, "\nheir ", 6);
    for (uint32_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const char *served = sim_check_last(bytes, length, words[i], 6);
        if (served != NULL) {
            note_served(line, served + 6);
        }
    }
    if (at != NULL && line->n_heirs < sizeof line->heirs / sizeof line->heirs[0]) {
        memcpy(line->heirs[line->n_heirs++], at + 6, SIM_PLACE_LENGTH);
    }
}

static bool was_told(const struct sim_check_line *line, const char *place) {
    for (uint32_t i = 0; i < line->n_heirs; i++) {
        if (memcmp(line->heirs[i], place, SIM_PLACE_LENGTH) == 0) {
            return true;
        }
    }
    return false;
}

/* ran: NULL if no command has. */
static void check_first(const struct sim_node *me, uint32_t resource, bool reads,
                        const struct sim_ran *ran) {
    struct sim_check_line *line = &me->world->check.line;
    char *first = line->first[me->index][resource][reads], place[SIM_PLACE_LENGTH + 1];
    if (!place_at(me, resource, reads, 0, place)) {
        first[0] = '\0';
    } else if (memcmp(first, place, SIM_PLACE_LENGTH) != 0) {
        memcpy(first, place, SIM_PLACE_LENGTH);
        const bool is_own = ran != NULL && (ran->command == SIM_JOIN || ran->command == SIM_PEEK) &&
                            memcmp(ran->place, place, SIM_PLACE_LENGTH) == 0;
        if (ran != NULL && !is_own && !was_told(line, place) && hears(me, place)) {
            sim_check_fail(me->world, SIM_ORDER, "n%u: %.40s is first in line now, and not told",
                           me->index + 1u, place);
        }
    }
}

void sim_check_firsts(const struct sim_node *me, const struct sim_ran *ran) {
    for (uint32_t r = 0; r < me->world->options.resources; r++) {
        check_first(me, r, false, ran);
        check_first(me, r, true, ran);
    }
    me->world->check.line.places[me->index] = count_places(me);
    me->world->check.line.n_heirs = me->world->check.line.deleted = 0;
    me->world->check.line.served = 0;
    me->world->check.line.last_served[0] = '\0';
}

/* -- A JOIN drops what its client has left behind, if that was first before it -- */

static void check_dropped(const struct sim_node *me, const struct sim_ran *ran) {
    const size_t same = CLIENT_LENGTH + (ran->take > 0 ? 2 : 0);
    char place[SIM_PLACE_LENGTH + 1];
    for (uint32_t r = 0; r < me->world->options.resources; r++) {
        const bool is_its = ran->take > 0 ? r == 0 : ran->resource >> r & 1;
        if (is_its && place_at(me, r, ran->reads, 0, place) &&
            memcmp(place, ran->place, same) == 0 &&
            memcmp(place, ran->place, SIM_PLACE_LENGTH) != 0 &&
            memcmp(place, me->world->check.line.first[me->index][r][ran->reads],
                   SIM_PLACE_LENGTH) == 0) {
            sim_check_fail(me->world, SIM_ORDER,
                           "n%u: %.40s joins, and %.40s of its client stays before it",
                           me->index + 1u, ran->place, place);
        }
    }
}

/* The resources whose keys the command has set, as a mask; not those of a semaphore. */
static uint32_t take_fresh(const struct sim_node *me) {
    const struct sim_options *options = &me->world->options;
    uint32_t fresh = 0;
    for (uint32_t r = 0; r < options->resources && options->permits == 0; r++) {
        struct sim_seen *key = &me->world->check.seen[me->index][r];
        fresh |= (uint32_t)key->is_fresh << r;
        key->is_fresh = false;
    }
    return fresh;
}

void sim_check_left(const struct sim_node *me, const struct sim_ran *ran) {
    const struct sim_options *options = &me->world->options;
    const uint32_t fresh = take_fresh(me);
    const bool can_write = me->error_until_ns == 0 && !me->server->is_full;
    if (ran->verdict == SIM_ERROR || !can_write) {
        sim_check_firsts(me, NULL);
        return;
    }
    if (ran->command == SIM_JOIN && ran->is_plain && ran->verdict == SIM_NO) {
        check_dropped(me, ran);
    }
    if (ran->command == SIM_LEAVE) {
        check_gone(me, ran);
    }
    if (has_dropped(me, ran)) {
        /* those behind it ask again */
    } else if (options->permits > 0) {
        if (ran->serves || ran->command == SIM_RESIZE) {
            check_permits(me);
        }
    } else {
        for (uint32_t r = 0; r < options->resources; r++) {
            if (ran->serves >> r & 1) {
                check_served(me, r, ran);
            } else if (ran->command == SIM_EXTEND && fresh >> r & 1) {
                check_converted(me, r, ran);
            }
        }
    }
    sim_check_firsts(me, ran);
}
