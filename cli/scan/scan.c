/* See scan.h. */
#include "scan/scan.h"

#include <stdlib.h>
#include <time.h>

#include "redlock/redlock.h"
#include "say.h"
#include "wire/connection.h"
#include "wire/wires.h"

/* What a thread has. */
struct reader {
    struct rl_seen_node *node;
    const struct rl_read_options *options;
};

static void read_one(void *item) {
    const struct reader *reader = item;
    rl_read_node(reader->node, reader->options);
    rl_list_prepare(reader->node);
}

int rl_scan_open(struct rl_scan *scan, const struct rl_args *args,
                 const struct rl_read_options *options) {
    *scan = (struct rl_scan){.n = args->nodes.n, .options = *options};
    for (size_t i = 0; i < scan->n; i++) {
        rl_guard_init(&scan->guards[i]);
    }
    return rl_wires_open(&scan->wires, args, rl_wires_answer_ms(args));
}

static int64_t wall_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void rl_scan_sweep(struct rl_scan *scan, struct rl_sweep *sweep) {
    struct reader readers[REDLOCK_NODES_MAX];
    uint64_t began_ns = redlock_now_ns();
    rl_list_free(&sweep->list);
    if (sweep->nodes == NULL) {
        sweep->nodes = rl_must_alloc(scan->n, sizeof *sweep->nodes);
        sweep->n = scan->n;
    }
    for (size_t i = 0; i < scan->n; i++) {
        sweep->nodes[i].wire = &scan->wires[i];
        sweep->nodes[i].guard = &scan->guards[i];
        readers[i] = (struct reader){&sweep->nodes[i], &scan->options};
    }
    rl_wires_each(readers, sizeof readers[0], scan->n, read_one);
    sweep->up = sweep->whole = 0;
    for (size_t i = 0; i < scan->n; i++) {
        sweep->up += sweep->nodes[i].is_up;
        sweep->whole += sweep->nodes[i].is_whole;
    }
    rl_list_merge(&sweep->list, sweep->nodes, scan->n, wall_us());
    sweep->took_ms = (double)(redlock_now_ns() - began_ns) / 1e6;
}

void rl_sweep_free(struct rl_sweep *sweep) {
    rl_list_free(&sweep->list);
    for (size_t i = 0; sweep->nodes != NULL && i < sweep->n; i++) {
        rl_memory_free(&sweep->nodes[i].memory);
        free(sweep->nodes[i].seen);
    }
    free(sweep->nodes);
    *sweep = (struct rl_sweep){0};
}

void rl_scan_close(struct rl_scan *scan) {
    for (size_t i = 0; scan->wires != NULL && i < scan->n; i++) {
        rl_wire_disconnect(&scan->wires[i]);
    }
    rl_wires_free(scan->wires, scan->n);
    scan->wires = NULL;
}

bool rl_sweep_has_quorum(const struct rl_sweep *sweep) {
    return sweep->whole >= sweep->n / 2 + 1;
}
