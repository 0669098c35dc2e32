/* The wires to all nodes of the command line, and a thread for each, so that a slow node keeps no
 * other waiting.
 *
 * Failure modes: a URL, or what is set for TLS, is bad: rl_wires_open() says so. A thread cannot be
 * had: its node is asked when it is its turn. */
#ifndef RL_CLI_WIRE_WIRES_H
#define RL_CLI_WIRE_WIRES_H

#include "wire/wire.h"

/* One wire for each of args->nodes, with its password, to be freed; args lives on. Each whole
 * answer may take answer_ms. Returns 0, or says why not and returns the exit status. From then on
 * SIGPIPE is ignored: hiredis writes without MSG_NOSIGNAL. */
int rl_wires_open(struct rl_wire **wires, const struct rl_args *args, int64_t answer_ms);

/* How long a whole answer may take: a slow node is to be called slow, not dead. */
int64_t rl_wires_answer_ms(const struct rl_args *args);

/* Wipes the passwords. wires: NULL is fine. */
void rl_wires_free(struct rl_wire *wires, size_t n);

/* Runs ask(item) for each of n items of `size` bytes, a thread each, and waits for all. */
void rl_wires_each(void *items, size_t size, size_t n, void (*ask)(void *item));

#endif
