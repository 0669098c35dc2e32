/* See campaign.h. */
#include "live/campaign.h"

#include <stdio.h>
#include <string.h>

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
    c->elected_ns = redlock_now_ns();
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

void campaign_on_resigned(redlock_election *election, int status, void *data) {
    struct candidate *c = data;
    (void)election;
    c->resigned++;
    c->resigned_status = status;
    live_wake();
}

/* -- The frame -- */

redlock_election_options campaign_options_of(struct candidate *c, const char *name,
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

void campaign_make(struct candidate *c, redlock_client *client, const redlock_election_options *o) {
    char error[REDLOCK_MESSAGE_MAX];
    c->client = client;
    LIVE_STATUS(redlock_election_new(client, o, &c->election, error, sizeof(error)), 0);
    assert_string_equal(error, "");
    assert_string_equal(redlock_election_candidate(c->election), o->candidate);
    assert_ptr_equal(redlock_election_client(c->election), client);
    assert_int_equal(redlock_election_state(c->election), REDLOCK_ELECTION_IDLE);
}

void campaign_make_default(struct candidate *c, redlock_client *client, const char *name) {
    redlock_election_options o = campaign_options_of(c, CAMPAIGN_NAME, name);
    campaign_make(c, client, &o);
}

void campaign_begin(struct candidate *c) {
    LIVE_STATUS(redlock_election_campaign(c->election), 0);
    assert_int_equal(redlock_election_state(c->election), REDLOCK_ELECTION_CAMPAIGNING);
    assert_int_equal(redlock_election_is_leader(c->election), 0);
}

void campaign_elect(struct live *live, struct candidate *c) {
    int before = c->elected;
    campaign_begin(c);
    LIVE_UNTIL(live, c->elected == before + 1);
    LIVE_UNTIL(live, live_is_quiet(c->client, live->n)); /* see live_hold() */
    assert_int_equal(redlock_election_is_leader(c->election), 1);
    assert_in_range(redlock_election_remaining_ms(c->election), CAMPAIGN_TTL_MS / 2,
                    CAMPAIGN_TTL_MS);
}

void campaign_resign(struct live *live, struct candidate *c, int status) {
    int before = c->resigned;
    LIVE_STATUS(redlock_election_resign(c->election, campaign_on_resigned, c), 0);
    assert_int_equal(redlock_election_is_leader(c->election), 0);
    assert_int_equal(c->resigned, before);
    LIVE_UNTIL(live, c->resigned == before + 1);
    LIVE_STATUS(c->resigned_status, status);
    assert_int_equal(redlock_election_state(c->election), REDLOCK_ELECTION_IDLE);
}

/* All nodes have a subscriber for the name. */
bool campaign_is_listening(const struct live *live, long long n) {
    for (size_t i = 0; i < live->n; i++) {
        redisReply *reply = live_ask(live, i, "PUBSUB NUMSUB redlock:" CAMPAIGN_NAME);
        bool enough = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                      reply->element[1]->integer >= n;
        freeReplyObject(reply);
        if (!enough) {
            return false;
        }
    }
    return true;
}

void campaign_open_clients(struct live *live, struct candidate *c, size_t n) {
    static const char *const names[] = {"one", "two", "three"};
    redlock_client_options options = live_options(live);
    for (size_t i = 0; i < n; i++) {
        LIVE_STATUS(live_open(live, &options, &c[i].client), 0);
        LIVE_UNTIL(live, live_up(c[i].client) == live->n);
        campaign_make_default(&c[i], c[i].client, names[i]);
    }
}

void campaign_close_clients(struct live *live, struct candidate *c, size_t n) {
    for (size_t i = 0; i < n; i++) {
        live_close(live, c[i].client);
    }
    live_end(live);
}
