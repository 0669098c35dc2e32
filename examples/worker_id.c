/* Unique numbers on many machines, without communication for each number: the time, the number of
 * the worker, and a count. The worker's number is a slot of a semaphore.
 *
 *     worker_id COUNT redis://host:port ...     prints COUNT numbers, one a line
 *
 * The exit status is 0, or 1 if no slot was free or it was lost before all were printed.
 */
#include <inttypes.h>
#include <redlock/redlock.h>
#include <redlock/semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#define WORKERS 1024                    /* 10 bits of a number */
#define EPOCH_MS INT64_C(1700000000000) /* the time has 41 bits, from here on */
#define CLOCKS_DIFFER_MS 50             /* at most, the wall clocks of the machines */

enum { NOT_YET = -1, NOT_OURS = -2 };

struct worker {
    redlock_lock *lock;
    uv_timer_t timer;
    int64_t last_ms; /* no number of this time or an earlier one is given any more */
    int count;       /* of the numbers of last_ms */
    long left;
    int failed;
};

static int64_t wall_clock_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void granted(struct worker *w) {
    w->last_ms = wall_clock_ms() + CLOCKS_DIFFER_MS; /* the holder before may have been ahead */
    w->count = 4095;
}

static int64_t next_id(struct worker *w) {
    int64_t ms = wall_clock_ms(); /* first the clock ... */
    if (ms < w->last_ms || (ms == w->last_ms && w->count == 4095)) {
        return NOT_YET;
    }
    w->count = ms == w->last_ms ? w->count + 1 : 0;
    w->last_ms = ms;
    if (!redlock_lock_is_valid(w->lock)) { /* ... then the lock: the slot was ours then */
        return NOT_OURS;
    }
    return (ms - EPOCH_MS) << 22 | (int64_t)redlock_lock_slot(w->lock, 0) << 12 | w->count;
}

static void end(struct worker *w) {
    uv_close((uv_handle_t *)&w->timer, NULL);
    redlock_client_close(redlock_lock_client(w->lock), NULL, NULL); /* releases the slot */
}

static void on_tick(uv_timer_t *timer) {
    struct worker *w = timer->data;
    int64_t id = 0;
    while (w->left > 0 && (id = next_id(w)) >= 0) {
        printf("%" PRId64 "\n", id);
        w->left--;
    }
    if (id == NOT_OURS || w->left == 0) {
        w->failed = w->left > 0;
        end(w);
    }
}

static void on_lock(redlock_lock *lock, int status, void *data) {
    char message[REDLOCK_MESSAGE_MAX];
    struct worker *w = data;
    if (status == 0) {
        granted(w);
        uv_timer_start(&w->timer, on_tick, 1, 1);
    } else {
        fprintf(stderr, "worker_id: %s\n", redlock_lock_message(lock, message, sizeof message));
        w->failed = 1;
        end(w);
    }
}

static void on_open(redlock_client *client, int status, void *data) {
    char error[REDLOCK_MESSAGE_MAX] = "";
    struct worker *w = data;
    redlock_bytes name = {"worker-ids", 10};
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_acquire_options acquire = REDLOCK_ACQUIRE_OPTIONS_INIT;
    (void)status; /* too few nodes: the acquire says which */
    options.resources = &name;
    options.n_resources = 1;
    options.permits = WORKERS;
    acquire.auto_extend = 1;
    if (redlock_lock_new_with(client, &options, &w->lock, error, sizeof error) != 0 ||
        redlock_acquire(w->lock, &acquire, on_lock, w) != 0) {
        fprintf(stderr, "worker_id: %s\n", error);
        exit(1);
    }
}

int main(int argc, char **argv) {
    redlock_client *client;
    struct worker w;
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    memset(&w, 0, sizeof w);
    if (argc < 3) {
        fprintf(stderr, "usage: worker_id COUNT redis://host:port ...\n");
        return 2;
    }
    w.left = strtol(argv[1], NULL, 10);
    w.timer.data = &w;
    options.nodes = (const char *const *)(argv + 2);
    options.n_nodes = (size_t)(argc - 2);
    options.guard = REDLOCK_GUARD_OBSERVED; /* for new nodes; without it they vote after 30 s */
    uv_timer_init(uv_default_loop(), &w.timer);
    if (redlock_client_open(&client, uv_default_loop(), &options, on_open, &w) != 0) {
        fprintf(stderr, "worker_id: redis://host:port is wanted for each node\n");
        return 2;
    }
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    return w.failed;
}
