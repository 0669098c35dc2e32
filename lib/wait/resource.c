/* See resource.h. */
#include "wait/resource.h"

#include <assert.h>
#include <string.h>

#include "core/home.h"

#define CHAINS_AT_FIRST 16u

/* The chain of this kind and name: FNV-1a, starting from the seed and the kind. */
static struct rl_resource **chain_of(const struct rl_resources *table, uint32_t kind,
                                     const void *bytes, size_t length) {
    const unsigned char *at = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ table->seed ^ kind;
    assert(table->chain_count > 0);
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return &table->chains[(hash ^ hash >> 32) & (table->chain_count - 1)];
}

static struct rl_resource **chain_with(const struct rl_resources *table,
                                       const struct rl_resource *resource) {
    return chain_of(table, resource->kind, resource->bytes, resource->length);
}

/* Doubles the number of chains, if there is memory. */
static void grow(struct rl_resources *table) {
    uint32_t count = table->chain_count == 0 ? CHAINS_AT_FIRST : 2 * table->chain_count;
    struct rl_resource **chains = rl_alloc(table->memory, count, sizeof chains[0]);
    if (chains == NULL) {
        return;
    }
    struct rl_resource **old = table->chains;
    uint32_t old_count = table->chain_count;
    table->chains = chains;
    table->chain_count = count;
    for (uint32_t i = 0; i < old_count; i++) {
        while (old[i] != NULL) {
            struct rl_resource *resource = old[i];
            old[i] = resource->next;
            struct rl_resource **chain = chain_with(table, resource);
            resource->next = *chain;
            *chain = resource;
        }
    }
    rl_free(table->memory, old);
}

static struct rl_resource *find(struct rl_resource *chain, uint32_t kind, const void *bytes,
                                size_t length) {
    struct rl_resource *found = chain;
    while (found != NULL && (found->kind != kind || found->length != length ||
                             memcmp(found->bytes, bytes, length) != 0)) {
        found = found->next;
    }
    return found;
}

struct rl_resource *rl_resource_find(const struct rl_resources *table, uint32_t kind,
                                     const void *bytes, size_t length) {
    return table->chain_count > 0 ? find(*chain_of(table, kind, bytes, length), kind, bytes, length)
                                  : NULL;
}

struct rl_resource *rl_resource_get(struct rl_resources *table, uint32_t kind, const void *bytes,
                                    size_t length) {
    if (table->count >= table->chain_count) {
        grow(table);
    }
    if (table->chain_count == 0) {
        return NULL;
    }
    struct rl_resource **chain = chain_of(table, kind, bytes, length);
    struct rl_resource *found = find(*chain, kind, bytes, length);
    if (found != NULL) {
        if (found->references++ == 0) {
            table->kept[found->kept_at] = NULL;
            table->kept_count--;
        }
        return found;
    }
    struct rl_resource *made =
        rl_alloc(table->memory, 1, offsetof(struct rl_resource, bytes) + length);
    if (made != NULL) {
        made->table = table;
        made->home_hash = rl_home_hash(bytes, (uint32_t)length);
        made->kind = kind;
        made->length = (uint32_t)length;
        made->references = 1;
        memcpy(made->bytes, bytes, length);
        made->next = *chain;
        *chain = made;
        table->count++;
    }
    return made;
}

static void forget(struct rl_resources *table, struct rl_resource *resource) {
    struct rl_resource **at = chain_with(table, resource);
    while (*at != resource) {
        assert(*at != NULL);
        at = &(*at)->next;
    }
    *at = resource->next;
    table->count--;
    table->wait_count -= resource->wait != NULL;
    rl_free(table->memory, resource->wait);
    rl_free(table->memory, resource);
}

static void forget_kept(struct rl_resources *table, uint32_t i) {
    struct rl_resource *resource = table->kept[i];
    if (resource != NULL) {
        assert(resource->references == 0 && resource->kept_at == i);
        table->kept[i] = NULL;
        table->kept_count--;
        forget(table, resource);
    }
}

static void keep(struct rl_resources *table, struct rl_resource *resource) {
    forget_kept(table, table->kept_next);
    resource->kept_at = table->kept_next;
    table->kept[resource->kept_at] = resource;
    table->kept_count++;
    table->kept_next = (table->kept_next + 1) % RL_RESOURCES_KEPT;
    assert(table->kept_count <= RL_RESOURCES_KEPT && table->kept_count <= table->count);
}

void rl_resource_put(struct rl_resources *table, struct rl_resource *resource) {
    assert(resource->references > 0);
    if (--resource->references > 0) {
        return;
    }
    assert(resource->waitlist.first == NULL && resource->subscription == NULL);
    assert(resource->wait == NULL || resource->wait->place.state == RL_PLACE_OUT);
    assert(resource->wait == NULL || resource->wait->placed == NULL);
    assert(resource->wait == NULL || resource->wait->due.slot == RL_DEADLINE_UNSET);
    if (resource->release_until_ns != 0 || rl_place_has_signs(rl_resource_place(resource))) {
        keep(table, resource);
    } else {
        forget(table, resource);
    }
}

struct rl_wait *rl_resource_wait(struct rl_resource *resource) {
    struct rl_resources *table = resource->table;
    if (resource->wait == NULL) {
        resource->wait = rl_alloc(table->memory, 1, sizeof *resource->wait);
        if (resource->wait != NULL) {
            resource->wait->resource = resource;
            rl_deadline_init(&resource->wait->due, RL_WAITS_LINE);
            table->wait_count++;
        }
    }
    return resource->wait;
}

const struct rl_place rl_place_out = {.state = RL_PLACE_OUT};

void rl_resources_free(struct rl_resources *table) {
    assert(table->count == table->kept_count);
    for (uint32_t i = 0; i < RL_RESOURCES_KEPT; i++) {
        forget_kept(table, i);
    }
    assert(table->count == 0);
    rl_free(table->memory, table->chains);
    table->chains = NULL;
    table->chain_count = 0;
}
