/* System calls and functions of libuv and hiredis fail over the whole story of scene.h: each of
 * them at its first, second and further calls, alone and with all calls after it; descriptors run
 * out; the kernel takes a few bytes and gives one at a time.
 *
 * The first call fails with each error that it can have, later ones with one of them, which varies
 * from run to run. */

#include <errno.h>
#include <netdb.h>
#include <uv.h>

#include "fail/call_hook.h"
#include "fail/scene.h"
#include "marks.h"
#include "seed.h"

#define ERRORS_MAX 5
#define SLOW_MS 10000 /* node_timeout_ms where few bytes are sent at a time */
#define FIRST_CALLS 5 /* so many first calls fail, each in a play of its own, */
#define STEP 31       /* and then one of so many later ones */

static const struct sort {
    enum call call;
    bool by_name; /* nodes that have to be looked up */
    bool once;    /* no system keeps failing in this way */
    int errors[ERRORS_MAX];
    size_t n_errors;
} sorts[] = {
    {CALL_SOCKET, false, false, {EMFILE, ENOBUFS, EACCES}, 3},
    {CALL_CONNECT, false, false, {ECONNREFUSED, ENETUNREACH, EADDRNOTAVAIL, EINTR}, 4},
    {CALL_SETSOCKOPT, false, false, {EINVAL}, 1},
    {CALL_GETSOCKOPT, false, false, {ENOBUFS}, 1},
    {CALL_SEND, false, false, {EAGAIN, EPIPE, ECONNRESET, ENOBUFS}, 4},
    {CALL_SEND, false, true, {EINTR}, 1},
    {CALL_READ, false, false, {EAGAIN, ECONNRESET, ETIMEDOUT, CALL_END_OF_FILE}, 4},
    {CALL_READ, false, true, {EINTR}, 1},
    {CALL_EPOLL_CTL, false, false, {ENOSPC, ENOMEM}, 2},
    {CALL_GETADDRINFO, true, false, {EAI_AGAIN, EAI_MEMORY, EAI_NONAME}, 3},
    {CALL_MMAP, false, false, {ENOMEM}, 1},
    {CALL_MADVISE, false, false, {EINVAL}, 1}, /* an older kernel */
    {CALL_UV_POLL_INIT, false, false, {UV_EEXIST, UV_ENOMEM}, 2},
    {CALL_UV_POLL_START, false, false, {UV_EBADF}, 1},
    {CALL_GETRANDOM, false, false, {ENOSYS}, 1},
    {CALL_GETRANDOM, false, true, {EINTR}, 1},
    {CALL_UV_RANDOM, false, false, {UV_EIO}, 1},
    {CALL_UV_GETADDRINFO, true, false, {UV_ENOMEM}, 1},
    {CALL_READER_CREATE, false, false, {0}, 1},
    {CALL_READER_FEED, false, false, {0}, 1},
};

static void play(struct scene_result *result, bool by_name, int64_t timeout_ms) {
    struct scene_options options = {
        .now_in = call_hook_now_in, .by_name = by_name, .node_timeout_ms = timeout_ms};
    scene_play(&options, result);
    assert_int_equal(call_hook.writes, 0);
    assert_int_equal(call_hook.inheritable, 0);
    assert_int_equal(call_hook.mapped, 0);
}

/* Must run first: it opens the descriptors that the process keeps. */
TEST(nothing_fails) {
    struct scene_result result;
    call_hook_reset();
    play(&result, true, SCENE_TIMEOUT_MS);
    scene_assert_clean(&result);
    for (size_t i = 0; i < CALLS; i++) {
        if (call_hook.count[i] == 0 && i != CALL_UV_RANDOM) {
            fail_msg("call %zu of enum call was never made", i);
        }
    }
}

/* -- Each call -- */

static void play_failing(const struct sort *sort, int error, size_t fail_at, bool and_later) {
    struct scene_result result;
    size_t descriptors = scene_descriptors();
    call_hook_reset();
    call_hook.call = sort->call;
    call_hook.error = error;
    call_hook.fail_at = fail_at;
    call_hook.and_later = and_later;
    call_hook.without_page = sort->call == CALL_UV_RANDOM;
    play(&result, sort->by_name, and_later ? SCENE_HASTY_MS : SCENE_TIMEOUT_MS);
    int opened = result.told[SCENE_OPEN].returned;
    assert_true(opened == 0 || sort->call == CALL_UV_RANDOM || sort->call == CALL_GETRANDOM);
    assert_true(opened == 0 || opened == REDLOCK_ERR_SYSTEM);
    assert_int_equal(scene_descriptors(), descriptors);
}

static void sweep(const struct sort *sort, bool and_later) {
    size_t n = 1, which = (size_t)random_seed(), step = 1 + which % STEP;
    for (size_t e = 1; e < sort->n_errors; e++) {
        play_failing(sort, sort->errors[e], 1, and_later);
    }
    play_failing(sort, sort->errors[0], 1, and_later);
    if (call_hook.struck == 0) {
        fail_msg("call %d is not made at all", (int)sort->call);
    }
    while (call_hook.struck > 0) {
        const bool is_first = n < FIRST_CALLS && !and_later;
        n += is_first ? 1 : step;
        step = is_first ? step : STEP;
        play_failing(sort, sort->errors[which++ % sort->n_errors], n, and_later);
    }
}

TEST(each_call_fails) {
    for (size_t i = 0; i < COUNT(sorts); i++) {
        sweep(&sorts[i], false);
    }
}

TEST(each_call_goes_on_failing) {
    for (size_t i = 0; i < COUNT(sorts); i++) {
        if (!sorts[i].once) {
            sweep(&sorts[i], true);
        }
    }
}

/* -- Without randomness there is no lock -- */

static void random_fails_at(enum call call, int error, size_t nth, struct scene_result *result) {
    call_hook_reset();
    call_hook.call = call;
    call_hook.error = error;
    call_hook.fail_at = nth;
    call_hook.without_page = call == CALL_UV_RANDOM;
    play(result, false, SCENE_TIMEOUT_MS);
    assert_int_equal(call_hook.struck, 1);
}

TEST(reports_missing_randomness) {
    struct scene_result result;
    random_fails_at(CALL_UV_RANDOM, UV_EIO, 1, &result);
    assert_int_equal(result.told[SCENE_OPEN].returned, REDLOCK_ERR_SYSTEM);
    assert_string_equal(result.error, "no random bytes");
    random_fails_at(CALL_GETRANDOM, EIO, 1, &result);
    assert_int_equal(result.told[SCENE_OPEN].returned, REDLOCK_ERR_SYSTEM);
    assert_string_equal(result.error, "no random bytes");
    random_fails_at(CALL_UV_RANDOM, UV_EIO, 2, &result); /* the first attempt's token */
    assert_int_equal(result.told[SCENE_ACQUIRE_A].status, REDLOCK_ERR_SYSTEM);
    assert_int_equal(result.stats.releases_dropped, 0);
}

/* -- Few bytes at a time -- */

TEST(few_bytes_at_a_time) {
    MARK_FROM(PARTIAL_WRITE);
    struct scene_result result;
    static const size_t most[][2] = {{3, 0}, {7, 1}}; /* of a send, of a read */
    for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
        call_hook_reset();
        call_hook.send_most = most[i][0];
        call_hook.read_most = most[i][1];
        play(&result, false, SLOW_MS);
        scene_assert_clean(&result);
    }
    MARK_TO(PARTIAL_WRITE);
}

/* -- No descriptors -- */

TEST(descriptors_are_used_up) {
    struct scene_result result;
    /* each node needs one, and each node's listener another */
    for (int most = 0; most <= 2 * SCENE_NODES; most++) {
        call_hook_reset();
        call_hook.sockets_most = most;
        play(&result, false, SCENE_TIMEOUT_MS);
        const struct scene_told *open = &result.told[SCENE_OPEN];
        assert_int_equal(open->returned, 0);
        assert_int_equal(open->status, most < SCENE_QUORUM ? REDLOCK_ERR_NO_QUORUM : 0);
        assert_true((call_hook.struck > 0) == (most < 2 * SCENE_NODES));
        if (most < SCENE_NODES) {
            assert_contains(result.message, strerror(EMFILE));
        }
        if (most < SCENE_QUORUM) {
            assert_int_equal(result.told[SCENE_ACQUIRE_A].status, REDLOCK_ERR_NO_QUORUM);
        } else {
            assert_int_equal(result.told[SCENE_ACQUIRE_A].status, 0);
            assert_int_equal(result.told[SCENE_ELECT].returned, 0); /* by polling if necessary */
            assert_int_equal(result.told[SCENE_ELECT].status, 0);
            assert_int_equal(result.told[SCENE_TURN_C].status, 0); /* in line or without one */
        }
    }
}
