/* Constants that all rooms share. */
#ifndef RL_UNITS_H
#define RL_UNITS_H

#include <stdint.h>

#define RL_NEVER UINT64_MAX /* as a time in nanoseconds */
#define RL_NS_PER_MS UINT64_C(1000000)

/* Hex digits, without the terminating zero. A place in line (core/place.h) is the token of the next
 * attempt. */
#define RL_TOKEN_LEN 40

#endif
