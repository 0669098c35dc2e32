/* All nodes of a command at once: a wire for each (wire.h).
 *
 * Failure modes: a URL or a TLS option is bad: rl_wires_open() says so. A thread is unavailable:
 * its node is asked in the caller's thread. */
#ifndef RL_CLI_WIRE_WIRES_H
#define RL_CLI_WIRE_WIRES_H

#include <stddef.h>
#include <stdint.h>

#include "args.h"
#include "redlock/redlock.h"
#include "wire/wire.h"

struct redisReply;

/* One wire for each of args->nodes, with its password, to be freed; args lives on. Each whole
 * answer may take answer_ms. Returns 0, or says why not and returns the exit status. From then on
 * SIGPIPE is ignored: output that nobody reads is reported (rl_output_flush()). */
int rl_wires_open(struct rl_wire **wires, const struct rl_args *args, int64_t answer_ms);

/* How long a whole answer may take: a slow node must be reported as slow, not as dead. */
int64_t rl_wires_answer_ms(const struct rl_args *args);

/* Wipes the passwords. wires: NULL is fine. */
void rl_wires_free(struct rl_wire *wires, size_t n);

/* A node's reply to one command, to be freed, or why there is none. */
struct rl_wire_answer {
    struct redisReply *reply; /* NULL, or no error */
    char why[RL_WIRE_TEXT_MAX];
};

/* Sends a command to all of args->nodes at once, over connections of its own; argv as of
 * redisFormatCommandArgv(). Does not touch SIGPIPE. */
void rl_wires_ask(const struct rl_args *args, size_t n, const char **argv, const size_t *lengths,
                  struct rl_wire_answer answers[REDLOCK_NODES_MAX]);

/* Runs ask(item) for each of n items of `size` bytes, a thread each, and waits for all. */
void rl_wires_each(void *items, size_t size, size_t n, void (*ask)(void *item));

#endif
