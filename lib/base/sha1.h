/* SHA-1, as in a node's scripts. Source: FIPS 180-4, section 6.1. */
#ifndef RL_BASE_SHA1_H
#define RL_BASE_SHA1_H

#include <stddef.h>
#include <stdint.h>

#define RL_SHA1_LEN 40 /* hex digits */

struct rl_sha1 {
    uint32_t state[5];
    uint64_t length; /* of the added data, in bytes */
    unsigned char block[64];
};

void rl_sha1_begin(struct rl_sha1 *sha1);
void rl_sha1_add(struct rl_sha1 *sha1, const void *data, size_t length);

/* Lower-case digits and a zero. */
void rl_sha1_end(struct rl_sha1 *sha1, char hex[RL_SHA1_LEN + 1]);

/* The SHA-1 of this data alone. */
void rl_sha1_hex(const void *data, size_t length, char hex[RL_SHA1_LEN + 1]);

#endif
