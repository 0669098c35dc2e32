/* A lock in a program that keeps its own epoll loop, in which libuv's loop is one more file
 * descriptor. Every 100 ms a timer of the program does a piece of work, if the lock is held; SIGINT
 * or SIGTERM releases it and ends the program.
 *
 *     epoll redis://host:port ...
 *
 * Three rules, all in wait_and_run():
 *   - Before each wait uv_backend_timeout() says how long it may last: libuv's timers are not
 *     behind the descriptor. -1 is without limit; 0 is not at all, and is usual after a call of
 *     libredlock from outside the loop: what it has to send is sent by the next uv_run().
 *   - uv_update_time() before that: the timeout counts from libuv's cached time, and your own work
 *     since the last uv_run() would be added to it. A loss would be notified so much too late.
 *   - uv_run(UV_RUN_NOWAIT) after each wait, whatever has ended it: also when it was the timeout,
 *     or a descriptor of your own.
 */
#include <redlock/redlock.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <uv.h>

struct program {
    int epoll_fd, signal_fd, timer_fd;
    uv_loop_t loop;
    redlock_client *client;
    redlock_lock *lock;
    uint64_t until_ns; /* the lock was valid until then */
    bool is_closed;
    unsigned pieces, turns;
};

static void acquire(struct program *program);

static void on_lost(redlock_lock *lock, int status, void *data) {
    struct program *program = data;
    (void)lock;
    printf("lost: %s, %lld ms before the end\n", redlock_strerror(status),
           ((long long)program->until_ns - (long long)redlock_now_ns()) / 1000000);
    acquire(program);
}

static void on_renew(redlock_lock *lock, int status, void *data) {
    (void)status; /* not renewed: then the end is what it was */
    ((struct program *)data)->until_ns = redlock_lock_valid_until_ns(lock);
}

static void on_lock(redlock_lock *lock, int status, void *data) {
    char sentence[REDLOCK_MESSAGE_MAX];
    struct program *program = data;
    printf("acquire: %s\n", redlock_lock_message(lock, sentence, sizeof sentence));
    program->until_ns = redlock_lock_valid_until_ns(lock);
    if (status != 0 && status != REDLOCK_ERR_CANCELED) {
        acquire(program);
    }
}

static void acquire(struct program *program) {
    char sentence[REDLOCK_MESSAGE_MAX];
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.ttl_ms = 1000;
    options.wait_ms = REDLOCK_NO_LIMIT;
    options.auto_extend = 1;
    options.on_lost = on_lost;
    options.on_renew = on_renew;
    options.lost_data = options.renew_data = program;
    if (redlock_acquire(program->lock, &options, on_lock, program) != 0) {
        printf("acquire: %s\n", redlock_lock_message(program->lock, sentence, sizeof sentence));
    }
}

static void on_open(redlock_client *client, int status, void *data) {
    char sentence[REDLOCK_MESSAGE_MAX];
    struct program *program = data;
    printf("open: %s, %s\n", redlock_strerror(status),
           redlock_client_message(client, sentence, sizeof sentence));
    if (status != REDLOCK_ERR_CANCELED &&
        redlock_lock_new(client, "epoll-example", 13, &program->lock) == 0) {
        acquire(program);
    }
}

static void on_close(redlock_client *client, int status, void *data) {
    struct program *program = data;
    (void)client;
    (void)status;
    program->lock = NULL; /* freed with the client */
    program->is_closed = true;
}

/* -- The program's own loop -- */

static void wait_and_run(struct program *program) {
    struct epoll_event events[8];
    uv_update_time(&program->loop);
    int timeout_ms = uv_backend_timeout(&program->loop);
    int n = epoll_wait(program->epoll_fd, events, 8, timeout_ms);
    uv_run(&program->loop, UV_RUN_NOWAIT); /* first: a loss is reported before the next work */
    program->turns++;
    for (int i = 0; i < n; i++) {
        uint64_t expirations;
        struct signalfd_siginfo info;
        if (events[i].data.fd == program->timer_fd &&
            read(program->timer_fd, &expirations, sizeof expirations) > 0) {
            program->pieces += program->lock != NULL && redlock_lock_is_valid(program->lock);
        } else if (events[i].data.fd == program->signal_fd &&
                   read(program->signal_fd, &info, sizeof info) > 0) {
            redlock_client_close(program->client, on_close, program); /* releases, too */
        }
    }
}

static bool watch(int epoll_fd, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return fd >= 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool set_up(struct program *program) {
    const struct itimerspec every = {{0, 100000000}, {0, 100000000}};
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    program->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    program->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    program->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return program->timer_fd >= 0 && timerfd_settime(program->timer_fd, 0, &every, NULL) == 0 &&
           uv_loop_init(&program->loop) == 0 && watch(program->epoll_fd, program->signal_fd) &&
           watch(program->epoll_fd, program->timer_fd) &&
           watch(program->epoll_fd, uv_backend_fd(&program->loop));
}

int main(int argc, char **argv) {
    struct program program = {0};
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!set_up(&program)) {
        perror("epoll");
        return 1;
    }
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    options.nodes = (const char *const *)(argv + 1);
    options.n_nodes = (size_t)(argc - 1);
    options.guard = REDLOCK_GUARD_OBSERVED; /* for new nodes; without it they vote after 30 s */
    options.max_ttl_ms = 1000;
    options.lost_margin_ms = 50; /* time to stop the work, even on a busy machine */
    if (redlock_client_open(&program.client, &program.loop, &options, on_open, &program) != 0) {
        fprintf(stderr, "usage: epoll redis://host:port ...\n");
        uv_loop_close(&program.loop);
        return 2;
    }
    while (!program.is_closed) {
        wait_and_run(&program);
    }
    printf("%u pieces of work, %u turns of the loop\n", program.pieces, program.turns);
    return uv_loop_close(&program.loop) == 0 ? 0 : 1;
}
