/* See timing.h. The modulo's bias is below 2^-17 for the largest jitter: negligible. */
#include "core/timing.h"

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

uint64_t rl_watch_next_ns(uint64_t valid_until_ns, uint64_t validity_ns, uint64_t renew_ns,
                          uint64_t random) {
    assert(renew_ns > 0 && renew_ns < validity_ns);
    uint64_t early_ns = random % (renew_ns / 8 + 1);
    uint64_t before_end_ns = validity_ns - renew_ns + early_ns;
    assert(before_end_ns <= validity_ns);
    const uint64_t at_ns = valid_until_ns > before_end_ns ? valid_until_ns - before_end_ns : 0;
    const uint64_t step_ns = renew_ns / RL_WATCH_STEPS;
    return step_ns > 0 ? at_ns - at_ns % step_ns : at_ns;
}

uint64_t rl_watch_wait_ns(uint64_t node_timeout_ns, uint64_t left_ns) {
    assert(node_timeout_ns > 0);
    return left_ns / 4 > node_timeout_ns ? left_ns / 4 : node_timeout_ns;
}

uint64_t rl_watch_retry_ns(uint64_t left_ns, uint64_t random) {
    uint64_t pause_ns = left_ns / 8;
    if (pause_ns < RL_WATCH_RETRY_NS_MIN) {
        pause_ns = RL_WATCH_RETRY_NS_MIN;
    }
    if (pause_ns > RL_WATCH_RETRY_NS_MAX) {
        pause_ns = RL_WATCH_RETRY_NS_MAX;
    }
    uint64_t with_jitter_ns = pause_ns - random % (pause_ns / 4);
    assert(with_jitter_ns > pause_ns / 2 && with_jitter_ns <= pause_ns);
    return with_jitter_ns;
}
