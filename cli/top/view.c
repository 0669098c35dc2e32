/* Draws the screen of redlock top into a frame: the summary, the nodes, the locks, the keys. It
 * does not touch the terminal.
 *
 * If there is too little room, it leaves out the columns fence and age, and as many nodes as needed
 * to keep half of the screen for locks. */
#include "top/room.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "say.h"
#include "tool/option.h"

static void add_latencies(struct rl_rate *rate, const struct rl_wire_clock *clock) {
    for (int i = 0; i < clock->n_samples; i++) {
        rate->latencies_ms[rate->n_latencies++ % RL_RATES_LATENCIES] = clock->samples_ms[i];
    }
}

static void add_node(struct rl_rate *rate, const struct rl_seen_node *node, uint64_t now_ns) {
    bool is_known = node->is_up && node->has_info;
    bool is_same =
        is_known && rate->run_id[0] != '\0' && strcmp(rate->run_id, node->info.run_id) == 0 &&
        node->info.commands >= rate->commands && node->turns >= rate->turns && now_ns > rate->at_ns;
    double seconds = is_same ? (double)(now_ns - rate->at_ns) / 1e9 : 1;
    int64_t commands = node->info.commands - rate->commands - rate->asked;
    rate->commands_per_s = is_same ? (double)(commands > 0 ? commands : 0) / seconds : -1;
    rate->turns_per_s = is_same ? (double)(node->turns - rate->turns) / seconds : -1;
    rate->run_id[0] = '\0';
    if (is_known) {
        memcpy(rate->run_id, node->info.run_id, sizeof rate->run_id);
        rate->commands = node->info.commands;
        rate->turns = node->turns;
        rate->asked = node->asked; /* nearly all sent after INFO, and the same number each time */
        rate->at_ns = now_ns;
        add_latencies(rate, &node->clock);
    }
}

void rl_rates_add(struct rl_rates *rates, const struct rl_sweep *sweep, uint64_t now_ns) {
    assert(sweep->n <= REDLOCK_NODES_MAX);
    rates->turns_per_s = -1;
    for (size_t i = 0; i < sweep->n; i++) {
        struct rl_rate *rate = &rates->nodes[i];
        add_node(rate, &sweep->nodes[i], now_ns);
        if (rate->turns_per_s >= 0) {
            rates->turns_per_s =
                (rates->turns_per_s > 0 ? rates->turns_per_s : 0) + rate->turns_per_s;
        }
    }
}

static int compare(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The given quantile of the node's latencies; negative: not known. */
static double rl_rates_latency_ms(const struct rl_rates *rates, size_t node, double part) {
    const struct rl_rate *rate = &rates->nodes[node];
    size_t n = rate->n_latencies < RL_RATES_LATENCIES ? rate->n_latencies : RL_RATES_LATENCIES;
    double sorted[RL_RATES_LATENCIES];
    if (n == 0) {
        return -1;
    }
    memcpy(sorted, rate->latencies_ms, n * sizeof sorted[0]);
    qsort(sorted, n, sizeof sorted[0], compare);
    size_t at = (size_t)(part * (double)n);
    return sorted[at < n ? at : n - 1];
}

#define WIDE 110 /* from this many columns on, fences are shown */
#define ROOMY 96 /* from this many on, ages, and names of servers */
#define NAME_MIN 12
#define HOLDER_MAX 40
#define SET_MAX 12

/* -- Texts -- */

static const char *say_ms(double ms) {
    return ms < 0 ? "-" : rl_say_duration(ms);
}

static const char *say_clock(const struct rl_wire_clock *clock) {
    double ms = clock->ahead_ms < 0 ? -clock->ahead_ms : clock->ahead_ms;
    if (!clock->is_known) {
        return "-";
    }
    if (ms < 1) {
        return "0 ms"; /* a network measurement is not more precise */
    }
    return rl_text("%c%s", clock->ahead_ms < 0 ? '-' : '+', rl_say_duration(ms));
}

static const char *say_bytes(int64_t bytes) {
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 999.5 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1000;
        unit++;
    }
    return rl_text("%.*f %s", unit > 0 && value < 10 ? 1 : 0, value, units[unit]);
}

/* -- Tables -- */

#define COLUMNS_MAX 10

struct table {
    int widths[COLUMNS_MAX]; /* 0: the column is left out */
    int n, left;             /* number of columns; how many of them, from the first on, are aligned
                                to the left */
};

static void draw_row(struct rl_frame *frame, int row, const struct table *table,
                     const char *const *texts, const enum rl_paint *styles) {
    int column = 0;
    for (int i = 0; i < table->n; i++) {
        rl_frame_put(frame, row, column, table->widths[i] - 1, texts[i], styles[i],
                     i >= table->left);
        column += table->widths[i];
    }
}

/* bold: the sort column; -1: none. */
static void draw_heads(struct rl_frame *frame, int row, const struct table *table,
                       const char *const *heads, int bold) {
    enum rl_paint styles[COLUMNS_MAX];
    for (int i = 0; i < table->n; i++) {
        styles[i] = i == bold ? RL_PAINT_BOLD : RL_PAINT_HEAD;
    }
    rl_frame_fill(frame, row, RL_PAINT_HEAD);
    draw_row(frame, row, table, heads, styles);
}

/* The width that the other columns leave. */
static int rest_of(const struct rl_frame *frame, const struct table *table) {
    int rest = frame->columns;
    for (int i = 0; i < table->n; i++) {
        rest -= table->widths[i];
    }
    return rest;
}

/* -- Nodes -- */

enum { AT_NODE, AT_STATE, AT_P50, AT_P99, AT_COMMANDS, AT_MEMORY, AT_VERSION, AT_CLOCK, AT_ALL };

static struct table place_nodes(const struct rl_frame *frame, const struct rl_sweep *sweep) {
    struct table table = {{0, 15, 8, 8, 8, 7, 8, 9}, .n = AT_ALL, .left = AT_P50};
    int longest = NAME_MIN;
    table.widths[AT_VERSION] += frame->columns >= ROOMY ? 7 : 0;
    for (size_t i = 0; i < sweep->n; i++) {
        int width = rl_say_columns(sweep->nodes[i].wire->url.name) + 2;
        longest = width > longest ? width : longest;
    }
    const int rest = rest_of(frame, &table);
    table.widths[AT_NODE] = rest < longest ? rest : longest;
    return table;
}

/* The node's state in words; returns the colour that rates it. */
static enum rl_paint say_state(const struct rl_seen_node *node, const char **out) {
    if (!node->is_member) {
        *out = "not in a set";
        return RL_PAINT_WARN;
    }
    switch (node->standing) {
        case RL_NODE_VOTES:
            *out = "votes";
            return RL_PAINT_GOOD;
        case RL_NODE_IN_QUARANTINE:
            *out = rl_text("votes in %s", rl_say_ms(node->votes_in_ms));
            return RL_PAINT_WARN;
        case RL_NODE_UNFIT:
            *out = node->unfit;
            return RL_PAINT_BAD;
        default:
            *out = "unknown";
            return RL_PAINT_WARN;
    }
}

static void draw_node(struct rl_frame *frame, int row, const struct table *table,
                      const struct rl_seen_node *node, const struct rl_rates *rates, size_t index) {
    const char *state;
    enum rl_paint styles[COLUMNS_MAX] = {RL_PAINT_NONE};
    const double commands = rates->nodes[index].commands_per_s;
    const struct rl_wire_info *info = &node->info;
    if (!node->is_up || !node->is_whole) {
        rl_frame_put(frame, row, 0, table->widths[AT_NODE] - 1, node->wire->url.name, RL_PAINT_NONE,
                     false);
        rl_frame_put(frame, row, table->widths[AT_NODE], frame->columns,
                     rl_text("%s: %s", node->is_up ? "not read" : "down", node->why), RL_PAINT_BAD,
                     false);
        return;
    }
    styles[AT_STATE] = say_state(node, &state);
    const char *per_s = rl_text("%.0f", commands < 0 ? (double)info->commands_per_s : commands);
    const char *version =
        frame->columns >= ROOMY ? rl_text("%s %s", info->server, info->version) : info->version;
    const char *const texts[AT_ALL] = {
        [AT_NODE] = node->wire->url.name,
        [AT_STATE] = state,
        [AT_P50] = say_ms(rl_rates_latency_ms(rates, index, 0.5)),
        [AT_P99] = say_ms(rl_rates_latency_ms(rates, index, 0.99)),
        [AT_COMMANDS] = node->has_info ? per_s : "",
        [AT_MEMORY] = node->has_info ? say_bytes(info->used_memory) : "",
        [AT_VERSION] = node->has_info ? version : "",
        [AT_CLOCK] = say_clock(&node->clock),
    };
    draw_row(frame, row, table, texts, styles);
}

/* Returns the next free row. */
static int draw_nodes(struct rl_frame *frame, int row, const struct rl_sweep *sweep,
                      const struct rl_rates *rates) {
    static const char *const heads[AT_ALL] = {"node",  "state",  "p50",     "p99",
                                              "cmd/s", "memory", "version", "clock"};
    const struct table table = place_nodes(frame, sweep);
    size_t room = frame->rows > 8 ? (size_t)frame->rows / 2 - 2 : 1;
    size_t shown = sweep->n <= room ? sweep->n : room - 1;
    draw_heads(frame, row++, &table, heads, -1);
    for (size_t i = 0; i < shown; i++) {
        draw_node(frame, row++, &table, &sweep->nodes[i], rates, i);
    }
    if (shown < sweep->n) {
        rl_frame_put(frame, row++, 0, frame->columns,
                     rl_text("and %zu more nodes", sweep->n - shown), RL_PAINT_FAINT, false);
    }
    return row;
}

/* -- Locks: the name, and the cells behind it -- */

static struct table place_locks(const struct rl_frame *frame, const struct rl_sweep *sweep) {
    struct table table = {{0, 0, 13, 0, 7, 18, 8, 9, 8, 8}, .n = 1 + RL_CELLS};
    int *widths = table.widths, *set_width = &widths[1 + RL_CELL_SET], longest = NAME_MIN;
    table.left = 1 + RL_CELL_VOTES;
    widths[1 + RL_CELL_FENCE] *= frame->columns >= WIDE;
    widths[1 + RL_CELL_AGE] *= frame->columns >= ROOMY;
    for (size_t i = 0; i < sweep->list.n; i++) {
        int width = (int)sweep->list.locks[i].length + 2; /* in bytes, which are at least as many as
                                                             columns */
        const char *set = sweep->list.locks[i].set;
        longest = width > longest ? width : longest;
        *set_width = rl_say_widen(*set_width, set, SET_MAX);
    }
    *set_width = *set_width > 0 ? rl_say_widen(*set_width, "set", SET_MAX) + 2 : 0;
    int rest = rest_of(frame, &table);
    rest = rest > 2 * NAME_MIN ? rest : 2 * NAME_MIN;
    const int half = rest * 11 / 20;
    widths[0] = longest < half ? longest : half;
    widths[1 + RL_CELL_HOLDER] = rest - widths[0] < HOLDER_MAX ? rest - widths[0] : HOLDER_MAX;
    return table;
}

static bool is_shown(const struct rl_view *view, const struct rl_lock *lock) {
    return lock->class < RL_LOCK_KICKED && (!view->waiting || lock->waiting > 0);
}

static void draw_lock(struct rl_frame *frame, int row, const struct table *table,
                      const struct rl_lock *lock, struct rl_cells *cells) {
    static const struct {
        const char *mode; /* NULL: as it is */
        enum rl_paint style;
    } classes[RL_LOCK_CLASSES] = {[RL_LOCK_LEFTOVER] = {"no quorum", RL_PAINT_WARN},
                                  [RL_LOCK_FOREIGN] = {"foreign", RL_PAINT_FAINT},
                                  [RL_LOCK_FREE] = {"free", RL_PAINT_NONE}};
    const char *texts[COLUMNS_MAX] = {cells->name};
    enum rl_paint styles[COLUMNS_MAX] = {classes[lock->class].style};
    rl_cells_fill(cells, lock);
    for (int c = 0; c < RL_CELLS; c++) {
        texts[1 + c] = cells->text[c];
        styles[1 + c] = styles[0];
    }
    if (classes[lock->class].mode != NULL) {
        texts[1 + RL_CELL_MODE] = classes[lock->class].mode;
    }
    if (lock->votes < lock->nodes) {
        styles[1 + RL_CELL_VOTES] = RL_PAINT_WARN;
    }
    draw_row(frame, row, table, texts, styles);
}

/* Draws locks from row on, down to the last row but one. */
static void draw_locks(struct rl_view *view, struct rl_frame *frame, int row,
                       const struct rl_sweep *sweep, struct rl_cells *cells) {
    static const int sorted[RL_ORDERS] = {
        [RL_ORDER_HOLDER] = 1 + RL_CELL_HOLDER,   [RL_ORDER_VOTES] = 1 + RL_CELL_VOTES,
        [RL_ORDER_FENCE] = 1 + RL_CELL_FENCE,     [RL_ORDER_AGE] = 1 + RL_CELL_AGE,
        [RL_ORDER_LEFT] = 1 + RL_CELL_LEFT,       [RL_ORDER_WAITING] = 1 + RL_CELL_WAITING,
        [RL_ORDER_LONGEST] = 1 + RL_CELL_LONGEST,
    };
    const struct table table = place_locks(frame, sweep);
    const char *heads[COLUMNS_MAX] = {"resource"};
    size_t at = 0;
    memcpy(heads + 1, rl_cell_heads, sizeof rl_cell_heads);
    draw_heads(frame, row++, &table, heads, sorted[view->order]);
    view->rows = frame->rows - 1 > row ? (size_t)(frame->rows - 1 - row) : 0;
    view->locks = 0;
    for (size_t i = 0; i < sweep->list.n; i++) {
        view->locks += is_shown(view, &sweep->list.locks[i]);
    }
    size_t last = view->locks > view->rows ? view->locks - view->rows : 0;
    view->offset = view->offset < last ? view->offset : last;
    for (size_t i = 0; i < sweep->list.n && at < view->offset + view->rows; i++) {
        if (is_shown(view, &sweep->list.locks[i]) && at++ >= view->offset) {
            draw_lock(frame, row++, &table, &sweep->list.locks[i], cells);
        }
    }
    if (view->locks == 0) {
        rl_frame_put(frame, row, 0, frame->columns,
                     view->waiting ? "nobody waits for a lock" : "there are no locks",
                     RL_PAINT_FAINT, false);
    }
}

/* -- First and last line -- */

static void draw_sum(struct rl_frame *frame, const struct rl_sweep *sweep,
                     const struct rl_rates *rates) {
    char clock[16] = "";
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local) != NULL) {
        strftime(clock, sizeof clock, "%H:%M:%S", &local);
    }
    const double per_s = rates->turns_per_s;
    const char *turns = per_s >= 0 ? rl_text("%.*f", per_s < 10 ? 1 : 0, per_s) : "-";
    const char *text =
        rl_text("redlock top %s  %zu held  %" PRIu64 " wait  %s hand-overs/s  %zu/%zu nodes in %s",
                clock, sweep->list.counts[RL_LOCK_HELD], sweep->list.waiting, turns, sweep->whole,
                sweep->n, rl_say_duration(sweep->took_ms));
    rl_frame_put(frame, 0, 0, frame->columns, text, RL_PAINT_BOLD, false);
}

static void draw_keys(const struct rl_view *view, struct rl_frame *frame) {
    char order[TOOL_CHOICE_MAX];
    int row = frame->rows - 1;
    size_t end = view->offset + view->rows < view->locks ? view->offset + view->rows : view->locks;
    const char *where = rl_text("%zu-%zu of %zu", end > 0 ? view->offset + 1 : 0, end, view->locks);
    const char *text = rl_text("q quit  sort n o v f a t w l: %s  W %s  h nodes",
                               tool_choice_name(RL_ARGS_ORDERS, (int)view->order, order),
                               view->waiting ? "all locks" : "waited for");
    rl_frame_fill(frame, row, RL_PAINT_HEAD);
    const int at = frame->columns - (int)strlen(where) - 1;
    rl_frame_put(frame, row, 0, at - 1, text, RL_PAINT_HEAD, false);
    rl_frame_put(frame, row, at, (int)strlen(where) + 1, where, RL_PAINT_HEAD, false);
}

void rl_view_draw(struct rl_view *view, struct rl_frame *frame, const struct rl_sweep *sweep,
                  const struct rl_rates *rates) {
    struct rl_cells *cells = rl_must_alloc(1, sizeof *cells);
    if (sweep == NULL) {
        rl_frame_put(frame, 0, 0, frame->columns, "redlock top: reading the nodes", RL_PAINT_BOLD,
                     false);
    } else {
        int row = view->hides_nodes ? 1 : draw_nodes(frame, 1, sweep, rates);
        draw_sum(frame, sweep, rates);
        draw_locks(view, frame, row, sweep, cells);
        draw_keys(view, frame);
    }
    free(cells);
}
