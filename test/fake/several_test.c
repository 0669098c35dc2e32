/* Locks of several resources. Where scripts are forgotten and answers are late, nothing that undoes
 * an acquire may overtake it on a connection; and one that waits keeps nobody from what is free. */

#include "client/state.h"
#include "fake/five.h"
#include "marks.h"
#include "redlock/token.h"

#define TOKEN "0123456789abcdef0123456789abcdef01234567"

static redlock_lock *lock_of(struct five *f, enum redlock_mode mode, const char *letters) {
    const redlock_bytes names[] = {{letters, 1}, {letters + 1, 1}};
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_lock *lock = NULL;
    options.resources = names;
    options.n_resources = strlen(letters);
    options.mode = mode;
    assert_int_equal(redlock_lock_new_with(f->client, &options, &lock, NULL, 0), 0);
    return lock;
}

static redlock_lock *lock_of_two(struct five *f) {
    return lock_of(f, REDLOCK_EXCLUSIVE, "ab");
}

/* From now on node 4 knows the script of a release, and no other. */
static void know_releases_only(struct five *f, redlock_lock *lock) {
    struct five_done done = {0, 0};
    server_forget_scripts(fake_node_server(f->nodes[4]));
    assert_int_equal(redlock_release_token(lock, TOKEN, five_on_lock, &done), 0);
    five_wait(f, &done);
    five_wait_repaid(f);
}

/* Three nodes refuse, so the attempt ends and its release is sent before node 4 has answered. Its
 * answer is NOSCRIPT: a SET sent again would run after the release, and nobody would delete its
 * keys before their ttl ends. */
FIVE_TEST(sets_before_it_releases) {
    f->options.node_timeout_ms = 5000;
    assert_int_equal(five_open(f), 0);
    five_wait_up(f, FIVE);
    redlock_lock *lock = lock_of_two(f);
    f->may_keep = 7;
    MARK_FROM(SET_NOT_AGAIN);
    for (size_t i = 0; i < 3; i++) {
        fake_node_put(f->nodes[i], "b", "a stranger's", 0);
    }
    for (int round = 0; round < 2; round++) {
        know_releases_only(f, lock);
        five_rule(f, 4, .times = 1, .delay_ms = 100);
        assert_int_equal(five_acquire(f, lock), REDLOCK_ERR_HELD);
        five_wait_repaid(f);
        for (size_t i = 0; i < FIVE; i++) {
            assert_int_equal(fake_node_keys(f->nodes[i]), i < 3);
        }
    }
    MARK_TO(SET_NOT_AGAIN);
    const size_t hashes = fake_node_count(f->nodes[4], "EVALSHA");
    assert_int_equal(five_acquire(f, lock), REDLOCK_ERR_HELD);
    five_wait_repaid(f);
    assert_int_equal(fake_node_count(f->nodes[4], "EVALSHA"), hashes + 1); /* the release alone */
}

/* A lock's whole life; the nodes forget the scripts before every step. */
FIVE_TEST_OPEN(lives_without_scripts) {
    redlock_lock *lock = lock_of_two(f);
    for (int step = 0; step < 3; step++) {
        for (size_t i = 0; i < FIVE; i++) {
            server_forget_scripts(fake_node_server(f->nodes[i]));
        }
        int status = step == 0   ? five_acquire(f, lock)
                     : step == 1 ? five_extend(f, lock)
                                 : five_release(f, lock);
        assert_int_equal(status, 0);
        five_wait_repaid(f);
        for (size_t i = 0; i < FIVE; i++) {
            assert_int_equal(fake_node_keys(f->nodes[i]), step < 2 ? 2 : 0);
        }
    }
}

/* -- Waiting -- */

static redlock_lock *acquire(struct five *f, enum redlock_mode mode, const char *letters,
                             struct five_done *done) {
    redlock_acquire_options options = five_one_try(f);
    redlock_lock *lock = lock_of(f, mode, letters);
    options.tries = options.wait_ms = REDLOCK_NO_LIMIT;
    *done = (struct five_done){0, 0};
    assert_int_equal(redlock_acquire(lock, &options, five_on_lock, done), 0);
    return lock;
}

static bool waits_in_line(struct five *f, void *data) {
    const struct rl_place *place = rl_resource_place(rl_ticket_resource(data));
    return place->state == RL_PLACE_WAITING;
}

static void until_in_line(struct five *f, redlock_lock *lock, size_t i) {
    assert_true(five_run_until(f, waits_in_line, &lock->tickets[i]));
}

/* One task reads a and wants to write b, which is free; another waits to write both, in line, or
 * where there is none. If the first waited for the second, both would wait for ever. */
FIVE_EACH(keeps_no_other_lock_from_what_is_free, 2) {
    struct five_done done[3];
    for (size_t i = 0; i < FIVE && row == 1; i++) {
        five_rule(f, i, .command = "SUBSCRIBE", .action = FAKE_INSTEAD, .bytes = "-NOPERM no\r\n");
    }
    assert_int_equal(five_open(f), 0);
    five_wait_up(f, FIVE);
    redlock_lock *reads = acquire(f, REDLOCK_SHARED, "a", &done[0]);
    assert_int_equal(five_wait(f, &done[0]), 0);
    redlock_lock *both = acquire(f, REDLOCK_EXCLUSIVE, "ab", &done[1]);
    if (row == 0) {
        until_in_line(f, both, 0);
    } else {
        five_run_ms(f, 100);
    }
    redlock_lock *writes = acquire(f, REDLOCK_EXCLUSIVE, "b", &done[2]);
    assert_int_equal(five_wait(f, &done[2]), 0);
    assert_int_equal(five_release(f, reads), 0);
    five_run_ms(f, 20); /* its turn comes, and is of no use yet */
    assert_int_equal(done[1].calls, 0);
    assert_int_equal(five_release(f, writes), 0);
    assert_int_equal(five_wait(f, &done[1]), 0);
    assert_int_equal(five_release(f, both), 0);
    f->may_keep = (1u << FIVE) - 1; /* what says that a writer waited */
}

/* A reader of both that has waited for b, and goes on to wait for a, keeps no reader from b. */
FIVE_TEST_OPEN(keeps_no_reader_when_it_moves) {
    struct five_done done[4];
    redlock_lock *b = acquire(f, REDLOCK_EXCLUSIVE, "b", &done[0]);
    assert_int_equal(five_wait(f, &done[0]), 0);
    redlock_lock *both = acquire(f, REDLOCK_SHARED, "ba", &done[1]);
    until_in_line(f, both, 0);
    redlock_lock *a = acquire(f, REDLOCK_EXCLUSIVE, "a", &done[2]);
    assert_int_equal(five_wait(f, &done[2]), 0);
    acquire(f, REDLOCK_SHARED, "b", &done[3]);
    assert_int_equal(five_release(f, b), 0);
    assert_int_equal(five_wait(f, &done[3]), 0);
    assert_int_equal(done[1].calls, 0);
    assert_int_equal(five_release(f, a), 0);
    assert_int_equal(five_wait(f, &done[1]), 0);
    f->may_keep = (1u << FIVE) - 1; /* the readers, until the client is closed */
}

/* Two readers wait for b behind a third, which leaves. The first of the two wants c as well, whose
 * other reader waits for d: it does not wait for that one, nor the second for the first. */
FIVE_TEST_OPEN(leaves_no_reader_behind) {
    struct five_done done[6];
    redlock_lock *b = acquire(f, REDLOCK_EXCLUSIVE, "b", &done[0]);
    redlock_lock *d = acquire(f, REDLOCK_EXCLUSIVE, "d", &done[1]);
    assert_int_equal(five_wait(f, &done[0]), 0);
    assert_int_equal(five_wait(f, &done[1]), 0);
    redlock_lock *elsewhere = acquire(f, REDLOCK_SHARED, "dc", &done[2]);
    until_in_line(f, elsewhere, 0);
    redlock_lock *first = acquire(f, REDLOCK_SHARED, "b", &done[3]);
    until_in_line(f, first, 0);
    acquire(f, REDLOCK_SHARED, "bc", &done[4]);
    acquire(f, REDLOCK_SHARED, "b", &done[5]);
    assert_int_equal(redlock_cancel(first), 0);
    assert_int_equal(five_wait(f, &done[3]), REDLOCK_ERR_CANCELED);
    assert_int_equal(five_release(f, b), 0);
    assert_int_equal(five_wait(f, &done[4]), 0);
    assert_int_equal(five_wait(f, &done[5]), 0);
    assert_int_equal(done[2].calls, 0);
    assert_int_equal(five_release(f, d), 0);
    assert_int_equal(five_wait(f, &done[2]), 0);
    f->may_keep = (1u << FIVE) - 1;
}
