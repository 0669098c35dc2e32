/* A client that wins although home refused may have overtaken the client with the turn. Its release
 * reserves the keys for a moment, so that no newcomer overtakes it again. */

#include "fake/five.h"

#define GRACE " 250"
#define LAST (FIVE - 1)

static bool is_quiet(struct five *f, void *data) {
    for (size_t i = 0; i < FIVE; i++) {
        if (five_info(f, i).outstanding > 0) {
            return false;
        }
    }
    return true;
}

/* Releases; returns a mask of the nodes whose last command contains the word. */
static unsigned release(struct five *f, const char *word) {
    unsigned found = 0;
    assert_true(five_run_until(f, is_quiet, NULL)); /* home's refusal may come late */
    assert_int_equal(five_release(f, f->lock), 0);
    assert_true(five_run_until(f, is_quiet, NULL));
    for (size_t i = 0; i < FIVE; i++) {
        size_t count = fake_node_count(f->nodes[i], NULL);
        bool has = strstr(fake_node_log(f->nodes[i], count - 1), word) != NULL;
        found |= (unsigned)has << i;
    }
    return found;
}

static unsigned cycle(struct five *f, const char *word) {
    assert_int_equal(five_acquire(f, f->lock), 0);
    return release(f, word);
}

static size_t home_of(struct five *f) {
    unsigned serving = cycle(f, " serve");
    size_t home = 0;
    assert_true(serving != 0 && (serving & (serving - 1)) == 0);
    while (serving >> home != 1) {
        home++;
    }
    return home;
}

FIVE_TEST_OPEN(keeps_what_it_won_without_home) {
    size_t home = home_of(f);
    fake_node_put(f->nodes[home], FIVE_RESOURCE, "another", 60000);
    f->may_keep = 1u << home;
    assert_int_equal(cycle(f, GRACE), (1u << FIVE) - 1);
}

/* The refusal of a node that is not home does not mean that anyone waits. */
FIVE_TEST_OPEN(deletes_what_it_won_with_home) {
    size_t other = (home_of(f) + 1) % FIVE;
    fake_node_put(f->nodes[other], FIVE_RESOURCE, "another", 60000);
    f->may_keep = 1u << other;
    assert_int_equal(cycle(f, GRACE), 0);
}

/* Home is the second address of a server, and slower than the first. Its release finds the token of
 * this client's next attempt, which arrived by the first address: nobody waits, and a reservation
 * would refuse the client's own attempt. */
FIVE_TEST(its_own_next_token_is_nobody) {
    f->options.guard = REDLOCK_GUARD_OBSERVED;
    fake_node_share(f->nodes[LAST], f->nodes[1]); /* LAST is home of FIVE_RESOURCE */
    assert_int_equal(five_open(f), 0);
    five_wait_up(f, FIVE);
    assert_int_equal(home_of(f), LAST);
    fake_node_pause(f->nodes[LAST]);
    assert_int_equal(five_acquire(f, f->lock), 0);
    assert_int_equal(five_release(f, f->lock), 0);
    assert_int_equal(five_acquire(f, f->lock), 0);
    fake_node_resume(f->nodes[LAST]);
    assert_int_equal(release(f, GRACE), 0);
    assert_int_equal(cycle(f, GRACE), 0);
}
