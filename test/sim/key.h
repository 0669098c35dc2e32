/* Names of keys on the nodes, and the checker's numbers for them.
 *
 * The object that is held is a resource, "r1" and so on, or a slot of the history's only semaphore,
 * whose key is like a lock's. In the latter case the checker's resources are the slots, from 0. */
#ifndef SIM_KEY_H
#define SIM_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "sim/options.h"

#define SIM_KEY_SIZE 40

/* The number of a resource, or of a slot; SIM_RESOURCES_MAX: it is none. */
uint32_t sim_key_number(const char *name, size_t length);

/* The same, for slots only. */
uint32_t sim_key_slot(const char *name, size_t length);

/* The name for this number in such a history; returns its length. */
size_t sim_key_name(const struct sim_options *options, uint32_t number, char name[SIM_KEY_SIZE]);

#endif
