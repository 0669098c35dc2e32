/* Draws the screen of redlock top into a frame: the summary, the nodes, the locks, the keys. It
 * does not touch the terminal.
 *
 * What does not fit is left out: the columns fence and age first; and so many nodes that the locks
 * keep half of the screen. */
#ifndef RL_CLI_TOP_VIEW_H
#define RL_CLI_TOP_VIEW_H

#include "scan/scan.h"
#include "scan/sort.h"
#include "top/screen.h"

/* Figures that need two or more sweeps: the nodes' commands per second (without ours), the number
 * of hand-overs, and long-term latencies. Pure.
 *
 * Hand-overs are those that nodes have made, of locks and to readers: the calls of ZPOPMIN, by
 * which home takes the first client out of the line. It does not count those of semaphores, nor a
 * lock passed to a waiter that is no longer the first. It does count ZPOPMIN by other programs on
 * these nodes.
 *
 * Failure modes: a node restarted, or was not read: it has no rate until it has been read twice
 * more. */

#define RL_RATES_LATENCIES 256 /* the last ones of each node */

struct rl_rates {
    struct rl_rate {
        char run_id[RL_WIRE_TEXT_MAX]; /* of the server that this was: "" none */
        int64_t commands, turns, asked;
        uint64_t at_ns;
        double commands_per_s, turns_per_s; /* below 0: not known */
        double latencies_ms[RL_RATES_LATENCIES];
        size_t n_latencies; /* ever */
    } nodes[REDLOCK_NODES_MAX];
    double turns_per_s; /* of all; below 0: not known */
};

/* rates: zero at first. */
void rl_rates_add(struct rl_rates *rates, const struct rl_sweep *sweep, uint64_t now_ns);

struct rl_view {
    enum rl_list_order order;
    bool waiting; /* only locks that clients wait for */
    bool hides_nodes;
    size_t offset; /* the first lock on the screen, of those that are shown */
    size_t rows;   /* how many fit, by the last drawing */
    size_t locks;  /* how many there are */
};

/* sweep: sorted; NULL: there is none yet. It moves the offset into what there is. */
void rl_view_draw(struct rl_view *view, struct rl_frame *frame, const struct rl_sweep *sweep,
                  const struct rl_rates *rates);

#endif
