/* See sha1.h. */
#include "base/sha1.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define BLOCK sizeof((struct rl_sha1 *)0)->block

static uint32_t rotated(uint32_t x, unsigned n) {
    return x << n | x >> (32 - n);
}

/* The function and the constant of a round (4.1.1 and 4.2.1). */
static uint32_t mixed(unsigned round, const uint32_t v[5]) {
    const uint32_t b = v[1], c = v[2], d = v[3];
    assert(round < 80);
    if (round < 20) {
        return ((b & c) | (~b & d)) + 0x5a827999u;
    }
    if (round < 40) {
        return (b ^ c ^ d) + 0x6ed9eba1u;
    }
    if (round < 60) {
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcu;
    }
    return (b ^ c ^ d) + 0xca62c1d6u;
}

static void compress(struct rl_sha1 *sha1) {
    uint32_t w[80], v[5];
    memcpy(v, sha1->state, sizeof v);
    for (unsigned i = 0; i < 80; i++) {
        const unsigned char *p = &sha1->block[4 * (i % 16)];
        w[i] = i < 16 ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
                      : rotated(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
        const uint32_t next = rotated(v[0], 5) + mixed(i, v) + v[4] + w[i];
        v[4] = v[3];
        v[3] = v[2];
        v[2] = rotated(v[1], 30);
        v[1] = v[0];
        v[0] = next;
    }
    for (unsigned i = 0; i < 5; i++) {
        sha1->state[i] += v[i];
    }
}

void rl_sha1_begin(struct rl_sha1 *sha1) {
    *sha1 = (struct rl_sha1){
        .state = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u}};
}

void rl_sha1_add(struct rl_sha1 *sha1, const void *data, size_t length) {
    const unsigned char *bytes = data;
    for (size_t i = 0; i < length; i++) {
        sha1->block[sha1->length++ % BLOCK] = bytes[i];
        if (sha1->length % BLOCK == 0) {
            compress(sha1);
        }
    }
}

/* Appends a one bit, zeros, and the length of the message in bits. */
void rl_sha1_end(struct rl_sha1 *sha1, char hex[RL_SHA1_LEN + 1]) {
    const uint64_t bits = sha1->length * 8;
    rl_sha1_add(sha1, "\x80", 1);
    while (sha1->length % BLOCK != BLOCK - 8) {
        rl_sha1_add(sha1, "", 1);
    }
    for (int shift = 56; shift >= 0; shift -= 8) {
        const unsigned char byte = (unsigned char)(bits >> shift);
        rl_sha1_add(sha1, &byte, 1);
    }
    for (size_t i = 0; i < 5; i++) {
        snprintf(hex + 8 * i, 9, "%08x", (unsigned)sha1->state[i]);
    }
}

void rl_sha1_hex(const void *data, size_t length, char hex[RL_SHA1_LEN + 1]) {
    struct rl_sha1 sha1;
    rl_sha1_begin(&sha1);
    rl_sha1_add(&sha1, data, length);
    rl_sha1_end(&sha1, hex);
}
