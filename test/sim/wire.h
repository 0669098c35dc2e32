/* The meaning of a command that a server ran, for a lock: which of ours it is, its token or its
 * place in a line, and the server's answer. */
#ifndef SIM_WIRE_H
#define SIM_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "server/server.h"

enum sim_command {
    SIM_SET, /* SET, and a TAKE without a turn */
    SIM_RAISE,
    SIM_EXTEND,
    SIM_RELEASE,
    SIM_TAKE,  /* a SET by the client that has the turn */
    SIM_SHARE, /* of readers: a SET, and a TAKE */
    SIM_UPGRADE,
    SIM_JOIN,   /* of a place */
    SIM_LEAVE,  /* the same */
    SIM_PEEK,   /* the same, for permits: it does not stay in line */
    SIM_RESIZE, /* how many permits there are */
    SIM_COMMANDS
};

#define SIM_PLACE_LENGTH 40 /* a token's */

enum sim_verdict { SIM_YES, SIM_NO, SIM_ERROR };

struct sim_ran {
    const char *token; /* 40 hex digits; NULL: it is of a place alone */
    const char *place; /* the token of a waiter that has not asked with it; NULL: of none */
    uint64_t fence;    /* of a SET the counter that was answered; of a raise what it raises to */
    uint32_t ttl_ms;
    uint8_t command;
    uint8_t verdict;
    uint8_t native;   /* of a release: enum server_native */
    uint8_t resource; /* of a place, or slots that were asked for or given: as a mask */
    uint8_t take;     /* permits that it is of; 0: it is of no semaphore */
    uint16_t permits; /* the number of permits according to the command; 0: it has none */
    bool others_wait; /* of a TAKE of one key: so it was answered */
    uint8_t serves;   /* resources, or slots, that it hands on to who waits: as a mask */
    bool is_plain;    /* of a JOIN and a LEAVE: neither "quiet", "peek" nor "line" */
    bool reads;       /* it is a reader's */
};

/* A command may be of several locks; nth counts them from 0. False: there are no more of them, or
 * it is none of a lock's commands. */
bool sim_wire_read(const struct server_ran *ran, uint32_t nth, struct sim_ran *out);

/* Whether it extends several locks. */
bool sim_wire_is_many(const struct server_ran *ran);

#endif
