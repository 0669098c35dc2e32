/* See calibration.h. */
#include "core/calibration.h"

#include <assert.h>

#define AGE_NS_MAX (UINT64_C(10) * 1000000000)
#define MILLION UINT64_C(1000000)

uint64_t rl_calibration_start_ns(const struct rl_calibration *calibration, uint64_t time_us,
                                 uint64_t now_ns, uint64_t subscribed_ns, uint32_t drift_ppm) {
    const uint64_t sent_ns = calibration->sent_ns;
    const uint64_t at_us = calibration->time_us + 1; /* the clock truncates: it was less */
    const uint64_t apart_us = time_us >= at_us ? time_us - at_us : at_us - time_us;
    assert(drift_ppm < MILLION);
    if (sent_ns == 0 || sent_ns <= subscribed_ns || now_ns < sent_ns ||
        now_ns - sent_ns > AGE_NS_MAX || apart_us > 2 * AGE_NS_MAX / 1000) {
        return 0;
    }
    if (time_us < at_us) { /* one us times one ppm is a thousandth of a ns; rounded up */
        const uint64_t back_ns = 1000 * apart_us + (apart_us * drift_ppm + 999) / 1000;
        return back_ns < sent_ns ? sent_ns - back_ns : 0;
    }
    const uint64_t start_ns = sent_ns + 1000 * apart_us - (apart_us * drift_ppm + 999) / 1000;
    return start_ns <= now_ns ? start_ns : 0;
}
