/* The workload shells: the effect of `redlock run KEY --` in front of a command.
 *
 * Happy path: in each round N shells are started, --spacing-ms apart, each behind `redlock run` for
 * one lock; when it has the lock it works (sleeps) for --work-ms. Each shell reports its begin and
 * its end through a pipe, at whose other end the clock is read. Each round is paired with one of
 * another program: flock(1) on its own file, or the one of --beside.
 *
 * The figures are those of timeline.h: tau of the order of service against that of arrival, and the
 * gap from the end of one shell's work to the begin of the next one's. It contains the end of a
 * shell and the begin of the next one, for all programs alike.
 *
 * Failure modes: a shell that does not run, or does not end within END_S, is counted as failed; a
 * round in which none runs ends the run. Without flock(1) in PATH it says so, and there is no
 * comparison.
 *
 * Used by redlock-bench --workload shells. */
#include "bench.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "figures.h"
#include "node_counts.h"
#include "records.h"

#define WORDS_MAX 40
#define REPORT_FD 3
#define END_S 60 /* in addition to the work */

struct shells {
    struct rl_bench *bench;
    struct rl_bench_node_counts *counts;
    size_t n;
    pid_t *pids; /* a round's; 0: ended */
    char *urls;  /* "URL,URL", of all nodes */
    int file;    /* what flock(1) locks: in memory, so that no signal leaves it behind; 0: none */
    char script[96];
    char beside[512]; /* the other program's command, split into words */
    struct rl_bench_records records[2];
};

/* A round of one side. */
struct round {
    struct shells *shells;
    size_t side;
    struct rl_bench_wait *waits; /* n of them */
    struct rl_bench_slice *slice;
    int report;
    size_t started;
    size_t ended;
    char line[32]; /* the received part of the next report */
    size_t length;
};

/* -- One shell -- */

/* Appends a copy for a program that replaces this one: it is never freed. */
static void put(char *words[WORDS_MAX], const char *word) {
    size_t n = 0;
    while (words[n] != NULL) {
        n++;
    }
    if (n + 1 < WORDS_MAX) {
        words[n] = strdup(word);
    }
}

/* In the child. */
static void run_shell(const struct round *round, size_t number, int report) {
    static const char *const guards[] = {"off", "observed", "strict"};
    struct shells *shells = round->shells;
    struct rl_bench *bench = shells->bench;
    char *words[WORDS_MAX] = {NULL};
    char *rest = NULL;
    char name[24];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < REPORT_FD; fd++) {
        dup2(nothing, fd);
    }
    dup2(report, REPORT_FD);
    if (round->side == 0) {
        const char *const own[] = {bench->options.redlock,
                                   "run",
                                   "--guard",
                                   guards[bench->options.guard],
                                   "--nodes",
                                   shells->urls,
                                   bench->key_prefix,
                                   "--"};
        for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
            put(words, own[i]);
        }
    } else {
        for (char *word = strtok_r(shells->beside, " ", &rest); word != NULL;
             word = strtok_r(NULL, " ", &rest)) {
            put(words, word);
        }
    }
    snprintf(name, sizeof(name), "%zu", number);
    put(words, "sh");
    put(words, "-c");
    put(words, shells->script);
    put(words, name);
    execvp(words[0], words);
    _exit(127);
}

static int start_shell(struct round *round, const int report[2]) {
    struct shells *shells = round->shells;
    size_t number = round->started;
    struct rl_bench_wait *wait = &round->waits[number];
    *wait = (struct rl_bench_wait){
        .asked_ns = rl_bench_now_ns(), .waiter = (uint32_t)number, .process = (uint32_t)number};
    pid_t pid = fork();
    if (pid == 0) {
        close(report[0]);
        run_shell(round, number, report[1]);
    }
    if (pid < 0) {
        snprintf(shells->bench->error, sizeof(shells->bench->error), "no process: %s",
                 strerror(errno));
        return -1;
    }
    shells->pids[number] = pid;
    round->started++;
    return 0;
}

/* -- A round -- */

static void take_report(struct round *round, uint64_t now_ns) {
    size_t number = (size_t)strtoul(&round->line[1], NULL, 10);
    if (number >= round->started) {
        return;
    }
    if (round->line[0] == 'b') {
        round->waits[number].granted_ns = now_ns;
    } else {
        round->waits[number].ended_ns = now_ns;
        round->ended++;
    }
}

/* Reads the shells' reports until the given time. */
static void listen_until(struct round *round, uint64_t until_ns) {
    for (;;) {
        uint64_t now_ns = rl_bench_now_ns();
        struct pollfd fd = {.fd = round->report, .events = POLLIN};
        struct timespec left = {.tv_sec = 0};
        if (now_ns < until_ns) {
            left.tv_sec = (time_t)((until_ns - now_ns) / 1000000000);
            left.tv_nsec = (long)((until_ns - now_ns) % 1000000000);
        }
        if (round->ended == round->shells->n || ppoll(&fd, 1, &left, NULL) <= 0) {
            return;
        }
        char c;
        now_ns = rl_bench_now_ns();
        if (read(round->report, &c, 1) != 1) {
            return; /* all have gone */
        }
        if (c != '\n' && round->length + 1 < sizeof(round->line)) {
            round->line[round->length++] = c;
        } else {
            round->line[round->length] = '\0';
            round->length = 0;
            take_report(round, now_ns);
        }
    }
}

static void reap(struct round *round) {
    struct shells *shells = round->shells;
    for (size_t i = 0; i < round->started; i++) {
        int status = 0;
        if (round->waits[i].ended_ns == 0) {
            kill(shells->pids[i], SIGKILL);
        }
        waitpid(shells->pids[i], &status, 0);
        round->slice->failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
}

static int run_round(struct round *round) {
    struct shells *shells = round->shells;
    const struct rl_bench_options *options = &shells->bench->options;
    uint64_t spacing_ns = (uint64_t)options->spacing_ms * 1000000;
    int result = 0;
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) {
        snprintf(shells->bench->error, sizeof(shells->bench->error), "no pipe: %s",
                 strerror(errno));
        return -1;
    }
    round->report = report[0];
    uint64_t start_ns = rl_bench_now_ns();
    for (size_t i = 0; i < shells->n && result == 0; i++) {
        listen_until(round, start_ns + i * spacing_ns);
        result = start_shell(round, report);
    }
    close(report[1]);
    listen_until(round, rl_bench_now_ns() + END_S * UINT64_C(1000000000) +
                            shells->n * (uint64_t)options->work_ms * 1000000);
    reap(round);
    close(report[0]);
    return result;
}

static double children_cpu_us(void) {
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static int measure_round(struct shells *shells, size_t side, size_t i) {
    struct rl_bench *bench = shells->bench;
    struct rl_bench_records *records = &shells->records[side];
    struct rl_bench_stretch *stretch = &records->stretches[i];
    struct round round = {.shells = shells, .side = side};
    round.waits = &records->timeline.waits[i * shells->n];
    round.slice = &bench->report.series[side].slices[i];
    rl_bench_progress_label(&bench->progress, "round %zu of %" PRId64, i + 1,
                            bench->options.slices);
    double cpu_us = children_cpu_us();
    uint64_t executed = rl_bench_node_counts_read(shells->counts);
    uint64_t node_cpu_ns = bench->local != NULL ? rl_local_nodes_cpu_ns(bench->local) : 0;
    stretch->from_ns = rl_bench_now_ns();
    if (run_round(&round) != 0) {
        return -1;
    }
    stretch->to_ns = rl_bench_now_ns();
    stretch->cpu_us = children_cpu_us() - cpu_us;
    if (side == 0 && bench->local != NULL) {
        stretch->node_cpu_us = (double)(rl_local_nodes_cpu_ns(bench->local) - node_cpu_ns) / 1e3;
        uint64_t after = rl_bench_node_counts_read(shells->counts);
        stretch->executed = executed > 0 && after > executed ? after - executed : 0;
    }
    records->n_stretches++;
    records->timeline.n += shells->n;
    for (size_t j = 0; j < shells->n; j++) {
        if (round.waits[j].granted_ns != 0) {
            return 0;
        }
    }
    snprintf(bench->error, sizeof(bench->error), "no shell has run behind %s",
             side == 0 ? bench->options.redlock : shells->beside);
    return -1;
}

/* -- Opening and closing -- */

static bool is_in_path(const char *program) {
    const char *path = getenv("PATH");
    char name[512];
    while (path != NULL && *path != '\0') {
        int length = (int)strcspn(path, ":");
        snprintf(name, sizeof(name), "%.*s/%s", length, path, program);
        if (access(name, X_OK) == 0) {
            return true;
        }
        path += length + (path[length] == ':');
    }
    return false;
}

/* -1 without a file. */
static int choose_beside(struct shells *shells) {
    struct rl_bench *bench = shells->bench;
    if (bench->options.beside != NULL) {
        snprintf(shells->beside, sizeof(shells->beside), "%s", bench->options.beside);
        return 0;
    }
    if (!is_in_path("flock")) {
        fputs("redlock-bench: flock(1) is not installed: nothing is measured beside\n", stderr);
        return 0;
    }
    shells->file = memfd_create("redlock-bench", MFD_CLOEXEC);
    if (shells->file < 0) {
        snprintf(bench->error, sizeof(bench->error), "no file for flock: %s", strerror(errno));
        return -1;
    }
    snprintf(shells->beside, sizeof(shells->beside), "flock /proc/%d/fd/%d", (int)getpid(),
             shells->file);
    return 0;
}

static int join_urls(struct shells *shells) {
    const struct rl_bench *bench = shells->bench;
    size_t size = 1;
    for (size_t i = 0; i < bench->n_nodes; i++) {
        size += strlen(bench->nodes[i]) + 1;
    }
    shells->urls = calloc(1, size);
    for (size_t i = 0; shells->urls != NULL && i < bench->n_nodes; i++) {
        size_t length = strlen(shells->urls);
        snprintf(shells->urls + length, size - length, "%s%s", i > 0 ? "," : "", bench->nodes[i]);
    }
    return shells->urls != NULL ? 0 : -1;
}

static int open_shells(struct shells *shells) {
    struct rl_bench *bench = shells->bench;
    size_t rounds = (size_t)bench->options.slices;
    shells->n = (size_t)bench->options.shells;
    shells->pids = calloc(shells->n, sizeof(*shells->pids));
    for (size_t side = 0; side < 2; side++) {
        struct rl_bench_records *records = &shells->records[side];
        records->stretches = calloc(rounds, sizeof(*records->stretches));
        records->timeline.waits = calloc(rounds * shells->n, sizeof(struct rl_bench_wait));
        records->timeline.n_waiters = shells->n;
        if (records->stretches == NULL || records->timeline.waits == NULL) {
            return -1;
        }
    }
    snprintf(shells->script, sizeof(shells->script), "echo b$0 >&%d; sleep %.3f; echo e$0 >&%d",
             REPORT_FD, (double)bench->options.work_ms / 1e3, REPORT_FD);
    shells->counts = rl_bench_node_counts_open(bench->local);
    return shells->pids != NULL ? join_urls(shells) : -1;
}

static int measure(struct shells *shells) {
    struct rl_bench *bench = shells->bench;
    size_t sides = shells->beside[0] != '\0' ? 2 : 1;
    for (size_t i = 0; i < (size_t)bench->options.slices; i++) {
        for (size_t j = 0; j < sides; j++) {
            size_t side = sides == 2 ? (i + j) % 2 : 0;
            if (measure_round(shells, side, i) != 0) {
                return -1;
            }
        }
    }
    if (rl_bench_judge(bench, 0, "redlock run", &shells->records[0]) != 0) {
        return -1;
    }
    if (sides == 1) {
        return 0;
    }
    const char *name = shells->file > 0 ? "flock(1)" : "beside";
    return rl_bench_judge(bench, 1, name, &shells->records[1]);
}

int rl_bench_shells(struct rl_bench *bench) {
    struct shells shells = {.bench = bench};
    if (bench->options.records != NULL) {
        return rl_bench_judge_file(bench);
    }
    int result = open_shells(&shells);
    if (result != 0) {
        snprintf(bench->error, sizeof(bench->error), "out of memory");
    }
    result = result == 0 ? choose_beside(&shells) : result;
    result = result == 0 ? measure(&shells) : result;
    if (shells.file > 0) {
        close(shells.file);
    }
    rl_bench_node_counts_close(shells.counts);
    for (size_t side = 0; side < 2; side++) {
        rl_bench_records_free(&shells.records[side]);
    }
    free(shells.urls);
    free(shells.pids);
    return result;
}
