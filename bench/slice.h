/* One measured slice: a load runs for a number of seconds; its results and costs are recorded.
 *
 * Happy path: rl_bench_run_begin() notes clock, CPU time and malloc count; the load starts its
 * workers. A worker records each lock, stops once rl_bench_run_is_over() and reports it by
 * rl_bench_run_leave(); the last one ends the loop. rl_bench_run_finish() runs the loop until then
 * and fills in the rest of the slice. The time measured is that from the start to the last worker's
 * end, and all locks are counted, so nothing falls between.
 *
 * Failure modes: if workers have not ended GRACE_S seconds after the slice's end, finish returns
 * -1. rl_bench_run_fail() ends a slice at once.
 *
 * It measures all workloads of redlock-bench, and the bare fan-out, in the same way. */
#ifndef RL_BENCH_SLICE_H
#define RL_BENCH_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "histogram.h"
#include "tool/local_nodes.h"

struct rl_bench_slice {
    double seconds;
    double cpu_us;        /* user and system time of this process */
    double node_cpu_us;   /* all local nodes' */
    uint64_t locks;       /* granted; and released, where the workload releases */
    uint64_t failed;      /* not granted */
    uint64_t attempts;    /* rounds of SET; 0: not counted */
    uint64_t mallocs;     /* the loop thread's */
    uint64_t allocations; /* the library's */
    bool is_by_threads;   /* neither mallocs nor allocations were counted */
    uint64_t commands;    /* to all nodes; 0: not counted */
    uint64_t executed;    /* commands that the nodes count, those inside scripts too; 0: unknown */
    uint64_t fenced;      /* grants with a fence */
    uint64_t raised;      /* fenced grants that needed a second round */
    uint64_t hand_overs;  /* what follows: see timeline.h */
    uint64_t overtakings;
    uint64_t overtakers;     /* grants that overtook another wait */
    uint64_t most_overtaken; /* the highest number of overtakings of one wait */
    uint64_t longest_wait_ns;
    uint64_t phases;        /* phases of the other kind, in all waits */
    uint64_t most_phases;   /* the most in one wait */
    double used_s;          /* seconds in which a permit was in use, of all permits together */
    double crowded_s;       /* seconds in which clients waited for more permits than there are */
    double crowded_share_s; /* the same, weighted with the share of permits in use */
    double tau;
    struct rl_bench_hist grant;
    struct rl_bench_hist gap;
};

struct rl_bench_run {
    uv_loop_t *loop;
    const struct rl_local_nodes *local; /* NULL: the nodes are elsewhere */
    uv_timer_t timer;                   /* first the end of the slice, then the end of the grace */
    struct rl_bench_slice *slice;
    uint64_t start_ns;
    uint64_t deadline_ns;
    double cpu_start_us;
    uint64_t node_cpu_start_ns;
    uint64_t mallocs_start;
    size_t active; /* workers that have not left */
    bool is_ending;
    bool is_failed;
    void (*on_deadline)(void *data); /* may be NULL */
    void *data;
};

uint64_t rl_bench_now_ns(void);
double rl_bench_cpu_us(void);

/* local may be NULL. */
void rl_bench_run_init(struct rl_bench_run *run, uv_loop_t *loop,
                       const struct rl_local_nodes *local);

/* on_deadline is for loads whose workers wait for something other than their own next lock. */
void rl_bench_run_begin(struct rl_bench_run *run, struct rl_bench_slice *slice, int64_t slice_ms,
                        size_t workers, void (*on_deadline)(void *data), void *data);

/* now_ns: the worker has read the clock already. */
bool rl_bench_run_is_over(const struct rl_bench_run *run, uint64_t now_ns);
void rl_bench_run_leave(struct rl_bench_run *run);
void rl_bench_run_fail(struct rl_bench_run *run);

/* Runs the loop. 0, or -1 if the load failed or did not end. */
int rl_bench_run_finish(struct rl_bench_run *run);

/* Gives the timer back to the loop, which must run once more. */
void rl_bench_run_close(struct rl_bench_run *run);

#endif /* RL_BENCH_SLICE_H */
