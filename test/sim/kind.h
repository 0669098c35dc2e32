/* The kinds of the nodes' servers: some release a key only by a script, some have DELIFEQ, some
 * DELEX (lib/redis/native.h). A history has one kind or all three; a restarted node may be of
 * another kind, as in a rolling upgrade or a downgrade; and an operator may forbid the command
 * while clients use it. */
#ifndef SIM_KIND_H
#define SIM_KIND_H

#include <stdint.h>

#include "server/server.h"

struct sim_options;
struct sim_world;

/* By the seed. */
void sim_kind_derive(struct sim_options *options);
void sim_kind_print(const struct sim_options *options);

void sim_kind_init(struct sim_world *world, uint32_t node);

/* A process starts: it may randomly be another kind, and forbidden commands are allowed again. */
void sim_kind_restart(struct sim_world *world, uint32_t node);

/* Randomly: from now on the command is forbidden to all. */
void sim_kind_may_forbid(struct sim_world *world, uint32_t node);

#endif
