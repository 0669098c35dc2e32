/* Shared by the tests of elections: a candidate, its notifications, and the usual actions.
 *
 * The pause between two attempts is an hour, so that a hand-over must be the effect of a release
 * notification. */
#ifndef LIVE_CAMPAIGN_H
#define LIVE_CAMPAIGN_H

#include "live/live.h"
#include "redlock/election.h"

#define CAMPAIGN_TTL_MS 10000
#define CAMPAIGN_HOUR_MS 3600000
#define CAMPAIGN_NAME "dispatcher"

struct candidate {
    redlock_client *client;
    redlock_election *election;
    int elected, lost, resigned, told;
    int lost_status, resigned_status;
    uint64_t elected_ns, lost_ns;
    uint64_t fence; /* of the last leadership, 0 without `fencing` */
    bool has_leader;
    char leader[REDLOCK_CANDIDATE_MAX + 1];
    void (*in_elected)(struct candidate *candidate);
    void (*in_lost)(struct candidate *candidate);
    void (*in_leader)(struct candidate *candidate);
};

/* The options of candidate c: its callbacks fill it in. */
redlock_election_options campaign_options_of(struct candidate *c, const char *name,
                                             const char *candidate);
void campaign_make(struct candidate *c, redlock_client *client, const redlock_election_options *o);
void campaign_make_default(struct candidate *c, redlock_client *client, const char *name);

/* For redlock_election_resign(); data is the candidate. */
void campaign_on_resigned(redlock_election *election, int status, void *data);

void campaign_begin(struct candidate *c);

/* Begins, and waits until it is elected. */
void campaign_elect(struct live *live, struct candidate *c);

/* Resigns, and waits for the callback, which must get this status. */
void campaign_resign(struct live *live, struct candidate *c, int status);

/* Whether all nodes have n connections or more that listen to CAMPAIGN_NAME. */
bool campaign_is_listening(const struct live *live, long long n);

/* Candidates "one", "two" and "three", each with a client of its own. */
void campaign_open_clients(struct live *live, struct candidate *c, size_t n);

/* Closes them and ends the test. */
void campaign_close_clients(struct live *live, struct candidate *c, size_t n);

#endif
