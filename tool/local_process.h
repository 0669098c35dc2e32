/* One redis-server process of our own: the part of local_nodes.h that concerns a single node.
 *
 * Happy path: choose a port, spawn, wait until it is ready, later kill and reap.
 *
 * Failure modes: spawning reports the errno of pipe, fork or exec; waiting reports that the process
 * ended or did not answer in time. A process is never signalled after it was reaped, since pid is 0
 * from then on.
 *
 * Used by local_nodes.c; no other file includes it. */
#ifndef RL_LOCAL_PROCESS_H
#define RL_LOCAL_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#define RL_LOCAL_FOLDER_MAX 256
#define RL_LOCAL_LOG_MAX (RL_LOCAL_FOLDER_MAX + 32)

/* The default server, and its substitute where only that is installed. */
#define RL_LOCAL_SERVER "redis-server"
#define RL_LOCAL_OTHER_SERVER "valkey-server"

/* How to start one, the same for all nodes of a set. */
struct rl_local_setup {
    const char *server;      /* program, searched by PATH if it has no slash */
    const char *const *args; /* more arguments, NULL-terminated; NULL for none */
    char folder[RL_LOCAL_FOLDER_MAX];
};

struct rl_local_process {
    pid_t pid; /* 0: not running */
    int port;
    int port_fd; /* keeps the port even while the node is down; -1: none yet */
    char port_text[8];
    char url[40];
    char log[RL_LOCAL_LOG_MAX];
};

/* In a child: closes these descriptors. 0, or -1 with errno. */
int rl_local_close_all(unsigned first, unsigned last);

/* Finds a free loopback port, in place of the current one, and sets port, port_text and url. The
 * port is reserved for the node until it is given back: the kernel assigns it to no other socket,
 * outgoing connections included. 0, or -1 with errno. */
int rl_local_process_choose_port(struct rl_local_process *process);
void rl_local_process_give_port_back(struct rl_local_process *process);

/* Forks and execs. 0, or -1 with errno. */
int rl_local_process_spawn(const struct rl_local_setup *setup, struct rl_local_process *process);

/* Reaps the process: when it ends (wait), or only if it has ended. True if it is gone. */
bool rl_local_process_reap(struct rl_local_process *process, bool wait);

/* True once it answers; false if it ended (pid is 0 then) or did not answer within 10 seconds. */
bool rl_local_process_wait_ready(struct rl_local_process *process);

#endif /* RL_LOCAL_PROCESS_H */
