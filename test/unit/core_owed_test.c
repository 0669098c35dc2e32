/* The releases that a node is owed: in order, bounded, and given up only when the key must be gone.
 */
#include "core/owed.h"

#include "core/quorum.h"
#include "unit/check.h"

#define ITEMS (RL_OWED_MAX + 8)
#define LIFE_NS (1000 * MS)

static struct rl_owed_item items[ITEMS];

static void prepare(struct rl_owed *owed) {
    rl_owed_init(owed);
    for (uint32_t i = 0; i < ITEMS; i++) {
        rl_owed_item_init(&items[i], LIFE_NS);
    }
}

static void assert_empty(struct rl_owed *owed) {
    assert_int_equal(owed->count, 0);
    assert_null(owed->head);
    assert_ptr_equal(owed->tail, &owed->head);
    assert_int_equal(owed->retry_ns, RL_NEVER);
    assert_null(rl_owed_take(owed));
}

static void owes_nothing_at_first(void **state) {
    (void)state;
    struct rl_owed owed;
    prepare(&owed);
    assert_empty(&owed);
    assert_int_equal(items[0].until_ns, RL_NEVER);
    assert_int_equal(items[0].life_ns, LIFE_NS);
}

static void keeps_the_order(void **state) {
    (void)state;
    struct rl_owed owed;
    prepare(&owed);
    for (uint32_t run = 0; run < 2; run++) { /* the second time on a list that was emptied */
        for (uint32_t i = 0; i < 5; i++) {
            assert_null(rl_owed_unanswered(&owed, &items[i]));
            assert_int_equal(owed.count, i + 1);
        }
        for (uint32_t i = 0; i < 5; i++) {
            assert_ptr_equal(rl_owed_take(&owed), &items[i]);
            assert_null(items[i].next);
        }
        assert_empty(&owed);
    }
    rl_owed_unanswered(&owed, &items[0]);
    rl_owed_unanswered(&owed, &items[1]);
    assert_ptr_equal(rl_owed_take(&owed), &items[0]);
    rl_owed_unanswered(&owed, &items[0]); /* again: now behind the other */
    assert_ptr_equal(rl_owed_take(&owed), &items[1]);
    assert_ptr_equal(rl_owed_take(&owed), &items[0]);
    assert_empty(&owed);
}

static void gives_the_oldest_up_beyond_its_bound(void **state) {
    (void)state;
    struct rl_owed owed;
    prepare(&owed);
    for (uint32_t i = 0; i < RL_OWED_MAX; i++) {
        assert_null(rl_owed_unanswered(&owed, &items[i]));
    }
    for (uint32_t i = RL_OWED_MAX; i < ITEMS; i++) {
        assert_ptr_equal(rl_owed_unanswered(&owed, &items[i]), &items[i - RL_OWED_MAX]);
        assert_int_equal(owed.count, RL_OWED_MAX);
    }
    for (uint32_t i = ITEMS - RL_OWED_MAX; i < ITEMS; i++) {
        assert_ptr_equal(rl_owed_take(&owed), &items[i]);
    }
    assert_empty(&owed);
}

/* A paused node may run our SET as late as it likes: without its answer there is no end. */
static void never_gives_up_the_unanswered(void **state) {
    (void)state;
    struct rl_owed owed;
    prepare(&owed);
    for (uint32_t i = 0; i < 1000; i++) {
        assert_null(rl_owed_unanswered(&owed, &items[0]));
        assert_int_equal(owed.retry_ns, RL_NEVER); /* the node's return is what is waited for */
        assert_int_equal(items[0].until_ns, RL_NEVER);
        assert_ptr_equal(rl_owed_take(&owed), &items[0]);
    }
}

static void tries_the_refused_for_one_life(void **state) {
    (void)state;
    struct rl_owed owed;
    prepare(&owed);
    const uint64_t first_ns = 7000 * MS;
    uint64_t now_ns = first_ns;
    uint32_t tries = 0;
    while (rl_owed_refused(&owed, &items[0], now_ns) == NULL) {
        assert_int_equal(items[0].until_ns, first_ns + LIFE_NS); /* from the first answer on */
        assert_int_equal(owed.retry_ns, now_ns + RL_OWED_RETRY_NS);
        now_ns = owed.retry_ns;
        assert_ptr_equal(rl_owed_take(&owed), &items[0]);
        assert_int_equal(owed.retry_ns, RL_NEVER);
        tries++;
    }
    assert_int_equal(tries, LIFE_NS / RL_OWED_RETRY_NS);
    assert_int_equal(now_ns, first_ns + LIFE_NS);
    assert_empty(&owed);
}

static void gives_the_refused_up_at_the_end_of_its_life(void **state) {
    (void)state;
    struct rl_owed owed;
    prepare(&owed);
    for (uint32_t i = 0; i < 2; i++) {
        assert_null(rl_owed_refused(&owed, &items[i], 100));
        assert_ptr_equal(rl_owed_take(&owed), &items[i]);
    }
    assert_null(rl_owed_refused(&owed, &items[0], 100 + LIFE_NS - 1)); /* alive to the last ns */
    assert_ptr_equal(rl_owed_refused(&owed, &items[1], 100 + LIFE_NS), &items[1]);
    assert_int_equal(owed.count, 1);
}

/* The connection may end after an answer with an error: the life goes on counting. */
static void remembers_the_first_refusal(void **state) {
    (void)state;
    struct rl_owed owed;
    prepare(&owed);
    rl_owed_refused(&owed, &items[0], 100);
    rl_owed_take(&owed);
    rl_owed_unanswered(&owed, &items[0]);
    rl_owed_take(&owed);
    assert_ptr_equal(rl_owed_refused(&owed, &items[0], 100 + LIFE_NS), &items[0]);
}

static void retries_at_the_earliest(void **state) {
    (void)state;
    struct rl_owed owed;
    prepare(&owed);
    rl_owed_unanswered(&owed, &items[0]);
    rl_owed_refused(&owed, &items[1], 10 * MS);
    rl_owed_refused(&owed, &items[2], 20 * MS);
    assert_int_equal(owed.retry_ns, 10 * MS + RL_OWED_RETRY_NS);
    rl_owed_take(&owed);
    rl_owed_take(&owed);
    assert_int_equal(owed.retry_ns, 10 * MS + RL_OWED_RETRY_NS); /* one is still owed */
    rl_owed_take(&owed);
    assert_int_equal(owed.retry_ns, RL_NEVER);
}

static void bounds_the_refused_too(void **state) {
    (void)state;
    struct rl_owed owed;
    prepare(&owed);
    for (uint32_t i = 0; i < RL_OWED_MAX; i++) {
        assert_null(rl_owed_refused(&owed, &items[i], 5));
    }
    assert_ptr_equal(rl_owed_refused(&owed, &items[RL_OWED_MAX], 5), &items[0]);
    assert_int_equal(owed.count, RL_OWED_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owes_nothing_at_first),
        cmocka_unit_test(keeps_the_order),
        cmocka_unit_test(gives_the_oldest_up_beyond_its_bound),
        cmocka_unit_test(never_gives_up_the_unanswered),
        cmocka_unit_test(tries_the_refused_for_one_life),
        cmocka_unit_test(gives_the_refused_up_at_the_end_of_its_life),
        cmocka_unit_test(remembers_the_first_refusal),
        cmocka_unit_test(retries_at_the_earliest),
        cmocka_unit_test(bounds_the_refused_too),
    };
    return cmocka_run_group_tests_name("core_owed", tests, NULL, NULL);
}
