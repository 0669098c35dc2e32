/* What a node answers to the commands on a line: numbers in decimal, one space between them, in one
 * bulk string. An integer would be too little, and the reply guard takes no arrays.
 *
 * Failure mode: what does not have exactly this form (a number that is missing, too large, begins
 * with a zero or ends in something else) is no answer of Redis.
 */
#ifndef RL_REDIS_LINE_REPLY_H
#define RL_REDIS_LINE_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/command.h"

#define RL_LINE_REPLY_SIZE 144 /* with the zero; RL_REPLY_TEXT_MAX */

/* All zero where the answer does not say. */
struct rl_line_answer {
    uint32_t rank;            /* JOIN that is a no: so many are before it; 0: it is the heir */
    uint32_t waiting;         /* TAKE that is a yes, RELEASE_LINE, WAITER: how many wait; READER:
                                  how many read; SLOT: how many permits there are, or how long the
                                  slot lives in ms, 0 for ever */
    uint64_t first_waited_ms; /* the same: for how long the first has; WAITER: this one; READER:
                                  how long its lease lasts; SLOT: how many are to be looked at, or
                                  the slot's counter */
    int64_t life_ms;  /* JOIN, TAKE, UPGRADE that are a no: of the key; -1: for ever; JOIN, 0: there
                         is none */
    uint8_t which;    /* TAKE that is a no: which resource refuses, from 1; 0: it was not said;
                         UPGRADE that is a no: enum rl_upgrade_no */
    bool served;      /* RELEASE_LINE: somebody was served */
    uint64_t time_us; /* ... the node's TIME when it ran; 0: it does not say */
    uint64_t secret;  /* ... and its secret; 0: it has none */
    struct rl_slots slots; /* JOIN that is a yes of a semaphore: those that are reserved */
};

/* One number and what is behind it: a space, or the end if it is the last. Returns where the next
 * begins, or NULL; also of NULL. */
const char *rl_line_number(const char *at, uint64_t max, bool is_last, uint64_t *out);

/* Numbers of slots, one space in front of each; at least one, none twice. */
bool rl_slots_parse(const char *text, struct rl_slots *out);

/* Whether the text is an answer to the command (JOIN, TAKE, RELEASE_LINE, WAITER, UPGRADE,
 * READER or SLOT). If so, *yes says which, and *counter is what TAKE's or UPGRADE's fence is, 0 for
 * none. *member: where in the text WAITER's member begins: a place, and if it has one a colon and a
 * holder; or READER's or SLOT's value; or what a stranger put there. */
bool rl_line_reply_parse(enum rl_command_kind kind, const char *text, bool *yes,
                         struct rl_line_answer *out, uint64_t *counter, const char **member);

#endif
