/* Redis nodes of our own: N redis-server processes on free loopback ports.
 *
 * Happy path: rl_local_nodes_start() makes a folder under TMPDIR (or /tmp), starts N servers
 * without persistence and with noeviction, and returns once each has answered that it is the
 * process that we started. rl_local_nodes_urls() go straight into redlock_client_options. Single
 * nodes can be paused, killed and started again on their port. rl_local_nodes_stop() ends exactly
 * these processes and removes the folder.
 *
 * Failure modes: whatever fails while starting stops what was started, and says why in the caller's
 * buffer, with the last line of the server's log. If another program takes a port between our
 * choice and the server's bind, the start is repeated with another port. If the process ends
 * without stopping the nodes, by exit() or a signal, they are killed, and the folder is removed.
 *
 * Preconditions: Linux. The kernel takes the death of the *thread* that started a node for the
 * parent's: start nodes from a thread that outlives them. A child that the process forks itself
 * does not stop the nodes when it exits.
 *
 * Used for the embedded nodes of redlock-bench and of the live tests. */
#ifndef RL_LOCAL_NODES_H
#define RL_LOCAL_NODES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rl_local_nodes;

struct rl_local_nodes_options {
    size_t n;                /* 1 to 64 */
    const char *server;      /* program; NULL: $REDLOCK_SERVER, or redis-server or
                                valkey-server by PATH */
    const char *const *args; /* more arguments for each node, which override ours; NULL-terminated,
                                NULL for none; must live as long as the nodes. A node that wants a
                                password counts as ready when it asks for it. */
};

/* Returns 0, or -1 with *nodes NULL and a sentence in error (of error_size bytes, at least 1). */
int rl_local_nodes_start(struct rl_local_nodes **nodes,
                         const struct rl_local_nodes_options *options, char *error,
                         size_t error_size);

/* Stops all nodes, including paused ones, and frees `nodes`. NULL is ignored. */
void rl_local_nodes_stop(struct rl_local_nodes *nodes);

size_t rl_local_nodes_count(const struct rl_local_nodes *nodes);

/* "redis://127.0.0.1:PORT" of each, valid until they are stopped; a restart keeps the URL. */
const char *const *rl_local_nodes_urls(const struct rl_local_nodes *nodes);

/* Node i's process, 0 after rl_local_nodes_kill(); its port; its log file. */
pid_t rl_local_nodes_pid(const struct rl_local_nodes *nodes, size_t i);
int rl_local_nodes_port(const struct rl_local_nodes *nodes, size_t i);
const char *rl_local_nodes_log(const struct rl_local_nodes *nodes, size_t i);

/* CPU time that all running nodes together have used so far; 0 if the kernel does not report it. */
uint64_t rl_local_nodes_cpu_ns(const struct rl_local_nodes *nodes);

/* SIGSTOP, returns once the process is stopped; SIGCONT. 0, or -1 if the node does not run. */
int rl_local_nodes_pause(struct rl_local_nodes *nodes, size_t i);
int rl_local_nodes_resume(struct rl_local_nodes *nodes, size_t i);

/* SIGKILL, returns once the process is gone; no effect if it is gone already. */
void rl_local_nodes_kill(struct rl_local_nodes *nodes, size_t i);

/* Starts a killed node again, empty, on its old port. Returns as rl_local_nodes_start() does, and
 * never affects the other nodes. */
int rl_local_nodes_restart(struct rl_local_nodes *nodes, size_t i, char *error, size_t error_size);

#endif /* RL_LOCAL_NODES_H */
