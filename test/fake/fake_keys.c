/* See fake_keys.h. Expired keys are passed over, and make room when their name is set again. */
#include "fake/fake_keys.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/ */
static size_t bucket_of(uint32_t db, const struct resp_arg *name) {
    uint64_t hash = UINT64_C(14695981039346656037) ^ db;
    for (size_t i = 0; i < name->length; i++) {
        hash = (hash ^ (unsigned char)name->data[i]) * UINT64_C(1099511628211);
    }
    return (size_t)((hash ^ hash >> 32) % FAKE_KEYS_BUCKETS);
}

static bool is_named(const struct fake_key *key, uint32_t db, const struct resp_arg *name) {
    assert(name->data != NULL);
    return key->db == db && key->name.length == name->length &&
           (name->length == 0 || memcmp(key->name.data, name->data, name->length) == 0);
}

static struct fake_key *find_any(const struct fake_keys *keys, uint32_t db,
                                 const struct resp_arg *name) {
    struct fake_key *key = keys->buckets[bucket_of(db, name)];
    while (key != NULL && !is_named(key, db, name)) {
        key = key->next;
    }
    return key;
}

struct fake_key *fake_keys_find(const struct fake_keys *keys, uint32_t db,
                                const struct resp_arg *name, uint64_t now_ns) {
    struct fake_key *key = find_any(keys, db, name);
    return key != NULL && key->expires_ns > now_ns ? key : NULL;
}

void fake_keys_put(struct fake_keys *keys, uint32_t db, const struct resp_arg *name,
                   const struct resp_arg *value, uint64_t expires_ns) {
    struct fake_key *old = find_any(keys, db, name);
    if (old != NULL) {
        fake_keys_remove(keys, old);
    }
    struct fake_key *key = calloc(1, sizeof(*key));
    if (key == NULL) {
        abort();
    }
    bytes_append(&key->name, name->data, name->length);
    bytes_append(&key->value, value->data, value->length);
    bytes_append(&key->value, "", 1);
    key->db = db;
    key->expires_ns = expires_ns;
    struct fake_key **bucket = &keys->buckets[bucket_of(db, name)];
    key->next = *bucket;
    *bucket = key;
    assert(find_any(keys, db, name) == key);
}

void fake_keys_remove(struct fake_keys *keys, struct fake_key *key) {
    struct resp_arg name = {key->name.data != NULL ? key->name.data : "", key->name.length};
    struct fake_key **link = &keys->buckets[bucket_of(key->db, &name)];
    while (*link != key) {
        assert(*link != NULL);
        link = &(*link)->next;
    }
    *link = key->next;
    bytes_free(&key->name);
    bytes_free(&key->value);
    free(key);
}

void fake_keys_clear(struct fake_keys *keys) {
    for (size_t i = 0; i < FAKE_KEYS_BUCKETS; i++) {
        while (keys->buckets[i] != NULL) {
            fake_keys_remove(keys, keys->buckets[i]);
        }
    }
    assert(fake_keys_count(keys, 0) == 0);
}

size_t fake_keys_count(const struct fake_keys *keys, uint64_t now_ns) {
    size_t count = 0;
    for (size_t i = 0; i < FAKE_KEYS_BUCKETS; i++) {
        for (const struct fake_key *key = keys->buckets[i]; key != NULL; key = key->next) {
            count += key->expires_ns > now_ns ? 1 : 0;
        }
    }
    return count;
}
