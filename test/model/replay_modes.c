/* The rules that modes.py adds: see replay_steps.h. Each lease is a key of its token, beside
 * others. */
#include "model/replay_machine.h"

#include <stddef.h>

static struct key *key_at(struct steps *steps, uint32_t node, uint32_t resource) {
    return &steps->keys[node][resource];
}

static struct lease *lease_of(struct key *key, uint32_t token) {
    for (uint32_t i = 0; i < key->lease_count; i++) {
        if (key->leases[i].token == token) {
            return &key->leases[i];
        }
    }
    return NULL;
}

/* -- Clients -- */

void steps_lower(struct steps *steps, uint32_t token) {
    steps->taken[LOWER]++;
    for (uint32_t i = 0; i < steps->round_count; i++) {
        steps->rounds[i].lowered = steps->rounds[i].lowered || steps->rounds[i].token == token;
    }
}

/* -- Leases -- */

static void lease_set(struct steps *steps, struct key *key, uint32_t token, uint64_t ends_ms) {
    struct lease *lease = lease_of(key, token);
    if (lease == NULL && key->lease_count == STEPS_LEASES_MAX) {
        steps_refuse(steps, "more leases than are looked at");
        return;
    }
    lease = lease == NULL ? &key->leases[key->lease_count++] : lease;
    *lease = (struct lease){.token = token, .ends_ms = ends_ms};
    key->is = (struct steps_value){.value = STEPS_SHARED};
}

/* Without its last lease the key is free; a later step says which vacant value is left. */
static void lease_drop(struct steps *steps, struct key *key, uint32_t token) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < key->lasts.count; i++) {
        uint32_t round = key->lasts.items[i];
        if (steps->rounds[round].token != token) {
            key->lasts.items[kept++] = round;
        }
    }
    key->lasts.count = kept;
    struct lease *lease = lease_of(key, token);
    *lease = key->leases[key->lease_count - 1];
    key->lease_count--;
    if (key->lease_count == 0) {
        steps_becomes(key, (struct steps_value){.value = STEPS_NOTHING});
    }
}

/* Checks that no yes of this node to a writer's round of the token counts any more. */
static void may_convert(struct steps *steps, uint32_t node, uint32_t token) {
    for (uint32_t i = 0; i < steps->agreed[node].count; i++) {
        const struct steps_round *round = &steps->rounds[steps->agreed[node].items[i]];
        if (round->token == token && steps_writes(round) && !steps_is_gone(steps, token)) {
            steps_refuse(steps, "share: n%u lowers token %u, which may still be relied on to write",
                         node + 1, token);
        }
    }
}

static void look_at_ends(struct steps *steps, const char *what, uint32_t node, uint32_t round,
                         uint32_t token, uint64_t was_ms, uint64_t ends_ms, uint64_t least_ms) {
    if (ends_ms < was_ms) {
        steps_refuse(steps, "%s: n%u shortens what token %u has by %u ms", what, node + 1, token,
                     (unsigned)(was_ms - ends_ms));
    } else if (round != STEPS_UNCOUNTED && ends_ms < least_ms) {
        steps_refuse(steps, "%s: n%u ends what token %u has %u ms early", what, node + 1, token,
                     (unsigned)(least_ms - ends_ms));
    }
}

void steps_share(struct steps *steps, bool attempt, uint32_t node, uint32_t round, uint32_t token,
                 uint32_t resource, uint64_t ends_ms, uint64_t least_ms) {
    struct key *key = key_at(steps, node, resource);
    const struct lease *lease = lease_of(key, token);
    bool is_own = key->is.value == token;
    bool may = attempt ? steps_is_vacant(key->is.value) || key->is.value == STEPS_SHARED
                       : lease != NULL || is_own;
    steps->taken[SHARE]++;
    if (!may) {
        steps_refuse(steps, "share: n%u says yes to token %u, and r%u has %u", node + 1, token,
                     resource + 1, key->is.value);
        return;
    }
    if (is_own) {
        may_convert(steps, node, token);
    } else if (key->is.value != STEPS_SHARED) {
        key->lasts.count = 0;
    }
    uint64_t was_ms = lease != NULL ? lease->ends_ms : is_own ? key->is.ends_ms : 0;
    look_at_ends(steps, "share", node, round, token, was_ms, ends_ms, least_ms);
    lease_set(steps, key, token, ends_ms);
    if (round != STEPS_UNCOUNTED) {
        steps_add(&key->lasts, round);
    }
}

void steps_upgrade(struct steps *steps, uint32_t node, uint32_t round, uint32_t token,
                   uint32_t resource, uint64_t ends_ms, uint64_t least_ms) {
    struct key *key = key_at(steps, node, resource);
    const struct lease *lease = lease_of(key, token);
    bool is_own = key->is.value == token;
    steps->taken[UPGRADE]++;
    if (!is_own && (lease == NULL || key->lease_count > 1)) {
        steps_refuse(steps, "upgrade: n%u says yes to token %u, and r%u has %u leases", node + 1,
                     token, resource + 1, key->lease_count);
        return;
    }
    uint64_t was_ms = lease != NULL ? lease->ends_ms : key->is.ends_ms;
    look_at_ends(steps, "upgrade", node, round, token, was_ms, ends_ms, least_ms);
    key->is = (struct steps_value){.value = token, .ends_ms = ends_ms};
    key->lease_count = 0;
    if (round != STEPS_UNCOUNTED) {
        steps_add(&key->lasts, round);
    }
}

void steps_agreed(struct steps *steps, uint32_t node, uint32_t round, uint64_t true_ns) {
    if (round != STEPS_UNCOUNTED) {
        steps_agree(steps, node, round, true_ns);
    }
}

void steps_unlease(struct steps *steps, uint32_t node, uint32_t resource, uint32_t token) {
    struct key *key = key_at(steps, node, resource);
    steps->taken[LEASE_ENDS]++;
    if (!steps_is_gone(steps, token)) {
        steps_refuse(steps, "release: n%u ends the lease of token %u, which was not given up",
                     node + 1, token);
    }
    lease_drop(steps, key, token);
}

void steps_lease_ends(struct steps *steps, uint32_t node, uint32_t resource, uint32_t token,
                      uint64_t true_ns) {
    struct key *key = key_at(steps, node, resource);
    steps->taken[LEASE_ENDS]++;
    for (uint32_t i = 0; i < key->lasts.count; i++) {
        uint32_t round = key->lasts.items[i];
        if (steps->rounds[round].token == token && steps_is_live(steps, node, round, true_ns)) {
            steps_refuse(steps, "expire: n%u ends the lease of token %u before its validity",
                         node + 1, token);
        }
    }
    lease_drop(steps, key, token);
}

void steps_leases_end(struct steps *steps, uint32_t node, uint32_t resource, uint64_t true_ns) {
    struct key *key = key_at(steps, node, resource);
    while (key->lease_count > 0) {
        steps_lease_ends(steps, node, resource, key->leases[0].token, true_ns);
    }
}

uint64_t steps_lease(const struct steps *steps, uint32_t node, uint32_t resource, uint32_t token) {
    const struct key *key = &steps->keys[node][resource];
    for (uint32_t i = 0; i < key->lease_count; i++) {
        if (key->leases[i].token == token) {
            return key->leases[i].ends_ms;
        }
    }
    return 0;
}

bool steps_lease_at(const struct steps *steps, uint32_t node, uint32_t resource, uint32_t i,
                    uint32_t *token, uint64_t *ends_ms) {
    const struct key *key = &steps->keys[node][resource];
    if (i < key->lease_count) {
        *token = key->leases[i].token;
        *ends_ms = key->leases[i].ends_ms;
    }
    return i < key->lease_count;
}

void steps_found(struct steps *steps, uint32_t node, uint32_t resource, uint32_t token,
                 uint64_t ends_ms) {
    lease_set(steps, key_at(steps, node, resource), token, ends_ms);
}
