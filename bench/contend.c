/* The workload contend: clients that all want the same lock, each in its own process.
 *
 * Happy path: fork a process for each client (contender.h) and wait until all are connected; start
 * them; measure consecutive slices while they run; stop them. Every client records when it
 * requested, got and released the lock, by the clock that all processes of a machine share. The
 * figures are computed from that at the end (timeline.h).
 *
 * Nothing favours the library: no client steps aside, the clients are greedy unless --think-ms is
 * given, and commands are counted at the nodes as well.
 *
 * With --records nothing runs: it shows the figures of a file. Programs that measure other
 * libraries use it, too.
 *
 * Safety check: no grant may come before the end of an earlier hold. A violation makes
 * redlock-bench exit with status 3.
 *
 * Failure modes: a client that cannot be opened, or whose process ends, ends the run with its
 * sentence. Processes that do not end by themselves are killed; the system also kills them if this
 * one ends.
 *
 * Used by redlock-bench --workload contend. */
#include "bench.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "contender.h"
#include "figures.h"
#include "node_counts.h"
#include "records.h"

#define READY_S 60
#define END_S 20

struct contend {
    struct rl_bench *bench;
    struct rl_bench_arena arena;
    struct rl_bench_node_counts *counts;
    pid_t *pids; /* 0: it has ended */
    size_t n;
};

/* Counters, read at the ends of slices. */
struct border {
    uint64_t now_ns;
    uint64_t cpu_ns;
    uint64_t node_cpu_ns;
    uint64_t attempts;
    uint64_t commands;
    uint64_t keeper_commands; /* the holder's, with --idle */
    uint64_t executed;
    uint64_t fenced;
    uint64_t raised;
    uint64_t failed;
};

/* -- The processes -- */

static int start(struct contend *contend) {
    struct rl_bench *bench = contend->bench;
    pid_t parent = getpid();
    fflush(stdout);
    for (size_t i = 0; i < contend->n; i++) {
        contend->pids[i] = fork();
        if (contend->pids[i] < 0) {
            contend->pids[i] = 0;
            snprintf(bench->error, sizeof(bench->error), "no process: %s", strerror(errno));
            return -1;
        }
        if (contend->pids[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent) {
                _exit(EXIT_FAILURE);
            }
            _exit(rl_bench_contender_run(bench, &contend->arena, i));
        }
    }
    rl_bench_arena_shut(&contend->arena.ready[1]);
    rl_bench_arena_shut(&contend->arena.go[0]);
    rl_bench_arena_shut(&contend->arena.stop[0]);
    return 0;
}

/* Records the processes that have ended. -1 if one ended early or failed. */
static int look_after(struct contend *contend, bool may_end, size_t *running) {
    struct rl_bench *bench = contend->bench;
    *running = 0;
    for (size_t i = 0; i < contend->n; i++) {
        int status = 0;
        if (contend->pids[i] > 0 && waitpid(contend->pids[i], &status, WNOHANG) > 0) {
            contend->pids[i] = 0;
            if (!may_end || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
                const char *error = contend->arena.processes[i].error;
                snprintf(bench->error, sizeof(bench->error), "client %zu: %s", i,
                         error[0] != '\0' ? error : "its process has ended");
                return -1;
            }
        }
        *running += contend->pids[i] > 0;
    }
    return 0;
}

static int wait_until_ready(struct contend *contend) {
    uint64_t end_ns = rl_bench_now_ns() + READY_S * UINT64_C(1000000000);
    size_t ready = 0;
    size_t running;
    while (ready < contend->n) {
        struct pollfd fd = {.fd = contend->arena.ready[0], .events = POLLIN};
        char bytes[64];
        if (poll(&fd, 1, 100) > 0) {
            ssize_t got = read(fd.fd, bytes, sizeof(bytes));
            ready += got > 0 ? (size_t)got : 0;
        }
        if (look_after(contend, false, &running) != 0) {
            return -1;
        }
        if (rl_bench_now_ns() > end_ns) {
            snprintf(contend->bench->error, sizeof(contend->bench->error),
                     "%zu of %zu clients are not connected after %d s", contend->n - ready,
                     contend->n, READY_S);
            return -1;
        }
    }
    return 0;
}

static void ring_cb(uv_timer_t *timer) {
    uv_stop(timer->loop);
}

/* The parent's loop only shows progress. */
static int rest(struct contend *contend, int64_t ms) {
    struct rl_bench *bench = contend->bench;
    size_t running;
    uv_update_time(&bench->loop);
    uv_timer_start(&bench->run.timer, ring_cb, (uint64_t)ms, 0);
    uv_run(&bench->loop, UV_RUN_DEFAULT);
    return look_after(contend, false, &running);
}

/* Kills the remaining processes. */
static int stop(struct contend *contend) {
    uint64_t end_ns = rl_bench_now_ns() + END_S * UINT64_C(1000000000);
    size_t running = 1;
    int result = 0;
    rl_bench_arena_shut(&contend->arena.go[1]);
    rl_bench_arena_shut(&contend->arena.stop[1]);
    while (result == 0 && running > 0 && rl_bench_now_ns() < end_ns) {
        poll(NULL, 0, 5);
        result = look_after(contend, true, &running);
    }
    for (size_t i = 0; i < contend->n; i++) {
        if (contend->pids[i] > 0) {
            kill(contend->pids[i], SIGKILL);
            waitpid(contend->pids[i], NULL, 0);
        }
    }
    if (result == 0 && running > 0) {
        snprintf(contend->bench->error, sizeof(contend->bench->error),
                 "%zu clients did not end within %d s", running, END_S);
        result = -1;
    }
    return result;
}

/* -- Measuring -- */

static uint64_t cpu_ns_of(pid_t pid) {
    clockid_t clock;
    struct timespec time;
    if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) {
        return 0;
    }
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static struct border look(struct contend *contend) {
    struct border border = {.now_ns = rl_bench_now_ns()};
    border.executed = rl_bench_node_counts_read(contend->counts);
    for (size_t i = 0; i < contend->n; i++) {
        struct rl_bench_process *process = &contend->arena.processes[i];
        bool keeps = contend->bench->options.idle && i == 0;
        border.cpu_ns += cpu_ns_of(contend->pids[i]);
        border.attempts += process->attempts;
        border.keeper_commands += keeps ? process->commands : 0;
        border.commands += keeps ? 0 : process->commands;
        border.fenced += process->fenced;
        border.raised += process->raised;
        border.failed += process->failed;
    }
    if (contend->bench->local != NULL) {
        border.node_cpu_ns = rl_local_nodes_cpu_ns(contend->bench->local);
    }
    return border;
}

static void note(struct rl_bench_stretch *stretch, struct rl_bench_slice *slice,
                 const struct border *a, const struct border *b) {
    uint64_t keeper = b->keeper_commands - a->keeper_commands;
    bool is_counted = a->executed > 0 && b->executed > a->executed + keeper;
    *stretch = (struct rl_bench_stretch){
        .from_ns = a->now_ns,
        .to_ns = b->now_ns,
        .cpu_us = (double)(b->cpu_ns - a->cpu_ns) / 1e3,
        .node_cpu_us = (double)(b->node_cpu_ns - a->node_cpu_ns) / 1e3,
        .attempts = b->attempts - a->attempts,
        .commands = b->commands - a->commands,
        .executed = is_counted ? b->executed - a->executed - keeper : 0,
    };
    slice->fenced = b->fenced - a->fenced;
    slice->raised = b->raised - a->raised;
    slice->failed = b->failed - a->failed;
}

static int measure(struct contend *contend, struct rl_bench_records *records) {
    struct rl_bench *bench = contend->bench;
    const struct rl_bench_options *options = &bench->options;
    rl_bench_progress_label(&bench->progress, "warming up");
    rl_bench_arena_shut(&contend->arena.go[1]);
    if (options->warmup_ms > 0 && rest(contend, options->warmup_ms) != 0) {
        return -1;
    }
    struct border before = look(contend);
    for (size_t i = 0; i < (size_t)options->slices; i++) {
        rl_bench_progress_label(&bench->progress, "slice %zu of %" PRId64, i + 1, options->slices);
        if (rest(contend, options->slice_ms) != 0) {
            return -1;
        }
        struct border after = look(contend);
        note(&records->stretches[i], &bench->report.series[0].slices[i], &before, &after);
        before = after;
    }
    records->n_stretches = (size_t)options->slices;
    return 0;
}

/* -- The end -- */

static void gather(struct contend *contend, struct rl_bench_records *records) {
    uint64_t n = *contend->arena.n_waits;
    records->timeline.waits = contend->arena.waits;
    records->timeline.n = (size_t)(n < RL_BENCH_ARENA_WAITS ? n : RL_BENCH_ARENA_WAITS);
    records->timeline.slack_ns = (uint64_t)contend->bench->options.distance_ms * 1000000;
    for (size_t i = 0; i < contend->n; i++) {
        records->timeline.n_waiters += rl_bench_options_waiters(&contend->bench->options, i);
        rl_bench_hist_merge(&contend->bench->report.late, &contend->arena.processes[i].late);
    }
}

static int open_contend(struct contend *contend, struct rl_bench_records *records) {
    struct rl_bench *bench = contend->bench;
    contend->n = (size_t)bench->options.processes;
    contend->pids = calloc(contend->n, sizeof(*contend->pids));
    records->stretches = calloc((size_t)bench->options.slices, sizeof(*records->stretches));
    if (rl_bench_arena_open(&contend->arena, contend->n) != 0 || contend->pids == NULL ||
        records->stretches == NULL) {
        snprintf(bench->error, sizeof(bench->error), "out of memory, or of descriptors");
        return -1;
    }
    if (start(contend) != 0 || wait_until_ready(contend) != 0) {
        return -1;
    }
    contend->counts = rl_bench_node_counts_open(bench->local);
    return 0;
}

int rl_bench_contend(struct rl_bench *bench) {
    struct contend contend = {.bench = bench};
    struct rl_bench_records records = {.n_stretches = 0};
    if (bench->options.records != NULL) {
        return rl_bench_judge_file(bench);
    }
    int result = open_contend(&contend, &records);
    result = result == 0 ? measure(&contend, &records) : result;
    if (contend.pids != NULL && contend.arena.processes != NULL) {
        int stopped = stop(&contend);
        result = result == 0 ? stopped : result;
    }
    if (result == 0) {
        gather(&contend, &records);
        result = rl_bench_judge(bench, 0, "libredlock", &records);
    }
    rl_bench_node_counts_close(contend.counts);
    rl_bench_arena_close(&contend.arena);
    free(contend.pids);
    free(records.stretches);
    return result;
}
