/* Permits, as their holders were told of them, and as nodes give them out.
 *
 * A slot is a lock: what check.h says of a resource is looked at for each slot. So two who hold one
 * slot are an "overlap", a holder relies on a quorum of keys of each of his slots, and a slot's key
 * is to be released as a lock's. Beside that, violation "count":
 *   - who is granted permits is told of as many different slots as he takes, all below the number
 *     that his lock is of; and they stay the same for as long as he holds them;
 *   - all holders together have no more permits than the largest number that any of them is of.
 *     Where the number is lowered, those of the old one drain;
 *   - a command that says yes at a node leaves the number that it names there, and sets no slot at
 *     or above it; nor does one that serves the line reserve such a slot for anybody;
 *   - a release names all slots that its token has at the node ("orphan");
 *   - who is told that its turn has come has the slots reserved that are named, when the command is
 *     at its end.
 *
 * Places in the line of a semaphore: check_line.h. */
#ifndef SIM_CHECK_PERMITS_H
#define SIM_CHECK_PERMITS_H

#include <stddef.h>
#include <stdint.h>

struct sim_world;
struct sim_hold;
struct sim_ran;

#define SIM_TURNS_MAX 64

/* A turn that was told by the command that runs. */
struct sim_turn {
    uint64_t number; /* of the place */
    uint32_t client;
    uint32_t slots; /* as a mask */
};

struct sim_turns {
    struct sim_turn items[SIM_TURNS_MAX];
    uint32_t count;
};

/* A grant is told. */
void sim_check_permits_hold(struct sim_world *world, uint32_t client, const struct sim_hold *hold);

/* A node has run a command; NULL: none of a lock's. */
void sim_check_permits_ran(struct sim_world *world, uint32_t node, const struct sim_ran *ran);

/* A node has sent a message to a subscriber. */
void sim_check_permits_told(struct sim_world *world, const char *bytes, size_t length);

void sim_check_permits_step(struct sim_world *world);

#endif
