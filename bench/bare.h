/* The bare fan-out: the commands of a lock cycle over hiredis, without any lock logic.
 *
 * Happy path: one hiredis connection per node by the libuv adapter that hiredis ships, the release
 * script loaded on each. K workers each repeat: a fresh token, SET key token NX PX ttl to all N
 * nodes, wait for all N answers, EVALSHA compare-and-delete to all N, wait for all N.
 *
 * It is a fair baseline, as a competent engineer without a need for quorums would write it:
 * pipelined, no allocations except hiredis's, a cheap generator for tokens, no deadlines, no
 * retries, no check of validity. It sends the commands in hiredis's fastest way: formatted once per
 * fan-out and given to redisAsyncFormattedCommand for each node. redisAsyncCommandArgv for each
 * node, the more usual way, took half as much CPU time again, and redisAsyncCommand, which parses a
 * format string each time, three times as much; they would flatter us. is_argv selects the second
 * way, for comparison.
 *
 * Failure modes: it needs all nodes; an unreachable or lost node, or an answer other than OK, 1 or
 * 0, fails the slice with a sentence in message.
 *
 * Used by redlock-bench --baseline. */
#ifndef RL_BENCH_BARE_H
#define RL_BENCH_BARE_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "slice.h"

struct rl_bench_bare;

struct rl_bench_bare_options {
    const char *const *nodes; /* URLs */
    size_t n_nodes;
    size_t in_flight;
    int64_t ttl_ms;
    const char *key_prefix;
    bool is_argv;
};

/* Connects and loads the script; runs the loop for it. 0, or -1 with a sentence in error; *bare is
 * to be closed in both cases. */
int rl_bench_bare_open(struct rl_bench_bare **bare, struct rl_bench_run *run,
                       const struct rl_bench_bare_options *options, char *error, size_t error_size);

/* Measures one slice. 0, or -1: see rl_bench_bare_message(). */
int rl_bench_bare_slice(struct rl_bench_bare *bare, struct rl_bench_slice *slice, int64_t slice_ms);

const char *rl_bench_bare_message(const struct rl_bench_bare *bare);

/* Disconnects, and frees bare once the loop has run. NULL is ignored. */
void rl_bench_bare_close(struct rl_bench_bare *bare);

#endif /* RL_BENCH_BARE_H */
