/* Random numbers that replay: https://prng.di.unimi.it/splitmix64.c */
#ifndef SERVER_SPLITMIX_H
#define SERVER_SPLITMIX_H

#include <stdint.h>

#define SPLITMIX_STEP UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += SPLITMIX_STEP;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

#endif
