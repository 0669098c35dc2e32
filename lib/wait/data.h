/* What lib/wait keeps in a client and in its locks. No functions. */
#ifndef RL_WAIT_DATA_H
#define RL_WAIT_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "core/waitlist.h"
#include "nodes/data.h"
#include "redlock/redlock.h"

/* How far a lock's wait has come. The order matters: from QUEUED on, the lock waits among all
 * clients (line.h). The loop's turn steps it in every stage but NONE and QUEUED. */
enum rl_stage {
    RL_STAGE_NONE,   /* not waiting, or waiting behind another lock of this client */
    RL_STAGE_FIRST,  /* its turn among this client's locks has come (waiting.h) */
    RL_STAGE_PAUSES, /* like FIRST, but it must yield to other clients */
    RL_STAGE_QUEUED, /* in line, asking in its turn, or waiting for home's answer to a release */
    RL_STAGE_TURN,   /* its turn among all clients has come */
    RL_STAGE_PLAIN,  /* asks without a turn: no other client is known to wait */
    RL_STAGE_ALONE   /* no line can be used: tries again after a pause */
};

/* What lib/wait keeps in a lock. */
struct rl_waiting {
    uint32_t refused_life_ms; /* the shortest life of the keys that refused; 0: unknown */
    /* the lease of the keys that were passed with its turn; 0: no keys were, so it asks for
     * votes */
    uint32_t lease_ms;
    uint8_t stage;      /* enum rl_stage */
    uint8_t line;       /* index of the resource in whose line it waits */
    uint8_t refused_by; /* index of the resource that was held */
    /* it asks by TAKE, since another of our locks has the turn in the shared line */
    bool takes : 1;
    bool shuts : 1;           /* its turn among all clients came while writers wait */
    bool refused_at_home : 1; /* home has refused the attempt's token */
    bool hears_next : 1;      /* the client hears who comes next: its resource is in `passed` */
    /* it listened before its attempt began, and no client has wanted the lock since */
    bool is_unwanted : 1;
    bool noted_intent : 1; /* it was refused, and has marked its intent */
};

/* A place that was given up, to which a key may still be passed. Masks have a bit for each node. */
struct rl_left {
    redlock_lock *lock; /* a reference, since the user may free it at once; NULL: none */
    uint64_t place;
    rl_mask gone;   /* nodes without its key when it was given up, or that get no release */
    rl_mask passed; /* nodes that have reported passing it a key */
};

#define RL_LINES_LEFT 16

/* The lines that a client waits in. */
struct rl_lines {
    struct rl_list waiting; /* struct rl_wait, by `waits` */
    struct rl_list passed;  /* struct rl_wait, by `passed`: the holder hears who comes next */
    struct rl_line_request *free;
    struct rl_line_request *pending; /* LEAVEs that were not delivered */
    uint32_t pending_count;
    uint64_t number;            /* of the next place: 56 bits */
    rl_mask refused;            /* nodes that do not let the client listen, as a mask */
    uint32_t outstanding;       /* unanswered JOINs and LEAVEs */
    char tail[RL_TAIL_LEN + 1]; /* of the tokens of its places */
    struct rl_left left[RL_LINES_LEFT];
    uint32_t left_next;
    uint32_t listening[REDLOCK_NODES_MAX]; /* per node: resources it is listened to for */
    bool refuses; /* a place of `left` was passed a key that is not released yet */
};

#endif
