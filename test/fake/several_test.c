/* Locks of several resources where scripts are forgotten and answers are late: nothing that undoes
 * an acquire may overtake it on a connection. */

#include "fake/five.h"
#include "marks.h"
#include "redlock/token.h"

#define TOKEN "0123456789abcdef0123456789abcdef01234567"

static redlock_lock *lock_of_two(struct five *f) {
    static const redlock_bytes names[] = {{"a", 1}, {"b", 1}};
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_lock *lock = NULL;
    options.resources = names;
    options.n_resources = 2;
    assert_int_equal(redlock_lock_new_with(f->client, &options, &lock, NULL, 0), 0);
    return lock;
}

/* From now on node 4 knows the script of a release, and no other. */
static void know_releases_only(struct five *f, redlock_lock *lock) {
    struct five_done done = {0, 0};
    server_forget_scripts(fake_node_server(f->nodes[4]));
    assert_int_equal(redlock_release_token(lock, TOKEN, five_on_lock, &done), 0);
    five_wait(f, &done);
    five_wait_repaid(f);
}

/* Three nodes refuse, so the attempt is over and its release sent while node 4 still owes its first
 * answer. That is NOSCRIPT: a SET sent again would run behind the release, and its keys would stay
 * for a whole ttl with nobody to delete them. */
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

/* The whole life, with scripts forgotten before every step. */
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
