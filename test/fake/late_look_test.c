/* The clock goes on between two looks, of one call or one turn: what was held at the first may be
 * over at the second. The test has the clock, and lets it jump after the first look. */

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fake/five.h"

#define OWNER 7
#define JUMP_S 100

static int looks_until_jump = -1; /* -1: no jump */
static time_t ahead_s;

/* Replaces the C library's, for the clock on which validity is computed. */
int clock_gettime(clockid_t id, struct timespec *now) {
    int status = (int)syscall(SYS_clock_gettime, id, now);
    if (id == CLOCK_BOOTTIME) {
        if (looks_until_jump >= 0 && looks_until_jump-- == 0) {
            ahead_s += JUMP_S;
        }
        now->tv_sec += ahead_s;
    }
    return status;
}

static void on_lost(redlock_lock *lock, int status, void *data) {
    struct five_done *lost = data;
    lost->calls++;
    lost->status = status;
}

static redlock_acquire_options options_of(struct five_done *lost) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.ttl_ms = JUMP_S * 1000 / 2;
    options.owner = OWNER;
    options.on_lost = on_lost;
    options.lost_data = lost;
    return options;
}

/* The owner acquires again, but its first hold has just expired. That hold's on_lost must report
 * it, not the new acquire's. */
FIVE_TEST_OPEN(acquires_what_has_just_ended) {
    struct five_done acquired = {0, 0}, again = {0, 0}, lost = {0, 0}, lost_again = {0, 0};
    redlock_acquire_options options = options_of(&lost);
    assert_int_equal(redlock_acquire(f->lock, &options, five_on_lock, &acquired), 0);
    five_wait(f, &acquired);
    assert_int_equal(acquired.status, 0);

    options = options_of(&lost_again);
    f->may_keep = (1u << FIVE) - 1;
    looks_until_jump = 1;
    assert_int_equal(redlock_acquire(f->lock, &options, five_on_lock, &again), REDLOCK_ERR_BUSY);
    five_wait(f, &lost);
    assert_int_equal(lost.calls, 1);
    assert_true(lost.status < 0);
    assert_int_equal(lost_again.calls, 0);
    assert_int_equal(again.calls, 0);
}

/* The same object is acquired again without on_lost, and released once: the outer hold is still
 * told of. */
FIVE_TEST_OPEN(is_told_of_the_outer_hold) {
    struct five_done acquired = {0, 0}, again = {0, 0}, lost = {0, 0};
    redlock_acquire_options options = options_of(&lost);
    assert_int_equal(redlock_acquire(f->lock, &options, five_on_lock, &acquired), 0);
    assert_int_equal(five_wait(f, &acquired), 0);
    options.on_lost = NULL;
    assert_int_equal(redlock_acquire(f->lock, &options, five_on_lock, &again), 0);
    assert_int_equal(five_wait(f, &again), 0);
    assert_int_equal(five_release(f, f->lock), 0);
    f->may_keep = (1u << FIVE) - 1;
    looks_until_jump = 0;
    assert_int_equal(five_wait(f, &lost), REDLOCK_ERR_EXPIRED);
}

/* -- A join and a renewal in one turn -- */

struct joins {
    struct five *f;
    int pipe[2];
    uv_poll_t poll;
    struct five_done joined, lost, again;
    unsigned renewed;
    bool jumps;
};

static void on_renewed(redlock_lock *lock, int status, void *data) {
    ((struct joins *)data)->renewed++;
}

static void on_joined(redlock_lock *lock, int status, void *data) {
    struct joins *j = data;
    five_on_lock(lock, status, &j->joined);
    ahead_s += j->jumps ? JUMP_S : 0;
}

static void acquires_again(redlock_lock *lock, int status, void *data) {
    struct joins *j = data;
    on_lost(lock, status, &j->lost);
    assert_int_equal(redlock_acquire(lock, NULL, five_on_lock, &j->again), 0);
}

static redlock_acquire_options renewed_options(struct joins *j) {
    redlock_acquire_options options = options_of(NULL);
    options.auto_extend = 1;
    options.renew_ms = 1;
    options.on_lost = acquires_again;
    options.on_renew = on_renewed;
    options.lost_data = options.renew_data = j;
    return options;
}

/* The program's own descriptor, in the same poll as the answers. */
static void on_readable(uv_poll_t *poll, int status, int events) {
    struct joins *j = poll->data;
    const redlock_acquire_options options = renewed_options(j);
    uv_close((uv_handle_t *)poll, NULL);
    assert_int_equal(redlock_acquire(j->f->lock, &options, on_joined, j), 0);
}

static bool is_asking(struct five *f, void *data) {
    return five_info(f, 0).outstanding > 0;
}

/* It joins its own hold just before the answers to an extension are read, and the callback works
 * until the hold is over: on_lost, which acquires again, comes next, and no on_renew. Or it joins
 * just after, and on_renew comes as after each extension. */
FIVE_EACH_OPEN(joins_while_it_is_renewed, 2) {
    struct five_done acquired = {0, 0};
    struct joins j = {.f = f, .jumps = row == 0};
    const redlock_acquire_options options = renewed_options(&j);
    assert_int_equal(pipe(j.pipe), 0);
    uv_poll_init(&f->loop, &j.poll, j.pipe[0]);
    j.poll.data = &j;
    uv_poll_start(&j.poll, UV_READABLE, on_readable);
    assert_int_equal(redlock_acquire(f->lock, &options, five_on_lock, &acquired), 0);
    assert_int_equal(five_wait(f, &acquired), 0);
    for (size_t i = 0; i < FIVE; i++) {
        fake_node_pause(f->nodes[i]);
    }
    assert_true(five_run_until(f, is_asking, NULL));
    five_run_ms(f, 10);
    for (size_t i = 0; i <= FIVE; i++) {
        const size_t node = j.jumps ? i - 1 : i;
        if (node < FIVE) {
            fake_node_resume(f->nodes[node]);
        } else {
            assert_int_equal(write(j.pipe[1], "x", 1), 1);
        }
    }
    assert_int_equal(five_wait(f, &j.joined), 0);
    if (j.jumps) {
        assert_int_equal(five_wait(f, &j.again), 0);
        assert_int_equal(j.lost.calls, 1);
    } else {
        assert_int_equal(j.renewed, five_stats(f).renewed);
    }
    close(j.pipe[0]);
    close(j.pipe[1]);
}
