/* The nodes of a command: those of --nodes, and, if any of them has a configuration, all nodes of
 * its sets (members.h). A wire for each (wire.h).
 *
 * Happy path: rl_wires_open(); rl_wires_each() asks every node in a thread of its own, and then
 * those that the configurations name, which were read with the handshakes (rl_wire_hello()), with
 * the credentials of the first node; rl_wires_close().
 *
 * The latest configuration counts. It is looked at again after each rl_wires_each(): changing the
 * sets cuts connections, so one that stays has read it. Nodes are never left out again: one that is
 * no member any more decides about nothing.
 *
 * Failure modes: a URL or a TLS option is bad: rl_wires_open() says so. A thread is unavailable:
 * its node is asked in the caller's thread. Nodes that belong to different sets: as if there were
 * no configuration, and are_divided says so; clients get no votes there. A configuration that
 * clients refuse is none. */
#ifndef RL_CLI_WIRE_WIRES_H
#define RL_CLI_WIRE_WIRES_H

#include <stddef.h>
#include <stdint.h>

#include "args.h"
#include "redlock/redlock.h"
#include "wire/members.h"
#include "wire/wire.h"

struct redisReply;

struct rl_wires {
    const struct rl_args *args;
    struct rl_wire *all; /* those of args->nodes first; they stay where they are */
    size_t n;
    int64_t answer_ms;
    struct rl_members members;
    bool are_divided;
};

/* args lives on. Each whole answer may take answer_ms. Returns 0, or says why not and returns the
 * exit status. From then on SIGPIPE is ignored: output that nobody reads is reported
 * (rl_output_flush()). */
int rl_wires_open(struct rl_wires *wires, const struct rl_args *args, int64_t answer_ms);

/* How long a whole answer may take: a slow node must be reported as slow, not as dead. */
int64_t rl_wires_answer_ms(const struct rl_args *args);

/* Disconnects, and wipes the passwords. Also after an rl_wires_open() that failed. */
void rl_wires_close(struct rl_wires *wires);

/* Runs ask(item) for each node, a thread each, and waits for all; then for the nodes that were
 * found by that. items: room for REDLOCK_NODES_MAX, of size bytes, each of which begins with a
 * struct rl_wire *, which is set before. */
void rl_wires_each(struct rl_wires *wires, void *items, size_t size, void (*ask)(void *item));

/* One wire more, by its URL, with the credentials of another if it has none. Returns 0, or says why
 * not and returns the exit status. */
int rl_wire_open(struct rl_wire *wire, const struct rl_args *args, const char *text,
                 const struct rl_wire *like);
void rl_wire_close(struct rl_wire *wire);

/* A node's reply to one command, to be freed, or why there is none. */
struct rl_wire_answer {
    struct redisReply *reply; /* NULL, or no error */
    char why[RL_WIRE_TEXT_MAX];
    char node[sizeof((struct rl_url *)0)->name]; /* its name */
};

/* Sends a command to all nodes at once, over connections of its own; argv as of
 * redisFormatCommandArgv(). Returns how many nodes were
 * asked. Does not touch SIGPIPE. */
size_t rl_wires_ask(const struct rl_args *args, size_t n, const char **argv, const size_t *lengths,
                    struct rl_wire_answer answers[REDLOCK_NODES_MAX]);

/* Runs ask(item) for each of n items of `size` bytes, a thread each, and waits for all. */
void rl_threads_run(void *items, size_t size, size_t n, void (*ask)(void *item));

#endif
