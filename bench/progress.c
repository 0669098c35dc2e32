/* Progress on stderr: see progress.h for purpose, use and failure modes. */
#include "progress.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "slice.h"

#define QUIET_S 2.0
#define CLEAR_LINE "\r\033[K"

static void timer_cb(uv_timer_t *timer) {
    const struct rl_bench_progress *progress = timer->data;
    double elapsed_s = (double)(rl_bench_now_ns() - progress->start_ns) / 1e9;
    fprintf(stderr, CLEAR_LINE "%.0f s of about %.0f s: %s", elapsed_s, progress->total_s,
            progress->label);
}

void rl_bench_progress_open(struct rl_bench_progress *progress, uv_loop_t *loop, double total_s) {
    assert(total_s >= 0);
    memset(progress, 0, sizeof(*progress));
    progress->is_terminal = isatty(STDERR_FILENO) == 1;
    progress->is_wanted = total_s > QUIET_S;
    progress->total_s = total_s;
    progress->start_ns = rl_bench_now_ns();
    uv_timer_init(loop, &progress->timer);
    progress->timer.data = progress;
    if (progress->is_terminal) {
        uv_timer_start(&progress->timer, timer_cb, 1000, 1000);
        uv_unref((uv_handle_t *)&progress->timer);
    }
}

void rl_bench_progress_label(struct rl_bench_progress *progress, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(progress->label, sizeof(progress->label), format, args);
    va_end(args);
}

void rl_bench_progress_note(struct rl_bench_progress *progress, const char *format, ...) {
    if (progress->is_terminal || !progress->is_wanted) {
        return;
    }
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputs("\n", stderr);
}

void rl_bench_progress_close(struct rl_bench_progress *progress) {
    if (progress->is_terminal) {
        fputs(CLEAR_LINE, stderr);
    }
    uv_close((uv_handle_t *)&progress->timer, NULL);
}
