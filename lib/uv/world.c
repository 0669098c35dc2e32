/* See world.h. When the owner's turn runs in one iteration of the loop:
 *
 *     prepare: a turn, if wake() was called or the timer has fired; otherwise before_wait()
 *     poll:    streams are read, connected, written to (stream.c), names arrive
 *     check:   a turn
 *     timer:   at its time only; before prepare, and since libuv 1.45 after check
 *
 * Can the loop block while a turn is due? No: wake() makes the idle handle active, and the loop
 * does not block while it is. So does arm() for a time that has passed, and a turn in which user
 * code ran: a program that runs a single iteration may be waiting for that.
 *
 * Can a peer's answer count as late while it waits in the socket? No: heard_ns() is the moment
 * before the last poll that left nothing unread. Everything that had arrived by then was delivered,
 * however long the program works in its callbacks, before the poll, after it, or between two polls
 * that it runs.
 *
 * Can a suspend delay the timer? By a second at most: libuv's clock stops during a suspend and ours
 * does not, so the timer is never set further ahead than that.
 */
#include "uv/world.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/mark.h"
#include "base/memory.h"
#include "base/units.h"
#include "uv/state.h"
#include "uv/stream.h"

#define NAP_NS (UINT64_C(1000) * RL_NS_PER_MS)
#define UNREAD_RUNS_MAX 32 /* enough for the answers to all outstanding requests */

static struct rl_uv_world *uv_of(struct rl_world *world) {
    return (struct rl_uv_world *)(void *)world;
}

/* -- Time -- */

static uint64_t world_now_ns(struct rl_world *world) {
    (void)world;
    return rl_clock_ns();
}

static uint64_t world_wall_us(struct rl_world *world) {
    struct timespec now;
    (void)world;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec > 0 ? (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000 : 1;
}

static uint64_t world_heard_ns(struct rl_world *world) {
    return uv_of(world)->heard_ns;
}

/* A poll reads one piece of each stream. If there may be more, no peer counts as silent before the
 * next poll; but a peer that always sends more than is read must not stop this clock. */
static void note_heard(struct rl_uv_world *w) {
    if (w->has_more && w->unread_runs < UNREAD_RUNS_MAX) {
        RL_MARK(MORE_TO_READ);
        w->unread_runs++;
    } else {
        w->unread_runs = 0;
        w->heard_ns = w->poll_ns;
    }
    w->has_more = false;
    assert(w->unread_runs <= UNREAD_RUNS_MAX);
    assert(w->heard_ns <= w->poll_ns);
}

/* -- Turns -- */

/* Stops the handles in a child after fork(), where nothing else would. */
static bool stop_in_child(struct rl_uv_world *w) {
    if (rl_fork_is_child(&w->fork)) {
        uv_prepare_stop(&w->prepare);
        uv_check_stop(&w->check);
        uv_timer_stop(&w->timer);
        uv_idle_stop(&w->idle);
        return true;
    }
    return false;
}

/* Returns whether user code ran. Does nothing inside another turn: a callback of the user may run
 * the loop inside the loop, and the outer turn goes on later. */
static bool run_turn(struct rl_uv_world *w) {
    if (w->in_turn) {
        return false;
    }
    assert(!w->is_closing);
    w->in_turn = true;
    w->is_woken = w->is_due = false;
    rl_uv_end_failed(w);
    bool ran = w->base.events->turn(w->base.owner);
    w->in_turn = false;
    if (!w->is_closing) {
        rl_uv_update_idle(w);
    }
    return ran && !w->is_closing;
}

static bool run_before_wait(struct rl_uv_world *w) {
    if (w->in_turn) {
        return false;
    }
    assert(!w->is_closing);
    w->in_turn = true;
    bool ran = w->base.events->before_wait(w->base.owner);
    w->in_turn = false;
    if (w->is_woken) {
        rl_uv_update_idle(w);
    }
    return ran;
}

static void prepare_cb(uv_prepare_t *prepare) {
    struct rl_uv_world *w = prepare->data;
    if (stop_in_child(w)) {
        return;
    }
    if (w->is_woken ? run_turn(w) : run_before_wait(w)) {
        w->is_due = true;
        rl_uv_update_idle(w);
    }
    w->poll_ns = rl_clock_ns(); /* the poll is next */
}

static void check_cb(uv_check_t *check) {
    struct rl_uv_world *w = check->data;
    if (!stop_in_child(w)) {
        note_heard(w);
        run_turn(w);
    }
}

/* -- Beginning -- */

/* Before the first handle or request. */
static void start(struct rl_uv_world *w) {
    if (w->is_started) {
        return;
    }
    assert(!w->is_closing && w->open == 0);
    w->is_started = true;
    uv_timer_init(w->loop, &w->timer); /* these four cannot fail */
    uv_prepare_init(w->loop, &w->prepare);
    uv_check_init(w->loop, &w->check);
    uv_idle_init(w->loop, &w->idle);
    w->timer.data = w->prepare.data = w->check.data = w->idle.data = w;
    uv_prepare_start(&w->prepare, prepare_cb);
    uv_check_start(&w->check, check_cb);
    rl_uv_opened(w, 4);
    rl_uv_refer(w, (uv_handle_t *)&w->timer);
    rl_uv_refer(w, (uv_handle_t *)&w->prepare);
    rl_uv_refer(w, (uv_handle_t *)&w->check);
    rl_uv_refer(w, (uv_handle_t *)&w->idle);
}

static struct rl_uv_world *started(struct rl_world *world) {
    start(uv_of(world));
    return uv_of(world);
}

static void world_wake(struct rl_world *world) {
    rl_uv_wake(started(world));
}

/* -- The timer -- */

static void timer_cb(uv_timer_t *timer);

/* Rounded up to the timer's milliseconds. */
static void set_timer(struct rl_uv_world *w, uint64_t now_ns) {
    assert(w->is_started && !w->is_closing);
    assert(w->wanted_ns > now_ns && w->wanted_ns != RL_NEVER);
    uint64_t left_ns = w->wanted_ns - now_ns;
    if (left_ns > NAP_NS) {
        left_ns = NAP_NS;
    }
    w->armed_ns = now_ns + left_ns;
    uv_update_time(w->loop);
    uv_timer_start(&w->timer, timer_cb, (left_ns + RL_NS_PER_MS - 1) / RL_NS_PER_MS, 0);
}

/* uv_run() may return before the turn (UV_RUN_ONCE does, and since libuv 1.45 UV_RUN_NOWAIT, too),
 * and a program with its own loop calls uv_backend_timeout() next: wake() makes that 0. */
static void timer_cb(uv_timer_t *timer) {
    struct rl_uv_world *w = timer->data;
    uint64_t now_ns = rl_clock_ns();
    assert(w->armed_ns != RL_NEVER);
    w->armed_ns = RL_NEVER;
    if (w->wanted_ns <= now_ns) {
        rl_uv_wake(w);
    } else if (w->wanted_ns != RL_NEVER) {
        set_timer(w, now_ns);
    }
}

/* A timer that fires too early sets itself again, so it need not be moved to a later time. */
static void world_arm(struct rl_world *world, uint64_t at_ns) {
    struct rl_uv_world *w = uv_of(world);
    w->wanted_ns = at_ns;
    if (at_ns >= w->armed_ns || w->is_closing) {
        return;
    }
    start(w);
    uint64_t now_ns = rl_clock_ns();
    if (at_ns > now_ns) {
        set_timer(w, now_ns);
        return;
    }
    w->is_due = true; /* the turn after the poll */
    if (!w->in_turn) {
        rl_uv_update_idle(w);
    }
}

/* -- Random bytes, a page of them at a time --
 *
 * One system call serves some two hundred tokens. Can two processes get the same bytes? No: the
 * bytes are kept on the page that the kernel gives to a child as zeros (base/fork.h), and a child,
 * which finds its first byte 0, does not use it. Without such a page no bytes are kept. Can a token
 * be read after it was used? No: bytes that were handed out are zeroed. */

/* A kernel with such pages also has this call, which is older. */
static bool refill(unsigned char *bytes, size_t length) {
    for (size_t at = 0; at < length;) {
        ssize_t n = getrandom(bytes + at, length - at, 0);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        at += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool world_random(struct rl_world *world, void *bytes, size_t length) {
    struct rl_uv_world *w = uv_of(world);
    unsigned char *page = rl_fork_room(&w->fork);
    if (page == NULL || length > RL_FORK_ROOM || rl_fork_is_child(&w->fork)) {
        return uv_random(NULL, NULL, bytes, length, 0, NULL) == 0;
    }
    assert(w->random_left <= RL_FORK_ROOM);
    if (length > w->random_left) {
        w->random_left = 0;
        if (!refill(page, RL_FORK_ROOM)) {
            return false;
        }
        w->random_left = RL_FORK_ROOM;
    }
    assert(length <= w->random_left);
    unsigned char *from = page + RL_FORK_ROOM - w->random_left;
    memcpy(bytes, from, length);
    rl_wipe(from, length);
    w->random_left -= length;
    return true;
}

/* -- Names, by getaddrinfo() in a thread of libuv's pool -- */

struct resolving {
    uv_getaddrinfo_t request;
    struct rl_uv_world *world;
    rl_resolved_cb done; /* NULL: forgotten */
    void *owner;
};

static bool is_new(const struct rl_address *addresses, uint32_t n, const struct addrinfo *info) {
    for (uint32_t i = 0; i < n; i++) {
        if (addresses[i].length == info->ai_addrlen &&
            memcmp(&addresses[i].storage, info->ai_addr, info->ai_addrlen) == 0) {
            return false;
        }
    }
    return info->ai_addrlen <= sizeof addresses->storage;
}

static uint32_t collect(const struct addrinfo *list, struct rl_address *addresses) {
    uint32_t n = 0;
    for (const struct addrinfo *at = list; at != NULL && n < RL_ADDRESSES_MAX; at = at->ai_next) {
        if (is_new(addresses, n, at)) {
            addresses[n].length = at->ai_addrlen;
            memcpy(&addresses[n].storage, at->ai_addr, at->ai_addrlen);
            n++;
        }
    }
    return n;
}

static void resolved_cb(uv_getaddrinfo_t *request, int status, struct addrinfo *list) {
    struct resolving *resolving = request->data;
    struct rl_uv_world *w = resolving->world;
    assert(resolving->done == NULL || !w->is_closing); /* names are forgotten before */
    struct rl_address addresses[RL_ADDRESSES_MAX] = {{0}};
    uint32_t n = status == 0 ? collect(list, addresses) : 0;
    uv_freeaddrinfo(list);
    if (resolving->done != NULL && !rl_fork_is_child(&w->fork)) {
        int error = status == 0 ? UV_EAI_NONAME : status;
        resolving->done(resolving->owner, addresses, n, n == 0 ? uv_strerror(error) : "");
    }
    rl_free(&w->memory, resolving);
    rl_uv_closed(w);
}

static void *world_resolve(struct rl_world *world, const char *host, uint16_t port,
                           rl_resolved_cb done, void *owner, const char **error) {
    struct rl_uv_world *w = started(world);
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    char service[sizeof "65535"];
    assert(done != NULL);
    assert(w->is_started && !w->is_closing);
    struct resolving *resolving = rl_alloc(&w->memory, 1, sizeof *resolving);
    if (resolving == NULL) {
        *error = uv_strerror(UV_ENOMEM);
        return NULL;
    }
    resolving->request.data = resolving;
    resolving->world = w;
    resolving->done = done;
    resolving->owner = owner;
    snprintf(service, sizeof service, "%u", (unsigned)port);
    int status = uv_getaddrinfo(w->loop, &resolving->request, resolved_cb, host, service, &hints);
    if (status != 0) {
        *error = uv_strerror(status);
        rl_free(&w->memory, resolving);
        return NULL;
    }
    rl_uv_opened(w, 1);
    return resolving;
}

static void world_forget(struct rl_world *world, void *forgotten) {
    struct resolving *resolving = forgotten;
    (void)world;
    assert(resolving->done != NULL);
    resolving->done = NULL;
    uv_cancel((uv_req_t *)&resolving->request); /* works only if it has not begun */
}

/* -- The rest of the table -- */

static void handle_closed(uv_handle_t *handle) {
    rl_uv_closed(handle->data);
}

static void world_close(struct rl_world *world) {
    struct rl_uv_world *w = started(world); /* `closed` is an event of the loop */
    assert(!w->is_closing && w->streams == NULL);
    w->is_closing = true;
    uv_close((uv_handle_t *)&w->timer, handle_closed);
    uv_close((uv_handle_t *)&w->prepare, handle_closed);
    uv_close((uv_handle_t *)&w->check, handle_closed);
    uv_close((uv_handle_t *)&w->idle, handle_closed);
}

static bool world_is_forked(const struct rl_world *world) {
    return rl_fork_is_child(&((const struct rl_uv_world *)(const void *)world)->fork);
}

static struct rl_stream *world_dial(struct rl_world *world, const struct rl_address *to,
                                    const struct rl_stream_events *events, void *owner,
                                    int *error) {
    return rl_uv_dial(started(world), to, events, owner, error);
}

static void world_abandon(struct rl_world *world) {
    rl_uv_abandon(uv_of(world));
}

static const struct rl_world_ops world_ops = {
    .now_ns = world_now_ns,
    .wall_us = world_wall_us,
    .heard_ns = world_heard_ns,
    .random = world_random,
    .arm = world_arm,
    .wake = world_wake,
    .dial = world_dial,
    .resolve = world_resolve,
    .forget = world_forget,
    .is_forked = world_is_forked,
    .abandon = world_abandon,
    .close = world_close,
};

struct rl_world *rl_uv_world_new(struct uv_loop_s *loop, const redlock_allocator *memory) {
    redlock_allocator own;
    rl_memory_init(&own, memory);
    struct rl_uv_world *w = rl_alloc(&own, 1, sizeof *w);
    if (w == NULL) {
        return NULL;
    }
    w->base.ops = &world_ops;
    w->memory = own;
    w->loop = loop;
    w->armed_ns = w->wanted_ns = RL_NEVER;
    w->heard_ns = w->poll_ns = rl_clock_ns();
    rl_fork_begin(&w->fork);
    return &w->base;
}

void rl_uv_world_unref(struct rl_world *world) {
    assert(!uv_of(world)->is_started);
    uv_of(world)->is_unreferenced = true;
}

void rl_uv_world_discard(struct rl_world *world) {
    if (world != NULL) {
        assert(!uv_of(world)->is_started);
        rl_uv_free(uv_of(world));
    }
}
