/* What lib/mode keeps in a client and in its locks. No functions. */
#ifndef RL_MODE_DATA_H
#define RL_MODE_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/command.h"

/* The mode in which a lock is held, see mode.h. Masks have a bit for each seat (nodes/seats.h). */
struct rl_holding {
    uint32_t unsure;     /* may run a conversion late: it is not answered yet */
    uint32_t stray;      /* the same, and no answer will come: for as long as the hold lasts */
    uint8_t mode;        /* enum rl_mode, of the attempt, or the hold, now */
    bool was_shared : 1; /* it must be released as a reader's */
    bool converts : 1;   /* a reader whose nodes may still have the writer's key */
    bool is_upgrading : 1;
    bool is_adopted : 1;    /* earlier commands for its token are not known here */
    bool meets_upgrade : 1; /* another reader is upgrading */
};

/* What home was asked, and has answered, see permit.h. */
struct rl_permit {
    struct rl_slots slots; /* of the present token, or the last */
    struct rl_slots next;  /* from home's answer to the peek; n 0: none yet, or used */
    struct rl_slots turn;  /* the same from a turn in line */
    struct rl_slots told;  /* of the last grant that was reported */
    uint64_t place;        /* of the peek, or the attempt behind it */
    uint64_t turn_place;   /* whose turn it was */
    rl_mask differ;  /* nodes that keep another number of permits, as each reported last: a mask */
    uint16_t from;   /* from which slot on to look for free ones; RL_NO_SLOT: any */
    uint16_t kept;   /* that number; 0: none is known */
    uint8_t home;    /* that was asked */
    bool asks;       /* home, and its answer is waited for */
    bool is_blind;   /* home does not answer: the next attempt takes random slots */
    bool found_none; /* the last attempt: nothing was free */
    bool is_named;   /* `slots` are of a token that is to be adopted or released */
};

#endif
