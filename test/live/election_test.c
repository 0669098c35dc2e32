/* Elections of clients in one process: who is told what, and when. What becomes of processes that
 * die or stand still is in election_process_test.c.
 *
 * The pause between two attempts is an hour where a hand-over shall be seen to come by a notice. */
#include <string.h>
#include <unistd.h>

#include "live/live.h"
#include "redlock/election.h"

#define TTL_MS 10000
#define HOUR_MS 3600000
#define NAME "dispatcher"

struct candidate {
    redlock_client *client;
    redlock_election *election;
    int elected, lost, resigned, told;
    int lost_status, resigned_status;
    uint64_t elected_ns, lost_ns;
    bool has_leader;
    char leader[REDLOCK_CANDIDATE_MAX + 1];
    void (*in_elected)(struct candidate *candidate);
    void (*in_lost)(struct candidate *candidate);
    void (*in_leader)(struct candidate *candidate);
};

/* -- Callbacks -- */

static void on_elected(redlock_election *election, int status, void *data) {
    struct candidate *c = data;
    LIVE_STATUS(status, 0);
    assert_ptr_equal(election, c->election);
    assert_int_equal(redlock_election_state(election), REDLOCK_ELECTION_LEADING);
    c->elected++;
    c->elected_ns = redlock_now_ns();
    if (c->in_elected != NULL) {
        c->in_elected(c);
    }
    live_wake();
}

static void on_lost(redlock_election *election, int status, void *data) {
    struct candidate *c = data;
    assert_int_equal(redlock_election_is_leader(election), 0);
    c->lost++;
    c->lost_status = status;
    c->lost_ns = redlock_now_ns();
    if (c->in_lost != NULL) {
        c->in_lost(c);
    }
    live_wake();
}

static void on_leader(redlock_election *election, const char *leader, void *data) {
    struct candidate *c = data;
    c->told++;
    c->has_leader = leader != NULL;
    snprintf(c->leader, sizeof(c->leader), "%s", leader != NULL ? leader : "");
    assert_ptr_equal(leader, redlock_election_leader(election));
    if (c->in_leader != NULL) {
        c->in_leader(c);
    }
    live_wake();
}

static void on_resigned(redlock_election *election, int status, void *data) {
    struct candidate *c = data;
    (void)election;
    c->resigned++;
    c->resigned_status = status;
    live_wake();
}

/* -- The frame -- */

static redlock_election_options options_of(struct candidate *c, const char *name,
                                           const char *candidate) {
    redlock_election_options o = REDLOCK_ELECTION_OPTIONS_INIT;
    o.name = name;
    o.name_length = strlen(name);
    o.candidate = candidate;
    o.ttl_ms = TTL_MS;
    o.poll_ms = HOUR_MS;
    o.on_elected = on_elected;
    o.on_lost = on_lost;
    o.on_leader = on_leader;
    o.data = c;
    return o;
}

static void make(struct candidate *c, redlock_client *client, const redlock_election_options *o) {
    char error[REDLOCK_MESSAGE_MAX];
    c->client = client;
    LIVE_STATUS(redlock_election_new(client, o, &c->election, error, sizeof(error)), 0);
    assert_string_equal(error, "");
    assert_string_equal(redlock_election_candidate(c->election), o->candidate);
    assert_ptr_equal(redlock_election_client(c->election), client);
    assert_int_equal(redlock_election_state(c->election), REDLOCK_ELECTION_IDLE);
}

static void make_default(struct candidate *c, redlock_client *client, const char *name) {
    redlock_election_options o = options_of(c, NAME, name);
    make(c, client, &o);
}

static void campaign(struct candidate *c) {
    LIVE_STATUS(redlock_election_campaign(c->election), 0);
    assert_int_equal(redlock_election_state(c->election), REDLOCK_ELECTION_CAMPAIGNING);
    assert_int_equal(redlock_election_is_leader(c->election), 0);
}

static void elect(struct live *live, struct candidate *c) {
    int before = c->elected;
    campaign(c);
    LIVE_UNTIL(live, c->elected == before + 1);
    assert_int_equal(redlock_election_is_leader(c->election), 1);
    assert_in_range(redlock_election_remaining_ms(c->election), TTL_MS / 2, TTL_MS);
}

static void resign(struct live *live, struct candidate *c, int status) {
    int before = c->resigned;
    LIVE_STATUS(redlock_election_resign(c->election, on_resigned, c), 0);
    assert_int_equal(redlock_election_is_leader(c->election), 0);
    assert_int_equal(c->resigned, before);
    LIVE_UNTIL(live, c->resigned == before + 1);
    LIVE_STATUS(c->resigned_status, status);
    assert_int_equal(redlock_election_state(c->election), REDLOCK_ELECTION_IDLE);
}

/* All nodes have somebody who listens to the name. */
static bool is_listening(const struct live *live, long long n) {
    for (size_t i = 0; i < live->n; i++) {
        redisReply *reply = live_ask(live, i, "PUBSUB NUMSUB redlock:" NAME);
        bool enough = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                      reply->element[1]->integer >= n;
        freeReplyObject(reply);
        if (!enough) {
            return false;
        }
    }
    return true;
}

static size_t open_clients(struct live *live, struct candidate *c, size_t n) {
    static const char *const names[] = {"one", "two", "three"};
    redlock_client_options options = live_options(live);
    for (size_t i = 0; i < n; i++) {
        LIVE_STATUS(live_open(live, &options, &c[i].client), 0);
        LIVE_UNTIL(live, live_up(c[i].client) == live->n);
        make_default(&c[i], c[i].client, names[i]);
    }
    return n;
}

static void close_clients(struct live *live, struct candidate *c, size_t n) {
    for (size_t i = 0; i < n; i++) {
        live_close(live, c[i].client);
    }
    live_end(live);
}

/* -- Electing -- */

static void elects_the_only_candidate(void **state) {
    struct live *live = *state;
    struct candidate c = {0};
    make_default(&c, live->client, "me");
    LIVE_UNTIL(live, c.told == 1); /* observes before it campaigns */
    assert_false(c.has_leader);
    assert_null(redlock_election_leader(c.election));
    elect(live, &c);
    LIVE_UNTIL(live, c.told == 2);
    assert_string_equal(c.leader, "me");
    assert_string_equal(redlock_election_leader(c.election), "me");
    LIVE_STATUS(redlock_election_campaign(c.election), REDLOCK_ERR_BUSY);
    resign(live, &c, 0);
    LIVE_UNTIL(live, c.told == 3 && !c.has_leader);
    LIVE_STATUS(redlock_election_resign(c.election, on_resigned, &c), REDLOCK_ERR_IDLE);
    assert_true(live_no_keys(live));
    elect(live, &c); /* again */
    assert_int_equal(c.lost, 0);
    live_end(live);
    assert_int_equal(c.lost, 0);
}

/* By a notice: their pause is an hour. */
static void hands_over_by_resignation(void **state) {
    struct live *live = *state;
    struct candidate c[3] = {{0}};
    live_start(live, 5, NULL);
    open_clients(live, c, 3);
    elect(live, &c[0]);
    campaign(&c[1]);
    campaign(&c[2]);
    LIVE_POLL(live, is_listening(live, 3));
    for (int round = 0; round < 4; round++) {
        int before = c[0].elected + c[1].elected + c[2].elected;
        struct candidate *leader = NULL;
        for (size_t i = 0; i < 3; i++) {
            leader = redlock_election_is_leader(c[i].election) ? &c[i] : leader;
        }
        assert_non_null(leader);
        resign(live, leader, 0);
        campaign(leader);
        LIVE_UNTIL(live, c[0].elected + c[1].elected + c[2].elected == before + 1);
        LIVE_POLL(live, is_listening(live, 2));
    }
    assert_int_equal(c[0].lost + c[1].lost + c[2].lost, 0);
    close_clients(live, c, 3);
}

static void hands_over_when_freed(void **state) {
    struct live *live = *state;
    struct candidate c[2] = {{0}};
    live_start(live, 5, NULL);
    open_clients(live, c, 2);
    elect(live, &c[0]);
    campaign(&c[1]);
    LIVE_POLL(live, is_listening(live, 2));
    redlock_election_free(c[0].election);
    LIVE_UNTIL(live, c[1].elected == 1);
    assert_int_equal(c[0].lost, 0);
    close_clients(live, c, 2);
}

static void hands_over_when_its_client_is_closed(void **state) {
    struct live *live = *state;
    struct candidate c[2] = {{0}};
    live_start(live, 5, NULL);
    open_clients(live, c, 2);
    elect(live, &c[0]);
    campaign(&c[1]);
    LIVE_POLL(live, is_listening(live, 2));
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
    open_clients(live, c, 3);
    LIVE_UNTIL(live, c[2].told == 1 && !c[2].has_leader);
    redlock_election_free(c[2].election); /* one that looks more often: a notice is of releases */
    redlock_election_options o = options_of(&c[2], NAME, "spectator");
    o.poll_ms = 50;
    make(&c[2], c[2].client, &o);
    elect(live, &c[0]);
    LIVE_UNTIL(live, c[2].has_leader);
    assert_string_equal(c[2].leader, "one");
    campaign(&c[1]);
    LIVE_UNTIL(live, c[1].has_leader);
    assert_string_equal(c[1].leader, "one");
    LIVE_POLL(live, is_listening(live, 2));
    resign(live, &c[0], 0);
    LIVE_UNTIL(live, c[2].has_leader && strcmp(c[2].leader, "two") == 0);
    assert_int_equal(redlock_election_state(c[2].election), REDLOCK_ELECTION_IDLE);
    assert_int_equal(c[2].elected, 0);
    resign(live, &c[1], 0);
    LIVE_UNTIL(live, !c[2].has_leader && !c[0].has_leader && !c[1].has_leader);
    close_clients(live, c, 3);
}

/* Two of a leader's three nodes do not answer: it may lead, so nobody is told that nobody does. */
static void is_not_told_what_is_not_known(void **state) {
    struct live *live = *state;
    struct candidate c = {0};
    redlock_election_options o = options_of(&c, NAME, "spectator");
    o.poll_ms = 20;
    for (size_t i = 0; i < 3; i++) {
        live_tell(live, i, "SET " NAME " 0123456789012345678901234567890123456789 PX 60000");
    }
    live_pause(live, 0);
    live_pause(live, 1);
    make(&c, live->client, &o);
    live_run_for(live, 700);
    assert_int_equal(c.told, 0);
    live_resume(live, 0);
    live_resume(live, 1);
    LIVE_UNTIL(live, c.told == 1 && c.has_leader);
    assert_string_equal(c.leader, ""); /* somebody without a name */
    live_tell_all(live, "FLUSHALL");
    LIVE_UNTIL(live, c.told == 2 && !c.has_leader);
    live_end(live);
}

/* -- Losing -- */

static void campaigns_again_after_a_loss(void **state) {
    struct live *live = *state;
    struct candidate c = {0};
    redlock_election_options o = options_of(&c, NAME, "me");
    o.ttl_ms = 600;
    make(&c, live->client, &o);
    for (int i = 1; i <= 3; i++) {
        if (i == 1) {
            campaign(&c);
        }
        LIVE_UNTIL(live, c.elected == i);
        live_tell_all(live, "FLUSHALL");
        LIVE_UNTIL(live, c.lost == i);
        LIVE_STATUS(c.lost_status, REDLOCK_ERR_LOST);
    }
    LIVE_UNTIL(live, c.elected == 4);
    resign(live, &c, 0);
    live_end(live);
}

/* No quorum answers: told before the end of validity, and elected again when they are back. */
static void loses_when_the_nodes_stand_still(void **state) {
    struct live *live = *state;
    struct candidate c = {0};
    redlock_election_options o = options_of(&c, NAME, "me");
    o.ttl_ms = 1000;
    o.poll_ms = 20;
    make(&c, live->client, &o);
    campaign(&c);
    LIVE_UNTIL(live, c.elected == 1);
    for (size_t i = 0; i < 3; i++) {
        live_pause(live, i);
    }
    uint64_t stood_ns = redlock_now_ns();
    LIVE_UNTIL(live, c.lost == 1);
    LIVE_STATUS(c.lost_status, REDLOCK_ERR_EXPIRED);
    assert_true(c.lost_ns - stood_ns < 1000 * LIVE_MS);
    assert_null(redlock_election_leader(c.election)); /* it is not known */
    live_run_for(live, 100);
    assert_int_equal(c.elected, 1);
    assert_int_equal(redlock_election_state(c.election), REDLOCK_ELECTION_CAMPAIGNING);
    for (size_t i = 0; i < 3; i++) {
        live_resume(live, i);
    }
    LIVE_UNTIL(live, c.elected == 2);
    live_end(live);
}

/* A leader that does not renew is followed when its keys end, not a pause later. */
static void follows_when_the_keys_end(void **state) {
    struct live *live = *state;
    struct candidate c = {0};
    redlock_election_options o = options_of(&c, NAME, "me");
    redlock_lock *lock = live_lock(live->client, NAME);
    redlock_acquire_options dead = live_once(1200);
    redlock_client *other = NULL;
    redlock_client_options options = live_options(live);
    LIVE_STATUS(live_open(live, &options, &other), 0);
    LIVE_UNTIL(live, live_up(other) == 5);
    LIVE_STATUS(live_acquire(live, lock, &dead), 0);
    uint64_t acquired_ns = redlock_now_ns();
    make(&c, other, &o);
    campaign(&c);
    LIVE_UNTIL(live, c.elected == 1);
    uint64_t gap_ns = c.elected_ns - acquired_ns;
    print_message("# elected %.1f ms after keys of 1200 ms were set\n", (double)gap_ns / 1e6);
    assert_true(gap_ns >= 1190 * LIVE_MS); /* the keys were set a moment before */
    assert_true(gap_ns < 5000 * LIVE_MS);  /* not the hour that its pause is */
    live_close(live, other);
    live_end(live);
}

/* -- Trouble with listening -- */

/* The connections that listen are cut: they are made anew, and the next notice is heard. */
static void survives_killed_listeners(void **state) {
    struct live *live = *state;
    struct candidate c[2] = {{0}};
    live_start(live, 5, NULL);
    open_clients(live, c, 2);
    elect(live, &c[0]);
    campaign(&c[1]);
    LIVE_POLL(live, is_listening(live, 2));
    for (int i = 0; i < 3; i++) {
        live_tell_all(live, "CLIENT KILL TYPE pubsub");
        LIVE_POLL(live, is_listening(live, 2));
    }
    assert_int_equal(live_up(c[1].client), 5);
    resign(live, &c[0], 0);
    LIVE_UNTIL(live, c[1].elected == 1);
    close_clients(live, c, 2);
}

/* Without the right to listen a resignation is found by polling. */
static void polls_without_the_right_to_listen(void **state) {
    struct live *live = *state;
    struct candidate c[2] = {{0}};
    live_start(live, 5, NULL);
    live_tell_all(live, "ACL SETUSER default resetchannels");
    open_clients(live, c, 2);
    for (size_t i = 0; i < 2; i++) {
        redlock_election_free(c[i].election);
        redlock_election_options o = options_of(&c[i], NAME, i == 0 ? "one" : "two");
        o.poll_ms = 30;
        make(&c[i], c[i].client, &o);
    }
    elect(live, &c[0]);
    campaign(&c[1]);
    live_run_for(live, 100);
    resign(live, &c[0], 0);
    LIVE_UNTIL(live, c[1].elected == 1);
    LIVE_UNTIL(live, strcmp(c[0].leader, "two") == 0);
    close_clients(live, c, 2);
}

/* -- Several on one client -- */

static void two_on_one_client(void **state) {
    struct live *live = *state;
    struct candidate a = {0}, b = {0}, other = {0};
    make_default(&a, live->client, "a");
    make_default(&b, live->client, "b");
    redlock_election_options o = options_of(&other, "another", "a");
    make(&other, live->client, &o);
    elect(live, &a);
    campaign(&b);
    elect(live, &other); /* another name: nothing to do with it */
    live_run_for(live, 50);
    assert_int_equal(b.elected, 0);
    resign(live, &a, 0);
    LIVE_UNTIL(live, b.elected == 1);
    assert_int_equal(redlock_election_is_leader(other.election), 1);
    LIVE_UNTIL(live, strcmp(a.leader, "b") == 0);
    campaign(&a);
    redlock_election_free(b.election);
    LIVE_UNTIL(live, a.elected == 2);
    live_end(live);
}

/* -- Ending at every moment -- */

static void resigns_while_it_campaigns(void **state) {
    struct live *live = *state;
    struct candidate c[2] = {{0}};
    live_start(live, 5, NULL);
    open_clients(live, c, 2);
    elect(live, &c[0]);
    campaign(&c[1]);
    LIVE_STATUS(redlock_election_resign(c[1].election, on_resigned, &c[1]), 0); /* at once */
    LIVE_STATUS(redlock_election_resign(c[1].election, on_resigned, &c[1]), REDLOCK_ERR_BUSY);
    LIVE_STATUS(redlock_election_campaign(c[1].election), REDLOCK_ERR_BUSY);
    LIVE_UNTIL(live, c[1].resigned == 1);
    LIVE_STATUS(c[1].resigned_status, 0);
    campaign(&c[1]);
    LIVE_POLL(live, is_listening(live, 2));
    resign(live, &c[1], 0);
    resign(live, &c[0], 0);
    live_run_for(live, 50);
    assert_int_equal(c[1].elected, 0);
    assert_true(live_no_keys(live));
    close_clients(live, c, 2);
}

/* The client closes so many turns of the loop after the campaign began: before the open is over,
 * while it is asked for, granted, elected. */
static void closes_at_every_moment(void **state) {
    struct live *live = *state;
    live_start(live, 5, NULL);
    for (int turns = 0; turns < 14; turns++) {
        struct candidate c = {0};
        struct live_done closed = {0};
        redlock_client_options options = live_options(live);
        LIVE_STATUS(redlock_client_open(&c.client, &live->loop, &options, NULL, NULL), 0);
        make_default(&c, c.client, "me");
        campaign(&c);
        for (int i = 0; i < turns; i++) {
            uv_run(&live->loop, UV_RUN_NOWAIT);
        }
        bool resigns = turns % 2 != 0;
        if (resigns) {
            LIVE_STATUS(redlock_election_resign(c.election, on_resigned, &c), 0);
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
    LIVE_STATUS(redlock_election_resign(c->election, on_resigned, c), 0);
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
            redlock_election_options o = options_of(&c, NAME, "me");
            o.ttl_ms = 600;
            make(&c, c.client, &o);
            c.in_elected = where == 0 ? deeds[i] : NULL;
            c.in_lost = where == 1 ? deeds[i] : NULL;
            campaign(&c);
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
    const redlock_election_options good = options_of(&c, NAME, "me");
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
    o = good, o.renew_ms = TTL_MS;
    check_refused(live, &o, "renew_ms");
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
    redlock_election_options o = options_of(&c, NAME, NULL);
    snprintf(pid, sizeof(pid), ":%ld", (long)getpid());
    LIVE_STATUS(redlock_election_new(live->client, &o, &c.election, NULL, 0), 0);
    const char *name = redlock_election_candidate(c.election);
    assert_in_range(strlen(name), strlen(pid) + 1, REDLOCK_CANDIDATE_MAX);
    assert_string_equal(name + strlen(name) - strlen(pid), pid);
    assert_string_equal(redlock_election_state_name(REDLOCK_ELECTION_CAMPAIGNING), "campaigning");
    assert_string_equal(redlock_election_state_name((enum redlock_election_state)9), "?");
    assert_non_null(strstr(redlock_election_message(c.election), "nothing"));
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST_FIVE(elects_the_only_candidate),
        LIVE_TEST(hands_over_by_resignation),
        LIVE_TEST(hands_over_when_freed),
        LIVE_TEST(hands_over_when_its_client_is_closed),
        LIVE_TEST(is_observed_by_others),
        LIVE_TEST_FIVE(is_not_told_what_is_not_known),
        LIVE_TEST_FIVE(campaigns_again_after_a_loss),
        LIVE_TEST_FIVE(loses_when_the_nodes_stand_still),
        LIVE_TEST_FIVE(follows_when_the_keys_end),
        LIVE_TEST(survives_killed_listeners),
        LIVE_TEST(polls_without_the_right_to_listen),
        LIVE_TEST_FIVE(two_on_one_client),
        LIVE_TEST(resigns_while_it_campaigns),
        LIVE_TEST(closes_at_every_moment),
        LIVE_TEST(ends_in_every_callback),
        LIVE_TEST_FIVE(refuses_bad_options),
        LIVE_TEST_FIVE(has_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
