/* redlock top: the list of redlock ls, kept up to date in a terminal, below a table of the
 * nodes.
 *
 * Happy path: a thread reads the nodes (scan/scan.c) every --interval; then its result is drawn,
 * and the struct of the previous result is used for the next sweep. Keys, signals and the timer are
 * events of one loop, so keys work while the thread waits for a node that is down.
 *
 * Failure modes: no terminal: a message says so, and names redlock ls. q, SIGINT, SIGTERM, SIGHUP
 * and the loss of the terminal end it; it restores the terminal at once, and then waits for the
 * running sweep. Ctrl-Z restores the terminal until fg. */
#include "commands.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "redlock/redlock.h"
#include "say.h"
#include "scan/room.h"
#include "session/room.h"
#include "top/room.h"

struct top {
    uv_loop_t loop;
    uv_poll_t typing;
    uv_timer_t timer;
    uv_work_t work;
    struct rl_signals signals;
    struct rl_scan scan;
    struct rl_sweep sweeps[2];
    int shown; /* which of them is on the screen; -1: none yet */
    struct rl_rates rates;
    struct rl_view view;
    struct rl_frame frame;
    bool is_reading, is_ending;
    int status;
};

static void end(struct top *top, int status) {
    if (top->is_ending) {
        return;
    }
    top->is_ending = true;
    top->status = status;
    rl_screen_close();
    uv_close((uv_handle_t *)&top->typing, NULL);
    uv_close((uv_handle_t *)&top->timer, NULL);
    rl_signals_close(&top->signals);
}

static void draw(struct top *top) {
    int columns = 0, rows = 0;
    char *bytes = NULL;
    size_t n = 0;
    if (top->is_ending || (top->frame.out = open_memstream(&bytes, &n)) == NULL) {
        return;
    }
    rl_screen_size(&columns, &rows);
    rl_frame_begin(&top->frame, columns, rows);
    rl_view_draw(&top->view, &top->frame, top->shown < 0 ? NULL : &top->sweeps[top->shown],
                 &top->rates);
    fclose(top->frame.out);
    if (!rl_screen_write(bytes, n)) {
        end(top, RL_EXIT_SIGNAL + SIGHUP);
    }
    free(bytes);
}

/* -- Reading -- */

static void sweep(uv_work_t *work) {
    struct top *top = work->data;
    rl_scan_sweep(&top->scan, &top->sweeps[top->shown == 0 ? 1 : 0]);
}

static void swept(uv_work_t *work, int status) {
    struct top *top = work->data;
    top->is_reading = false;
    if (top->is_ending || status != 0) {
        return;
    }
    top->shown = top->shown == 0 ? 1 : 0;
    struct rl_sweep *found = &top->sweeps[top->shown];
    rl_rates_add(&top->rates, found, redlock_now_ns());
    rl_list_sort(&found->list, top->view.order);
    draw(top);
}

static void on_time(uv_timer_t *timer) {
    struct top *top = timer->data;
    if (!top->is_reading) {
        top->is_reading = uv_queue_work(&top->loop, &top->work, sweep, swept) == 0;
    }
}

/* -- Keys and signals -- */

static void sort_by(struct top *top, enum rl_list_order order) {
    top->view.order = order;
    if (top->shown >= 0) {
        rl_list_sort(&top->sweeps[top->shown].list, order);
    }
}

static void move(struct rl_view *view, int typed) {
    const size_t page = view->rows > 1 ? view->rows - 1 : 1;
    const bool is_up = typed == RL_TYPED_UP || typed == RL_TYPED_PAGE_UP;
    const bool is_down = typed == RL_TYPED_DOWN || typed == RL_TYPED_PAGE_DOWN;
    const size_t step = typed == RL_TYPED_UP || typed == RL_TYPED_DOWN ? 1 : page;
    if (typed == RL_TYPED_HOME || (is_up && view->offset < step)) {
        view->offset = 0;
    } else if (typed == RL_TYPED_END) {
        view->offset = view->locks;
    } else if (is_up) {
        view->offset -= step;
    } else if (is_down) {
        view->offset += step; /* drawing limits it */
    }
}

static void act(struct top *top, int typed) {
    static const char orders[RL_ORDERS + 1] = "novfatwl"; /* in the order of enum rl_list_order */
    const char *order = typed > 0 && typed < 128 ? strchr(orders, typed) : NULL;
    if (order != NULL) {
        sort_by(top, (enum rl_list_order)(order - orders));
    } else if (typed == 'q' || typed == 'Q') {
        end(top, RL_EXIT_OK);
    } else if (typed == 'W') {
        top->view.waiting = !top->view.waiting;
    } else if (typed == 'h') {
        top->view.hides_nodes = !top->view.hides_nodes;
    } else if (typed == ' ') {
        on_time(&top->timer);
    } else {
        move(&top->view, typed == 'k' ? RL_TYPED_UP : typed == 'j' ? RL_TYPED_DOWN : typed);
    }
}

static void on_typed(uv_poll_t *typing, int status, int events) {
    struct top *top = typing->data;
    char bytes[256];
    (void)events;
    ssize_t n = status == 0 ? read(STDIN_FILENO, bytes, sizeof bytes) : 0;
    if (n <= 0) {
        end(top, RL_EXIT_SIGNAL + SIGHUP);
        return;
    }
    for (size_t at = 0, used = 0; at < (size_t)n && !top->is_ending; at += used) {
        act(top, rl_typed_read(bytes + at, (size_t)n - at, &used));
    }
    draw(top);
}

/* Opens the screen again: a shell may have changed the modes meanwhile. */
static void open_anew(struct top *top) {
    rl_screen_close();
    if (rl_screen_open()) {
        draw(top);
    } else {
        end(top, RL_EXIT_SIGNAL + SIGHUP);
    }
}

static void on_signal(int signal_number, void *data) {
    struct top *top = data;
    switch (signal_number) {
        case SIGWINCH:
            draw(top);
            break;
        case SIGTSTP:
            rl_screen_close();
            rl_terminal_stop_self(SIGTSTP);
            open_anew(top);
            break;
        case SIGCONT:
            open_anew(top);
            break;
        default:
            end(top, RL_EXIT_SIGNAL + signal_number);
    }
}

/* -- The command -- */

static int run(struct top *top, const struct rl_args *args) {
    static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT, 0};
    top->typing.data = top->timer.data = top->work.data = top;
    if (uv_loop_init(&top->loop) != 0) {
        return rl_fail(RL_EXIT_SYSTEM, "no event loop");
    }
    uv_timer_init(&top->loop, &top->timer);
    /* The screen comes first: it saves the flags of stdin, and uv_poll_init() sets O_NONBLOCK. */
    if (!rl_screen_open() || uv_poll_init(&top->loop, &top->typing, STDIN_FILENO) != 0) {
        rl_screen_close();
        return rl_fail(RL_EXIT_SYSTEM, "top: the terminal cannot be used");
    }
    rl_signals_open(&top->signals, &top->loop, watched, on_signal, top);
    uv_poll_start(&top->typing, UV_READABLE, on_typed);
    uv_timer_start(&top->timer, on_time, 0, (uint64_t)args->interval_ms);
    draw(top);
    uv_run(&top->loop, UV_RUN_DEFAULT);
    int closed = uv_loop_close(&top->loop);
    assert(closed == 0);
    (void)closed;
    return top->status;
}

int rl_cmd_top(struct rl_args *args) {
    if (!rl_screen_is_possible()) {
        return rl_usage(
            "top: it needs a terminal, for stdin and stdout; redlock ls lists the locks without "
            "one");
    }
    struct top *top = rl_must_alloc(1, sizeof *top);
    top->shown = -1;
    top->view = (struct rl_view){.order = (enum rl_list_order)args->sort, .waiting = args->waiting};
    top->frame.is_colored = rl_say_is_colored(stdout);
    rl_output_flush();
    int status = rl_scan_open(&top->scan, args, RL_WIRE_SAMPLES, true);
    if (status == 0) {
        status = run(top, args);
    }
    rl_sweep_free(&top->sweeps[0]);
    rl_sweep_free(&top->sweeps[1]);
    rl_wires_close(&top->scan.wires);
    free(top);
    return status;
}
