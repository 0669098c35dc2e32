/* As alloc_fail_test.c, for every allocation of the process while the client works: the library's
 * (with the default allocator), hiredis's and libuv's. malloc_hook.h lists the exceptions. */

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
    if (fail_at > 0) { /* the first run includes what the C library allocates and keeps */
        assert_int_equal(malloc_hook.allocated - malloc_hook.freed, live);
    }
}

static const struct scene_sweep sweep = {.play = play,
                                         .calls = &malloc_hook.calls,
                                         .struck = &malloc_hook.struck,
                                         .fewest = 50};

TEST(nothing_fails) {
    scene_sweep_none(&sweep);
    print_message("# %zu besides left out\n", malloc_hook.excluded);
}

TEST(one_fails) {
    scene_sweep(&sweep, false);
}

TEST(one_and_all_later_fail) {
    scene_sweep(&sweep, true);
}
