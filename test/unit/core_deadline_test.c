/* The heap of deadlines, compared with a plain array that is searched linearly. */
#include "core/deadline.h"

#include "core/quorum.h"
#include "unit/check.h"

#define ITEMS 64u

struct fixture {
    struct rl_deadlines heap;
    struct rl_deadline items[ITEMS];
    uint64_t at_ns[ITEMS]; /* what each was set to, RL_NEVER if it is not set */
};

static void fixture_init(struct fixture *f, uint32_t capacity) {
    memset(f, 0, sizeof *f);
    for (uint32_t i = 0; i < ITEMS; i++) {
        rl_deadline_init(&f->items[i], RL_WAITS_NODE);
        f->at_ns[i] = RL_NEVER;
    }
    struct rl_deadline **array = malloc(capacity * sizeof *array);
    assert_null(rl_deadlines_reserve(&f->heap, array, capacity));
}

static void fixture_free(struct fixture *f) {
    free(f->heap.items);
}

/* Grows the array as the driver does: the old one is overwritten before it is freed. */
static void fixture_grow(struct fixture *f, uint32_t capacity) {
    struct rl_deadline **larger = malloc(capacity * sizeof *larger);
    uint32_t before = f->heap.capacity;
    struct rl_deadline **old = rl_deadlines_reserve(&f->heap, larger, capacity);
    assert_int_equal(f->heap.capacity, capacity);
    memset(old, 0x5a, before * sizeof *old);
    free(old);
}

static void fixture_check(const struct fixture *f) {
    const struct rl_deadlines *heap = &f->heap;
    uint64_t least_ns = RL_NEVER;
    uint32_t set = 0;
    for (uint32_t i = 0; i < ITEMS; i++) {
        const struct rl_deadline *item = &f->items[i];
        assert_int_equal(item->at_ns, f->at_ns[i]);
        assert_int_equal(item->who, RL_WAITS_NODE);
        assert_int_equal(item->slot == RL_DEADLINE_UNSET, f->at_ns[i] == RL_NEVER);
        if (f->at_ns[i] != RL_NEVER) {
            set++;
            least_ns = f->at_ns[i] < least_ns ? f->at_ns[i] : least_ns;
            assert_true(item->slot < heap->count);
            assert_ptr_equal(heap->items[item->slot], item);
        }
    }
    assert_int_equal(heap->count, set);
    for (uint32_t i = 1; i < heap->count; i++) {
        assert_true(heap->items[(i - 1) / 2]->at_ns <= heap->items[i]->at_ns);
    }
    const struct rl_deadline *first = rl_deadlines_first(heap);
    if (set == 0) {
        assert_null(first);
    } else {
        assert_int_equal(first->at_ns, least_ns);
    }
}

static void fixture_set(struct fixture *f, uint32_t i, uint64_t at_ns) {
    rl_deadlines_set(&f->heap, &f->items[i], at_ns);
    f->at_ns[i] = at_ns;
}

TEST(does_what_an_array_does) {
    uint64_t random = random_seed();
    for (uint32_t run = 0; run < 100; run++) {
        struct fixture f;
        fixture_init(&f, 8);
        uint32_t spread = 1u << random_below(&random, 31); /* few distinct times, so that many are
                                                              equal */
        for (uint32_t step = 0; step < 500; step++) {
            uint32_t i = random_below(&random, ITEMS);
            bool remove = random_below(&random, 3) == 0;
            if (f.heap.count == f.heap.capacity) {
                fixture_grow(&f, f.heap.capacity + 1 + random_below(&random, 16));
            }
            fixture_set(&f, i, remove ? RL_NEVER : random_below(&random, spread));
            fixture_check(&f);
        }
        fixture_free(&f);
    }
}
