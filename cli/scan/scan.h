/* Reads all nodes, and derives the list of locks from their keys. For redlock ls, top and metrics,
 * which print it.
 *
 *     rl_scan_open() -> rl_scan_sweep(), again and again -> rl_sweep_free() -> rl_scan_close()
 *
 * Happy path: every node is read at the same time, in a thread of its own, and then those that the
 * configurations of these name (wire/wires.h); then the list is made.
 * The result of a sweep lives until the next sweep into the same struct, or rl_sweep_free(): to
 * show one while the next is made, use two structs.
 *
 * Failure modes: those of rl_wires_open(), which end it. A node that is down or slow is part of the
 * result: sweep->nodes[i].why. Each slice of answers may take four times --node-timeout, at least a
 * second, as in doctor.
 *
 * All keys of a node are read, and none is changed: each step of SCAN names some, whose values are
 * then requested in one go, as many as fit into a socket. Each step looks at 1000 keys on the node,
 * and only the beginning of a key is read (106 bytes of a value, the first of a line, some
 * readers): so the node is busy for a millisecond at a time, whatever it stores.
 *
 * Failure modes of one node: no connection, or SCAN is forbidden: node->why says so. More keys than
 * the limit: the keys read so far are there, and node->is_cut is set. A key that this user may not
 * read is counted, and left out. SCAN may name a key twice, or one that ends meanwhile: such keys
 * are dropped.
 *
 * The keys of a node are no consistent snapshot, nor are the value and ttl of one key: a lock that
 * changes hands meanwhile may appear with one holder's name and the other's ttl.
 *
 * Whether a node votes is the verdict of a client's guard that has seen the node as often as this
 * program has (core/guard.h): at the first look the uptime counts, with --guard strict. If TIME is
 * forbidden the clock is unknown; if INFO is forbidden the rest is. */
#ifndef RL_CLI_SCAN_SCAN_H
#define RL_CLI_SCAN_SCAN_H

#include "args.h"
#include "scan/list.h"
#include "scan/seen.h"
#include "wire/wires.h"

/* The nodes, connected or not. */
struct rl_scan {
    struct rl_wires wires;
    struct rl_guard guards[REDLOCK_NODES_MAX];
    int samples; /* of a node's clock */
    bool stays;  /* still connected, for another look */
};

struct rl_sweep {
    struct rl_seen_node *nodes;
    size_t n;
    const struct rl_members *members; /* until the next sweep of this scan */
    bool are_divided;                 /* they belong to different sets of sets */
    struct rl_list list;              /* by name */
    size_t up, whole;                 /* nodes that answer, whose keys were all read */
    double took_ms;
};

/* --prefix and --max-keys limit what is read. Returns 0, or says why not and returns the exit
 * status. */
int rl_scan_open(struct rl_scan *scan, const struct rl_args *args, int samples, bool stays);
/* sweep: zero, or an earlier one of the same scan. */
void rl_scan_sweep(struct rl_scan *scan, struct rl_sweep *sweep);
void rl_sweep_free(struct rl_sweep *sweep);
void rl_scan_close(struct rl_scan *scan); /* also after an rl_scan_open() that failed */

/* One sweep and show(sweep, data), whose exit status it returns. */
int rl_scan_once(const struct rl_args *args, int samples,
                 int (*show)(struct rl_sweep *sweep, void *data), void *data);

/* Whether a majority of each set was read: without it no lock can be shown as held. If not, says
 * where not, and what they are needed for. */
bool rl_sweep_has_quorum(const struct rl_sweep *sweep, const char *purpose);

#endif
