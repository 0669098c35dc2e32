/* The table of resources: one entry for each name, whatever bytes it has, even if memory runs
 * out. */
#include "wait/resource.h"

#include "unit/check.h"

#define NAMES 5000u

static uint32_t failing; /* the allocation, counted from 1, that fails; 0: none */

static void *counted_malloc(size_t size, void *data) {
    return failing != 0 && --failing == 0 ? NULL : malloc(size);
}

static void counted_free(void *pointer, void *data) {
    free(pointer);
}

static const redlock_allocator memory = {counted_malloc, counted_free, NULL};

static void note(struct rl_resource *resource, bool others_wait, uint64_t now_ns) {
    struct rl_wait *wait = rl_resource_wait(resource);
    assert_non_null(wait);
    rl_place_note(&wait->place, others_wait, now_ns);
}

TEST(keeps_names_apart) {
    struct rl_resources table = {.memory = &memory, .seed = random_seed()};
    static struct rl_resource *all[NAMES];
    failing = 0;
    for (uint32_t i = 0; i < NAMES; i++) {
        all[i] = rl_resource_get(&table, 0, &i, sizeof i); /* zero bytes and all */
        assert_non_null(all[i]);
        assert_int_equal(all[i]->length, sizeof i);
        assert_memory_equal(all[i]->bytes, &i, sizeof i);
    }
    assert_int_equal(table.count, NAMES);
    assert_true(table.chain_count >= NAMES / 2);
    uint32_t seven = 7;
    struct rl_resource *shorter = rl_resource_get(&table, 0, &seven, 3);
    assert_ptr_not_equal(shorter, all[7]);
    rl_resource_put(&table, shorter);
    for (uint32_t i = 0; i < NAMES; i++) {
        assert_ptr_equal(rl_resource_get(&table, 0, &i, sizeof i), all[i]);
        assert_int_equal(all[i]->references, 2);
        rl_resource_put(&table, all[i]);
    }
    for (uint32_t i = NAMES; i-- > 0;) {
        rl_resource_put(&table, all[i]);
    }
    assert_int_equal(table.count, 0);
    rl_resources_free(&table);
}

/* The latest few resources that other clients want outlive their locks. */
TEST(keeps_what_others_want) {
    struct rl_resources table = {.memory = &memory, .seed = random_seed()};
    const uint32_t n = RL_RESOURCES_KEPT + 100;
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < n; i++) {
            struct rl_resource *resource = rl_resource_get(&table, 0, &i, sizeof i);
            assert_non_null(resource);
            if (i % 2 == 0) {
                note(resource, true, 1000 + i);
            }
            rl_resource_put(&table, resource);
        }
        assert_int_equal(table.count, n / 2); /* only as many as can be kept */
        assert_int_equal(table.kept_count, n / 2);
    }
    for (uint32_t i = 0; i < n; i += 2) {
        struct rl_resource *resource = rl_resource_get(&table, 0, &i, sizeof i);
        assert_true(rl_place_is_busy(rl_resource_place(resource), 1000 + i));
        note(resource, false, 2000); /* home says that no client waits any more */
        rl_resource_put(&table, resource);
    }
    assert_int_equal(table.count, 0);
    for (uint32_t i = 0; i < n; i++) {
        struct rl_resource *resource = rl_resource_get(&table, 0, &i, sizeof i);
        note(resource, true, 3000);
        rl_resource_put(&table, resource);
    }
    assert_int_equal(table.count, RL_RESOURCES_KEPT);
    for (uint32_t i = 0; i < n; i++) {
        bool is_kept = rl_resource_find(&table, 0, &i, sizeof i) != NULL;
        assert_int_equal(is_kept, i >= n - RL_RESOURCES_KEPT);
    }
    rl_resources_free(&table);
}

/* Without memory for more chains, it continues with those that it has. */
TEST(lives_with_little_memory) {
    for (uint32_t nth = 1; nth < 60; nth++) {
        struct rl_resources table = {.memory = &memory, .seed = nth};
        struct rl_resource *got[64];
        uint32_t count = 0;
        failing = nth;
        for (uint32_t i = 0; i < COUNT(got); i++) {
            got[count] = rl_resource_get(&table, 0, &i, sizeof i);
            count += got[count] != NULL;
        }
        assert_true(count >= COUNT(got) - 1);
        while (count > 0) {
            rl_resource_put(&table, got[--count]);
        }
        rl_resources_free(&table);
    }
    failing = 0;
}
