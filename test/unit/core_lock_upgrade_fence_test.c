/* A reader that has a fence becomes the writer: the fence is counted up, as that of a grant. Every
 * outcome in every order first, then the cases that a reader would ask about.
 *
 * Happy path: the nodes that convert answer one number, which is the hold's from then on.
 *
 * Failure modes: they differ, and a second round raises them; it is not won, and the hold is the
 * reader's with the reader's fence.
 */
#include "marks.h"
#include "unit/upgrade_scene.h"

/* What has a fence counts up, whatever the nodes' counters are. */
static void counts_up_in_every_order(void **state) {
    (void)state;
    struct exploration counting = {.salt = 3, .counters = 2};
    struct rl_acquire fenced = usual_acquire();
    fenced.fences = true;
    for (uint32_t n = 1; n <= 4; n++) {
        struct world w;
        counting.probes = n <= 2;
        world_init(&w, usual_rules(n));
        world_hold(&w, fenced, world_all(&w));
        upgrade_it(&w, &counting);
    }
    assert_true(counting.states > 3000);
}

static void hold_fenced(struct world *w, uint32_t n) {
    struct rl_acquire fenced = usual_acquire();
    fenced.fences = true;
    world_init(w, usual_rules(n));
    world_hold(w, fenced, world_all(w));
    assert_int_equal(rl_lock_fence(&w->lock), 7);
}

static void has_a_new_fence(void **state) {
    (void)state;
    static const uint64_t floors[] = {0, 7, 8, 900};
    for (size_t i = 0; i < COUNT(floors); i++) {
        struct world w;
        hold_fenced(&w, 3);
        w.floor = floors[i];
        upgrade(&w, START_NS + 100 * MS, 7);
        assert_int_equal(w.lock.fence.floor, floors[i] > 8 ? floors[i] : 8);
        assert_int_equal(rl_lock_fence(&w.lock), 7); /* until it is won */
        w.counter = 901;
        votes(&w, "yy", START_NS + 101 * MS);
        assert_int_equal(w.out.extended, RL_RESULT_OK);
        assert_int_equal(rl_lock_fence(&w.lock), 901);
        assert_int_equal(w.lock.valid_until_ns, START_NS + 100 * MS + VALID_NS);
        world_extend(&w, 0, START_NS + 200 * MS, 7);
        assert_int_equal(w.lock.fence.floor, 901); /* the extension raises to it where it is lost */
    }
}

/* The nodes' counters differ: a node that has not converted cannot be raised, and until a majority
 * is the hold is a reader's. */
static void raises_before_it_is_won(void **state) {
    (void)state;
    struct world w;
    MARK_FROM(UPGRADE_RAISED);
    hold_fenced(&w, 3);
    upgrade(&w, START_NS + 100 * MS, 7);
    w.counter = 9;
    world_vote(&w, 0, GRANTS, START_NS + 101 * MS);
    w.counter = 20;
    world_vote(&w, 2, GRANTS, START_NS + 102 * MS);
    assert_int_equal(w.out.extended, RL_RESULT_NONE);
    assert_int_equal(w.out.send, 7);
    assert_int_equal(w.lock.round.kind, RL_ROUND_FENCE);
    assert_int_equal(w.lock.fence.floor, 20);
    assert_int_equal(rl_lock_fence(&w.lock), 7);
    world_vote(&w, 1, REFUSES, START_NS + 103 * MS);
    votes(&w, "y", START_NS + 104 * MS);
    world_vote(&w, 2, GRANTS, START_NS + 105 * MS);
    assert_int_equal(w.out.extended, RL_RESULT_OK);
    assert_int_equal(rl_lock_fence(&w.lock), 20);
    assert_int_equal(w.lock.valid_until_ns, START_NS + VALID_NS); /* it had so much, and has */
    MARK_TO(UPGRADE_RAISED);
}

/* The fence is in place nowhere that counts: a reader as before, with the fence that it had. */
static void keeps_the_readers_fence_in_vain(void **state) {
    (void)state;
    static const struct {
        const char *upgrade, *raise, *back;
        enum rl_result wanted;
    } rows[] = {{"nn", "", "yy", RL_RESULT_HELD},       {"el", "", "yy", RL_RESULT_UNKNOWN},
                {"yy", "nn", "yy", RL_RESULT_UNKNOWN},  {"yy", "el", "yy", RL_RESULT_UNKNOWN},
                {"yy", "ynl", "ll", RL_RESULT_UNKNOWN}, {"yy", "nn", "nn", RL_RESULT_LOST}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct world w;
        hold_fenced(&w, 3);
        upgrade(&w, START_NS + 100 * MS, 7);
        for (uint32_t node = 0; rows[i].upgrade[node] != '\0'; node++) {
            w.counter = 9 + node;
            world_vote(&w, node, (enum answer)(strchr("ynel", rows[i].upgrade[node]) - "ynel"),
                       START_NS + 101 * MS);
        }
        votes(&w, rows[i].raise, START_NS + 102 * MS);
        assert_int_equal(w.lock.round.kind, RL_ROUND_EXTEND);
        assert_int_equal(w.lock.fence.floor, 7);
        votes(&w, rows[i].back, START_NS + 103 * MS);
        assert_int_equal(w.out.extended, rows[i].wanted);
        assert_int_equal(rl_lock_fence(&w.lock), 7);
    }
}

static void stops_counting_when_it_is_cancelled(void **state) {
    (void)state;
    for (uint32_t raises = 0; raises < 2; raises++) {
        struct world w;
        hold_fenced(&w, 3);
        upgrade(&w, START_NS + 100 * MS, 7);
        for (uint32_t node = 0; raises && node < 2; node++) {
            w.counter = 9 + node;
            world_vote(&w, node, GRANTS, START_NS + 101 * MS);
        }
        world_simple(&w, RL_EV_CANCEL, START_NS + 102 * MS, 7);
        assert_int_equal(w.out.extended, RL_RESULT_CANCELED);
        assert_int_equal(w.lock.round.kind, RL_ROUND_EXTEND);
        assert_int_equal(w.lock.fence.floor, 7);
        votes(&w, "yy", START_NS + 103 * MS);
        assert_int_equal(w.lock.state, RL_HELD);
        assert_int_equal(rl_lock_fence(&w.lock), 7);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_up_in_every_order),
        cmocka_unit_test(has_a_new_fence),
        cmocka_unit_test(raises_before_it_is_won),
        cmocka_unit_test(keeps_the_readers_fence_in_vain),
        cmocka_unit_test(stops_counting_when_it_is_cancelled),
    };
    return cmocka_run_group_tests_name("core_lock_upgrade_fence", tests, NULL, NULL);
}
