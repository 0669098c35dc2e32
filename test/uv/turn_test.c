/* When the owner's turn comes: the timer, wake(), the loop run once, inside itself, and closed. */
#include "uv/scene.h"

#include "uv/world.h"

/* -- wake() -- */

SCENE_TEST(a_turn_before_it_blocks) {
    scene_wake(s);
    assert_int_equal(s->turns, 0);
    assert_int_equal(uv_backend_timeout(&s->loop), 0);
    uv_run(&s->loop, UV_RUN_ONCE); /* would wait for ever */
    assert_true(s->turns >= 1);
    assert_int_equal(uv_backend_timeout(&s->loop), -1);
    int waits = s->waits;
    scene_run_once(s); /* nobody has called wake() */
    assert_true(s->waits > waits);
}

static bool wakes_again(struct scene *s) {
    if (s->turns < 5) {
        scene_wake(s);
    }
    return false;
}

SCENE_TEST(one_more_turn_from_a_turn) {
    s->on_turn = wakes_again;
    scene_wake(s);
    while (s->turns < 5) {
        uv_run(&s->loop, UV_RUN_ONCE); /* would wait for ever */
    }
    s->on_turn = NULL;
    uv_run(&s->loop, UV_RUN_NOWAIT);
    assert_int_equal(uv_backend_timeout(&s->loop), -1);
}

static bool user_code(struct scene *s) {
    return s->turns == 1;
}

static bool user_code_at_wait(struct scene *s) {
    return s->waits == 1;
}

/* A program that runs one iteration may wait for the effect of the callback. */
SCENE_TEST(returns_after_code_of_the_user) {
    scene_wake(s);
    uv_run(&s->loop, UV_RUN_NOWAIT); /* the first iteration of a loop never blocks */
    s->turns = 0;
    s->on_turn = user_code;
    scene_wake(s);
    uv_run(&s->loop, UV_RUN_ONCE); /* would wait for ever, before libuv 1.44.2 */
    assert_true(s->turns >= 1);
    s->on_turn = NULL;
    s->on_wait = user_code_at_wait;
    s->waits = 0;
    uv_run(&s->loop, UV_RUN_ONCE); /* would wait for ever */
    assert_int_equal(s->waits, 1);
}

static bool runs_the_loop(struct scene *s) {
    if (s->turns == 1) {
        scene_wake(s);
        uv_run(&s->loop, UV_RUN_NOWAIT); /* scene.c fails if a turn comes inside this one */
        uv_run(&s->loop, UV_RUN_NOWAIT);
    }
    return true;
}

SCENE_TEST(not_inside_itself) {
    s->on_turn = runs_the_loop;
    scene_wake(s);
    uv_run(&s->loop, UV_RUN_NOWAIT);
    SCENE_UNTIL(s, s->turns >= 2); /* the one requested inside the turn */
}

/* -- arm() -- */

static bool note_time(struct scene *s) {
    *(uint64_t *)s->data = scene_now_ns(s);
    return false;
}

/* Extra turns may come; the armed one must, or this waits for ever. */
SCENE_TEST(not_only_before_its_time) {
    uint64_t last_ns = 0;
    s->data = &last_ns;
    s->on_turn = note_time;
    for (uint64_t i = 0; i < 20; i++) {
        uint64_t at_ns = scene_now_ns(s) + i * MS / 2 + i * 37777;
        scene_arm(s, at_ns);
        while (last_ns < at_ns) {
            uv_run(&s->loop, UV_RUN_ONCE);
        }
    }
}

SCENE_TEST(earlier_replaces_later) {
    scene_wake(s);
    uv_run(&s->loop, UV_RUN_NOWAIT); /* before that the loop's timeout is always 0 */
    uint64_t begun_ns = scene_now_ns(s);
    scene_arm(s, begun_ns + 60000 * MS);
    scene_arm(s, begun_ns + 900 * MS);
    int timeout = uv_backend_timeout(&s->loop);
    uint64_t took_ms = (scene_now_ns(s) - begun_ns) / MS;
    assert_in_range(timeout, 0, 901);
    assert_in_range((uint64_t)timeout + took_ms, 898, UINT64_MAX); /* and no earlier than that */
    scene_arm(s, begun_ns + 300 * MS);
    assert_in_range(uv_backend_timeout(&s->loop), 0, 301);
}

static void idles(uv_timer_t *timer) {
    *(int *)timer->data += 1;
    uv_stop(timer->loop); /* even before the iteration polls */
}

/* Checked in another timer, since a turn follows each poll: by then the world's timer has fired for
 * the earlier time, and requests no turn. */
SCENE_TEST(later_and_never_replace_earlier) {
    uv_timer_t timer;
    int fired = 0;
    scene_arm(s, scene_now_ns(s) + 5 * MS);
    scene_arm(s, RL_NEVER);
    uv_timer_init(&s->loop, &timer);
    timer.data = &fired;
    uv_timer_start(&timer, idles, 30, 0);
    while (fired == 0) {
        uv_run(&s->loop, UV_RUN_ONCE);
    }
    assert_int_equal(uv_backend_timeout(&s->loop), -1);
    scene_arm(s, scene_now_ns(s) + 5 * MS);
    scene_arm(s, scene_now_ns(s) + 60000 * MS);
    uv_timer_start(&timer, idles, 30, 0);
    while (fired == 1) {
        uv_run(&s->loop, UV_RUN_ONCE);
    }
    int timeout = uv_backend_timeout(&s->loop);
    assert_in_range(timeout, 1, 1000); /* no further ahead, because of suspend */
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&s->loop, UV_RUN_NOWAIT); /* the timer is gone */
}

/* A time that has passed: the turn comes after the next poll, which does not wait. */
SCENE_TEST(due_at_once) {
    scene_arm(s, scene_now_ns(s));
    assert_int_equal(uv_backend_timeout(&s->loop), 0);
    uv_run(&s->loop, UV_RUN_ONCE);
    assert_true(s->turns >= 1);
    assert_int_equal(uv_backend_timeout(&s->loop), -1);
}

/* -- Beginning and end -- */

/* A world that has only given time and random bytes has nothing on the loop. */
TEST(is_discarded) {
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

SCENE_TEST(closes_in_a_turn) {
    s->on_turn = closes;
    scene_arm(s, scene_now_ns(s) + 60000 * MS);
    scene_wake(s);
    assert_int_equal(uv_run(&s->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(s->closed, 1);
    assert_int_equal(s->turns, 1);
}

/* `closed` does not come from inside close(), even in a world that was never used. */
SCENE_TEST(closed_comes_later) {
    scene_close_world(s);
    assert_int_equal(s->closed, 0);
}

static void never(uv_timer_t *timer) {
    fail();
}

/* With a connection and a timer uv_run() returns, since nothing is due; closing works as always. */
SCENE_TEST(does_not_keep_the_loop_running) {
    struct link link = {0};
    struct rl_address address;
    rl_uv_world_unref(s->world);
    int listener = peer_listen(&address, 1);
    link_dial(&link, s, &address);
    scene_arm(s, scene_now_ns(s) + 60000 * MS);
    assert_int_equal(uv_run(&s->loop, UV_RUN_DEFAULT), 0);
    uv_timer_t other; /* the program's own handle keeps the world running */
    uv_timer_init(&s->loop, &other);
    uv_timer_start(&other, never, 60000, 0);
    SCENE_UNTIL(s, link.ups == 1);
    uv_close((uv_handle_t *)&other, NULL);
    assert_int_equal(uv_run(&s->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(s->closed, 0);
    link_close(&link);
    close(listener);
}
