/* When the owner's turn comes: the timer, wake(), the loop run once, inside itself, and closed. */
#include "uv/scene.h"

#include "uv/world.h"

/* -- wake() -- */

static void a_turn_before_it_blocks(void **state) {
    struct scene s;
    scene_start(&s);
    scene_wake(&s);
    assert_int_equal(s.turns, 0);
    assert_int_equal(uv_backend_timeout(&s.loop), 0);
    uv_run(&s.loop, UV_RUN_ONCE); /* would wait for ever */
    assert_true(s.turns >= 1);
    assert_int_equal(uv_backend_timeout(&s.loop), -1);
    int waits = s.waits;
    scene_run_once(&s); /* nobody has called wake() */
    assert_true(s.waits > waits);
    scene_end(&s);
}

static bool wakes_again(struct scene *s) {
    if (s->turns < 5) {
        scene_wake(s);
    }
    return false;
}

static void one_more_turn_from_a_turn(void **state) {
    struct scene s;
    scene_start(&s);
    s.on_turn = wakes_again;
    scene_wake(&s);
    while (s.turns < 5) {
        uv_run(&s.loop, UV_RUN_ONCE); /* would wait for ever */
    }
    s.on_turn = NULL;
    uv_run(&s.loop, UV_RUN_NOWAIT);
    assert_int_equal(uv_backend_timeout(&s.loop), -1);
    scene_end(&s);
}

static bool user_code(struct scene *s) {
    return s->turns == 1;
}

static bool user_code_at_wait(struct scene *s) {
    return s->waits == 1;
}

/* Whoever runs one iteration may wait for what the callback has done. */
static void returns_after_code_of_the_user(void **state) {
    struct scene s;
    scene_start(&s);
    scene_wake(&s);
    uv_run(&s.loop, UV_RUN_NOWAIT); /* the first iteration of a loop never blocks */
    s.turns = 0;
    s.on_turn = user_code;
    scene_wake(&s);
    uv_run(&s.loop, UV_RUN_ONCE); /* would wait for ever, before libuv 1.44.2 */
    assert_true(s.turns >= 1);
    s.on_turn = NULL;
    s.on_wait = user_code_at_wait;
    s.waits = 0;
    uv_run(&s.loop, UV_RUN_ONCE); /* would wait for ever */
    assert_int_equal(s.waits, 1);
    scene_end(&s);
}

static bool runs_the_loop(struct scene *s) {
    if (s->turns == 1) {
        scene_wake(s);
        uv_run(&s->loop, UV_RUN_NOWAIT); /* scene.c fails if a turn comes inside this one */
        uv_run(&s->loop, UV_RUN_NOWAIT);
    }
    return true;
}

static void not_inside_itself(void **state) {
    struct scene s;
    scene_start(&s);
    s.on_turn = runs_the_loop;
    scene_wake(&s);
    uv_run(&s.loop, UV_RUN_NOWAIT);
    SCENE_UNTIL(&s, s.turns >= 2); /* the one that was asked for in there */
    scene_end(&s);
}

/* -- arm() -- */

static bool note_time(struct scene *s) {
    *(uint64_t *)s->data = scene_now_ns(s);
    return false;
}

/* Additional turns may come; the one that was asked for must, or this waits for ever. */
static void not_only_before_its_time(void **state) {
    struct scene s;
    uint64_t last_ns = 0;
    scene_start(&s);
    s.data = &last_ns;
    s.on_turn = note_time;
    for (uint64_t i = 0; i < 20; i++) {
        uint64_t at_ns = scene_now_ns(&s) + i * MS / 2 + i * 37777;
        scene_arm(&s, at_ns);
        while (last_ns < at_ns) {
            uv_run(&s.loop, UV_RUN_ONCE);
        }
    }
    scene_end(&s);
}

static void earlier_replaces_later(void **state) {
    struct scene s;
    scene_start(&s);
    scene_wake(&s);
    uv_run(&s.loop, UV_RUN_NOWAIT); /* before that the loop always says 0 */
    uint64_t begun_ns = scene_now_ns(&s);
    scene_arm(&s, begun_ns + 60000 * MS);
    scene_arm(&s, begun_ns + 900 * MS);
    int timeout = uv_backend_timeout(&s.loop);
    uint64_t took_ms = (scene_now_ns(&s) - begun_ns) / MS;
    assert_in_range(timeout, 0, 901);
    assert_in_range((uint64_t)timeout + took_ms, 898, UINT64_MAX); /* and no earlier than that */
    scene_arm(&s, begun_ns + 300 * MS);
    assert_in_range(uv_backend_timeout(&s.loop), 0, 301);
    scene_end(&s);
}

static void idles(uv_timer_t *timer) {
    *(int *)timer->data += 1;
    uv_stop(timer->loop); /* also before the iteration polls */
}

/* Seen from the timer of somebody else, since a turn follows each poll: by then ours has fired for
 * the time before, and asks for no turn. */
static void later_and_never_replace_earlier(void **state) {
    struct scene s;
    uv_timer_t timer;
    int fired = 0;
    scene_start(&s);
    scene_arm(&s, scene_now_ns(&s) + 5 * MS);
    scene_arm(&s, RL_NEVER_NS);
    uv_timer_init(&s.loop, &timer);
    timer.data = &fired;
    uv_timer_start(&timer, idles, 30, 0);
    while (fired == 0) {
        uv_run(&s.loop, UV_RUN_ONCE);
    }
    assert_int_equal(uv_backend_timeout(&s.loop), -1);
    scene_arm(&s, scene_now_ns(&s) + 5 * MS);
    scene_arm(&s, scene_now_ns(&s) + 60000 * MS);
    uv_timer_start(&timer, idles, 30, 0);
    while (fired == 1) {
        uv_run(&s.loop, UV_RUN_ONCE);
    }
    int timeout = uv_backend_timeout(&s.loop);
    assert_in_range(timeout, 1, 1000); /* no further ahead, for the sake of suspend */
    uv_close((uv_handle_t *)&timer, NULL);
    scene_end(&s);
}

/* Due already: the turn after the next poll, which does not wait. */
static void due_at_once(void **state) {
    struct scene s;
    scene_start(&s);
    scene_arm(&s, scene_now_ns(&s));
    assert_int_equal(uv_backend_timeout(&s.loop), 0);
    uv_run(&s.loop, UV_RUN_ONCE);
    assert_true(s.turns >= 1);
    assert_int_equal(uv_backend_timeout(&s.loop), -1);
    scene_end(&s);
}

/* -- Time and chance -- */

static void clocks(void **state) {
    struct scene s;
    scene_start(&s);
    uint64_t before_ns = redlock_now_ns();
    uint64_t now_ns = scene_now_ns(&s);
    assert_in_range(now_ns, before_ns, redlock_now_ns());
    assert_true(s.world->ops->wall_us(s.world) > UINT64_C(1600000000000000));
    assert_true(s.world->ops->heard_ns(s.world) <= redlock_now_ns());
    scene_end(&s);
}

/* -- Beginning and end -- */

/* Of a world that was only asked for time and chance nothing is on the loop. */
static void is_discarded(void **state) {
    uv_loop_t loop;
    unsigned char bytes[16];
    assert_int_equal(uv_loop_init(&loop), 0);
    struct rl_world *world = rl_uv_world_new(&loop, NULL);
    assert_non_null(world);
    assert_true(world->ops->random(world, bytes, sizeof bytes));
    assert_true(world->ops->now_ns(world) > 0);
    rl_uv_world_discard(world);
    rl_uv_world_discard(NULL);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static bool closes(struct scene *s) {
    scene_close_world(s);
    return true;
}

static void closes_in_a_turn(void **state) {
    struct scene s;
    scene_start(&s);
    s.on_turn = closes;
    scene_arm(&s, scene_now_ns(&s) + 60000 * MS);
    scene_wake(&s);
    assert_int_equal(uv_run(&s.loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(s.closed, 1);
    assert_int_equal(s.turns, 1);
    scene_end(&s);
}

/* Not from inside close(), also of a world that was never used. */
static void closed_comes_later(void **state) {
    struct scene s;
    scene_start(&s);
    scene_close_world(&s);
    assert_int_equal(s.closed, 0);
    scene_end(&s);
}

static void never(uv_timer_t *timer) {
    fail();
}

/* With a connection and a timer: uv_run() returns, nothing is due, and closing is what it always
 * is. */
static void does_not_keep_the_loop_running(void **state) {
    struct scene s;
    struct link link = {0};
    struct rl_address address;
    scene_start(&s);
    rl_uv_world_unref(s.world);
    int listener = peer_listen(&address, 1);
    link_dial(&link, &s, &address);
    scene_arm(&s, scene_now_ns(&s) + 60000 * MS);
    assert_int_equal(uv_run(&s.loop, UV_RUN_DEFAULT), 0);
    uv_timer_t other; /* what the program waits for lets the world go on */
    uv_timer_init(&s.loop, &other);
    uv_timer_start(&other, never, 60000, 0);
    SCENE_UNTIL(&s, link.ups == 1);
    uv_close((uv_handle_t *)&other, NULL);
    assert_int_equal(uv_run(&s.loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(s.closed, 0);
    link_close(&link);
    close(listener);
    scene_end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_before_it_blocks),
        cmocka_unit_test(one_more_turn_from_a_turn),
        cmocka_unit_test(returns_after_code_of_the_user),
        cmocka_unit_test(not_inside_itself),
        cmocka_unit_test(not_only_before_its_time),
        cmocka_unit_test(earlier_replaces_later),
        cmocka_unit_test(later_and_never_replace_earlier),
        cmocka_unit_test(due_at_once),
        cmocka_unit_test(clocks),
        cmocka_unit_test(is_discarded),
        cmocka_unit_test(closes_in_a_turn),
        cmocka_unit_test(closed_comes_later),
        cmocka_unit_test(does_not_keep_the_loop_running),
    };
    return cmocka_run_group_tests_name("uv_turn", tests, NULL, NULL);
}
