/* The users: one for each lock object, doing with it what the interface allows, at random.
 *
 * Happy path: think, acquire, hold, extend now and then, release, think.
 * Also: cancel, let a hold run out, abandon, extend by another ttl, act inside a callback, block
 * the loop in one.
 *
 * In the liveness phase each client's first lock becomes a probe instead: it acquires without a
 * limit, releases at once, and is done.
 */
#ifndef SIM_USER_H
#define SIM_USER_H

#include <stdint.h>

#include "core/lock.h"

struct sim_client;
struct sim_lock;
struct sim_world;

void sim_user_start(struct sim_lock *lock);

/* SIM_EV_USER */
void sim_user_acts(struct sim_lock *lock);

/* Callbacks. */
void sim_user_acquired(struct sim_lock *lock, enum rl_result result);
void sim_user_extended(struct sim_lock *lock, enum rl_result result);
void sim_user_released(struct sim_lock *lock, enum rl_result result);
void sim_user_lost(struct sim_lock *lock, enum rl_result result);

/* The safety phase is over: everything is given up, and the probes begin. */
void sim_user_probe(struct sim_world *world);

#endif
