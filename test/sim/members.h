/* Administrators that change the nodes while clients work (preset "members"), or the sets that they
 * form (preset "sets"): by the steps of cli/set/change.c, on the servers' keys and connections
 * themselves. Sets come and go, change their nodes and take nodes of others; resources move with
 * that.
 *
 * Happy path: the joint configuration is written to one node after the other, whose connections are
 * cut; when a quorum of the old nodes and one of the new ones have it, fences are carried over and
 * the longest ttl is waited out; then the new one is written.
 *
 * Failure modes: nodes are down or stopped while they should be written to; the administrator dies
 * at any step, and another one goes on, or abandons the change; the next change begins while some
 * nodes still have an earlier text. When the world is healed, what was begun is brought to its end.
 */
#ifndef SIM_MEMBERS_H
#define SIM_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/config.h"
#include "sim/random.h"

struct sim_world;
struct sim_event;

enum sim_change { SIM_STABLE, SIM_JOINT, SIM_WAITS, SIM_ENDS };

#define SIM_SETS_MAX 3

/* The sets of a configuration; one without a name, unless the preset is "sets". */
struct sim_sets {
    uint32_t n;
    rl_mask nodes[SIM_SETS_MAX]; /* masks */
    char names[SIM_SETS_MAX];    /* letters; '\0': none */
};

struct sim_members {
    struct sim_random random;
    struct rl_config_key key; /* of the text that is written now */
    enum sim_change change;
    uint64_t cut_ns;          /* when the last connections were cut */
    struct sim_sets old_sets; /* of a stable configuration both are its sets */
    struct sim_sets new_sets;
    bool goes_back; /* the change is abandoned */
};

void sim_members_start(struct sim_world *world);
/* SIM_EV_MEMBERS. Returns whether anything happened. */
bool sim_members_event(struct sim_world *world, const struct sim_event *event);
/* The world is healed. */
void sim_members_heal(struct sim_world *world);
/* Nodes with which a new process begins to look. */
uint32_t sim_members_begin(struct sim_world *world);

#endif
