/* The progress of redlock-bench, on stderr.
 *
 * Happy path: on a terminal one line that is rewritten every second; elsewhere, in a run of more
 * than two seconds, one line per finished slice; otherwise nothing.
 *
 * Failure modes: none; failed writes are ignored.
 *
 * main.c opens it, the workloads set its text. The timer costs one wake-up a second, in each slice
 * alike. */
#ifndef RL_BENCH_PROGRESS_H
#define RL_BENCH_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct rl_bench_progress {
    uv_timer_t timer;
    bool is_terminal;
    bool is_wanted;
    uint64_t start_ns;
    double total_s;
    char label[100];
};

void rl_bench_progress_open(struct rl_bench_progress *progress, uv_loop_t *loop, double total_s);

/* Sets the current activity. */
__attribute__((format(printf, 2, 3))) void rl_bench_progress_label(
    struct rl_bench_progress *progress, const char *format, ...);

/* Shows a result. */
__attribute__((format(printf, 2, 3))) void rl_bench_progress_note(
    struct rl_bench_progress *progress, const char *format, ...);

/* Clears the line and gives the timer back to the loop, which must run once more. */
void rl_bench_progress_close(struct rl_bench_progress *progress);

#endif /* RL_BENCH_PROGRESS_H */
