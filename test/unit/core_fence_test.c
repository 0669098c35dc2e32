/* The fence of a grant: all votes of small counters, in every order, against the definition. That
 * it grows from grant to grant is shown by the simulator. */
#include "core/fence.h"

#include "core/quorum.h"
#include "unit/check.h"

#define N_MAX 5u

/* -- Votes -- */

/* Whether a majority of the nodes voted the largest counter. 0: it has not voted. */
static bool most_agree(const uint64_t *counters, uint32_t n) {
    uint64_t largest = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        largest = counters[i] > largest ? counters[i] : largest;
    }
    for (uint32_t i = 0; i < n; i++) {
        count += counters[i] == largest;
    }
    return largest > 0 && 2 * count > n;
}

static uint32_t n_checked;

/* Each node that has not voted votes next, with each counter, and so on. */
static void vote_on(const struct rl_fence *fence, uint64_t *counters, uint32_t n) {
    uint64_t largest = 0;
    uint32_t agree = 0;
    for (uint32_t i = 0; i < n; i++) {
        largest = counters[i] > largest ? counters[i] : largest;
    }
    for (uint32_t i = 0; i < n && largest > 0; i++) {
        agree |= (uint32_t)(counters[i] == largest) << i;
    }
    assert_int_equal(fence->value, largest);
    assert_int_equal(fence->nodes, agree);
    const struct rl_electorate all = rl_electorate_of(n);
    assert_int_equal(rl_fence_is_placed(fence, &all), most_agree(counters, n));
    assert_int_equal(fence->floor, 7);
    n_checked++;
    for (uint32_t i = 0; i < n; i++) {
        for (uint64_t counter = 1; counter <= 3 && counters[i] == 0; counter++) {
            struct rl_fence next = *fence;
            rl_fence_vote(&next, i, counter);
            counters[i] = counter;
            vote_on(&next, counters, n);
            counters[i] = 0;
        }
    }
}

TEST(is_the_largest_that_was_voted) {
    for (uint32_t n = 1; n <= N_MAX; n++) {
        uint64_t counters[N_MAX] = {0};
        struct rl_fence fence;
        memset(&fence, 0xa5, sizeof fence);
        rl_fence_begin(&fence, 7);
        vote_on(&fence, counters, n);
    }
    assert_true(n_checked > 40000);
}

TEST(knows_large_numbers) {
    const struct rl_electorate all = rl_electorate_of(RL_SEATS_MAX);
    struct rl_fence fence;
    rl_fence_begin(&fence, 1);
    rl_fence_vote(&fence, RL_SEATS_MAX - 1, UINT64_MAX - 1);
    rl_fence_vote(&fence, 0, UINT64_MAX);
    assert_true(fence.value == UINT64_MAX);
    assert_int_equal(fence.nodes, 1);
    for (uint32_t node = 1; node < RL_SEATS_MAX; node++) {
        assert_int_equal(rl_fence_is_placed(&fence, &all), node >= 16);
        rl_fence_vote(&fence, node, UINT64_MAX);
    }
}

/* -- What a command carries -- */

TEST(carries_the_floor_and_then_the_fence) {
    const uint64_t most = RL_FENCE_FLOOR_MAX;
    const struct {
        uint64_t floor, wanted;
    } rows[] = {{0, 0},
                {1, 1},
                {1753000000000000, 1753000000000000},
                {most, most},
                {most + 1, most},
                {UINT64_MAX, most},
                {most - 1, most - 1}};
    assert_true(most + (UINT64_C(1) << 40) == UINT64_C(9007199254740992));
    assert_true(RL_FENCE_VOTE_MAX + (UINT64_C(1) << 39) == UINT64_C(9007199254740992));
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rl_fence fence;
        memset(&fence, 0xa5, sizeof fence);
        rl_fence_begin(&fence, rows[i].floor);
        assert_true(fence.floor == rows[i].wanted);
        assert_int_equal(fence.value, 0);
        assert_int_equal(fence.nodes, 0);
        rl_fence_vote(&fence, 1, 5);
        rl_fence_vote(&fence, 2, 4);
        assert_true(fence.floor == rows[i].wanted);
        rl_fence_settle(&fence);
        assert_int_equal(fence.floor, 5);
        assert_int_equal(fence.value, 5);
    }
}

/* -- What must not be asked of it -- */

static void vote_nothing(void *data) {
    rl_fence_vote(data, 0, 0);
}

static void vote_from_nowhere(void *data) {
    rl_fence_vote(data, RL_SEATS_MAX, 1);
}

static void settle_nothing(void *data) {
    rl_fence_settle(data);
}

static void count_more_than_there_are(void *data) {
    rl_fence_vote(data, 0, 1);
    rl_fence_vote(data, 1, 1);
    const struct rl_electorate all = rl_electorate_of(1);
    (void)rl_fence_is_placed(data, &all);
}

TEST(aborts_on_what_cannot_be) {
    static void (*const wrongs[])(void *) = {vote_nothing, vote_from_nowhere, settle_nothing,
                                             count_more_than_there_are};
    for (size_t i = 0; i < COUNT(wrongs); i++) {
        struct rl_fence fence;
        rl_fence_begin(&fence, 3);
        assert_true(dies(wrongs[i], &fence));
    }
}
