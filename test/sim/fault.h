/* Faults: their kinds, targets and durations. Kinds, rate and length are options; every fault ends
 * by itself, except those that last for the whole safety phase. sim_faults_heal() heals everything,
 * except possibly a minority of the nodes. */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/options.h"

struct sim_client;
struct sim_world;

void sim_faults_start(struct sim_world *world);

/* SIM_EV_FAULT */
void sim_faults_strike(struct sim_world *world);

/* A vote has arrived: the process may be stopped now, inside the library. */
void sim_fault_at_grant(struct sim_client *client);

/* The library reads the clock: the process may be stopped just before, once in a call. */
void sim_fault_looks(struct sim_client *client);

/* Whether there are no random bytes; no descriptor for a connection. */
bool sim_fault_no_random(struct sim_client *client);
bool sim_fault_no_dial(struct sim_client *client);

/* A client's wall clock, in microseconds, as the client reads it; it may have stepped just
 * before. */
uint64_t sim_fault_wall_us(struct sim_client *client);

/* The end of the safety phase. */
void sim_faults_heal(struct sim_world *world);

#endif
