/* Looks at all nodes: what each of them has, and the locks that follow from that. For redlock ls,
 * top and metrics, which print it.
 *
 *     rl_scan_open() -> rl_scan_sweep(), again and again -> rl_sweep_free() -> rl_scan_close()
 *
 * Happy path: every node is read at the same time, in a thread of its own; then the list is made.
 * What a sweep has found lives until the next one into the same struct, or rl_sweep_free(): who
 * shows one while the next is made has two of them.
 *
 * Failure modes: those of rl_wires_open(), which end it. A node that is down or slow is one of the
 * facts: sweep->nodes[i].why. Each slice of answers may take four times --node-timeout, at least a
 * second, as in doctor.
 *
 * Of a node all keys are read, and none is changed: a step of SCAN names some, and what they have
 * is asked for in one go, as much as fits into a socket; until all have been named. Each step looks
 * at 1000 keys on the node, and of a key only the beginning is read (106 bytes of a value, the
 * first of a line, some readers): so the node is busy for a millisecond at a time, whatever it
 * stores.
 *
 * Failure modes of one node: no connection, or SCAN is forbidden: node->why says so. More keys than
 * the limit: what was read is there, and node->is_cut. A key that this user may not read is
 * counted, and left out. One that ends meanwhile, or is named twice, is so by SCAN's contract: it
 * is dropped.
 *
 * What a node has is not of one moment, and value and life of one key need not be either: a lock
 * that changes hands meanwhile may be seen with one holder's name and the other's time.
 *
 * Whether a node votes is what the guard of a client says that has seen it as often as this program
 * has (core/guard.h): at the first look it is the uptime that counts, with --guard strict. Where
 * TIME or INFO is forbidden the clock, or the rest, is not known. */
#ifndef RL_CLI_SCAN_SCAN_H
#define RL_CLI_SCAN_SCAN_H

#include "args.h"
#include "scan/list.h"
#include "scan/seen.h"

/* The nodes, connected or not. */
struct rl_scan {
    struct rl_wire *wires;
    struct rl_guard guards[REDLOCK_NODES_MAX];
    size_t n;
    int samples; /* of a node's clock */
    bool stays;  /* connected, for another look */
};

struct rl_sweep {
    struct rl_seen_node *nodes;
    size_t n;
    struct rl_list list; /* by name */
    size_t up, whole;    /* nodes that answer, whose keys were all read */
    double took_ms;
};

/* What is read goes by --prefix and --max-keys. Returns 0, or says why not and returns the exit
 * status. */
int rl_scan_open(struct rl_scan *scan, const struct rl_args *args, int samples, bool stays);
/* sweep: zero, or an earlier one of the same scan. */
void rl_scan_sweep(struct rl_scan *scan, struct rl_sweep *sweep);
void rl_sweep_free(struct rl_sweep *sweep);
void rl_scan_close(struct rl_scan *scan); /* also after an rl_scan_open() that failed */

/* One sweep and show(sweep, data), whose exit status it returns. */
int rl_scan_once(const struct rl_args *args, int samples,
                 int (*show)(struct rl_sweep *sweep, void *data), void *data);

/* Whether a quorum of nodes was read: without, no lock can be seen to be held. */
bool rl_sweep_has_quorum(const struct rl_sweep *sweep);

#endif
