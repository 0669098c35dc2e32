/* Redis nodes of our own: see local_nodes.h for purpose, use and failure modes.
 *
 * When this process ends, however it does, the kernel kills the nodes (PR_SET_PDEATHSIG), and the
 * guard, a child that waits for the end of a socket, removes their folder. */
#include "tool/local_nodes.h"
#include "tool/local_process.h"

#include <assert.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NODES_MAX 64
#define PORT_TRIES 5

struct rl_local_nodes {
    size_t n;
    pid_t guard;
    int guard_fd; /* a byte, or the end of this process, makes the guard act */
    struct rl_local_setup setup;
    const char *urls[NODES_MAX];
    struct rl_local_process node[NODES_MAX];
};

/* -- The guard -- */

/* The folder may hold more than the logs: the caller's arguments may enable persistence. */
static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place) {
    (void)status, (void)type, (void)place;
    remove(path);
    return 0;
}

/* Runs in the child. A node that is being killed may still write a file, so it retries for some
 * seconds. */
static void guard(const char *folder, int fd) {
    char byte;
    setpgid(0, 0); /* not to get the terminal's signals */
    dup2(fd, 0);
    rl_local_close_all(1, ~0U);
    while (read(0, &byte, 1) < 0 && errno == EINTR) {
    }
    for (int i = 0; i < 1000 && access(folder, F_OK) == 0; i++) {
        const struct timespec pause = {.tv_nsec = 5000000};
        nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
        nanosleep(&pause, NULL);
    }
    _exit(EXIT_SUCCESS);
}

static int start_guard(struct rl_local_nodes *nodes) {
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
        return -1;
    }
    nodes->guard = fork();
    if (nodes->guard == 0) {
        close(fds[1]);
        guard(nodes->setup.folder, fds[0]);
    }
    close(fds[0]);
    if (nodes->guard < 0) {
        close(fds[1]);
        return -1;
    }
    nodes->guard_fd = fds[1];
    return 0;
}

/* Returns when the folder is gone. */
static void end_guard(struct rl_local_nodes *nodes) {
    send(nodes->guard_fd, "", 1, MSG_NOSIGNAL); /* a child may have it open, too */
    close(nodes->guard_fd);
    while (waitpid(nodes->guard, NULL, 0) < 0 && errno == EINTR) {
    }
}

/* -- Starting -- */

static void explain(char *error, size_t error_size, const struct rl_local_process *node) {
    char line[256] = "";
    char last[256] = "";
    FILE *log = fopen(node->log, "re");
    while (log != NULL && fgets(line, sizeof(line), log) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '\0') {
            memcpy(last, line, sizeof(last));
        }
    }
    if (log != NULL) {
        fclose(log);
    }
    snprintf(error, error_size, "redis-server on port %d did not become ready%s%s", node->port,
             last[0] != '\0' ? "; the end of its log: " : ", and wrote no log", last);
}

static void explain_exec(char *error, size_t error_size, const struct rl_local_nodes *nodes) {
    bool is_default = strcmp(nodes->setup.server, RL_LOCAL_SERVER) == 0;
    snprintf(
        error, error_size, "cannot start %s%s: %s%s", nodes->setup.server,
        is_default ? " or " RL_LOCAL_OTHER_SERVER : "", strerror(errno),
        errno == ENOENT && is_default ? " (on Debian and Ubuntu: packages of these names)" : "");
}

/* Forks node i without waiting for it, so that all of them start at the same time. */
static int launch(struct rl_local_nodes *nodes, size_t i, char *error, size_t error_size) {
    if (rl_local_process_choose_port(&nodes->node[i]) != 0) {
        snprintf(error, error_size, "no free loopback port: %s", strerror(errno));
        return -1;
    }
    if (rl_local_process_spawn(&nodes->setup, &nodes->node[i]) != 0) {
        explain_exec(error, error_size, nodes);
        return -1;
    }
    return 0;
}

/* Waits for node i; if it ended, launches it again on another port, a limited number of times. */
static int settle(struct rl_local_nodes *nodes, size_t i, char *error, size_t error_size) {
    for (int tries = 1; !rl_local_process_wait_ready(&nodes->node[i]); tries++) {
        bool ended = nodes->node[i].pid == 0;
        explain(error, error_size, &nodes->node[i]);
        if (!ended || tries == PORT_TRIES || launch(nodes, i, error, error_size) != 0) {
            return -1;
        }
    }
    return 0;
}

static int make_folder(struct rl_local_nodes *nodes) {
    const char *parent = getenv("TMPDIR");
    if (parent == NULL || parent[0] != '/') {
        parent = "/tmp";
    }
    int length = snprintf(nodes->setup.folder, sizeof(nodes->setup.folder),
                          "%s/redlock-nodes-XXXXXX", parent);
    if (length < 0 || (size_t)length >= sizeof(nodes->setup.folder)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return mkdtemp(nodes->setup.folder) != NULL ? 0 : -1;
}

/* An empty REDLOCK_SERVER counts as unset. */
static const char *server_of(const struct rl_local_nodes_options *options) {
    const char *named = options->server != NULL ? options->server : getenv("REDLOCK_SERVER");
    return named != NULL && named[0] != '\0' ? named : RL_LOCAL_SERVER;
}

static struct rl_local_nodes *new_nodes(const struct rl_local_nodes_options *options) {
    struct rl_local_nodes *nodes = calloc(1, sizeof(*nodes));
    if (nodes == NULL) {
        return NULL;
    }
    nodes->n = options->n;
    nodes->setup.server = server_of(options);
    nodes->setup.args = options->args;
    if (make_folder(nodes) != 0) {
        free(nodes);
        return NULL;
    }
    if (start_guard(nodes) != 0) {
        rmdir(nodes->setup.folder);
        free(nodes);
        return NULL;
    }
    for (size_t i = 0; i < nodes->n; i++) {
        nodes->urls[i] = nodes->node[i].url;
        nodes->node[i].port_fd = -1;
        snprintf(nodes->node[i].log, sizeof(nodes->node[i].log), "%s/node%zu.log",
                 nodes->setup.folder, i);
    }
    return nodes;
}

int rl_local_nodes_start(struct rl_local_nodes **nodes,
                         const struct rl_local_nodes_options *options, char *error,
                         size_t error_size) {
    assert(options->n >= 1 && options->n <= NODES_MAX);
    assert(error != NULL && error_size > 0);
    struct rl_local_nodes *made = new_nodes(options);
    *nodes = NULL;
    if (made == NULL) {
        snprintf(error, error_size, "no folder for the nodes: %s", strerror(errno));
        return -1;
    }
    int result = 0;
    for (size_t i = 0; i < made->n && result == 0; i++) {
        result = launch(made, i, error, error_size);
    }
    for (size_t i = 0; i < made->n && result == 0; i++) {
        result = settle(made, i, error, error_size);
    }
    if (result != 0) {
        rl_local_nodes_stop(made);
        return -1;
    }
    *nodes = made;
    return 0;
}

int rl_local_nodes_restart(struct rl_local_nodes *nodes, size_t i, char *error, size_t error_size) {
    assert(i < nodes->n);
    assert(nodes->node[i].pid == 0);
    if (rl_local_process_spawn(&nodes->setup, &nodes->node[i]) != 0) {
        explain_exec(error, error_size, nodes);
        return -1;
    }
    if (!rl_local_process_wait_ready(&nodes->node[i])) {
        explain(error, error_size, &nodes->node[i]);
        rl_local_nodes_kill(nodes, i);
        return -1;
    }
    return 0;
}

/* -- Running nodes -- */

void rl_local_nodes_kill(struct rl_local_nodes *nodes, size_t i) {
    assert(i < nodes->n);
    if (nodes->node[i].pid > 0) {
        kill(nodes->node[i].pid, SIGKILL);
        rl_local_process_reap(&nodes->node[i], true);
    }
    assert(nodes->node[i].pid == 0);
}

void rl_local_nodes_stop(struct rl_local_nodes *nodes) {
    if (nodes == NULL) {
        return;
    }
    for (size_t i = 0; i < nodes->n; i++) {
        if (nodes->node[i].pid > 0) {
            kill(nodes->node[i].pid, SIGKILL); /* all at once */
        }
    }
    for (size_t i = 0; i < nodes->n; i++) {
        rl_local_process_reap(&nodes->node[i], true);
        rl_local_process_give_port_back(&nodes->node[i]);
    }
    end_guard(nodes);
    free(nodes);
}

int rl_local_nodes_pause(struct rl_local_nodes *nodes, size_t i) {
    assert(i < nodes->n);
    pid_t pid = nodes->node[i].pid;
    if (pid == 0 || kill(pid, SIGSTOP) != 0) {
        return -1;
    }
    int status = 0;
    pid_t changed;
    do {
        changed = waitpid(pid, &status, WUNTRACED);
    } while (changed < 0 && errno == EINTR);
    if (changed == pid && WIFSTOPPED(status)) {
        return 0;
    }
    nodes->node[i].pid = 0; /* it had already ended, and is reaped now */
    return -1;
}

/* The main thread's time; redis-server's other threads sleep unless there is persistence. */
static uint64_t cpu_ns_of(pid_t pid) {
    char path[40];
    unsigned long long cpu_ns = 0;
    snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
    FILE *file = pid > 0 ? fopen(path, "re") : NULL;
    if (file == NULL) {
        return 0;
    }
    int found = fscanf(file, "%llu", &cpu_ns);
    fclose(file);
    return found == 1 ? cpu_ns : 0;
}

uint64_t rl_local_nodes_cpu_ns(const struct rl_local_nodes *nodes) {
    uint64_t sum_ns = 0;
    for (size_t i = 0; i < nodes->n; i++) {
        sum_ns += cpu_ns_of(nodes->node[i].pid);
    }
    return sum_ns;
}

int rl_local_nodes_resume(struct rl_local_nodes *nodes, size_t i) {
    assert(i < nodes->n);
    pid_t pid = nodes->node[i].pid;
    return pid > 0 && kill(pid, SIGCONT) == 0 ? 0 : -1;
}

size_t rl_local_nodes_count(const struct rl_local_nodes *nodes) {
    return nodes->n;
}

const char *const *rl_local_nodes_urls(const struct rl_local_nodes *nodes) {
    return nodes->urls;
}

pid_t rl_local_nodes_pid(const struct rl_local_nodes *nodes, size_t i) {
    assert(i < nodes->n);
    return nodes->node[i].pid;
}

int rl_local_nodes_port(const struct rl_local_nodes *nodes, size_t i) {
    assert(i < nodes->n);
    return nodes->node[i].port;
}

const char *rl_local_nodes_log(const struct rl_local_nodes *nodes, size_t i) {
    assert(i < nodes->n);
    return nodes->node[i].log;
}
