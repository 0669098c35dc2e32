/* See clock.h. All in integers: a history must replay on every machine. */
#include "sim/clock.h"

#include <assert.h>

#define MILLION 1000000

static uint64_t wave(const struct sim_clock *clock, uint64_t true_ns) {
    if (clock->wave_ns == 0) {
        return 0;
    }
    uint64_t phase = true_ns % clock->wave_period_ns;
    uint64_t half = clock->wave_period_ns / 2;
    uint64_t height = phase < half ? phase : clock->wave_period_ns - phase;
    return height * clock->wave_ns / half;
}

uint64_t sim_clock_read(const struct sim_clock *clock, uint64_t true_ns) {
    assert(true_ns >= clock->base_true_ns);
    int64_t past = (int64_t)(true_ns - clock->base_true_ns);
    int64_t gain = past / MILLION * clock->drift_ppm + past % MILLION * clock->drift_ppm / MILLION;
    return clock->base_local_ns + (uint64_t)(past + gain) + wave(clock, true_ns);
}

uint64_t sim_clock_when(const struct sim_clock *clock, uint64_t local_ns) {
    uint64_t read_ns = sim_clock_read(clock, clock->base_true_ns);
    if (read_ns >= local_ns) {
        return clock->base_true_ns;
    }
    if (clock->drift_ppm <= SIM_FROZEN_PPM || local_ns == UINT64_MAX) {
        return UINT64_MAX;
    }
    /* From below, in steps slightly shorter than the rest: clocks are never 2 % fast. */
    assert(clock->drift_ppm < MILLION / 50);
    uint64_t at_ns = clock->base_true_ns;
    while (read_ns < local_ns) {
        uint64_t left_ns = local_ns - read_ns;
        at_ns += left_ns - left_ns / 32 + (left_ns < 32);
        read_ns = sim_clock_read(clock, at_ns);
    }
    return at_ns;
}

uint64_t sim_wall_read(const struct sim_wall *wall, uint64_t true_ns) {
    return wall->base_us + (wall->stands ? 0 : true_ns / 1000);
}

void sim_clock_drift(struct sim_clock *clock, uint64_t true_ns, int64_t drift_ppm) {
    uint64_t local_ns = sim_clock_read(clock, true_ns) - wave(clock, true_ns);
    clock->base_local_ns = local_ns;
    clock->base_true_ns = true_ns;
    clock->drift_ppm = drift_ppm;
}

void sim_clock_step(struct sim_clock *clock, uint64_t true_ns, int64_t by_ns) {
    sim_clock_drift(clock, true_ns, clock->drift_ppm);
    assert(by_ns >= 0 || clock->base_local_ns > (uint64_t)-by_ns);
    clock->base_local_ns += (uint64_t)by_ns;
}
