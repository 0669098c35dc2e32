/* What lib/mode keeps in a client and in its locks. No functions. */
#ifndef RL_MODE_DATA_H
#define RL_MODE_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/command.h"

/* The mode in which a lock is held, see mode.h. Masks have a bit for each seat (nodes/seats.h). */
struct rl_holding {
    uint32_t unsure;     /* may run a conversion late, which is not answered yet */
    uint32_t stray;      /* the same, and no answer will come: for as long as the hold lasts */
    uint8_t mode;        /* enum rl_mode: the current mode of the attempt or hold */
    bool was_shared : 1; /* must be released as a reader's */
    bool converts : 1;   /* a reader whose nodes may still have the writer's key */
    bool is_upgrading : 1;
    bool is_adopted : 1;    /* earlier commands for its token are unknown here */
    bool meets_upgrade : 1; /* another reader is upgrading */
};

/* The slots of a lock, and its questions to home, see permit.h. */
struct rl_permit {
    struct rl_slots slots; /* of the current token, or the last one */
    struct rl_slots next;  /* from home's answer to the peek; n 0: no answer yet, or used */
    struct rl_slots turn;  /* from a turn in line; n 0: none, or used */
    struct rl_slots told;  /* of the last reported grant */
    uint64_t place;        /* of the peek, or of the attempt that follows it */
    uint64_t turn_place;   /* the place whose turn it was */
    rl_mask differ;        /* nodes whose last report has another number of permits, a mask */
    uint16_t from;         /* the first slot to look at for a free one; RL_NO_SLOT: any */
    uint16_t kept;         /* that number; 0: unknown */
    uint8_t home;          /* the node that was asked */
    bool asks;             /* it waits for home's answer */
    bool is_blind;         /* home does not answer, so the next attempt takes random slots */
    bool found_none;       /* the last attempt found no free slot */
    bool is_named;         /* `slots` belong to a token to adopt or to release */
};

#endif
