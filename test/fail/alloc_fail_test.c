/* Every allocation of the client's own allocator fails in turn, over the whole story of scene.h:
 * alone, and with all that come after it. A run without failures counts the allocations.
 * scene_play() checks what a run with a failure did; this test checks that neither memory nor
 * descriptors leak. */

#include "fail/scene.h"
#include "marks.h"

struct counting {
    size_t calls; /* of malloc, while inside */
    size_t live;
    size_t fail_at; /* from 1; 0: never */
    bool and_later;
    bool inside;
    size_t struck;
};

static struct counting counting;

static void *counting_malloc(size_t size, void *data) {
    struct counting *c = data;
    assert_ptr_equal(c, &counting);
    if (c->inside) {
        c->calls++;
        if (c->calls == c->fail_at || (c->and_later && c->calls > c->fail_at)) {
            c->struck++;
            return NULL;
        }
    }
    void *pointer = malloc(size);
    c->live += pointer != NULL;
    return pointer;
}

static void counting_free(void *pointer, void *data) {
    struct counting *c = data;
    assert_true(pointer == NULL || c->live > 0);
    c->live -= pointer != NULL;
    free(pointer);
}

static const redlock_allocator allocator = {counting_malloc, counting_free, &counting};

static void now_in(enum scene_where where) {
    counting.inside = where == SCENE_LIBRARY;
}

static size_t failed(void) {
    return counting.struck;
}

static void play(struct scene_result *result, size_t fail_at, bool and_later) {
    struct scene_options options = {
        .allocator = &allocator,
        .now_in = now_in,
        .failed = failed,
        .by_name = true,
        .node_timeout_ms = and_later ? SCENE_HASTY_MS : SCENE_TIMEOUT_MS,
    };
    counting = (struct counting){.fail_at = fail_at, .and_later = and_later};
    scene_play(&options, result);
    assert_int_equal(counting.live, 0);
}

static const struct scene_sweep sweep = {
    .play = play,
    .calls = &counting.calls,
    .struck = &counting.struck,
    .fewest = 12,
    .may_stall = true,
};

TEST(nothing_fails) {
    scene_sweep_none(&sweep);
}

TEST(one_fails) {
    scene_sweep(&sweep, false);
}

TEST(one_and_all_later_fail) {
    MARK_FROM(SEND_NO_MEMORY);
    scene_sweep(&sweep, true);
    MARK_TO(SEND_NO_MEMORY);
}
