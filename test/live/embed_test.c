/* The client in a loop that is not libuv's: its owner waits in epoll for uv_backend_fd(), at most
 * for uv_backend_timeout(), and runs uv_run(UV_RUN_NOWAIT). docs/guide.md describes it, and
 * examples/epoll.c is a program of this kind. When uv_run() returns, uv_backend_timeout() must tell
 * the owner when something is due: nothing else wakes it. */
#include "live/live.h"
#include "spent.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

/* The owner's loop. */
struct embed {
    struct live *live;
    int epoll_fd;
    unsigned turns;
};

static void embed_open(struct embed *embed, struct live *live) {
    struct epoll_event event = {.events = EPOLLIN};
    *embed = (struct embed){.live = live, .epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
    assert_true(embed->epoll_fd >= 0);
    assert_int_equal(epoll_ctl(embed->epoll_fd, EPOLL_CTL_ADD, uv_backend_fd(&live->loop), &event),
                     0);
}

static void embed_turn(struct embed *embed) {
    struct epoll_event event;
    uv_update_time(&embed->live->loop); /* its timeout counts from then */
    int timeout_ms = uv_backend_timeout(&embed->live->loop);
    int ready = epoll_wait(embed->epoll_fd, &event, 1, timeout_ms);
    assert_true(ready >= 0 || errno == EINTR); /* as by a SIGCONT */
    uv_run(&embed->live->loop, UV_RUN_NOWAIT);
    assert_false(embed->live->is_late);
    embed->turns++;
}

#define EMBED_UNTIL(embed, condition)                \
    do {                                             \
        live_watch((embed)->live, LIVE_PATIENCE_MS); \
        while (!(condition)) {                       \
            embed_turn(embed);                       \
        }                                            \
    } while (0)

struct loss {
    uint64_t valid_until_ns;
    uint64_t told_ns; /* 0: not yet */
    int status;
};

static void on_lost(redlock_lock *lock, int status, void *data) {
    struct loss *loss = data;
    loss->told_ns = redlock_now_ns();
    loss->status = status;
}

static redlock_acquire_options options_of(struct loss *loss, int64_t ttl_ms) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.ttl_ms = ttl_ms;
    options.on_lost = on_lost;
    options.lost_data = loss;
    return options;
}

/* Open, acquire, lose and close in such a loop, each call made while it does not run. */
LIVE_TEST(a_loss_in_time) {
    struct embed embed;
    struct live_done done = {0};
    struct loss loss = {0};
    live_start(live, 3, NULL);
    embed_open(&embed, live);
    redlock_client_options client_options = live_options(live);
    client_options.lost_margin_ms = 100; /* the test is not about a busy machine */
    assert_int_equal(
        redlock_client_open(&live->client, &live->loop, &client_options, live_client_cb, &done), 0);
    EMBED_UNTIL(&embed, done.count == 1);
    LIVE_STATUS(done.status, 0);

    redlock_lock *lock = live_lock(live->client, "key");
    redlock_acquire_options options = options_of(&loss, 2500); /* longer than the client naps */
    done = (struct live_done){0};
    assert_int_equal(redlock_acquire(lock, &options, live_lock_cb, &done), 0);
    EMBED_UNTIL(&embed, done.count == 1);
    LIVE_STATUS(done.status, 0);
    loss.valid_until_ns = redlock_lock_valid_until_ns(lock);
    embed.turns = 0;
    struct spent since = spent_begin();
    EMBED_UNTIL(&embed, loss.told_ns != 0);
    LIVE_STATUS(loss.status, REDLOCK_ERR_EXPIRED);
    assert_true(loss.told_ns < loss.valid_until_ns + spent_kept_ns(&since));
    assert_true(embed.turns < 100); /* it slept meanwhile */

    done = (struct live_done){0};
    assert_int_equal(redlock_client_close(live->client, live_client_cb, &done), 0);
    EMBED_UNTIL(&embed, done.count == 1);
    live->client = NULL;
    assert_int_equal(close(embed.epoll_fd), 0);
}

/* uv_run() may return right after a timer's callback (UV_RUN_ONCE always, UV_RUN_NOWAIT since libuv
 * 1.45), with no turn of ours after it. The timer for the next deadline must still be armed
 * then. */
LIVE_TEST(after_a_timer) {
    struct live_done done = {0};
    struct loss loss = {0};
    live_start(live, 3, NULL);
    live_open_all(live, NULL);
    redlock_lock *lock = live_lock(live->client, "key");
    redlock_acquire_options options = options_of(&loss, 3000);
    assert_int_equal(redlock_acquire(lock, &options, live_lock_cb, &done), 0);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, 0);
    live_watch(live, LIVE_PATIENCE_MS);
    while (loss.told_ns == 0) {
        uv_update_time(&live->loop);
        int timeout_ms = uv_backend_timeout(&live->loop);
        int64_t left_ms = redlock_lock_remaining_ms(lock);
        assert_true(timeout_ms >= 0 && timeout_ms <= left_ms);
        uv_run(&live->loop, UV_RUN_ONCE);
    }
    live_close(live, live->client);
    live->client = NULL;
}
