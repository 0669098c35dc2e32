/* The inside of replay_steps.h's machine: replay_steps.c has the rules of exclusion.py,
 * replay_modes.c those that modes.py adds. */
#ifndef MODEL_REPLAY_MACHINE_H
#define MODEL_REPLAY_MACHINE_H

#include "model/replay_steps.h"

#define STEPS_LEASES_MAX 64 /* of one resource at a node: more are refused */

enum step {
    SEND,
    SET,
    TAKE,
    EXTEND,
    SET_UNCOUNTED,
    TAKE_UNCOUNTED,
    RELEASE,
    LINE,
    PASS,
    EXPIRE,
    RESTART,
    COUNT,
    TELL,
    GIVE_UP,
    DOUBTS, /* yeses that may conflict with a forgotten round on which a client may still rely */
    VOTE,
    RAISE,
    SHARE,
    UPGRADE,
    LEASE_ENDS,
    LOWER,
    STEP_KINDS
};

#define ATTEMPTED 1 /* it belongs to an attempt */
#define GONE 2      /* its owner has given it up */
#define PASSED 4    /* a key was passed to it */

struct list {
    uint32_t *items;
    uint32_t count, room;
};

struct lease {
    uint32_t token;
    uint64_t ends_ms;
};

struct key {
    struct steps_value is;
    struct lease leases[STEPS_LEASES_MAX]; /* beside STEPS_SHARED */
    uint32_t lease_count;
    struct list lasts; /* rounds that it outlasts */
    bool is_passed;    /* its token was written by a pass */
};

/* The exact value of each node's counter while it had the token, as last reported: by an answer,
 * and by a message. */
struct placed {
    uint64_t at[SIM_NODES_MAX], passed[SIM_NODES_MAX];
};

struct doubt {
    uint32_t node, round, forgotten;
};

struct steps {
    struct key keys[SIM_NODES_MAX][SIM_RESOURCES_MAX];
    struct list agreed[SIM_NODES_MAX]; /* rounds */
    struct list told;
    struct steps_round *rounds;
    uint32_t round_count, round_room;
    struct doubt *doubts;
    uint32_t doubt_count, doubt_room;
    uint8_t *tokens; /* indexed by number, as the next two */
    uint32_t token_room;
    struct placed *placed; /* by token */
    uint32_t placed_room;
    uint32_t nodes;
    steps_over *is_over;
    void *owner;
    uint64_t taken[STEP_KINDS];
    char refused[256];
};

void steps_add(struct list *list, uint32_t item);
bool steps_is_gone(const struct steps *steps, uint32_t token);

/* Whether a client may rely on the node's yes to the round, or may yet count it. */
bool steps_is_live(const struct steps *steps, uint32_t node, uint32_t round, uint64_t true_ns);
bool steps_is_vacant(uint32_t value);
bool steps_writes(const struct steps_round *round);

/* A yes that a client may count. */
void steps_agree(struct steps *steps, uint32_t node, uint32_t round, uint64_t true_ns);
void steps_becomes(struct key *key, struct steps_value now);

/* All leases expire. */
void steps_leases_end(struct steps *steps, uint32_t node, uint32_t resource, uint64_t true_ns);

#endif
