/* See retry.h. The modulo's bias is below 2^-17 for the largest jitter: of no concern here. */
#include "core/retry.h"

#include <assert.h>

#include "core/quorum.h"

uint64_t rl_retry_delay_ns(uint32_t delay_ms, uint32_t jitter_ms, uint64_t random) {
    uint64_t delay_ns = delay_ms * RL_NS_PER_MS;
    uint64_t jitter_ns = jitter_ms * RL_NS_PER_MS;
    uint64_t pause_ns = delay_ns + random % (jitter_ns + 1);
    assert(pause_ns >= delay_ns);
    assert(pause_ns <= delay_ns + jitter_ns);
    return pause_ns > RL_RETRY_NS_MIN ? pause_ns : RL_RETRY_NS_MIN;
}
