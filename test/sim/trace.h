/* The history: notes of a fixed size in a ring. They cost little until read, and are printed as
 * sentences when a check fails. */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SIM_TRACE_MAX 4096

struct sim_world;

enum sim_note_kind {
    SIM_NOTE_ACQUIRE, /* a: ttl_ms, b: 1 to read */
    SIM_NOTE_SEND,    /* a: command */
    SIM_NOTE_REPAIR,
    SIM_NOTE_RAN,  /* a: command, b: verdict, c: ttl_ms */
    SIM_NOTE_VOTE, /* a: whether it is late, b: status, negated */
    SIM_NOTE_DONE, /* a: operation, b: status, negated */
    SIM_NOTE_LOST, /* b: status, negated */
    SIM_NOTE_OWED,
    SIM_NOTE_REPAID,
    SIM_NOTE_DROPPED,
    SIM_NOTE_EXTEND, /* a: ttl_ms */
    SIM_NOTE_DOWNGRADE,
    SIM_NOTE_UPGRADE,
    SIM_NOTE_RELEASE,
    SIM_NOTE_RESIZE, /* permits: the new number */
    SIM_NOTE_CANCEL,
    SIM_NOTE_ABANDON,
    SIM_NOTE_UP,
    SIM_NOTE_DOWN,
    SIM_NOTE_QUARANTINE,
    SIM_NOTE_VOTES_AGAIN,
    SIM_NOTE_EXPIRED, /* a key, by the node's clock */
    SIM_NOTE_FAULT,   /* a: kind, b: direction, c: for how long, ms */
    SIM_NOTE_NODE_ON, /* a node resumes or is started */
    SIM_NOTE_HEAL,
    SIM_NOTE_KINDS
};

#define SIM_NOBODY 0xff

struct sim_note {
    uint64_t at_ns;
    uint64_t fence; /* 0: none */
    uint32_t token;
    uint32_t a, b, c;
    uint8_t kind;
    uint8_t client, lock, node; /* SIM_NOBODY if of none */
    uint8_t resource;           /* as a mask */
    uint8_t take;               /* permits that it is of: then the mask is of slots; 0: of none */
    uint8_t permits;            /* of this many; 0: irrelevant */
};

struct sim_trace {
    struct sim_note ring[SIM_TRACE_MAX];
    uint64_t count;
    uint64_t hash; /* of all notes: two runs of one seed have the same */
};

void sim_trace(struct sim_world *world, struct sim_note note);

/* The last notes, oldest first. */
void sim_trace_print(const struct sim_world *world, uint32_t last, FILE *out);

#endif
