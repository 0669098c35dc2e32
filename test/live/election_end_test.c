/* Elections in trouble: without the right to listen, several on one client, ended at every moment
 * and in every callback, and bad input. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "live/campaign.h"
#include "messages.h"

/* -- Trouble with listening -- */

/* The connections that listen are cut: they are made anew, and the next notification is
 * received. */
static void survives_killed_listeners(void **state) {
    struct live *live = *state;
    struct candidate c[2] = {{0}};
    live_start(live, 5, NULL);
    campaign_open_clients(live, c, 2);
    campaign_elect(live, &c[0]);
    campaign_begin(&c[1]);
    LIVE_POLL(live, campaign_is_listening(live, 2));
    for (int i = 0; i < 3; i++) {
        live_tell_all(live, "CLIENT KILL TYPE pubsub");
        LIVE_POLL(live, campaign_is_listening(live, 2));
    }
    assert_int_equal(live_up(c[1].client), 5);
    campaign_resign(live, &c[0], 0);
    LIVE_UNTIL(live, c[1].elected == 1);
    campaign_close_clients(live, c, 2);
}

/* Without the right to listen a resignation is found by polling. */
static void polls_without_the_right_to_listen(void **state) {
    struct live *live = *state;
    struct candidate c[2] = {{0}};
    live_start(live, 5, NULL);
    live_tell_all(live, "ACL SETUSER default resetchannels");
    campaign_open_clients(live, c, 2);
    for (size_t i = 0; i < 2; i++) {
        redlock_election_free(c[i].election);
        redlock_election_options o =
            campaign_options_of(&c[i], CAMPAIGN_NAME, i == 0 ? "one" : "two");
        o.poll_ms = 30;
        campaign_make(&c[i], c[i].client, &o);
    }
    campaign_elect(live, &c[0]);
    campaign_begin(&c[1]);
    live_run_for(live, 100);
    campaign_resign(live, &c[0], 0);
    LIVE_UNTIL(live, c[1].elected == 1);
    LIVE_UNTIL(live, strcmp(c[0].leader, "two") == 0);
    campaign_close_clients(live, c, 2);
}

/* -- Several on one client -- */

static void two_on_one_client(void **state) {
    struct live *live = *state;
    struct candidate a = {0}, b = {0}, other = {0};
    campaign_make_default(&a, live->client, "a");
    campaign_make_default(&b, live->client, "b");
    redlock_election_options o = campaign_options_of(&other, "another", "a");
    campaign_make(&other, live->client, &o);
    campaign_elect(live, &a);
    campaign_begin(&b);
    campaign_elect(live, &other); /* another name: nothing to do with it */
    live_run_for(live, 50);
    assert_int_equal(b.elected, 0);
    campaign_resign(live, &a, 0);
    LIVE_UNTIL(live, b.elected == 1);
    assert_int_equal(redlock_election_is_leader(other.election), 1);
    LIVE_UNTIL(live, strcmp(a.leader, "b") == 0);
    campaign_begin(&a);
    redlock_election_free(b.election);
    LIVE_UNTIL(live, a.elected == 2);
    live_end(live);
}

/* -- Ending at every moment -- */

static void resigns_while_it_campaigns(void **state) {
    struct live *live = *state;
    struct candidate c[2] = {{0}};
    live_start(live, 5, NULL);
    campaign_open_clients(live, c, 2);
    campaign_elect(live, &c[0]);
    campaign_begin(&c[1]);
    LIVE_STATUS(redlock_election_resign(c[1].election, campaign_on_resigned, &c[1]),
                0); /* at once */
    LIVE_STATUS(redlock_election_resign(c[1].election, campaign_on_resigned, &c[1]),
                REDLOCK_ERR_BUSY);
    LIVE_STATUS(redlock_election_campaign(c[1].election), REDLOCK_ERR_BUSY);
    LIVE_UNTIL(live, c[1].resigned == 1);
    LIVE_STATUS(c[1].resigned_status, 0);
    campaign_begin(&c[1]);
    LIVE_POLL(live, campaign_is_listening(live, 2));
    campaign_resign(live, &c[1], 0);
    campaign_resign(live, &c[0], 0);
    live_run_for(live, 50);
    assert_int_equal(c[1].elected, 0);
    assert_true(live_no_keys(live));
    campaign_close_clients(live, c, 2);
}

/* The client closes this many turns of the loop after the campaign began: before the open is over,
 * while it is requested, granted, elected. */
static void closes_at_every_moment(void **state) {
    struct live *live = *state;
    live_start(live, 5, NULL);
    for (int turns = 0; turns < 14; turns++) {
        struct candidate c = {0};
        struct live_done closed = {0};
        redlock_client_options options = live_options(live);
        LIVE_STATUS(redlock_client_open(&c.client, &live->loop, &options, NULL, NULL), 0);
        campaign_make_default(&c, c.client, "me");
        campaign_begin(&c);
        for (int i = 0; i < turns; i++) {
            uv_run(&live->loop, UV_RUN_NOWAIT);
        }
        bool resigns = turns % 2 != 0;
        if (resigns) {
            LIVE_STATUS(redlock_election_resign(c.election, campaign_on_resigned, &c), 0);
        }
        int elected = c.elected;
        LIVE_STATUS(redlock_client_close(c.client, live_client_cb, &closed), 0);
        assert_int_equal(redlock_election_is_leader(c.election), 0);
        LIVE_STATUS(redlock_election_campaign(c.election), REDLOCK_ERR_CLOSED);
        LIVE_STATUS(redlock_election_resign(c.election, NULL, NULL), REDLOCK_ERR_CLOSED);
        if (turns % 3 == 0) {
            redlock_election_free(c.election);
        }
        LIVE_UNTIL(live, closed.count == 1);
        assert_int_equal(c.elected, elected);
        assert_int_equal(c.lost, 0);
        assert_int_equal(c.resigned, resigns ? 1 : 0);
        if (resigns) {
            LIVE_STATUS(c.resigned_status, REDLOCK_ERR_CANCELED);
        }
    }
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

static void free_it(struct candidate *c) {
    redlock_election_free(c->election);
    redlock_election_free(NULL);
}

static void resign_it(struct candidate *c) {
    LIVE_STATUS(redlock_election_resign(c->election, campaign_on_resigned, c), 0);
}

static void close_it(struct candidate *c) {
    LIVE_STATUS(redlock_client_close(c->client, NULL, NULL), 0);
}

/* In each callback the election is freed, resigned or its client closed. */
static void ends_in_every_callback(void **state) {
    static void (*const deeds[])(struct candidate *) = {free_it, resign_it, close_it};
    struct live *live = *state;
    live_start(live, 5, NULL);
    for (size_t where = 0; where < 3; where++) {
        for (size_t i = 0; i < 3; i++) {
            struct candidate c = {0};
            redlock_client_options options = live_options(live);
            LIVE_STATUS(live_open(live, &options, &c.client), 0);
            redlock_election_options o = campaign_options_of(&c, CAMPAIGN_NAME, "me");
            o.ttl_ms = 600;
            campaign_make(&c, c.client, &o);
            c.in_elected = where == 0 ? deeds[i] : NULL;
            c.in_lost = where == 1 ? deeds[i] : NULL;
            campaign_begin(&c);
            c.in_leader = where == 2 ? deeds[i] : NULL;
            if (where == 1) {
                LIVE_UNTIL(live, c.elected == 1);
                live_tell_all(live, "FLUSHALL");
                LIVE_UNTIL(live, c.lost == 1);
            } else {
                LIVE_UNTIL(live, where == 0 ? c.elected == 1 : c.told >= 1);
            }
            c.in_leader = NULL;
            LIVE_UNTIL(live, deeds[i] != resign_it || c.resigned == 1);
            int events = c.elected + c.lost;
            live_run_for(live, 30);
            assert_int_equal(c.elected + c.lost, events);
            if (deeds[i] != close_it) {
                live_close(live, c.client);
            }
        }
    }
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

struct ending {
    struct candidate c;
    enum redlock_election_state state; /* when the client was closed */
    bool is_closed;
};

static void note_state(redlock_client *client, int status, void *data) {
    struct ending *ending = data;
    (void)client, (void)status;
    ending->state = redlock_election_state(ending->c.election);
    ending->is_closed = true;
    live_wake();
}

static void close_when_lost(redlock_lock *lock, int status, void *data) {
    struct ending *ending = data;
    LIVE_STATUS(status, REDLOCK_ERR_LOST);
    LIVE_STATUS(redlock_client_close(redlock_lock_client(lock), note_state, ending), 0);
}

/* The same answers reveal the loss of a lock and of the leadership, and the lock's on_lost closes
 * the client: the election, whose loss comes next, cannot campaign again. */
static void client_is_closed_by_another_loss(void **state) {
    struct live *live = *state;
    struct ending ending = {.state = REDLOCK_ELECTION_LEADING};
    redlock_acquire_options options = live_once(LIVE_PATIENCE_MS);
    redlock_election_options o = campaign_options_of(&ending.c, CAMPAIGN_NAME, "me");
    o.renew_ms = 500;
    redlock_lock *lock = live_lock(live->client, "other");
    options.on_lost = close_when_lost;
    options.lost_data = &ending;
    live_hold(live, lock, &options);
    campaign_make(&ending.c, live->client, &o);
    campaign_elect(live, &ending.c);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    live_tell_all(live, "FLUSHALL");
    for (size_t i = 0; i < 5; i++) {
        live_pause(live, i);
    }
    LIVE_STATUS(redlock_extend(lock, LIVE_PATIENCE_MS, NULL, NULL), 0);
    LIVE_UNTIL(live, live_node(live->client, 4).outstanding == 2); /* the renewal is out as well */
    for (size_t i = 0; i < 5; i++) {
        live_resume(live, i);
    }
    LIVE_UNTIL(live, ending.is_closed);
    live->client = NULL;
    assert_int_equal(ending.state, REDLOCK_ELECTION_IDLE);
    assert_int_equal(ending.c.lost, 0);
    live_end(live);
}

/* -- Bad input -- */

static void check_refused(struct live *live, const redlock_election_options *o, const char *word) {
    char error[REDLOCK_MESSAGE_MAX] = "";
    redlock_election *election = (redlock_election *)(void *)&error;
    LIVE_STATUS(redlock_election_new(live->client, o, &election, error, sizeof(error)),
                REDLOCK_ERR_INVALID);
    assert_null(election);
    if (strstr(error, word) == NULL) {
        print_error("\"%s\" is not in \"%s\"\n", word, error);
    }
    assert_non_null(strstr(error, word));
}

static void refuses_bad_options(void **state) {
    struct live *live = *state;
    struct candidate c = {0};
    const redlock_election_options good = campaign_options_of(&c, CAMPAIGN_NAME, "me");
    redlock_election_options o = good;
    char long_name[REDLOCK_CANDIDATE_MAX + 2];
    memset(long_name, 'x', sizeof(long_name));
    long_name[sizeof(long_name) - 1] = '\0';
    o.size = 7;
    check_refused(live, &o, "REDLOCK_ELECTION_OPTIONS_INIT");
    check_refused(live, NULL, "options");
    o = good, o.name = NULL;
    check_refused(live, &o, "name");
    o = good, o.name_length = 0;
    check_refused(live, &o, "name");
    o = good, o.name_length = REDLOCK_RESOURCE_MAX + 1;
    check_refused(live, &o, "name");
    o = good, o.candidate = "";
    check_refused(live, &o, "candidate");
    o = good, o.candidate = "a b";
    check_refused(live, &o, "candidate");
    o = good, o.candidate = long_name;
    check_refused(live, &o, "candidate");
    o = good, o.poll_ms = 0;
    check_refused(live, &o, "poll_ms");
    o = good, o.ttl_ms = -1;
    check_refused(live, &o, "ttl_ms");
    o = good, o.ttl_ms = 3;
    check_refused(live, &o, "ttl_ms");
    o = good, o.renew_ms = CAMPAIGN_TTL_MS;
    check_refused(live, &o, "renew_ms");
    o = good, o.fencing = 2;
    check_refused(live, &o, "fencing");
    LIVE_STATUS(redlock_election_new(live->client, &good, NULL, NULL, 0), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_election_campaign(NULL), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_election_resign(NULL, NULL, NULL), REDLOCK_ERR_INVALID);
    assert_int_equal(redlock_election_is_leader(NULL), 0);
    live_end(live);
}

static void has_a_name_of_its_own(void **state) {
    struct live *live = *state;
    struct candidate c = {0};
    char pid[16];
    redlock_election_options o = campaign_options_of(&c, CAMPAIGN_NAME, NULL);
    snprintf(pid, sizeof(pid), ":%ld", (long)getpid());
    LIVE_STATUS(redlock_election_new(live->client, &o, &c.election, NULL, 0), 0);
    const char *name = redlock_election_candidate(c.election);
    assert_in_range(strlen(name), strlen(pid) + 1, REDLOCK_CANDIDATE_MAX);
    assert_string_equal(name + strlen(name) - strlen(pid), pid);
    assert_string_equal(redlock_election_state_name(REDLOCK_ELECTION_CAMPAIGNING), "campaigning");
    assert_string_equal(redlock_election_state_name((enum redlock_election_state)9), "?");
    assert_non_null(strstr(ELECTION_MESSAGE(c.election), "no request"));
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST(survives_killed_listeners),
        LIVE_TEST(polls_without_the_right_to_listen),
        LIVE_TEST_FIVE(two_on_one_client),
        LIVE_TEST(resigns_while_it_campaigns),
        LIVE_TEST(closes_at_every_moment),
        LIVE_TEST(ends_in_every_callback),
        LIVE_TEST_FIVE(client_is_closed_by_another_loss),
        LIVE_TEST_FIVE(refuses_bad_options),
        LIVE_TEST_FIVE(has_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
