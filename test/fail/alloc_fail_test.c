/* Every allocation of the client's own allocator fails in turn, over the whole story of scene.h:
 * alone, and with all that come after it. A run without failures counts the allocations.
 * scene_play() checks what a run with a failure did; this test checks that neither memory nor
 * descriptors leak. */

#include "fail/scene.h"
#include "marks.h"
#include "seed.h"

#define FEWEST 12 /* allocations of the whole story, whatever its timing */
#define FIRST 20

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

/* Must run first: it opens the descriptors that the process keeps. */
TEST(nothing_fails) {
    struct scene_result result;
    play(&result, 0, false);
    scene_assert_clean(&result);
    assert_true(counting.calls > FEWEST);
    print_message("# %zu allocations\n", counting.calls);
}

/* Failures at allocation 1, 2, ... until the story ends before one strikes. After the 20th in steps
 * of 1 to 3, with and_later of 1 to 5, by the seed. */
static void sweep(bool and_later) {
    struct scene_result result;
    size_t refused = 0, granted = 0, n = 0;
    const size_t step = 1 + (size_t)random_seed() % (and_later ? 5 : 3);
    size_t descriptors = scene_descriptors();
    do {
        n += n > FIRST ? step : 1;
        play(&result, n, and_later);
        /* the client does not wait for a request that it could not send */
        assert_true(and_later || result.stalled == 0);
        refused += result.told[SCENE_OPEN].returned != 0;
        granted += result.told[SCENE_ACQUIRE_A].status == 0;
        assert_int_equal(scene_descriptors(), descriptors);
    } while (counting.struck > 0);
    assert_true(n > FEWEST);
    assert_true(refused >= 3); /* the client, its nodes, its deadlines */
    assert_true(granted > 0);
    print_message("# up to allocation %zu; %zu runs could not open\n", n, refused);
}

TEST(one_fails) {
    sweep(false);
}

TEST(one_and_all_later_fail) {
    MARK_FROM(SEND_NO_MEMORY);
    sweep(true);
    MARK_TO(SEND_NO_MEMORY);
}
