/* A hiredis connection from a node's URL, for the bare fan-out.
 *
 * Happy path: rl_bench_bare_connect() parses redis://[[user]:password@]host[:port][/db] or
 * unix:///path, connects, attaches the shipped libuv adapter and queues AUTH and SELECT.
 *
 * Failure modes: a URL with percent-encoding or TLS is refused with a sentence: the bare fan-out is
 * a baseline and no client. A failure of AUTH or SELECT shows at the first command after them.
 *
 * Used by bare.c. */
#ifndef RL_BENCH_BARE_CONNECT_H
#define RL_BENCH_BARE_CONNECT_H

#include <hiredis/async.h>
#include <stddef.h>
#include <uv.h>

/* Returns a connection, or NULL with a sentence in error. */
redisAsyncContext *rl_bench_bare_connect(uv_loop_t *loop, const char *url, char *error,
                                         size_t error_size);

#endif /* RL_BENCH_BARE_CONNECT_H */
