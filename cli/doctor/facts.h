/* What doctor knows of a node. */
#ifndef RL_CLI_DOCTOR_FACTS_H
#define RL_CLI_DOCTOR_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/config.h"
#include "wire/wire.h"

#define RL_FACT_MAX RL_WIRE_TEXT_MAX

/* Our commands, as doctor tries them on a key of its own. */
enum rl_trial {
    RL_TRIAL_SET,
    RL_TRIAL_EXTEND,
    RL_TRIAL_RELEASE,
    RL_TRIAL_DELIFEQ, /* in place of that script, where the server has one of the two */
    RL_TRIAL_DELEX,
    RL_TRIAL_FLUSH, /* hearing that all keys were deleted */
    RL_TRIAL_FENCE,
    RL_TRIAL_LINE,       /* the scripts of a line */
    RL_TRIAL_READERS,    /* the scripts of readers */
    RL_TRIAL_PERMITS,    /* the scripts of semaphores */
    RL_TRIAL_NUMSUB,     /* which clients of the line are still there */
    RL_TRIAL_TURN,       /* PUBLISH to a client that waits */
    RL_TRIAL_TURN_HEARD, /* SUBSCRIBE, as one that waits does */
    RL_TRIAL_PUBLISH,    /* releases that are announced */
    RL_TRIAL_SUBSCRIBE,
    RL_TRIALS
};

struct rl_facts {
    struct rl_wire *wire; /* the node; why it cannot be asked, if not */

    bool is_reachable; /* connected, authenticated, database selected, it answers */
    bool wants_tls;
    char other[RL_FACT_MAX]; /* what is there instead of Redis; "": it is Redis, or says nothing */

    char no_info[RL_FACT_MAX]; /* why INFO is missing; "": it is there */

    struct rl_wire_info info;

    bool has_config; /* CONFIG GET is allowed */
    char appendfsync[RL_FACT_MAX];
    char save[RL_FACT_MAX];

    struct rl_config set;     /* epoch 0: it has no configuration, or one with a problem */
    char no_set[RL_FACT_MAX]; /* why that is not known; "": it is */

    struct rl_wire_clock clock;

    char trials[RL_TRIALS][RL_FACT_MAX]; /* "": it works; else what the node said */
};

#endif
