/* One measured slice: see slice.h for purpose, use and failure modes. */
#include "slice.h"

#include <assert.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "heap.h"

#define GRACE_S 15

uint64_t rl_bench_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static double microseconds(struct timeval time) {
    return (double)time.tv_sec * 1e6 + (double)time.tv_usec;
}

double rl_bench_cpu_us(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
}

static uint64_t node_cpu_ns(const struct rl_bench_run *run) {
    return run->local != NULL ? rl_local_nodes_cpu_ns(run->local) : 0;
}

void rl_bench_run_init(struct rl_bench_run *run, uv_loop_t *loop,
                       const struct rl_local_nodes *local) {
    memset(run, 0, sizeof(*run));
    run->local = local;
    run->loop = loop;
    uv_timer_init(loop, &run->timer);
    run->timer.data = run;
}

static void timer_cb(uv_timer_t *timer) {
    struct rl_bench_run *run = timer->data;
    assert(run->slice != NULL);
    if (run->is_ending) {
        rl_bench_run_fail(run);
        return;
    }
    run->is_ending = true;
    uv_timer_start(timer, timer_cb, GRACE_S * 1000, 0);
    if (run->on_deadline != NULL) {
        run->on_deadline(run->data);
    }
}

void rl_bench_run_begin(struct rl_bench_run *run, struct rl_bench_slice *slice, int64_t slice_ms,
                        size_t workers, void (*on_deadline)(void *data), void *data) {
    assert(run->slice == NULL);
    assert(workers > 0);
    memset(slice, 0, sizeof(*slice));
    run->slice = slice;
    run->active = workers;
    run->is_ending = false;
    run->is_failed = false;
    run->on_deadline = on_deadline;
    run->data = data;
    uv_update_time(run->loop);
    uv_timer_start(&run->timer, timer_cb, (uint64_t)slice_ms, 0);
    run->node_cpu_start_ns = node_cpu_ns(run);
    run->mallocs_start = rl_bench_heap_mallocs();
    run->cpu_start_us = rl_bench_cpu_us();
    run->start_ns = rl_bench_now_ns();
    run->deadline_ns = run->start_ns + (uint64_t)slice_ms * 1000000;
}

bool rl_bench_run_is_over(const struct rl_bench_run *run, uint64_t now_ns) {
    return now_ns >= run->deadline_ns || run->is_ending || run->is_failed;
}

void rl_bench_run_leave(struct rl_bench_run *run) {
    assert(run->active > 0);
    run->active--;
    if (run->active == 0) {
        uv_stop(run->loop);
    }
}

void rl_bench_run_fail(struct rl_bench_run *run) {
    run->is_failed = true;
    uv_stop(run->loop);
}

int rl_bench_run_finish(struct rl_bench_run *run) {
    assert(run->slice != NULL);
    while (run->active > 0 && !run->is_failed) {
        uv_run(run->loop, UV_RUN_DEFAULT);
    }
    run->slice->seconds = (double)(rl_bench_now_ns() - run->start_ns) / 1e9;
    run->slice->cpu_us = rl_bench_cpu_us() - run->cpu_start_us;
    run->slice->mallocs = rl_bench_heap_mallocs() - run->mallocs_start;
    run->slice->node_cpu_us = (double)(node_cpu_ns(run) - run->node_cpu_start_ns) / 1e3;
    uv_timer_stop(&run->timer);
    run->slice = NULL;
    return run->is_failed ? -1 : 0;
}

void rl_bench_run_close(struct rl_bench_run *run) {
    assert(run->slice == NULL);
    uv_close((uv_handle_t *)&run->timer, NULL);
}
