/* One redis-server process: see local_process.h for purpose, use and failure modes.
 *
 * Starting: bind port 0 to learn a free port, and keep that socket, which does not listen:
 * connections are refused, and with SO_REUSEADDR on both sides redis-server can bind the same port.
 * Then fork; the child asks to die with its parent, closes what it inherited and becomes
 * redis-server. A pipe that closes on exec reports a failed exec to the parent. A node is ready
 * when its INFO names the process that we forked: another server on the port would answer, too.
 *
 * Can another process get the port of a node that is down? No: the kernel assigns no bound port to
 * outgoing connections or to a bind of port 0, and no other server is configured with it. */
#include "tool/local_process.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGS_MAX 64
#define READY_MS_MAX 10000
#define POLL_NS 2000000
#define HIGH_FD 10 /* in the child: it closes the descriptors from this number on */

/* -- Starting -- */

/* Copies fd above the numbers that the server uses, closed on exec. */
static int move_up(int fd) {
    return fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
}

/* By the system call: musl has no close_range(). */
int rl_local_close_all(unsigned first, unsigned last) {
    return (int)syscall(SYS_close_range, first, last, 0U);
}

/* Closes all of the parent's descriptors except report_fd; the server's output goes to its log. 0,
 * or -1 with errno. */
static int replace_fds(const char *log, int report_fd) {
    int in = move_up(open("/dev/null", O_RDONLY));
    int out = move_up(open(log, O_WRONLY | O_CREAT | O_APPEND, 0600));
    if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) {
        return -1;
    }
    unsigned report = (unsigned)report_fd;
    return rl_local_close_all(3, report - 1) == 0 ? rl_local_close_all(report + 1, ~0U) : -1;
}

/* 0, or -1 with errno. */
static int leave_parent(const char *folder, pid_t parent) {
    if (setpgid(0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || chdir(folder) != 0) {
        return -1;
    }
    errno = ESRCH; /* the parent died before the kernel knew that we die with it */
    return getppid() == parent ? 0 : -1;
}

static void default_signals(void) {
    for (int i = 1; i < NSIG; i++) {
        signal(i, SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
}

static char other_server[] = RL_LOCAL_OTHER_SERVER;

/* The child's side of fork: never returns. Only async-signal-safe calls. */
static void become_server(char **args, const char *folder, const char *log, pid_t parent,
                          int status_fd) {
    default_signals();
    int report_fd = move_up(status_fd);
    if (report_fd >= 0 && leave_parent(folder, parent) == 0 && replace_fds(log, report_fd) == 0) {
        execvp(args[0], args);
        if (errno == ENOENT && strcmp(args[0], RL_LOCAL_SERVER) == 0) {
            args[0] = other_server;
            execvp(args[0], args);
        }
    }
    int error = errno;
    ssize_t written = write(report_fd, &error, sizeof(error));
    _exit(written == (ssize_t)sizeof(error) ? 127 : 126);
}

static void fill_args(const struct rl_local_setup *setup, const struct rl_local_process *process,
                      char **args) {
    const char *const ours[] = {
        setup->server,
        "--port",
        process->port_text,
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--appendonly",
        "no",
        "--daemonize",
        "no",
        "--maxmemory-policy",
        "noeviction",
        "--dir",
        setup->folder,
        "--logfile",
        process->log,
    };
    size_t n = sizeof(ours) / sizeof(ours[0]);
    for (size_t i = 0; i < n; i++) {
        args[i] = (char *)(uintptr_t)ours[i]; /* exec's signature; it does not write */
    }
    for (const char *const *more = setup->args; more != NULL && *more != NULL; more++) {
        assert(n < ARGS_MAX);
        args[n++] = (char *)(uintptr_t)*more;
    }
    args[n] = NULL;
}

/* errno of the child's failed exec, 0 once the exec has closed the pipe. */
static int read_exec_error(int fd) {
    int error = 0;
    ssize_t n;
    do {
        n = read(fd, &error, sizeof(error));
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(error) ? error : 0;
}

int rl_local_process_spawn(const struct rl_local_setup *setup, struct rl_local_process *process) {
    assert(process->pid == 0);
    assert(process->port > 0);
    char *args[ARGS_MAX + 1];
    fill_args(setup, process, args);
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) {
        return -1;
    }
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        become_server(args, setup->folder, process->log, parent, fds[1]);
    }
    int error = pid > 0 ? 0 : errno;
    process->pid = pid > 0 ? pid : 0;
    close(fds[1]);
    error = pid > 0 ? read_exec_error(fds[0]) : error;
    close(fds[0]);
    if (error != 0 && pid > 0) {
        rl_local_process_reap(process, true);
    }
    errno = error;
    return error == 0 ? 0 : -1;
}

bool rl_local_process_reap(struct rl_local_process *process, bool wait) {
    if (process->pid == 0) {
        return true;
    }
    pid_t pid;
    do {
        pid = waitpid(process->pid, NULL, wait ? 0 : WNOHANG);
    } while (pid < 0 && errno == EINTR);
    process->pid = pid == 0 ? process->pid : 0; /* ECHILD, too: it was reaped elsewhere */
    return process->pid == 0;
}

/* -- Is it up? -- */

static uint64_t monotonic_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int loopback_socket(struct sockaddr_in *address, int port) {
    memset(address, 0, sizeof(*address));
    address->sin_family = AF_INET;
    address->sin_port = htons((uint16_t)port);
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

void rl_local_process_give_port_back(struct rl_local_process *process) {
    if (process->port_fd >= 0) {
        close(process->port_fd);
        process->port_fd = -1;
    }
}

int rl_local_process_choose_port(struct rl_local_process *process) {
    struct sockaddr_in address;
    socklen_t length = sizeof(address);
    int yes = 1;
    rl_local_process_give_port_back(process);
    process->port_fd = loopback_socket(&address, 0);
    if (process->port_fd < 0) {
        return -1;
    }
    if (setsockopt(process->port_fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
        bind(process->port_fd, (struct sockaddr *)&address, length) != 0 ||
        getsockname(process->port_fd, (struct sockaddr *)&address, &length) != 0) {
        rl_local_process_give_port_back(process);
        return -1;
    }
    process->port = ntohs(address.sin_port);
    snprintf(process->port_text, sizeof(process->port_text), "%u", (unsigned)process->port & 65535);
    snprintf(process->url, sizeof(process->url), "redis://127.0.0.1:%d", process->port);
    return 0;
}

static bool send_info(int fd, const struct sockaddr_in *address) {
    static const char command[] = "INFO server\r\n";
    struct timeval timeout = {1, 0};
    return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) == 0 &&
           connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 &&
           send(fd, command, sizeof(command) - 1, MSG_NOSIGNAL) == (ssize_t)sizeof(command) - 1;
}

/* True if the answer comes from this very process, or is a demand for a password. */
static bool read_info(int fd, pid_t pid) {
    char wanted[40];
    char reply[8192];
    size_t length = 0;
    snprintf(wanted, sizeof(wanted), "process_id:%d\r\n", (int)pid);
    while (length < sizeof(reply) - 1) {
        ssize_t n = recv(fd, reply + length, sizeof(reply) - 1 - length, 0);
        if (n <= 0) {
            return false;
        }
        length += (size_t)n;
        reply[length] = '\0';
        if (strstr(reply, wanted) != NULL || strncmp(reply, "-NOAUTH", 7) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_ready(const struct rl_local_process *process) {
    struct sockaddr_in address;
    int fd = loopback_socket(&address, process->port);
    if (fd < 0) {
        return false;
    }
    bool ready = send_info(fd, &address) && read_info(fd, process->pid);
    close(fd);
    return ready;
}

bool rl_local_process_wait_ready(struct rl_local_process *process) {
    uint64_t end_ms = monotonic_ms() + READY_MS_MAX;
    while (monotonic_ms() < end_ms) {
        if (rl_local_process_reap(process, false)) {
            return false;
        }
        if (is_ready(process)) {
            return !rl_local_process_reap(process, false);
        }
        struct timespec pause = {0, POLL_NS};
        nanosleep(&pause, NULL);
    }
    return false;
}
