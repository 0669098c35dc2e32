/* See table.h. */
#include "ls/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kick/note.h"
#include "ls/cells.h"
#include "say.h"
#include "tool/utf8.h"

#define NAME_WIDTH_MAX 40
#define CELL_WIDTH_MAX 32
#define GAP 2

/* Columns that no row of a table has anything in are left out. */
struct columns {
    int name, cells[RL_CELLS];
};

/* Whether the lock is in a table of this class. */
static bool is_in(const struct rl_lock *lock, enum rl_lock_class class, bool waiting) {
    bool is_of = lock->class == class || (class == RL_LOCK_HELD && lock->class == RL_LOCK_FREE);
    return is_of && (!waiting || lock->waiting > 0);
}

static int widest(int width, const char *text, int max) {
    int columns = rl_say_columns(text);
    return columns <= width ? width : columns < max ? columns : max;
}

static struct columns measure(const struct rl_sweep *sweep, enum rl_lock_class class, bool waiting,
                              struct rl_cells *cells) {
    struct columns columns = {.name = (int)strlen("resource")};
    for (size_t i = 0; i < sweep->list.n; i++) {
        if (is_in(&sweep->list.locks[i], class, waiting)) {
            rl_cells_fill(cells, &sweep->list.locks[i], sweep->n);
            columns.name = widest(columns.name, cells->name, NAME_WIDTH_MAX);
            for (int c = 0; c < RL_CELLS; c++) {
                columns.cells[c] = widest(columns.cells[c], cells->text[c], CELL_WIDTH_MAX);
            }
        }
    }
    for (int c = 0; c < RL_CELLS; c++) {
        if (columns.cells[c] > 0) {
            columns.cells[c] = widest(columns.cells[c], rl_cell_heads[c], CELL_WIDTH_MAX);
        }
    }
    return columns;
}

/* One that is longer than its column pushes the others. width 0: the last one. */
static void print_cell(const char *text, int width, enum rl_paint paint) {
    int columns = rl_say_columns(text);
    rl_say_painted(paint, text, 0);
    printf("%*s", width == 0 ? 0 : columns > width ? GAP : width - columns + GAP, "");
}

/* What is behind the last cell that has anything is left out, too. */
static void print_row(const struct columns *columns, const char *name,
                      const char *const texts[RL_CELLS], enum rl_paint votes) {
    int last = -1;
    for (int c = 0; c < RL_CELLS; c++) {
        last = columns->cells[c] > 0 && texts[c][0] != '\0' ? c : last;
    }
    print_cell(name, last < 0 ? 0 : columns->name, RL_PAINT_NONE);
    for (int c = 0; c <= last; c++) {
        if (columns->cells[c] > 0) {
            print_cell(texts[c], c < last ? columns->cells[c] : 0,
                       c == RL_CELL_VOTES ? votes : RL_PAINT_NONE);
        }
    }
    printf("\n");
}

/* Returns how many rows there were. */
static size_t print_class(const struct rl_sweep *sweep, enum rl_lock_class class, bool waiting,
                          const char *title, struct rl_cells *cells) {
    const struct columns columns = measure(sweep, class, waiting, cells);
    size_t rows = 0;
    for (size_t i = 0; i < sweep->list.n; i++) {
        const struct rl_lock *lock = &sweep->list.locks[i];
        const char *texts[RL_CELLS];
        if (!is_in(lock, class, waiting)) {
            continue;
        }
        if (rows++ == 0) {
            printf("%s", title);
            print_row(&columns, "resource", rl_cell_heads, RL_PAINT_NONE);
        }
        rl_cells_fill(cells, lock, sweep->n);
        for (int c = 0; c < RL_CELLS; c++) {
            texts[c] = cells->text[c];
        }
        print_row(&columns, cells->name, texts,
                  lock->votes < sweep->n ? RL_PAINT_WARN : RL_PAINT_NONE);
    }
    return rows;
}

static void print_kicks(const struct rl_sweep *sweep) {
    bool is_first = true;
    for (size_t i = 0; i < sweep->list.n; i++) {
        const struct rl_lock *lock = &sweep->list.locks[i];
        for (size_t k = 0; k < lock->n_kicks; k++) {
            struct rl_kick_note note;
            char said[RL_KICK_SAY_MAX], name[RL_CELL_NAME_MAX];
            if (rl_cells_kick(lock, k, &note)) {
                printf("%s%s: %s\n", is_first ? "\nkicked in the last day\n" : "",
                       tool_utf8_clean(lock->name, lock->length, name, sizeof name),
                       rl_kick_note_say(&note, said));
                is_first = false;
            }
        }
    }
}

/* -- How much was seen -- */

static void print_node(const struct rl_seen_node *node) {
    const char *name = node->wire->url.name;
    if (!node->is_up || !node->is_whole) {
        bool is_forbidden = strncmp(node->why, "NOPERM", 6) == 0;
        printf("  %s: %s: %s%s\n", name, node->is_up ? "not all was read" : "not read", node->why,
               is_forbidden ? "; redlock doctor --acl NAME prints what a user needs" : "");
    } else if (node->is_cut) {
        printf("  %s: read %" PRIu64 " keys and stopped there, see --max-keys", name, node->keys);
        if (node->stored >= 0) {
            printf("; it has %" PRId64, node->stored);
        }
        printf("\n");
    }
    if (node->refused > 0) {
        printf("  %s: %" PRIu64 " keys are not for this user to read: %s\n", name, node->refused,
               node->refusal);
    }
}

static void print_sum(const struct rl_sweep *sweep) {
    const size_t *counts = sweep->list.counts;
    size_t locks = counts[RL_LOCK_HELD];
    uint64_t least = UINT64_MAX, most = 0, others = 0;
    char took[32];
    for (size_t i = 0; i < sweep->n; i++) {
        const struct rl_seen_node *node = &sweep->nodes[i];
        least = node->is_whole && node->keys < least ? node->keys : least;
        most = node->is_whole && node->keys > most ? node->keys : most;
        others = node->is_whole && node->others > others ? node->others : others;
    }
    printf("%zu lock%s held, %" PRIu64 " client%s wait%s; ", locks, locks == 1 ? "" : "s",
           sweep->list.waiting, sweep->list.waiting == 1 ? "" : "s",
           sweep->list.waiting == 1 ? "s" : "");
    printf("read %zu of %zu nodes", sweep->whole, sweep->n);
    if (sweep->whole > 0 && least < most) {
        printf(", %" PRIu64 " to %" PRIu64 " keys each", least, most);
    } else if (sweep->whole > 0) {
        printf(", %" PRIu64 " key%s each", most, most == 1 ? "" : "s");
    }
    if (others > 0) {
        printf(" (up to %" PRIu64 " that are no locks)", others);
    }
    printf(", in %s\n", rl_say_duration(sweep->took_ms, took, sizeof took));
    for (size_t i = 0; i < sweep->n; i++) {
        print_node(&sweep->nodes[i]);
    }
}

void rl_table_print(const struct rl_sweep *sweep, bool waiting) {
    struct rl_cells *cells = rl_must_alloc(1, sizeof *cells);
    size_t rows = print_class(sweep, RL_LOCK_HELD, waiting, "", cells);
    rows += print_class(sweep, RL_LOCK_LEFTOVER, waiting,
                        rows > 0 ? "\nwithout a quorum: left over, or just being acquired\n"
                                 : "without a quorum: left over, or just being acquired\n",
                        cells);
    rows += print_class(sweep, RL_LOCK_FOREIGN, waiting,
                        rows > 0 ? "\nof other libraries\n" : "of other libraries\n", cells);
    if (!waiting) {
        print_kicks(sweep);
    }
    printf("%s", rows > 0 ? "\n" : "");
    print_sum(sweep);
    free(cells);
}
