/* See sha1.h. The message is padded in a copy and compressed block by block. */
#include "server/sha1.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>

#include "server/bytes.h"

#define BLOCK 64

static uint32_t rotate(uint32_t x, unsigned n) {
    assert(n > 0 && n < 32);
    return x << n | x >> (32 - n);
}

/* The round's function and constant (FIPS 180-4, 4.1.1 and 4.2.1). */
static uint32_t mix(unsigned t, uint32_t b, uint32_t c, uint32_t d) {
    assert(t < 80);
    switch (t / 20) {
        case 0:
            return ((b & c) | (~b & d)) + 0x5a827999u;
        case 1:
            return (b ^ c ^ d) + 0x6ed9eba1u;
        case 2:
            return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcu;
        default:
            return (b ^ c ^ d) + 0xca62c1d6u;
    }
}

static void compress(uint32_t h[5], const unsigned char *block) {
    uint32_t w[80];
    uint32_t v[5] = {h[0], h[1], h[2], h[3], h[4]};
    for (unsigned t = 0; t < 16; t++) {
        const unsigned char *p = block + (size_t)4 * t;
        w[t] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    }
    for (unsigned t = 16; t < 80; t++) {
        w[t] = rotate(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
    }
    for (unsigned t = 0; t < 80; t++) {
        uint32_t next = rotate(v[0], 5) + mix(t, v[1], v[2], v[3]) + v[4] + w[t];
        v[4] = v[3];
        v[3] = v[2];
        v[2] = rotate(v[1], 30);
        v[1] = v[0];
        v[0] = next;
    }
    for (unsigned i = 0; i < 5; i++) {
        h[i] += v[i];
    }
}

/* Appends a one bit, zeros, and the length in bits: full blocks come out. */
static void pad(struct bytes *message) {
    uint64_t bits = (uint64_t)message->length * 8;
    bytes_append(message, "\x80", 1);
    while (message->length % BLOCK != BLOCK - 8) {
        bytes_append(message, "\0", 1);
    }
    for (int shift = 56; shift >= 0; shift -= 8) {
        unsigned char byte = (unsigned char)(bits >> shift);
        bytes_append(message, &byte, 1);
    }
    assert(message->length % BLOCK == 0);
}

void sha1_hex(const void *data, size_t length, char hex[SHA1_HEX_SIZE]) {
    uint32_t h[5] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u};
    struct bytes message = {NULL, 0, 0};
    bytes_append(&message, data, length);
    pad(&message);
    for (size_t at = 0; at < message.length; at += BLOCK) {
        compress(h, (const unsigned char *)message.data + at);
    }
    bytes_free(&message);
    int written =
        snprintf(hex, SHA1_HEX_SIZE, "%08x%08x%08x%08x%08x", h[0], h[1], h[2], h[3], h[4]);
    assert(written == SHA1_HEX_SIZE - 1);
    (void)written;
}
