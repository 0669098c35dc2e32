/* Permits, as reported to their holders, and as given out by nodes.
 *
 * A slot is a lock: the checks of check.h for a resource apply to each slot. So two holders of one
 * slot are an "overlap", a holder relies on a quorum of keys of each of its slots, and a slot's key
 * must be released like a lock's. In addition, violation "count":
 *   - a grant of permits names as many different slots as the holder takes, all below its lock's
 *     number of permits; and they stay the same during the hold;
 *   - all holders together have no more permits than the largest number that any of their locks
 *     has. When the number is lowered, permits of the old number drain;
 *   - a successful command leaves its own number of permits at the node, and sets no slot at or
 *     above it; a command that serves the line does not reserve such a slot, either;
 *   - a release names all slots that its token has at the node ("orphan");
 *   - when a command notifies a client of its turn, the named slots are reserved for it at the end
 *     of the command.
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

/* A turn that the running command has announced. */
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
