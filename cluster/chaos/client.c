/* redlock-chaos-client: one process of clients that lock and work, for cluster/chaos.sh.
 *
 *   options -> journal -> all clients open -> ... -> SIGTERM, SIGINT or --seconds
 *           -> each client ends its present work and closes -> the loop is empty -> exit 0
 *
 * SIGUSR1: the process kills itself as soon as one of its clients has the turn in a line.
 *
 * See life.h for a client's actions, and journal.h for its records.
 *
 * Failure modes: a bad option ends it with status 2; a record that cannot be written, or a handle
 * left open at the end, with 3. A killed process leaves its record up to its death: each line is a
 * separate write. */
#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "life.h"
#include "tool/option.h"
#include "under.h"

#define COUNT_EVERY_MS 5000

struct program {
    struct chaos_process process; /* first: on_all_closed() gets it */
    struct chaos_worker *workers;
    uv_signal_t sigterm, sigint, sigusr1;
    uv_timer_t end, count;
};

static void stop(struct program *program) {
    if (program->process.is_stopping) {
        return;
    }
    program->process.is_stopping = 1;
    for (int i = 0; i < program->process.settings.clients; i++) {
        chaos_life_stop(&program->workers[i]);
    }
}

static void signal_cb(uv_signal_t *handle, int number) {
    (void)number;
    stop(handle->data);
}

static void dies_cb(uv_signal_t *handle, int number) {
    struct program *program = handle->data;
    (void)number;
    program->process.dies_at_turn = 1;
}

static void end_cb(uv_timer_t *timer) {
    stop(timer->data);
}

static void count_cb(uv_timer_t *timer) {
    const struct program *program = timer->data;
    for (int i = 0; i < program->process.settings.clients; i++) {
        chaos_life_count(&program->workers[i]);
    }
}

static void all_closed(struct chaos_process *process) {
    struct program *program = (struct program *)process;
    assert(process->open == 0);
    uv_close((uv_handle_t *)&program->sigterm, NULL);
    uv_close((uv_handle_t *)&program->sigint, NULL);
    uv_close((uv_handle_t *)&program->sigusr1, NULL);
    uv_close((uv_handle_t *)&program->end, NULL);
    uv_close((uv_handle_t *)&program->count, NULL);
}

static void start_handles(struct program *program) {
    uv_loop_t *loop = &program->process.loop;
    uint64_t end_ms = (uint64_t)program->process.settings.seconds * 1000;
    int failed = uv_signal_init(loop, &program->sigterm) | uv_signal_init(loop, &program->sigint) |
                 uv_signal_init(loop, &program->sigusr1) | uv_timer_init(loop, &program->end) |
                 uv_timer_init(loop, &program->count);
    if (failed == 0) {
        program->sigterm.data = program->sigint.data = program->sigusr1.data = program;
        program->end.data = program->count.data = program;
        failed = uv_signal_start(&program->sigterm, signal_cb, SIGTERM) |
                 uv_signal_start(&program->sigint, signal_cb, SIGINT) |
                 uv_signal_start(&program->sigusr1, dies_cb, SIGUSR1) |
                 uv_timer_start(&program->count, count_cb, COUNT_EVERY_MS, COUNT_EVERY_MS);
    }
    if (failed == 0 && end_ms > 0) {
        failed = uv_timer_start(&program->end, end_cb, end_ms, 0);
    }
    if (failed != 0) {
        chaos_journal_die("the loop cannot be set up");
    }
}

static int run(struct program *program) {
    struct chaos_process *process = &program->process;
    const struct chaos_settings *settings = &process->settings;
    char name[CHAOS_NAME_SIZE], control[TOOL_CHOICE_MAX];

    chaos_journal_open(&process->journal, settings->dir, (int)settings->process);
    program->workers = calloc((size_t)settings->clients, sizeof(*program->workers));
    if (program->workers == NULL || uv_loop_init(&process->loop) != 0) {
        chaos_journal_die("no loop");
    }
    start_handles(program);
    process->on_all_closed = all_closed;
    snprintf(name, sizeof(name), "c%" PRId64, settings->process);
    tool_json_put(
        chaos_journal_begin(&process->journal, name, "begin"),
        JSON_TEXT("control", tool_choice_name(CHAOS_CONTROLS, settings->control, control)));
    chaos_journal_end(&process->journal);
    for (int i = 0; i < settings->clients; i++) {
        chaos_life_open(&program->workers[i], process, i + 1);
    }
    uv_run(&process->loop, UV_RUN_DEFAULT);
    int leaked = uv_loop_close(&process->loop);
    tool_json_put(chaos_journal_begin(&process->journal, name, "end"),
                  JSON_INT("leaked", leaked != 0));
    chaos_journal_end(&process->journal);
    chaos_journal_close(&process->journal);
    free(program->workers);
    if (leaked != 0) {
        fprintf(stderr, "redlock-chaos-client: handles are left on the loop\n");
        return CHAOS_UNUSABLE;
    }
    return 0;
}

int main(int argc, char **argv) {
    struct program program = {0};
    int result = chaos_settings_read(&program.process.settings, argc, argv);
    if (result == 0 && program.process.settings.is_under) {
        result = chaos_under_run(&program.process.settings);
    } else if (result == 0) {
        signal(SIGPIPE, SIG_IGN); /* the blind control's own connections may break */
        result = run(&program);
    } else {
        result = result < 0 ? 2 : 0;
    }
    chaos_settings_free(&program.process.settings);
    return result;
}
