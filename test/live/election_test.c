/* Elections on real nodes: what candidates and observers are told while nodes are silent or dead,
 * elections that end in each callback, and bad input. The simulator's preset elected runs many
 * processes with every fault, cli/elect hands the lead over, and fake/notice cuts and forbids
 * listeners. */
#include <unistd.h>

#include "live/live.h"
#include "messages.h"
#include "redlock/election.h"

#define CAMPAIGN_TTL_MS 10000
#define CAMPAIGN_HOUR_MS 3600000
#define CAMPAIGN_NAME "dispatcher"

struct candidate {
    redlock_client *client;
    redlock_election *election;
    int elected, lost, resigned, told;
    int lost_status, resigned_status;
    uint64_t fence; /* of the last leadership, 0 without `fencing` */
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
    assert_int_equal(strlen(redlock_election_token(election)), REDLOCK_TOKEN_LENGTH);
    const uint64_t fence = redlock_election_fence(election);
    assert_true(c->fence == 0 || fence > c->fence);
    c->fence = fence;
    c->elected++;
    if (c->in_elected != NULL) {
        c->in_elected(c);
    }
    live_wake();
}

static void on_lost(redlock_election *election, int status, void *data) {
    struct candidate *c = data;
    assert_int_equal(redlock_election_is_leader(election), 0);
    assert_string_equal(redlock_election_token(election), "");
    assert_int_equal(redlock_election_fence(election), c->fence);
    c->lost++;
    c->lost_status = status;
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

static void campaign_on_resigned(redlock_election *election, int status, void *data) {
    struct candidate *c = data;
    c->resigned++;
    c->resigned_status = status;
    live_wake();
}

/* -- The frame -- */

static redlock_election_options campaign_options_of(struct candidate *c, const char *name,
                                                    const char *candidate) {
    redlock_election_options o = REDLOCK_ELECTION_OPTIONS_INIT;
    o.name = name;
    o.name_length = strlen(name);
    o.candidate = candidate;
    o.ttl_ms = CAMPAIGN_TTL_MS;
    o.poll_ms = CAMPAIGN_HOUR_MS;
    o.on_elected = on_elected;
    o.on_lost = on_lost;
    o.on_leader = on_leader;
    o.data = c;
    return o;
}

static void campaign_make(struct candidate *c, redlock_client *client,
                          const redlock_election_options *o) {
    char error[REDLOCK_MESSAGE_MAX];
    c->client = client;
    LIVE_STATUS(redlock_election_new(client, o, &c->election, error, sizeof(error)), 0);
    assert_string_equal(error, "");
    assert_string_equal(redlock_election_candidate(c->election), o->candidate);
    assert_ptr_equal(redlock_election_client(c->election), client);
    assert_int_equal(redlock_election_state(c->election), REDLOCK_ELECTION_IDLE);
}

static void campaign_make_default(struct candidate *c, redlock_client *client, const char *name) {
    redlock_election_options o = campaign_options_of(c, CAMPAIGN_NAME, name);
    campaign_make(c, client, &o);
}

static void campaign_begin(struct candidate *c) {
    LIVE_STATUS(redlock_election_campaign(c->election), 0);
    assert_int_equal(redlock_election_state(c->election), REDLOCK_ELECTION_CAMPAIGNING);
    assert_int_equal(redlock_election_is_leader(c->election), 0);
}

static void campaign_elect(struct live *live, struct candidate *c) {
    int before = c->elected;
    campaign_begin(c);
    LIVE_UNTIL(live, c->elected == before + 1);
    LIVE_UNTIL(live, live_is_quiet(c->client, live->n)); /* see live_hold() */
    assert_int_equal(redlock_election_is_leader(c->election), 1);
    assert_in_range(redlock_election_remaining_ms(c->election), CAMPAIGN_TTL_MS / 2,
                    CAMPAIGN_TTL_MS);
}

static void campaign_resign(struct live *live, struct candidate *c, int status) {
    int before = c->resigned;
    LIVE_STATUS(redlock_election_resign(c->election, campaign_on_resigned, c), 0);
    assert_int_equal(redlock_election_is_leader(c->election), 0);
    assert_int_equal(c->resigned, before);
    LIVE_UNTIL(live, c->resigned == before + 1);
    LIVE_STATUS(c->resigned_status, status);
    assert_int_equal(redlock_election_state(c->election), REDLOCK_ELECTION_IDLE);
}

/* -- Being told -- */

LIVE_TEST_FIVE(elects_the_only_candidate) {
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
    assert_int_equal(redlock_election_fence(c.election), 0); /* the options have no fencing */
    assert_int_equal(c.lost, 0);
    live_end(live);
    assert_int_equal(c.lost, 0);
}

/* Two of a leader's three nodes do not answer: it may lead, so no observer is told that there is no
 * leader. */
LIVE_TEST_FIVE_HASTY(is_not_told_what_is_not_known) {
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
}

/* Two of four nodes are a majority of the three that were there before, and of the three of today:
 * if one of the two does not answer, nobody knows whether the other's key is a leader's. */
LIVE_TEST(is_not_told_what_a_change_of_the_nodes_hides) {
    struct candidate c = {0};
    redlock_election_options o = campaign_options_of(&c, CAMPAIGN_NAME, "spectator");
    o.poll_ms = 20;
    live->is_hasty = true;
    live_start(live, 4, NULL);
    const char *const *urls = live->urls;
    for (size_t i = 0; i < live->n; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "libredlock-config 1\nid 6f1c02d7a9b34e55\nepoch 1\nchange 00000001\n"
                 "max_ttl 30000\nold %s %s %s\nnodes %s %s %s\nself %s\n",
                 urls[0], urls[1], urls[2], urls[1], urls[2], urls[3], urls[i]);
        live_configure(live, i, text);
    }
    live_open_all(live, NULL);
    for (size_t i = 1; i < 3; i++) {
        live_tell(live, i, "SET " CAMPAIGN_NAME " 0123456789012345678901234567890123456789");
    }
    live_pause(live, 2);
    campaign_make(&c, live->client, &o);
    live_run_for(live, 700);
    assert_int_equal(c.told, 0);
    live_resume(live, 2);
    LIVE_UNTIL(live, c.told == 1 && c.has_leader);
    live_tell_all(live, "DEL " CAMPAIGN_NAME);
    LIVE_UNTIL(live, c.told == 2 && !c.has_leader);
}

/* The three nodes that answer have no leader, and the other two are no quorum. */
LIVE_TEST_FIVE(is_told_by_a_quorum_that_nobody_leads) {
    struct candidate c = {0};
    live_kill(live, 0);
    live_kill(live, 1);
    LIVE_UNTIL(live, live_up(live->client) == 3);
    campaign_make_default(&c, live->client, "spectator");
    LIVE_UNTIL(live, c.told == 1 && !c.has_leader);
}

/* Another library's lock under this name does not count as leadership. */
LIVE_TEST_FIVE(is_not_led_by_another_library) {
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
}

/* -- Ending -- */

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
LIVE_TEST(ends_in_every_callback) {
    static void (*const deeds[])(struct candidate *) = {free_it, resign_it, close_it};
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

/* The same answers reveal the loss of a lock and of the leadership. The lock's on_lost closes the
 * client, so the election, whose loss is reported next, cannot campaign again. */
LIVE_TEST_FIVE(client_is_closed_by_another_loss) {
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
    live_do(live, live_pause, 0, 5);
    LIVE_STATUS(redlock_extend(lock, LIVE_PATIENCE_MS, NULL, NULL), 0);
    LIVE_UNTIL(live, live_node(live->client, 4).outstanding == 2); /* the renewal is out as well */
    live_do(live, live_resume, 0, 5);
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
    assert_contains(error, word);
}

LIVE_TEST_FIVE(refuses_bad_options) {
    struct candidate c = {0};
    const redlock_election_options good = campaign_options_of(&c, CAMPAIGN_NAME, "me");
    redlock_election_options bad[11];
    static const char *const words[] = {"REDLOCK_ELECTION_OPTIONS_INIT",
                                        "name",
                                        "name",
                                        "name",
                                        "candidate",
                                        "candidate",
                                        "poll_ms",
                                        "ttl_ms",
                                        "ttl_ms",
                                        "renew_ms",
                                        "fencing"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        bad[i] = good;
    }
    bad[0].size = 7;
    bad[1].name = NULL;
    bad[2].name_length = 0;
    bad[3].name_length = REDLOCK_RESOURCE_MAX + 1;
    bad[4].candidate = "";
    bad[5].candidate = "a b";
    bad[6].poll_ms = 0;
    bad[7].ttl_ms = -1;
    bad[8].ttl_ms = 3;
    bad[9].renew_ms = CAMPAIGN_TTL_MS;
    bad[10].fencing = 2;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        check_refused(live, &bad[i], words[i]);
    }
    check_refused(live, NULL, "options");
}

LIVE_TEST_FIVE(has_a_name_of_its_own) {
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
    assert_contains(ELECTION_MESSAGE(c.election), "no request");
}
