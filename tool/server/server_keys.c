/* See server_keys.h. An array of places, and chains through it by hash. A freed place keeps its
 * memory, so that short-lived keys need no allocation. The order of the array depends only on the
 * calls, never on an address. */
#include "server/server_keys.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX
#define FIRST_SIZE 16

/* As FNV-1a, but eight bytes at a time: names are long, and looked up all the time. */
static uint32_t hash_of(uint32_t db, const char *name, size_t length) {
    uint64_t hash = UINT64_C(14695981039346656037) ^ db ^ length << 8;
    for (size_t i = 0; i < length; i += 8) {
        uint64_t word = 0;
        memcpy(&word, name + i, length - i < 8 ? length - i : 8);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return (uint32_t)hash;
}

struct server_key *keys_find(const struct server_keys *keys, uint32_t db,
                             const struct resp_arg *name) {
    if (keys->used == 0) {
        return NULL;
    }
    uint32_t hash = hash_of(db, name->data, name->length);
    uint32_t at = keys->buckets[hash & keys->mask];
    while (at != NOBODY) {
        struct server_key *key = &keys->row[at];
        if (key->hash == hash && key->db == db && key->name.length == name->length &&
            (name->length == 0 || memcmp(key->name.data, name->data, name->length) == 0)) {
            return key;
        }
        at = key->next;
    }
    return NULL;
}

const struct server_key *server_keys_find(const struct server_keys *keys, uint32_t db,
                                          const void *name, size_t length) {
    struct resp_arg arg = {name, length};
    return keys_find(keys, db, &arg);
}

const struct server_key *server_keys_next(const struct server_keys *keys, uint32_t *at) {
    while (*at < keys->size && !keys->row[*at].is_used) {
        ++*at;
    }
    return *at < keys->size ? &keys->row[(*at)++] : NULL;
}

static void chain(struct server_keys *keys, uint32_t at) {
    uint32_t *bucket = &keys->buckets[keys->row[at].hash & keys->mask];
    keys->row[at].next = *bucket;
    *bucket = at;
}

/* Half as many places again; the new ones are holes. */
static void grow(struct server_keys *keys) {
    uint32_t old = keys->size, n_buckets = keys->mask + 1;
    keys->size = old > 0 ? old + old / 2 : FIRST_SIZE;
    while (n_buckets < keys->size) {
        n_buckets *= 2;
    }
    keys->mask = n_buckets - 1;
    keys->row = realloc(keys->row, keys->size * sizeof *keys->row);
    keys->buckets = realloc(keys->buckets, n_buckets * sizeof *keys->buckets);
    if (keys->row == NULL || keys->buckets == NULL) {
        abort();
    }
    memset(keys->row + old, 0, (keys->size - old) * sizeof *keys->row);
    for (uint32_t i = 0; i < n_buckets; i++) {
        keys->buckets[i] = NOBODY;
    }
    for (uint32_t i = 0; i < old; i++) {
        chain(keys, i);
    }
    for (uint32_t i = old; i < keys->size; i++) {
        keys->row[i].next = i + 1 < keys->size ? i + 1 : NOBODY;
    }
    keys->hole = old;
}

struct server_key *keys_put(struct server_keys *keys, uint32_t db, const struct resp_arg *name) {
    struct server_key *key = keys_find(keys, db, name);
    if (key != NULL) {
        return key;
    }
    if (keys->used == keys->size) {
        grow(keys);
    }
    uint32_t at = keys->hole;
    key = &keys->row[at];
    assert(!key->is_used);
    keys->hole = key->next;
    keys->used++;
    key->is_used = true;
    key->db = db;
    key->hash = hash_of(db, name->data, name->length);
    key->value.length = 0;
    key->elements = 0;
    key->is_line = false;
    key->expires_ms = SERVER_NEVER_MS;
    bytes_set(&key->name, name->data, name->length);
    chain(keys, at);
    return key;
}

void keys_remove(struct server_keys *keys, struct server_key *key) {
    uint32_t at = (uint32_t)(key - keys->row);
    uint32_t *link = &keys->buckets[key->hash & keys->mask];
    assert(key->is_used && keys->used > 0);
    while (*link != at) {
        assert(*link != NOBODY);
        link = &keys->row[*link].next;
    }
    *link = key->next;
    key->is_used = false;
    key->next = keys->hole;
    keys->hole = at;
    keys->used--;
}

void server_keys_clear(struct server_keys *keys) {
    for (uint32_t i = 0; i < keys->size; i++) {
        if (keys->row[i].is_used) {
            keys_remove(keys, &keys->row[i]);
        }
    }
    assert(keys->used == 0);
}

void server_keys_copy(struct server_keys *to, const struct server_keys *from) {
    uint32_t at = 0;
    const struct server_key *key;
    assert(to != from);
    server_keys_clear(to);
    while ((key = server_keys_next(from, &at)) != NULL) {
        struct resp_arg name = {key->name.data, key->name.length};
        struct server_key *copy = keys_put(to, key->db, &name);
        bytes_set(&copy->value, key->value.data, key->value.length);
        copy->expires_ms = key->expires_ms;
        copy->writer = key->writer;
        copy->written_us = key->written_us;
        copy->elements = key->elements;
        copy->is_line = key->is_line;
    }
}

void server_keys_free(struct server_keys *keys) {
    for (uint32_t i = 0; i < keys->size; i++) {
        bytes_free(&keys->row[i].name);
        bytes_free(&keys->row[i].value);
    }
    free(keys->row);
    free(keys->buckets);
    *keys = (struct server_keys){.size = 0};
}
