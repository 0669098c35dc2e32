/* redlock-bench: how fast the library takes and releases locks.
 *
 * Happy path: arguments, nodes of our own unless --nodes names some, one loop, one workload, the
 * report; then the loop must close with no handle left, and the nodes are stopped.
 *
 * Failure modes: one sentence on stderr and exit status 1; status 2 for bad arguments; status 3 if
 * mutual exclusion was violated. The nodes are stopped in any case (local_nodes.h).
 *
 * Used for the figures of the README and of every change that touches speed. */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>

#include "bench.h"

#define CLOSING_TURNS 100

enum { EXIT_BAD_ARGUMENT = 2, EXIT_VIOLATED = 3 };

static int (*const workloads[RL_BENCH_WORKLOADS])(struct rl_bench *) = {
    [RL_BENCH_CYCLE] = rl_bench_cycle,
    [RL_BENCH_CONTEND] = rl_bench_contend,
    [RL_BENCH_SHELLS] = rl_bench_shells,
    [RL_BENCH_KEEP] = rl_bench_keep,
};

/* Raises the limit of descriptors, for many clients' connections. */
static void allow_files(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void make_key_prefix(struct rl_bench *bench) {
    uint32_t random[2] = {0, 0};
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
        random[0] = (uint32_t)rl_bench_now_ns();
    }
    snprintf(bench->key_prefix, sizeof(bench->key_prefix), "redlock-bench:%08x%08x", random[0],
             random[1]);
}

static double expected_s(const struct rl_bench_options *options) {
    bool pairs = options->has_baseline || rl_bench_options_compare(options);
    if (options->workload == RL_BENCH_KEEP) {
        return (double)options->slice_ms / 1e3;
    }
    if (options->workload == RL_BENCH_SHELLS) {
        return 2e-3 * (double)(options->slices * options->shells * options->work_ms);
    }
    return (double)(options->warmup_ms * (options->has_baseline ? 2 : 1) +
                    options->slice_ms * options->slices * (pairs ? 2 : 1)) /
           1e3;
}

static int make_slices(struct rl_bench *bench) {
    bool is_file = bench->options.records != NULL; /* the file determines the number */
    for (size_t i = 0; i < 2; i++) {
        bench->report.series[i].slices =
            calloc(is_file ? RL_BENCH_SLICES_MAX : (size_t)bench->options.slices,
                   sizeof(struct rl_bench_slice));
        if (bench->report.series[i].slices == NULL) {
            snprintf(bench->error, sizeof(bench->error), "out of memory");
            return -1;
        }
    }
    return 0;
}

static int choose_nodes(struct rl_bench *bench) {
    const struct rl_bench_options *options = &bench->options;
    if (options->records != NULL) {
        return 0;
    }
    if (options->nodes.n > 0) {
        bench->nodes = options->nodes.items;
        bench->n_nodes = options->nodes.n;
        return 0;
    }
    const struct rl_local_nodes_options local = {
        .n = (size_t)options->node_count,
        .server = options->server,
    };
    if (rl_local_nodes_start(&bench->local, &local, bench->error, sizeof(bench->error)) != 0) {
        return -1;
    }
    bench->nodes = rl_local_nodes_urls(bench->local);
    bench->n_nodes = rl_local_nodes_count(bench->local);
    return 0;
}

/* Everything is closing; a handle that is open after a few turns of the loop has leaked. */
static int close_loop(struct rl_bench *bench) {
    rl_bench_progress_close(&bench->progress);
    rl_bench_run_close(&bench->run);
    rl_bench_relay_close(bench->relay);
    for (int turn = 0; turn < CLOSING_TURNS && uv_loop_alive(&bench->loop); turn++) {
        uv_run(&bench->loop, UV_RUN_NOWAIT);
    }
    int result = uv_loop_close(&bench->loop);
    if (result != 0) {
        snprintf(bench->error, sizeof(bench->error), "handles were left on the loop: %s",
                 uv_strerror(result));
        uv_print_all_handles(&bench->loop, stderr);
    }
    return result;
}

/* Puts the distance between the clients and the nodes. */
static int go_away(struct rl_bench *bench) {
    if (bench->options.distance_ms == 0 || bench->options.workload != RL_BENCH_CYCLE) {
        return 0; /* each client of contend has its own relay */
    }
    int result = rl_bench_relay_open(&bench->relay, &bench->loop, bench->local,
                                     (uint64_t)bench->options.distance_ms, 0, &bench->report.late,
                                     bench->error, sizeof(bench->error));
    bench->nodes = rl_bench_relay_urls(bench->relay);
    return result;
}

static int run_workload(struct rl_bench *bench) {
    if (uv_loop_init(&bench->loop) != 0) {
        snprintf(bench->error, sizeof(bench->error), "no event loop");
        return -1;
    }
    rl_bench_run_init(&bench->run, &bench->loop, bench->local);
    rl_bench_progress_open(&bench->progress, &bench->loop, expected_s(&bench->options));
    int result = go_away(bench);
    result = result == 0 ? workloads[bench->options.workload](bench) : result;
    int closed = close_loop(bench);
    rl_bench_relay_free(bench->relay);
    return result != 0 ? result : closed;
}

static int print_report(struct rl_bench *bench) {
    if (bench->options.json) {
        rl_bench_report_print_json(&bench->report);
    } else {
        rl_bench_report_print_table(&bench->report);
    }
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return 0;
    }
    snprintf(bench->error, sizeof(bench->error), "the report cannot be written");
    return -1;
}

static int run(struct rl_bench *bench) {
    make_key_prefix(bench);
    bench->report.options = &bench->options;
    int result = make_slices(bench);
    result = result == 0 ? choose_nodes(bench) : result;
    bench->report.n_nodes = bench->n_nodes;
    result = result == 0 ? run_workload(bench) : result;
    rl_local_nodes_stop(bench->local);
    result = result == 0 ? print_report(bench) : result;
    if (result != 0) {
        fprintf(stderr, "redlock-bench: %s%s\n", bench->is_bad_argument ? "--nodes: " : "",
                bench->error);
    }
    free(bench->report.series[0].slices);
    free(bench->report.series[1].slices);
    if (bench->report.series[0].overlaps > 0) {
        fprintf(stderr, "redlock-bench: two clients held one lock at the same time\n");
        return EXIT_VIOLATED;
    }
    if (bench->is_bad_argument) {
        return EXIT_BAD_ARGUMENT;
    }
    return result == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
    struct rl_bench *bench = calloc(1, sizeof(*bench));
    if (bench == NULL) {
        fputs("redlock-bench: out of memory\n", stderr);
        return EXIT_FAILURE;
    }
    enum rl_bench_parsed parsed = rl_bench_options_parse(&bench->options, argc, argv);
    int status = parsed == RL_BENCH_PARSED_BAD ? EXIT_BAD_ARGUMENT : EXIT_SUCCESS;
    if (parsed == RL_BENCH_PARSED) {
        signal(SIGPIPE, SIG_IGN); /* hiredis of the bare fan-out writes without MSG_NOSIGNAL */
        allow_files();
        status = run(bench);
    }
    rl_bench_options_free(&bench->options);
    free(bench);
    return status;
}
