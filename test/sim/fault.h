/* Faults: what strikes, whom, and for how long. Kinds, rate and length are options; every fault
 * ends by itself but those that last for the whole safety phase. All that is broken is healed by
 * sim_faults_heal(), a minority of the nodes perhaps excepted. */
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

/* One fault by name, for stories. a: client, b: node; duration: how long. */
void sim_fault_apply(struct sim_world *world, enum sim_fault fault, uint32_t client, uint32_t node,
                     uint64_t duration_ns);

/* A vote has come: the process may be stopped just now, inside of the library. */
void sim_fault_at_grant(struct sim_client *client);

/* It is stopped as it looks at its clock. */
void sim_fault_preempt(struct sim_client *client);

/* Whether there are no random bytes; no descriptor for a connection. */
bool sim_fault_no_random(struct sim_client *client);
bool sim_fault_no_dial(struct sim_client *client);

/* A client's wall clock, in microseconds, as it looks at it; it may have stepped just before. */
uint64_t sim_fault_wall_us(struct sim_client *client);

/* The end of the safety phase. */
void sim_faults_heal(struct sim_world *world);

#endif
