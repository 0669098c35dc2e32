/* As alloc_fail_test.c, for every allocation of the process while the client works: those of the
 * library (with the default allocator), of hiredis and of libuv. malloc_hook.h lists which have to
 * be left out. */

#include "fail/malloc_hook.h"
#include "fail/scene.h"

static void now_in(enum scene_where where) {
    malloc_hook.inside = where == SCENE_LIBRARY;
}

static size_t failed(void) {
    return malloc_hook.struck;
}

static void play(struct scene_result *result, size_t fail_at, bool and_later) {
    struct scene_options options = {
        .now_in = now_in,
        .failed = failed,
        .node_timeout_ms = and_later ? SCENE_HASTY_MS : SCENE_TIMEOUT_MS,
    };
    size_t live = malloc_hook.allocated - malloc_hook.freed;
    malloc_hook.calls = malloc_hook.excluded = 0;
    malloc_hook.fail_at = fail_at;
    malloc_hook.and_later = and_later;
    malloc_hook.struck = 0;
    scene_play(&options, result);
    if (fail_at > 0) { /* the first run allocates what the C library keeps */
        assert_int_equal(malloc_hook.allocated - malloc_hook.freed, live);
    }
}

TEST(nothing_fails) {
    struct scene_result result;
    play(&result, 0, false);
    scene_assert_clean(&result);
    assert_true(malloc_hook.calls > 50);
    print_message("# %zu allocations, %zu besides left out\n", malloc_hook.calls,
                  malloc_hook.excluded);
}

static void sweep(bool and_later) {
    struct scene_result result;
    size_t refused = 0, granted = 0, n = 0;
    play(&result, 0, false);
    size_t descriptors = scene_descriptors();
    do {
        play(&result, ++n, and_later);
        assert_true(and_later || result.stalled == 0); /* what was not sent is not waited for */
        refused += result.told[SCENE_OPEN].returned != 0;
        granted += result.told[SCENE_ACQUIRE_A].status == 0;
        assert_int_equal(scene_descriptors(), descriptors);
    } while (malloc_hook.struck > 0);
    assert_true(n > 50);
    assert_true(refused >= 3);
    assert_true(granted > 0);
    print_message("# %zu runs, %zu of them could not open\n", n, refused);
}

TEST(one_fails) {
    sweep(false);
}

TEST(one_and_all_later_fail) {
    sweep(true);
}
