/* Redis nodes of our own: see local_nodes.h for purpose, use and failure modes.
 *
 * All sets of nodes are on one list, so that a signal handler and exit() can stop them. The handler
 * uses only what is safe there: kill, waitpid, unlink, rmdir. The list and the process ids change
 * only while the handled signals are blocked, so that it never kills another process that has
 * reused an id of ours. */
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
#include <sys/wait.h>
#include <unistd.h>

#define NODES_MAX 64
#define PORT_TRIES 5

struct rl_local_nodes {
    size_t n;
    pid_t owner; /* a child of fork is not the owner of its copy */
    struct rl_local_setup setup;
    const char *urls[NODES_MAX];
    struct rl_local_process node[NODES_MAX];
    struct rl_local_nodes *next;
};

static struct rl_local_nodes *all_nodes;
static struct sigaction old_actions[RL_LOCAL_SIGNALS];
static bool is_exit_registered;

/* -- Stopping, whatever happens -- */

/* Kills all at once, then reaps each. Safe in a signal handler. */
static void kill_all(struct rl_local_nodes *nodes) {
    for (size_t i = 0; i < nodes->n; i++) {
        if (nodes->node[i].pid > 0) {
            kill(nodes->node[i].pid, SIGKILL);
        }
    }
    for (size_t i = 0; i < nodes->n; i++) {
        rl_local_process_reap(&nodes->node[i], true);
    }
}

/* Safe in a signal handler. */
static void stop_everything(void) {
    for (struct rl_local_nodes *nodes = all_nodes; nodes != NULL; nodes = nodes->next) {
        if (nodes->owner != getpid()) {
            continue;
        }
        kill_all(nodes);
        for (size_t i = 0; i < nodes->n; i++) {
            unlink(nodes->node[i].log);
        }
        rmdir(nodes->setup.folder);
    }
}

static void on_signal(int signal_number) {
    stop_everything();
    for (size_t i = 0; i < RL_LOCAL_SIGNALS; i++) {
        if (rl_local_signals[i] == signal_number) {
            sigaction(signal_number, &old_actions[i], NULL);
        }
    }
    raise(signal_number);
}

static void install_handlers(void) {
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < RL_LOCAL_SIGNALS; i++) {
        sigaction(rl_local_signals[i], NULL, &old_actions[i]);
        if (old_actions[i].sa_handler != SIG_IGN) {
            sigaction(rl_local_signals[i], &action, NULL);
        }
    }
    if (!is_exit_registered) {
        is_exit_registered = atexit(stop_everything) == 0;
    }
}

static void remove_handlers(void) {
    for (size_t i = 0; i < RL_LOCAL_SIGNALS; i++) {
        sigaction(rl_local_signals[i], &old_actions[i], NULL);
    }
}

static void enlist(struct rl_local_nodes *nodes) {
    sigset_t old;
    rl_local_signals_block(&old);
    if (all_nodes == NULL) {
        install_handlers();
    }
    nodes->next = all_nodes;
    all_nodes = nodes;
    rl_local_signals_restore(&old);
}

static void delist(struct rl_local_nodes *nodes) {
    sigset_t old;
    rl_local_signals_block(&old);
    struct rl_local_nodes **link = &all_nodes;
    while (*link != nodes) {
        assert(*link != NULL);
        link = &(*link)->next;
    }
    *link = nodes->next;
    if (all_nodes == NULL) {
        remove_handlers();
    }
    rl_local_signals_restore(&old);
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

/* Waits for node i; launches it anew on another port if it ended, a limited number of times. */
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
    nodes->owner = getpid();
    nodes->setup.server = server_of(options);
    nodes->setup.args = options->args;
    if (make_folder(nodes) != 0) {
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
    enlist(made);
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

/* The folder may hold more than the logs: the caller's arguments may enable persistence. */
static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place) {
    (void)status, (void)type, (void)place;
    remove(path);
    return 0;
}

void rl_local_nodes_stop(struct rl_local_nodes *nodes) {
    if (nodes == NULL) {
        return;
    }
    kill_all(nodes);
    for (size_t i = 0; i < nodes->n; i++) {
        rl_local_process_give_port_back(&nodes->node[i]);
    }
    nftw(nodes->setup.folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    delist(nodes);
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
    nodes->node[i].pid = 0; /* it had ended, and was reaped just now */
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
