/* See contender.h. */
#include "contender.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "alarm.h"
#include "redlock/semaphore.h"
#include "session.h"

/* -- The arena -- */

static void *share(size_t size) {
    void *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

static void give_back(void *memory, size_t size) {
    if (memory != NULL) {
        munmap(memory, size);
    }
}

int rl_bench_arena_open(struct rl_bench_arena *arena, size_t n) {
    memset(arena, 0, sizeof(*arena));
    arena->n = n;
    for (size_t i = 0; i < 2; i++) {
        arena->ready[i] = arena->go[i] = arena->stop[i] = -1;
    }
    arena->processes = share(n * sizeof(*arena->processes));
    arena->waits = share(RL_BENCH_ARENA_WAITS * sizeof(*arena->waits));
    arena->n_waits = share(sizeof(*arena->n_waits));
    if (arena->processes == NULL || arena->waits == NULL || arena->n_waits == NULL ||
        pipe2(arena->ready, O_CLOEXEC) != 0 || pipe2(arena->go, O_CLOEXEC) != 0 ||
        pipe2(arena->stop, O_CLOEXEC) != 0) {
        return -1;
    }
    return 0;
}

static struct rl_bench_wait *arena_claim(struct rl_bench_arena *arena) {
    uint64_t i = atomic_fetch_add(arena->n_waits, 1);
    return i < RL_BENCH_ARENA_WAITS ? &arena->waits[i] : NULL;
}

void rl_bench_arena_shut(int *fd) {
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

/* In a child: closes the parent's ends of the pipes. */
static void arena_enter(struct rl_bench_arena *arena) {
    rl_bench_arena_shut(&arena->ready[0]);
    rl_bench_arena_shut(&arena->go[1]);
    rl_bench_arena_shut(&arena->stop[1]);
}

void rl_bench_arena_close(struct rl_bench_arena *arena) {
    for (size_t i = 0; i < 2; i++) {
        rl_bench_arena_shut(&arena->ready[i]);
        rl_bench_arena_shut(&arena->go[i]);
        rl_bench_arena_shut(&arena->stop[i]);
    }
    give_back(arena->processes, arena->n * sizeof(*arena->processes));
    give_back(arena->waits, RL_BENCH_ARENA_WAITS * sizeof(*arena->waits));
    give_back(arena->n_waits, sizeof(*arena->n_waits));
}

/* -- A client -- */

#define SETTLE_MS 20000

enum waiter_state {
    OUT,     /* not started, or stopped */
    WAITING, /* acquire pending */
    HOLDING,
    BETWEEN /* the release is pending, or the waiter thinks */
};

struct waiter {
    struct contender *contender;
    redlock_lock *locks[2]; /* the second one only with --again at-once */
    size_t used;            /* the current one */
    enum waiter_state state;
    bool is_blocked; /* both locks are in use: it acquires when one is released */
    uint32_t number;
    uint64_t asked_ns;
    struct rl_bench_wait *hold; /* in the arena */
    uv_timer_t think;
};

struct contender {
    struct rl_bench *bench; /* the child's own */
    struct rl_bench_arena *arena;
    struct rl_bench_process *process;
    size_t number;
    struct rl_bench_session session;
    redlock_acquire_options acquire;
    struct rl_bench_alarm hold; /* only one can hold */
    struct waiter *holder;
    uv_poll_t go;
    uv_poll_t stop;
    uv_check_t count;
    bool keeps; /* the holder of --idle */
    bool is_stopping;
    size_t active; /* waiters that are not OUT */
    size_t n;
    struct waiter *waiters;
};

static void fail(struct contender *contender, const char *what, redlock_lock *lock) {
    char sentence[REDLOCK_MESSAGE_MAX];
    snprintf(contender->process->error, sizeof(contender->process->error), "%s: %s", what,
             redlock_lock_message(lock, sentence, sizeof sentence));
    _exit(EXIT_FAILURE);
}

/* -- The life of a waiter -- */

static void acquire_cb(redlock_lock *lock, int status, void *data);

static void leave(struct waiter *waiter) {
    assert(waiter->state != OUT && waiter->contender->active > 0);
    waiter->state = OUT;
    waiter->contender->active--;
}

/* Records a wait that has ended or was cancelled. */
static struct rl_bench_wait *note(struct waiter *waiter, uint64_t granted_ns) {
    struct contender *contender = waiter->contender;
    struct rl_bench_wait *wait = arena_claim(contender->arena);
    if (wait == NULL) {
        fail(contender, "more grants than there is room for", waiter->locks[0]);
        return NULL;
    }
    *wait = (struct rl_bench_wait){
        .asked_ns = waiter->asked_ns,
        .granted_ns = granted_ns,
        .waiter = waiter->number,
        .reads = rl_bench_options_reads(&contender->bench->options, contender->number),
        .process = (uint32_t)contender->number};
    return wait;
}

static void ask(struct waiter *waiter) {
    struct contender *contender = waiter->contender;
    if (contender->is_stopping) {
        leave(waiter);
        return;
    }
    redlock_lock *lock = waiter->locks[waiter->used];
    contender->acquire.lost_data = waiter;
    waiter->asked_ns = rl_bench_now_ns();
    int status = redlock_acquire(lock, &contender->acquire, acquire_cb, waiter);
    waiter->is_blocked = status == REDLOCK_ERR_BUSY;
    waiter->state = waiter->is_blocked ? BETWEEN : WAITING;
    if (status != 0 && !waiter->is_blocked) {
        fail(contender, "acquire", lock);
    }
}

static void think_cb(uv_timer_t *timer) {
    ask(timer->data);
}

static void released_cb(redlock_lock *lock, int status, void *data) {
    struct waiter *waiter = data;
    struct contender *contender = waiter->contender;
    int64_t think_ms = contender->bench->options.think_ms;
    contender->process->failed += status != 0;
    if (contender->bench->options.again == RL_BENCH_AGAIN_AT_ONCE) {
        if (waiter->is_blocked && lock == waiter->locks[waiter->used]) {
            ask(waiter);
        }
    } else if (think_ms > 0 && !contender->is_stopping) {
        uv_timer_start(&waiter->think, think_cb, (uint64_t)think_ms, 0);
    } else {
        ask(waiter);
    }
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns) {
    return a_ns < b_ns ? a_ns : b_ns;
}

/* The end of validity, by the clock of the bench. */
static uint64_t valid_until_ns(const redlock_lock *lock) {
    uint64_t now_ns = redlock_now_ns();
    uint64_t until_ns = redlock_lock_valid_until_ns(lock);
    return rl_bench_now_ns() + (until_ns > now_ns ? until_ns - now_ns : 0);
}

static void end_hold(struct waiter *waiter) {
    struct contender *contender = waiter->contender;
    redlock_lock *lock = waiter->locks[waiter->used];
    assert(waiter->state == HOLDING);
    waiter->hold->ended_ns = earlier(rl_bench_now_ns(), valid_until_ns(lock));
    waiter->state = BETWEEN;
    contender->holder = NULL;
    if (redlock_release(lock, released_cb, waiter) != 0) {
        fail(contender, "release", lock);
    }
    if (contender->bench->options.again == RL_BENCH_AGAIN_AT_ONCE) {
        waiter->used = 1 - waiter->used;
        ask(waiter);
    }
}

static void hold_cb(void *data) {
    struct contender *contender = data;
    if (contender->holder != NULL) {
        end_hold(contender->holder);
    }
}

static void lost_cb(redlock_lock *lock, int status, void *data) {
    struct waiter *waiter = data;
    struct contender *contender = waiter->contender;
    (void)lock, (void)status;
    if (waiter->state != HOLDING) {
        return;
    }
    contender->process->failed++;
    waiter->hold->ended_ns = rl_bench_now_ns();
    contender->holder = contender->holder == waiter ? NULL : contender->holder;
    ask(waiter);
}

static uint64_t slots_of(const struct contender *contender, const redlock_lock *lock) {
    const struct rl_bench_options *options = &contender->bench->options;
    uint64_t slots = 0;
    for (size_t i = 0; options->permits > 0 && i < (size_t)options->take; i++) {
        int32_t slot = redlock_lock_slot(lock, i);
        assert(slot >= 0 && slot < RL_BENCH_PERMITS_MAX);
        slots |= UINT64_C(1) << (unsigned)slot;
    }
    return slots;
}

/* Must not free anything: it runs in the library's callback. */
static void acquire_cb(redlock_lock *lock, int status, void *data) {
    struct waiter *waiter = data;
    struct contender *contender = waiter->contender;
    uint64_t now_ns = rl_bench_now_ns();
    assert(waiter->state == WAITING);
    if (status != 0) {
        contender->process->failed += status != REDLOCK_ERR_CANCELED;
        note(waiter, 0);
        ask(waiter);
        return;
    }
    waiter->hold = note(waiter, now_ns);
    waiter->hold->slots = slots_of(contender, lock);
    waiter->state = HOLDING;
    if (contender->keeps && !contender->is_stopping) {
        contender->holder = waiter;
    } else if (contender->bench->options.hold_ms == 0 || contender->holder != NULL) {
        end_hold(waiter);
    } else {
        contender->holder = waiter;
        rl_bench_alarm_set(&contender->hold,
                           now_ns + (uint64_t)contender->bench->options.hold_ms * 1000000);
    }
}

/* -- Going and stopping -- */

static void begin(struct contender *contender) {
    for (size_t i = 0; i < contender->n; i++) {
        contender->active++;
        contender->waiters[i].state = BETWEEN;
        ask(&contender->waiters[i]);
    }
}

static void go_cb(uv_poll_t *poll, int status, int events) {
    struct contender *contender = poll->data;
    (void)status, (void)events;
    uv_poll_stop(poll);
    if (!contender->keeps) {
        begin(contender);
    }
}

static void stop_cb(uv_poll_t *poll, int status, int events) {
    struct contender *contender = poll->data;
    (void)status, (void)events;
    uv_poll_stop(poll);
    contender->is_stopping = true;
    if (contender->keeps && contender->holder != NULL) {
        end_hold(contender->holder);
    }
    for (size_t i = 0; i < contender->n; i++) {
        struct waiter *waiter = &contender->waiters[i];
        if (waiter->state == WAITING) {
            redlock_cancel(waiter->locks[waiter->used]);
        } else if (uv_is_active((uv_handle_t *)&waiter->think)) {
            uv_timer_stop(&waiter->think);
            leave(waiter);
        }
    }
}

/* Once per turn of the loop: no timer of the bench wakes an idle waiter. */
static void count_cb(uv_check_t *check) {
    struct contender *contender = check->data;
    struct rl_bench_counts counts = {.attempts = 0};
    rl_bench_session_count(&contender->session, &counts);
    contender->process->attempts = counts.attempts;
    contender->process->commands = counts.commands;
    contender->process->fenced = counts.fenced;
    contender->process->raised = counts.raised;
}

/* -- Opening and closing -- */

static int open_waiter(struct contender *contender, struct waiter *waiter, const char *key) {
    const struct rl_bench_options *asked = &contender->bench->options;
    bool is_early = asked->again == RL_BENCH_AGAIN_AT_ONCE;
    bool reads = rl_bench_options_reads(asked, contender->number);
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_bytes bytes = {key, strlen(key)};
    options.resources = &bytes;
    options.n_resources = 1;
    options.mode = reads ? REDLOCK_SHARED : REDLOCK_EXCLUSIVE;
    options.permits = (int32_t)asked->permits;
    options.take = (int32_t)asked->take;
    for (size_t i = 0; i < (is_early ? 2 : 1); i++) {
        int status =
            redlock_lock_new_with(contender->session.client, &options, &waiter->locks[i], NULL, 0);
        if (status != 0) {
            snprintf(contender->bench->error, sizeof(contender->bench->error), "lock: %s",
                     redlock_strerror(status));
            return -1;
        }
    }
    uv_timer_init(&contender->bench->loop, &waiter->think);
    waiter->think.data = waiter;
    return 0;
}

static int open_waiters(struct contender *contender) {
    const struct rl_bench_options *options = &contender->bench->options;
    char key[96];
    size_t before = 0;
    snprintf(key, sizeof(key), "%s:contended", contender->bench->key_prefix);
    if (options->apart) {
        snprintf(key, sizeof(key), "%s:own:%zu", contender->bench->key_prefix, contender->number);
    }
    for (size_t i = 0; i < contender->number; i++) {
        before += rl_bench_options_waiters(options, i);
    }
    contender->n = rl_bench_options_waiters(options, contender->number);
    contender->waiters = calloc(contender->n, sizeof(*contender->waiters));
    if (contender->waiters == NULL) {
        snprintf(contender->bench->error, sizeof(contender->bench->error), "out of memory");
        return -1;
    }
    for (size_t i = 0; i < contender->n; i++) {
        struct waiter *waiter = &contender->waiters[i];
        waiter->contender = contender;
        waiter->number = (uint32_t)(before + i);
        if (open_waiter(contender, waiter, key) != 0) {
            return -1;
        }
    }
    return 0;
}

static void set_acquire(struct contender *contender) {
    const struct rl_bench_options *options = &contender->bench->options;
    contender->acquire = (redlock_acquire_options)REDLOCK_ACQUIRE_OPTIONS_INIT;
    contender->acquire.ttl_ms = options->ttl_ms;
    contender->acquire.linger_ms = options->linger_ms;
    contender->acquire.wait_ms = REDLOCK_NO_LIMIT;
    contender->acquire.fencing = options->fencing == RL_BENCH_ON;
    contender->acquire.auto_extend = contender->keeps;
    contender->acquire.on_lost = lost_cb;
}

static int open_polls(struct contender *contender) {
    uv_loop_t *loop = &contender->bench->loop;
    if (uv_poll_init(loop, &contender->go, contender->arena->go[0]) != 0 ||
        uv_poll_init(loop, &contender->stop, contender->arena->stop[0]) != 0 ||
        rl_bench_alarm_open(&contender->hold, loop, hold_cb, contender) != 0) {
        snprintf(contender->bench->error, sizeof(contender->bench->error),
                 "too few descriptors (ulimit -n)");
        return -1;
    }
    contender->go.data = contender->stop.data = contender;
    uv_poll_start(&contender->go, UV_READABLE | UV_DISCONNECT, go_cb);
    uv_poll_start(&contender->stop, UV_READABLE | UV_DISCONNECT, stop_cb);
    uv_check_init(loop, &contender->count);
    contender->count.data = contender;
    uv_check_start(&contender->count, count_cb);
    return 0;
}

static int open_contender(struct contender *contender) {
    struct rl_bench *bench = contender->bench;
    if (bench->options.distance_ms > 0) {
        int result = rl_bench_relay_open(
            &bench->relay, &bench->loop, bench->local, (uint64_t)bench->options.distance_ms,
            contender->number, &contender->process->late, bench->error, sizeof(bench->error));
        bench->nodes = rl_bench_relay_urls(bench->relay);
        if (result != 0) {
            return -1;
        }
    }
    set_acquire(contender);
    /* When a thousand connect at the same time, some fail at first. */
    struct rl_bench_session *session = &contender->session;
    if (rl_bench_session_open(session, bench) != 0 &&
        (session->status != REDLOCK_ERR_NO_QUORUM ||
         rl_bench_session_settle(session, SETTLE_MS) != 0)) {
        return -1;
    }
    return open_polls(contender) == 0 ? open_waiters(contender) : -1;
}

/* The holder of --idle gets the lock before the others want it. */
static void take_first(struct contender *contender) {
    begin(contender);
    while (contender->holder == NULL) {
        uv_run(&contender->bench->loop, UV_RUN_ONCE);
    }
}

int rl_bench_contender_run(const struct rl_bench *bench, struct rl_bench_arena *arena,
                           size_t number) {
    struct rl_bench *own = calloc(1, sizeof(*own));
    struct contender contender = {.bench = own, .arena = arena, .number = number};
    contender.process = &arena->processes[number];
    contender.keeps = bench->options.idle && number == 0;
    arena_enter(arena);
    if (own == NULL || uv_loop_init(&own->loop) != 0) {
        return EXIT_FAILURE;
    }
    own->options = bench->options;
    own->local = bench->local;
    own->nodes = bench->nodes;
    own->n_nodes = bench->n_nodes;
    memcpy(own->key_prefix, bench->key_prefix, sizeof(own->key_prefix));
    if (open_contender(&contender) != 0) {
        snprintf(contender.process->error, sizeof(contender.process->error), "%.*s",
                 (int)sizeof(contender.process->error) - 1, own->error);
        return EXIT_FAILURE;
    }
    if (contender.keeps) {
        take_first(&contender);
    }
    if (write(arena->ready[1], "", 1) != 1) {
        return EXIT_FAILURE;
    }
    while (!contender.is_stopping || contender.active > 0) {
        uv_run(&own->loop, UV_RUN_ONCE);
    }
    rl_bench_session_close(&contender.session);
    return EXIT_SUCCESS; /* the end of the process frees the rest */
}
