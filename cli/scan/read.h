/* Reads all keys of one node, and changes none of them.
 *
 * Happy path: a step of SCAN names some, and what they have is asked for in one go, as much as fits
 * into a socket; until all have been named. Each step looks at RL_READ_COUNT keys on the node, and
 * of a key only the beginning is read (106 bytes of a value, the first of a line, some readers): so
 * the node is busy for a millisecond at a time, whatever it stores.
 *
 * Failure modes: no connection, or SCAN is forbidden: node->why says so. More keys than the limit:
 * what was read is there, and node->is_cut. A key that this user may not read is counted, and left
 * out. One that ends meanwhile, or is named twice, is so by SCAN's contract: it is dropped.
 *
 * What a node has is not of one moment, and value and life of one key need not be either: a lock
 * that changes hands meanwhile may be seen with one holder's name and the other's time. */
#ifndef RL_CLI_SCAN_READ_H
#define RL_CLI_SCAN_READ_H

#include "scan/seen.h"

#define RL_READ_COUNT 1000

struct rl_read_options {
    const char *prefix; /* of the resources' names; "": all */
    uint64_t keys_max;  /* that are looked at on each node */
    int samples;        /* of its clock */
    bool stays;         /* connected, for another look */
};

/* Forgets what was read before. */
void rl_read_node(struct rl_seen_node *node, const struct rl_read_options *options);

#endif
