/* Stories: short scripts in a world without randomness, traced in full and compared with the files
 * in golden/. They show the protocol step by step; a change of the protocol shows up as a change of
 * a story. Each world has one lock for each client, nodes that are 1 ms away, and clocks without
 * error. */
#ifndef SIM_GOLDEN_H
#define SIM_GOLDEN_H

#include <stdint.h>

#include "sim/options.h"

enum sim_act {
    SIM_ACT_END,      /* of the script; the story ends here */
    SIM_ACT_ACQUIRE,  /* a: ttl_ms, b: pause between attempts in ms, 0 for one attempt */
    SIM_ACT_FENCED,   /* the same, with a fence */
    SIM_ACT_READ,     /* as SIM_ACT_ACQUIRE, to read */
    SIM_ACT_STORY_OF, /* a: number of permits of one semaphore; before all others */
    SIM_ACT_PERMITS,  /* as SIM_ACT_ACQUIRE, `node` permits */
    SIM_ACT_CHANGE,   /* a writer only reads from now on; a reader tries to write */
    SIM_ACT_EXTEND,   /* a: ttl_ms, 0 for that of the acquire */
    SIM_ACT_RELEASE,
    SIM_ACT_FAR,    /* the node is a ms further away for commands, b ms for replies */
    SIM_ACT_WALL,   /* the client's wall clock is a ms ahead */
    SIM_ACT_SERVER, /* the node is another kind from now on; a: enum server_native */
    SIM_ACT_FORBID, /* the node forbids native releases */
    SIM_ACT_FAULT   /* a: enum sim_fault, b: for how long, ms */
};

struct sim_line {
    uint32_t at_ms;
    uint8_t act;
    uint8_t client; /* from 1 */
    uint8_t node;   /* from 1 */
    uint32_t a, b;
};

#define SIM_LINES_MAX 24

struct sim_story {
    const char *name; /* of the file */
    const char *text; /* its subject */
    uint32_t nodes;
    enum rl_guard_mode guard; /* of all clients */
    struct sim_line lines[SIM_LINES_MAX];
};

extern const struct sim_story sim_stories[];
extern const uint32_t sim_story_count;

#endif
