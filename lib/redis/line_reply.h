/* The answers to commands on a line: decimal numbers, one space between them, in one bulk string.
 * One integer would not suffice, and the reply guard accepts no arrays.
 *
 * Failure mode: a reply of any other form (a number that is missing, too large, begins with a zero
 * or ends in something else) is a protocol error.
 */
#ifndef RL_REDIS_LINE_REPLY_H
#define RL_REDIS_LINE_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/command.h"

#define RL_LINE_REPLY_SIZE 144 /* with the zero; RL_REPLY_TEXT_MAX */

/* All zero where the answer has no value. */
struct rl_line_answer {
    uint32_t rank;            /* JOIN that is a no: how many are ahead; 0: it is the heir */
    uint32_t waiting;         /* TAKE that is a yes, RELEASE_LINE, WAITER: how many wait; READER:
                                  how many read; SLOT: how many permits there are, or how long the
                                  slot lives in ms, 0 for ever */
    uint64_t first_waited_ms; /* the same: how long the first has waited; WAITER: this one; READER:
                                  how long its lease lasts; SLOT: how many slots to look at, or
                                  the slot's counter */
    int64_t life_ms;  /* JOIN, TAKE, UPGRADE that are a no: of the key; -1: for ever; JOIN, 0: there
                         is none */
    uint8_t which;    /* TAKE that is a no: which resource refuses, from 1; 0: not known;
                              UPGRADE that is a no: enum rl_upgrade_no */
    bool served;      /* RELEASE_LINE: a waiter was served */
    uint64_t time_us; /* ... the node's TIME when it ran; 0: not known */
    uint64_t secret;  /* ... and its secret; 0: it has none */
    struct rl_slots slots; /* JOIN that is a yes, for a semaphore: the reserved slots */
};

/* Parses one number and what follows: a space, or the end if it is the last. Returns where the next
 * begins, or NULL; NULL for NULL. */
const char *rl_line_number(const char *at, uint64_t max, bool is_last, uint64_t *out);

/* Parses numbers of slots, one space before each; at least one, none twice. */
bool rl_slots_parse(const char *text, struct rl_slots *out);

/* Whether the text is an answer to the command (JOIN, TAKE, RELEASE_LINE, WAITER, UPGRADE,
 * READER or SLOT). If so, *yes says which, and *counter is TAKE's or UPGRADE's fence, 0 for none.
 * *member: where in the text WAITER's member begins: a place, perhaps with a colon and a holder; or
 * READER's or SLOT's value; or something that an unrelated process put there. */
bool rl_line_reply_parse(enum rl_command_kind kind, const char *text, bool *yes,
                         struct rl_line_answer *out, uint64_t *counter, const char **member);

#endif
