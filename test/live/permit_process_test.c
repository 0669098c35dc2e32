/* Processes that want permits all the time: at most k hold, no two of them the same one, and nearly
 * always k of them are in use.
 *
 * A process has a loop and a client of its own. It acquires, holds for a moment, releases, and asks
 * again at once; what happens is a record in a pipe, with the time of the clock that all share. It
 * ends with its parent. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/permits.h"

#define K 3
#define PROCESSES 8
#define ROUNDS 12 /* of each */
#define HOLD_MS 100
#define TTL_MS 10000

struct record {
    uint64_t at_ns;
    int32_t slot;
    int32_t change; /* 1: granted; -1: about to be released */
};

struct process {
    uv_loop_t loop;
    uv_timer_t hold;
    redlock_client *client;
    redlock_lock *lock;
    redlock_acquire_options options;
    int rounds; /* that are left */
};

static int log_fd;

/* -- A process -- */

static void note(const struct process *me, int32_t change) {
    struct record record = {redlock_now_ns(), redlock_lock_slot(me->lock, 0), change};
    if (write(log_fd, &record, sizeof record) != (ssize_t)sizeof record) {
        _exit(70);
    }
}

static void granted(redlock_lock *lock, int status, void *data);

static void released(redlock_lock *lock, int status, void *data) {
    struct process *me = data;
    (void)status;
    if (--me->rounds == 0) {
        _exit(0);
    }
    if (redlock_acquire(lock, &me->options, granted, me) != 0) {
        _exit(71);
    }
}

static void done(uv_timer_t *timer) {
    struct process *me = timer->data;
    note(me, -1);
    if (redlock_release(me->lock, released, me) != 0) {
        _exit(72);
    }
}

static void granted(redlock_lock *lock, int status, void *data) {
    struct process *me = data;
    (void)lock;
    if (status != 0) {
        _exit(73);
    }
    note(me, 1);
    uv_timer_start(&me->hold, done, HOLD_MS, 0);
}

static void run(const struct live *live, int fd) {
    struct process me = {.rounds = ROUNDS, .options = live_patient(TTL_MS)};
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    options.nodes = live->urls;
    options.n_nodes = live->n;
    options.guard = REDLOCK_GUARD_OFF;
    log_fd = fd;
    bool fine = uv_loop_init(&me.loop) == 0 && uv_timer_init(&me.loop, &me.hold) == 0 &&
                redlock_client_open(&me.client, &me.loop, &options, NULL, NULL) == 0;
    me.hold.data = &me;
    me.lock = fine ? permits_lock(me.client, K, 1) : NULL;
    if (me.lock != NULL && redlock_acquire(me.lock, &me.options, granted, &me) == 0) {
        uv_run(&me.loop, UV_RUN_DEFAULT);
    }
    _exit(74);
}

static pid_t spawn(const struct live *live, int fd) {
    pid_t parent = getpid(), pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) {
            run(live, fd);
        }
        _exit(75);
    }
    return pid;
}

/* -- Their parent -- */

static int by_time(const void *a, const void *b) {
    const struct record *x = a, *y = b;
    if (x->at_ns != y->at_ns) {
        return x->at_ns < y->at_ns ? -1 : 1;
    }
    return x->change - y->change;
}

/* While all want it: from the K-th grant on, until the first of them has had enough. */
static void check(struct record *records, size_t n) {
    int32_t in_use[K] = {0};
    size_t held = 0, grants = 0;
    double used_ms = 0, all_ms = 0;
    qsort(records, n, sizeof records[0], by_time);
    for (size_t i = 0; i < n; i++) {
        const struct record *now = &records[i];
        if (grants >= K && grants < (size_t)ROUNDS * (PROCESSES - K) / 2) {
            double ms = (double)(now->at_ns - records[i - 1].at_ns) / (double)LIVE_MS;
            used_ms += ms * (double)held;
            all_ms += ms * K;
        }
        assert_in_range(now->slot, 0, K - 1);
        in_use[now->slot] += now->change;
        assert_in_range(in_use[now->slot], 0, 1); /* no two of them */
        held = (size_t)((int32_t)held + now->change);
        assert_true(held <= K);
        grants += now->change > 0;
    }
    assert_int_equal(grants, ROUNDS * PROCESSES);
    print_message("# permits in use: %.3f of %d; held for %d ms each time\n", K * used_ms / all_ms,
                  K, HOLD_MS);
}

static void many_processes_use_all_of_them(void **state) {
    static struct record records[2 * ROUNDS * PROCESSES];
    struct live *live = *state;
    pid_t pids[PROCESSES];
    int log[2];
    size_t size = 0;
    assert_int_equal(pipe(log), 0);
    for (size_t i = 0; i < PROCESSES; i++) {
        pids[i] = spawn(live, log[1]);
    }
    close(log[1]);
    for (ssize_t got = 1; got > 0; size += (size_t)got) {
        got = read(log[0], (char *)records + size, sizeof records - size);
        assert_true(got >= 0);
    }
    close(log[0]);
    for (size_t i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    check(records, size / sizeof records[0]);
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST_FIVE(many_processes_use_all_of_them),
    };
    return cmocka_run_group_tests_name("permit_process", tests, NULL, NULL);
}
