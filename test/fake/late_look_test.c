/* The clock goes on between two looks of one call: what was held at the first may be over at the
 * second. The test has the clock, and lets it jump after the first look. */

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fake/five.h"

#define OWNER 7
#define JUMP_S 100

static int looks_until_jump = -1; /* -1: none is to come */
static time_t ahead_s;

/* Instead of the C library's: for the clock that validity is reckoned by. */
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

/* The owner acquires once more what it holds. Its first hold is over, so it is told that, by the
 * callback of that hold; it must not be put in the place of another's. */
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
