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
 * facts: sweep->nodes[i].why. Each slice of answers may take four
 * times --node-timeout, at least a second, as in doctor. */
#ifndef RL_CLI_SCAN_SCAN_H
#define RL_CLI_SCAN_SCAN_H

#include "args.h"
#include "scan/list.h"
#include "scan/read.h"
#include "scan/seen.h"

/* The nodes, connected or not. */
struct rl_scan {
    struct rl_wire *wires;
    struct rl_guard guards[REDLOCK_NODES_MAX];
    size_t n;
    struct rl_read_options options;
};

struct rl_sweep {
    struct rl_seen_node *nodes;
    size_t n;
    struct rl_list list; /* by name */
    size_t up, whole;    /* nodes that answer, whose keys were all read */
    double took_ms;
};

/* Returns 0, or says why not and returns the exit status. */
int rl_scan_open(struct rl_scan *scan, const struct rl_args *args,
                 const struct rl_read_options *options);
/* sweep: zero, or an earlier one of the same scan. */
void rl_scan_sweep(struct rl_scan *scan, struct rl_sweep *sweep);
void rl_sweep_free(struct rl_sweep *sweep);
void rl_scan_close(struct rl_scan *scan); /* also after an rl_scan_open() that failed */

/* Whether a quorum of nodes was read: without, no lock can be seen to be held. */
bool rl_sweep_has_quorum(const struct rl_sweep *sweep);

#endif
