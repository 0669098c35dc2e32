/* Every end of waiting in line, in every state of it, on fake nodes: the waiter cancels, frees its
 * lock or closes its client; and home, or its messages, are lost. Each callback comes once, and no
 * place and no reservation stay behind on a node that is still there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/state.h"
#include "fake/waiter.h"

enum stage { AWAITING, LISTENING, JOINING, WAITING, TURN, TAKING, PAUSING, STAGES };

static const char *const stage_names[STAGES] = {"awaiting", "listening", "joining", "waiting",
                                                "turn",     "taking",    "pausing"};

/* Home does not answer a release, and its sender asks again. */
static void await(struct waiter *w) {
    waiter_let_go(w);
    waiter_ask(w);
    assert_int_equal(waiter_wait(w), 0);
    fake_node_pause(waiter_node(w, 0));
    assert_int_equal(five_release(&w->f, w->f.lock), 0);
    waiter_ask(w);
    assert_true(w->f.lock->queueing.is_queued && waiter_is(w, RL_LINE_OUT));
}

/* From here on the nodes decide when it goes on: what they were sent runs when they are resumed. */
static void enter(struct waiter *w, enum stage stage) {
    if (stage == AWAITING) {
        await(w);
        return;
    }
    if (stage == LISTENING) {
        fake_node_rule(waiter_node(w, 0),
                       (struct fake_rule){.command = "SUBSCRIBE", .action = FAKE_SWALLOW});
    } else if (stage == JOINING) {
        waiter_hear(w);
        fake_node_pause(waiter_node(w, 0));
    }
    waiter_ask(w);
    if (stage == LISTENING) {
        waiter_until(w, RL_LINE_LISTENING);
        five_wait_count(&w->f, w->order[0], "SUBSCRIBE", 1);
        return;
    }
    if (stage == JOINING) {
        waiter_until(w, RL_LINE_JOINING);
        return;
    }
    waiter_until_at(w, 0);
    if (stage == TURN || stage == TAKING) {
        waiter_turn(w);
        for (size_t rank = 0; rank < 3 && stage == TAKING; rank++) {
            fake_node_pause(waiter_node(w, rank));
        }
    } else if (stage == PAUSING) {
        waiter_turn_in_vain(w);
    }
    if (stage == TAKING || stage == PAUSING) {
        waiter_until(w, stage == TAKING ? RL_LINE_TAKING : RL_LINE_PAUSING);
    }
}

static void go_on(struct waiter *w) {
    for (size_t i = 0; i < FIVE; i++) {
        fake_node_clear_rules(w->f.nodes[i]);
        fake_node_resume(w->f.nodes[i]);
    }
}

/* -- The waiter leaves -- */

enum way { CANCEL, FREE, CLOSE, WAYS };

static void leave(struct waiter *w, enum way way) {
    switch (way) {
        case CANCEL:
            assert_int_equal(redlock_cancel(w->f.lock), 0);
            break;
        case FREE:
            redlock_lock_free(w->f.lock);
            w->f.lock = NULL;
            break;
        default:
            assert_int_equal(redlock_client_close(w->f.client, five_on_client, &w->f.closed), 0);
            break;
    }
}

static void expect_that_it_left(struct waiter *w, enum way way) {
    assert_int_equal(waiter_wait(w), REDLOCK_ERR_CANCELED);
    if (way == CLOSE) {
        assert_int_equal(five_wait(&w->f, &w->f.closed), 0);
        w->f.client = NULL;
        w->f.lock = NULL;
        w->f.closed.calls = 0;
    } else {
        five_wait_repaid(&w->f);
    }
    for (size_t i = 0; i < FIVE; i++) {
        assert_int_equal(w->f.downs[i].times, 0);
    }
    waiter_stop(w);
}

static void leaves(enum way way) {
    for (int stage = 0; stage < STAGES; stage++) {
        struct waiter w;
        print_message("# %s\n", stage_names[stage]);
        waiter_start(&w, WAITER_PATIENT_MS);
        enter(&w, (enum stage)stage);
        leave(&w, way);
        go_on(&w);
        expect_that_it_left(&w, way);
    }
}

static void cancels_in_every_state(void **state) {
    (void)state;
    leaves(CANCEL);
}

static void frees_in_every_state(void **state) {
    (void)state;
    leaves(FREE);
}

static void closes_in_every_state(void **state) {
    (void)state;
    leaves(CLOSE);
}

/* A waiter has been notified of its turn, and has not begun to ask: that is a moment between a
 * message and the steps that follow, in which only callbacks run. */
struct other {
    struct waiter *w;
    enum way way;
    int calls;
};

static void on_other(redlock_lock *lock, int status, void *data) {
    struct other *other = data;
    (void)lock;
    assert_int_equal(status, 0);
    assert_true(waiter_is(other->w, RL_LINE_TURN));
    other->calls++;
    leave(other->w, other->way);
}

static bool two_have_granted(struct five *f, void *data) {
    const struct waiter *w = data;
    return fake_node_get(f->nodes[w->order[0]], "other") != NULL &&
           fake_node_get(f->nodes[w->order[4]], "other") != NULL;
}

static void leaves_with_the_turn_in_hand(void **state) {
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        struct waiter w;
        struct other other = {.w = &w, .way = (enum way)way};
        redlock_lock *lock = NULL;
        waiter_start(&w, WAITER_PATIENT_MS);
        assert_int_equal(redlock_lock_new(w.f.client, "other", strlen("other"), &lock), 0);
        waiter_ask(&w);
        waiter_until_at(&w, 0);
        for (size_t rank = 1; rank <= 3; rank++) {
            fake_node_pause(waiter_node(&w, rank));
        }
        redlock_acquire_options options = five_one_try(&w.f);
        assert_int_equal(redlock_acquire(lock, &options, on_other, &other), 0);
        assert_true(five_run_until(&w.f, two_have_granted, &w));
        five_run_ms(&w.f, 20);
        waiter_turn(&w); /* what follows is read in one turn of the loop */
        go_on(&w);
        assert_int_equal(waiter_wait(&w), REDLOCK_ERR_CANCELED);
        assert_int_equal(other.calls, 1);
        assert_int_equal(waiter_count_all(&w, "take"), 0);
        if (way != CLOSE) {
            assert_int_equal(five_release(&w.f, lock), 0);
        }
        expect_that_it_left(&w, other.way);
    }
}

/* -- Home goes -- */

enum fault { RESETS, DIES, IS_NOT_HEARD, RESTARTS, FAULTS };

static const char *const fault_names[FAULTS] = {"resets", "dies", "is not heard", "restarts"};

static void disturb(struct waiter *w, enum fault fault) {
    struct fake_node *home = waiter_node(w, 0);
    switch (fault) {
        case DIES:
            fake_node_refuse(home);
            fake_node_drop(home, true);
            break;
        case IS_NOT_HEARD:
            fake_node_drop_listeners(home, true);
            break;
        case RESTARTS:
            fake_node_restart(home);
            break;
        default:
            fake_node_drop(home, true);
            break;
    }
}

static void home_goes(enum fault fault) {
    for (int stage = 0; stage < STAGES; stage++) {
        struct waiter w;
        print_message("# %s while %s\n", fault_names[fault], stage_names[stage]);
        waiter_start(&w, WAITER_PATIENT_MS);
        enter(&w, (enum stage)stage);
        disturb(&w, fault);
        go_on(&w);
        if (stage == PAUSING) {
            waiter_let_go(&w);
        }
        waiter_serve(&w);
        if (fault == DIES) {
            fake_node_listen(waiter_node(&w, 0)); /* it may have a pending release */
        }
        waiter_stop(&w);
    }
}

static void goes_on_when_home_resets(void **state) {
    (void)state;
    home_goes(RESETS);
}

static void goes_on_when_home_dies(void **state) {
    (void)state;
    home_goes(DIES);
}

static void goes_on_when_home_is_not_heard(void **state) {
    (void)state;
    home_goes(IS_NOT_HEARD);
}

static void goes_on_when_home_restarts(void **state) {
    (void)state;
    home_goes(RESTARTS);
}

/* All nodes are silent, but only about TAKE: it is an attempt like any other. */
static void a_take_that_fails_ends_the_turn(void **state) {
    struct waiter w;
    (void)state;
    waiter_start(&w, WAITER_QUICK_MS);
    waiter_ask(&w);
    waiter_until_at(&w, 0);
    for (size_t rank = 1; rank <= 3; rank++) {
        fake_node_pause(waiter_node(&w, rank));
    }
    waiter_turn(&w);
    five_wait_count(&w.f, w.order[0], "release_line", 1);
    go_on(&w);
    assert_int_equal(waiter_wait(&w), 0);
    assert_int_equal(waiter_count_all(&w, "leave"), 0); /* of a token that was asked with */
    waiter_stop(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cancels_in_every_state),
        cmocka_unit_test(frees_in_every_state),
        cmocka_unit_test(closes_in_every_state),
        cmocka_unit_test(leaves_with_the_turn_in_hand),
        cmocka_unit_test(goes_on_when_home_resets),
        cmocka_unit_test(goes_on_when_home_dies),
        cmocka_unit_test(goes_on_when_home_is_not_heard),
        cmocka_unit_test(goes_on_when_home_restarts),
        cmocka_unit_test(a_take_that_fails_ends_the_turn),
    };
    return cmocka_run_group_tests_name("line_end", tests, NULL, NULL);
}
