/* Every allocation of the client's own allocator fails in turn (faults.md, row 28), over the whole
 * story of scene.h: alone, and with all that come after it. The number of allocations is taken from
 * a run in which none fails; what a run with a failure did is judged by scene_play(), and here:
 * nothing is leaked, neither memory nor descriptors. */

#include "fail/scene.h"
#include "marks.h"

#define FEWEST 12 /* allocations of the whole story, how ever it is timed */

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

TEST(nothing_fails) {
    struct scene_result result;
    play(&result, 0, false);
    scene_assert_clean(&result);
    assert_true(counting.calls > FEWEST);
    print_message("# %zu allocations\n", counting.calls);
}

/* Plays with failures at 1, 2, ... until the story is over before one strikes. */
static void sweep(bool and_later) {
    struct scene_result result;
    size_t refused = 0, granted = 0, n = 0;
    play(&result, 0, false); /* what is allocated once and kept is there from now on */
    size_t descriptors = scene_descriptors();
    do {
        play(&result, ++n, and_later);
        const struct scene_told *open = &result.told[SCENE_OPEN];
        refused += open->returned != 0;
        granted += result.told[SCENE_ACQUIRE_A].status == 0;
        assert_int_equal(scene_descriptors(), descriptors);
    } while (counting.struck > 0);
    assert_true(n > FEWEST);
    assert_true(refused >= 3); /* the client, its nodes, its deadlines */
    assert_true(granted > 0);
    print_message("# %zu runs, %zu of them could not open\n", n, refused);
}

TEST(one_fails) {
    sweep(false);
}

TEST(one_and_all_later_fail) {
    MARK_FROM(SEND_NO_MEMORY);
    sweep(true);
    MARK_TO(SEND_NO_MEMORY);
}
