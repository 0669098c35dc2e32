/* Distance: connections to the nodes that take time, each its own.
 *
 * Happy path: open a relay for the nodes that were started here, and give the clients its URLs.
 * Each connection is passed on to its node, and whatever it carries arrives later by a delay that
 * the connection has drawn when it was made: 0 to max_ms, the same in both directions. So every
 * client has its own near and far nodes, as in a real network, and two that ask at the same time
 * come to the nodes in different orders.
 *
 * Failure modes: a listener that cannot be opened is told by the sentence of the system. A
 * connection of which either end fails is closed on both sides, and the library makes a new one.
 * Without memory the process ends: this is a bench.
 *
 * What it is for: redlock-bench --distance-ms. On one machine without it, a client's commands reach
 * all nodes within some microseconds, and clients hardly ever split the votes. The relay runs on
 * the loop of the bench: its work is part of the client's CPU time, and its timers count whole
 * milliseconds. */
#ifndef RL_BENCH_RELAY_H
#define RL_BENCH_RELAY_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "local_nodes.h"

struct rl_bench_relay;

/* 0, or -1 with a sentence in error; it is to be closed and freed in any case. */
int rl_bench_relay_open(struct rl_bench_relay **relay, uv_loop_t *loop,
                        const struct rl_local_nodes *nodes, uint64_t max_ms, char *error,
                        size_t error_size);

/* One for each node, valid until the relay is freed. */
const char *const *rl_bench_relay_urls(const struct rl_bench_relay *relay);

/* Closes what is open: the loop must run until it has no handle left, then the relay is freed.
 * NULL is ignored. */
void rl_bench_relay_close(struct rl_bench_relay *relay);
void rl_bench_relay_free(struct rl_bench_relay *relay);

#endif /* RL_BENCH_RELAY_H */
