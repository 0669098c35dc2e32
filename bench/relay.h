/* Distance: connections to the nodes that take time.
 *
 * Happy path: open a relay for the nodes that were started here, and give the client its URLs. Data
 * on a connection is delayed by the distance of its node: 0 to max_ms, the same in both directions
 * and for all connections to that node, drawn from the number of the client, so that each client
 * has its own near and far nodes, as in a real network, and the same in every run. Two clients that
 * ask at the same time reach the nodes in different orders.
 *
 * Does it distort? `late` has how much later than due bytes were passed on: some ten microseconds,
 * as long as a processor is free.
 *
 * Do all clients know a node by the same name? Not by its URL: each client has ports of its own.
 * With a guard they know it by its run_id, and agree on which one is the home of a lock; so contend
 * uses a guard when there is a distance. Without it each client waits in another line.
 *
 * Failure modes: a listener that cannot be opened is reported with the system's text. If either end
 * of a connection fails, both are closed, and the library makes a new one. Without memory the
 * process ends: this is a bench.
 *
 * Used by redlock-bench --distance-ms. Without it, on one machine, a client's commands reach all
 * nodes within some microseconds, and clients hardly ever split the votes. The relay runs on the
 * loop of its client: its work is part of the client's CPU time. */
#ifndef RL_BENCH_RELAY_H
#define RL_BENCH_RELAY_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "histogram.h"
#include "tool/local_nodes.h"

struct rl_bench_relay;

/* client: its number. late: outlives the relay. 0, or -1 with a sentence in error; it is to be
 * closed and freed in any case. */
int rl_bench_relay_open(struct rl_bench_relay **relay, uv_loop_t *loop,
                        const struct rl_local_nodes *nodes, uint64_t max_ms, uint64_t client,
                        struct rl_bench_hist *late, char *error, size_t error_size);

/* One for each node, valid until the relay is freed. */
const char *const *rl_bench_relay_urls(const struct rl_bench_relay *relay);

/* Closes what is open: the loop must run until it has no handle left, then the relay is freed.
 * NULL is ignored. */
void rl_bench_relay_close(struct rl_bench_relay *relay);
void rl_bench_relay_free(struct rl_bench_relay *relay);

#endif /* RL_BENCH_RELAY_H */
