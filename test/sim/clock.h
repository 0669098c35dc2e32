/* A clock and its errors. True time is the simulator's; only the world and the checker see it. What
 * a node or a client sees is sim_clock_read() of its own clock:
 *
 *     local = base_local + (true - base_true) * (1 + drift_ppm / 10^6) + wave(true)
 *
 * Happy path: drift 0, no wave: two clocks differ by a constant. Errors: linear drift; a periodic
 * error (a triangle wave of wave_ns, as a clock that is steered too hard shows it); a step forward
 * or back; a rate of zero (frozen); a stop while its machine is suspended. The options define which
 * of these are within the assumptions (options.h).
 *
 * A wall clock is separate: it only gives the floor of a fence, and may show anything. */
#ifndef SIM_CLOCK_H
#define SIM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_FROZEN_PPM (-1000000)

struct sim_clock {
    uint64_t base_true_ns;
    uint64_t base_local_ns;
    int64_t drift_ppm;
    uint64_t wave_ns;        /* how far the periodic error goes, 0 for none */
    uint64_t wave_period_ns; /* long enough that the clock never goes back */
};

/* In microseconds. */
struct sim_wall {
    uint64_t base_us;
    bool stands;
};

uint64_t sim_clock_read(const struct sim_clock *clock, uint64_t true_ns);

/* The first true time, not before the last change of the clock, at which it reads local_ns or more;
 * UINT64_MAX if it never does. */
uint64_t sim_clock_when(const struct sim_clock *clock, uint64_t local_ns);

uint64_t sim_wall_read(const struct sim_wall *wall, uint64_t true_ns);

/* Steps by this much, forward or back. */
void sim_clock_step(struct sim_clock *clock, uint64_t true_ns, int64_t by_ns);

/* Goes on from here at another rate. */
void sim_clock_drift(struct sim_clock *clock, uint64_t true_ns, int64_t drift_ppm);

#endif
