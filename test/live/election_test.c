/* Elections of clients in one process: notifications and their times. See election_end_test.c for
 * the end of elections. */
#include <string.h>

#include "live/campaign.h"
#include "spent.h"

/* -- Electing -- */

static void elects_the_only_candidate(void **state) {
    struct live *live = *state;
    struct candidate c = {0};
    campaign_make_default(&c, live->client, "me");
    LIVE_UNTIL(live, c.told == 1); /* observes before it campaigns */
    assert_false(c.has_leader);
    assert_null(redlock_election_leader(c.election));
    campaign_elect(live, &c);
    LIVE_UNTIL(live, c.told == 2);
    assert_string_equal(c.leader, "me");
    assert_string_equal(redlock_election_leader(c.election), "me");
    LIVE_STATUS(redlock_election_campaign(c.election), REDLOCK_ERR_BUSY);
    campaign_resign(live, &c, 0);
    LIVE_UNTIL(live, c.told == 3 && !c.has_leader);
    LIVE_STATUS(redlock_election_resign(c.election, campaign_on_resigned, &c), REDLOCK_ERR_IDLE);
    assert_true(live_no_keys(live));
    campaign_elect(live, &c);                                /* again */
    assert_int_equal(redlock_election_fence(c.election), 0); /* it was not asked for */
    assert_int_equal(c.lost, 0);
    live_end(live);
    assert_int_equal(c.lost, 0);
}

/* By a notification: their pause is an hour. */
static void hands_over_by_resignation(void **state) {
    struct live *live = *state;
    struct candidate c[3] = {{0}};
    live_start(live, 5, NULL);
    campaign_open_clients(live, c, 3);
    campaign_elect(live, &c[0]);
    campaign_begin(&c[1]);
    campaign_begin(&c[2]);
    LIVE_POLL(live, campaign_is_listening(live, 3));
    LIVE_STATUS(redlock_election_attempt_status(c[0].election), 0);
    LIVE_UNTIL(live, redlock_election_attempt_status(c[1].election) == REDLOCK_ERR_HELD);
    for (int round = 0; round < 4; round++) {
        int before = c[0].elected + c[1].elected + c[2].elected;
        struct candidate *leader = NULL;
        for (size_t i = 0; i < 3; i++) {
            leader = redlock_election_is_leader(c[i].election) ? &c[i] : leader;
        }
        assert_non_null(leader);
        campaign_resign(live, leader, 0);
        campaign_begin(leader);
        LIVE_UNTIL(live, c[0].elected + c[1].elected + c[2].elected == before + 1);
        LIVE_POLL(live, campaign_is_listening(live, 2));
    }
    assert_int_equal(c[0].lost + c[1].lost + c[2].lost, 0);
    campaign_close_clients(live, c, 3);
}

static void hands_over_when_freed(void **state) {
    struct live *live = *state;
    struct candidate c[2] = {{0}};
    live_start(live, 5, NULL);
    campaign_open_clients(live, c, 2);
    campaign_elect(live, &c[0]);
    campaign_begin(&c[1]);
    LIVE_POLL(live, campaign_is_listening(live, 2));
    redlock_election_free(c[0].election);
    LIVE_UNTIL(live, c[1].elected == 1);
    assert_int_equal(c[0].lost, 0);
    campaign_close_clients(live, c, 2);
}

static void hands_over_when_its_client_is_closed(void **state) {
    struct live *live = *state;
    struct candidate c[2] = {{0}};
    live_start(live, 5, NULL);
    campaign_open_clients(live, c, 2);
    campaign_elect(live, &c[0]);
    campaign_begin(&c[1]);
    LIVE_POLL(live, campaign_is_listening(live, 2));
    live_close(live, c[0].client);
    LIVE_UNTIL(live, c[1].elected == 1);
    assert_int_equal(c[0].lost, 0);
    live_close(live, c[1].client);
    live_end(live);
}

/* -- Observing -- */

static void is_observed_by_others(void **state) {
    struct live *live = *state;
    struct candidate c[3] = {{0}};
    live_start(live, 5, NULL);
    campaign_open_clients(live, c, 3);
    LIVE_UNTIL(live, c[2].told == 1 && !c[2].has_leader);
    redlock_election_free(c[2].election); /* one that polls more often: only releases are
                                             notified */
    redlock_election_options o = campaign_options_of(&c[2], CAMPAIGN_NAME, "spectator");
    o.poll_ms = 50;
    campaign_make(&c[2], c[2].client, &o);
    campaign_elect(live, &c[0]);
    LIVE_UNTIL(live, c[2].has_leader);
    assert_string_equal(c[2].leader, "one");
    campaign_begin(&c[1]);
    LIVE_UNTIL(live, c[1].has_leader);
    assert_string_equal(c[1].leader, "one");
    LIVE_POLL(live, campaign_is_listening(live, 2));
    campaign_resign(live, &c[0], 0);
    LIVE_UNTIL(live, c[2].has_leader && strcmp(c[2].leader, "two") == 0);
    assert_int_equal(redlock_election_state(c[2].election), REDLOCK_ELECTION_IDLE);
    assert_int_equal(c[2].elected, 0);
    campaign_resign(live, &c[1], 0);
    LIVE_UNTIL(live, !c[2].has_leader && !c[0].has_leader && !c[1].has_leader);
    campaign_close_clients(live, c, 3);
}

/* Two of a leader's three nodes do not answer: it may lead, so no observer is told that there is no
 * leader. */
static void is_not_told_what_is_not_known(void **state) {
    struct live *live = *state;
    struct candidate c = {0};
    redlock_election_options o = campaign_options_of(&c, CAMPAIGN_NAME, "spectator");
    o.poll_ms = 20;
    for (size_t i = 0; i < 3; i++) {
        live_tell(live, i,
                  "SET " CAMPAIGN_NAME " 0123456789012345678901234567890123456789 PX 60000");
    }
    live_pause(live, 0);
    live_pause(live, 1);
    campaign_make(&c, live->client, &o);
    live_run_for(live, 700);
    assert_int_equal(c.told, 0);
    live_resume(live, 0);
    live_resume(live, 1);
    LIVE_UNTIL(live, c.told == 1 && c.has_leader);
    assert_string_equal(c.leader, ""); /* a holder without a name */
    live_tell_all(live, "FLUSHALL");
    LIVE_UNTIL(live, c.told == 2 && !c.has_leader);
    live_end(live);
}

/* The three nodes that answer have no leader, and the other two are no quorum. */
static void is_told_by_a_quorum_that_nobody_leads(void **state) {
    struct live *live = *state;
    struct candidate c = {0};
    redlock_election_options o = campaign_options_of(&c, CAMPAIGN_NAME, "spectator");
    o.poll_ms = 20;
    live_kill(live, 0);
    live_kill(live, 1);
    LIVE_UNTIL(live, live_up(live->client) == 3);
    campaign_make(&c, live->client, &o);
    LIVE_UNTIL(live, c.told == 1 && !c.has_leader);
    live_end(live);
}

/* A lock of another library under the name is no leadership. */
static void is_not_led_by_another_library(void **state) {
    struct live *live = *state;
    struct candidate c = {0};
    redlock_election_options o = campaign_options_of(&c, CAMPAIGN_NAME, "spectator");
    o.poll_ms = 20;
    live_tell_all(live, "SET " CAMPAIGN_NAME " 9b1f3a70-0c21 PX 60000");
    campaign_make(&c, live->client, &o);
    live_run_for(live, 300);
    assert_false(c.has_leader);
    live_tell_all(live, "SET " CAMPAIGN_NAME " 0123456789012345678901234567890123456789 PX 60000");
    LIVE_UNTIL(live, c.has_leader);
    assert_string_equal(c.leader, "");
    live_tell_all(live, "FLUSHALL");
    LIVE_UNTIL(live, !c.has_leader);
    live_end(live);
}

/* -- Losing -- */

static void campaigns_again_after_a_loss(void **state) {
    struct live *live = *state;
    struct candidate c = {0};
    redlock_election_options o = campaign_options_of(&c, CAMPAIGN_NAME, "me");
    o.ttl_ms = 4000; /* found gone by a renewal, and not over before */
    o.renew_ms = 200;
    o.fencing = 1;
    campaign_make(&c, live->client, &o);
    assert_int_equal(redlock_election_fence(c.election), 0);
    for (int i = 1; i <= 3; i++) {
        if (i == 1) {
            campaign_begin(&c);
        }
        LIVE_UNTIL(live, c.elected == i);
        live_tell_all(live, "FLUSHALL");
        LIVE_UNTIL(live, c.lost == i);
        LIVE_STATUS(c.lost_status, REDLOCK_ERR_LOST);
    }
    LIVE_UNTIL(live, c.elected == 4);
    campaign_resign(live, &c, 0);
    assert_true(c.fence != 0);
    assert_int_equal(redlock_election_fence(c.election), c.fence); /* its last one */
    live_end(live);
}

/* No quorum answers: notified before the end of validity, and elected again when they are back. */
static void loses_when_the_nodes_stand_still(void **state) {
    struct live *live = *state;
    struct candidate c = {0};
    redlock_election_options o = campaign_options_of(&c, CAMPAIGN_NAME, "me");
    o.ttl_ms = 1000;
    o.poll_ms = 20;
    campaign_make(&c, live->client, &o);
    campaign_begin(&c);
    LIVE_UNTIL(live, c.elected == 1);
    for (size_t i = 0; i < 3; i++) {
        live_pause(live, i);
    }
    struct spent since = spent_begin();
    LIVE_UNTIL(live, c.lost == 1);
    LIVE_STATUS(c.lost_status, REDLOCK_ERR_EXPIRED);
    assert_true(c.lost_ns < since.at_ns + 1000 * LIVE_MS + spent_kept_ns(&since));
    assert_null(redlock_election_leader(c.election)); /* it is not known */
    LIVE_UNTIL(live, redlock_election_attempt_status(c.election) == REDLOCK_ERR_NO_QUORUM);
    assert_int_equal(c.elected, 1);
    assert_int_equal(redlock_election_state(c.election), REDLOCK_ELECTION_CAMPAIGNING);
    for (size_t i = 0; i < 3; i++) {
        live_resume(live, i);
    }
    LIVE_UNTIL(live, c.elected == 2);
    LIVE_STATUS(redlock_election_attempt_status(c.election), 0);
    live_end(live);
}

/* A leader that does not renew is followed when its keys end, not a pause later. The holder itself
 * gives them up when its hold ends, 43 ms sooner: drift, and the margin of on_lost. */
static void follows_when_the_keys_end(void **state) {
    struct live *live = *state;
    struct candidate c = {0};
    redlock_election_options o = campaign_options_of(&c, CAMPAIGN_NAME, "me");
    redlock_lock *lock = live_lock(live->client, CAMPAIGN_NAME);
    redlock_acquire_options dead = live_once(3000);
    redlock_client *other = NULL;
    redlock_client_options options = live_options(live);
    LIVE_STATUS(live_open(live, &options, &other), 0);
    LIVE_UNTIL(live, live_up(other) == 5);
    uint64_t asked_ns = redlock_now_ns();
    live_hold(live, lock, &dead);
    campaign_make(&c, other, &o);
    campaign_begin(&c);
    LIVE_UNTIL(live, c.elected == 1);
    uint64_t gap_ns = c.elected_ns - asked_ns;
    print_message("# elected %.1f ms after keys of 3000 ms were set\n", (double)gap_ns / 1e6);
    assert_true(gap_ns >= 2956 * LIVE_MS);
    assert_true(gap_ns < 15000 * LIVE_MS); /* not the hour that its pause is */
    live_close(live, other);
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST_FIVE(elects_the_only_candidate),
        LIVE_TEST(hands_over_by_resignation),
        LIVE_TEST(hands_over_when_freed),
        LIVE_TEST(hands_over_when_its_client_is_closed),
        LIVE_TEST(is_observed_by_others),
        LIVE_TEST_FIVE_HASTY(is_not_told_what_is_not_known),
        LIVE_TEST_FIVE(is_told_by_a_quorum_that_nobody_leads),
        LIVE_TEST_FIVE(is_not_led_by_another_library),
        LIVE_TEST_FIVE(campaigns_again_after_a_loss),
        LIVE_TEST_FIVE_HASTY(loses_when_the_nodes_stand_still),
        LIVE_TEST_FIVE(follows_when_the_keys_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
