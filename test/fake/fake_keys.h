/* The keys of a fake Redis: a hash table of {database, name} to {value, end of life}.
 *
 * Time is an argument; a key whose time has come is not there any more. Names and values may hold
 * any bytes; a value is kept with a zero behind it, so that a test can read it as a string. Failure
 * mode: out of memory ends the program. */
#ifndef FAKE_KEYS_H
#define FAKE_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "fake/bytes.h"
#include "fake/resp.h"

#define FAKE_KEYS_BUCKETS 1024

struct fake_key {
    struct fake_key *next; /* in its bucket */
    struct bytes name, value;
    uint32_t db;
    uint64_t expires_ns; /* UINT64_MAX: never */
};

struct fake_keys { /* all zero: empty */
    struct fake_key *buckets[FAKE_KEYS_BUCKETS];
};

/* The key, or NULL. Valid until it is changed or removed. */
struct fake_key *fake_keys_find(const struct fake_keys *keys, uint32_t db,
                                const struct resp_arg *name, uint64_t now_ns);

/* Sets a key, over the one that is there. */
void fake_keys_put(struct fake_keys *keys, uint32_t db, const struct resp_arg *name,
                   const struct resp_arg *value, uint64_t expires_ns);

/* Removes a key that is there. */
void fake_keys_remove(struct fake_keys *keys, struct fake_key *key);

void fake_keys_clear(struct fake_keys *keys);
size_t fake_keys_count(const struct fake_keys *keys, uint64_t now_ns);

#endif /* FAKE_KEYS_H */
