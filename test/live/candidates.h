/* Processes that campaign for one leadership, and a log of what befalls them.
 *
 *     candidates_start(&c, urls, n_urls, ttl_ms, poll_ms);
 *     candidates_spawn(&c, 0) ... (&c, 2)
 *     candidates_wait(&c, CANDIDATE_ELECTED, CANDIDATE_ANY, &record)    reads the log until then
 *     candidates_resign(&c, i), candidates_kill(&c, i), _stop, _continue
 *     candidates_end(&c)
 *
 * A process has a loop, a client and an election of its own, and writes a record into a pipe for
 * each event, with the time at which it happened by redlock_now_ns(), which all processes share. It
 * ends with its parent. A process that has resigned campaigns again after CANDIDATE_AGAIN_MS.
 *
 * All ask for fences, and candidates_wait() looks at each record that it reads: whoever is elected
 * has a larger fence than all before him, or the program ends.
 *
 * Failure: waiting returns false after CANDIDATES_PATIENCE_MS. What cannot be set up ends the
 * program with a message. */
#ifndef LIVE_CANDIDATES_H
#define LIVE_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CANDIDATES_MAX 8
#define CANDIDATES_PATIENCE_MS 60000
#define CANDIDATE_ANY (-1)
#define CANDIDATE_AGAIN_MS 100
#define CANDIDATE_NAME "candidates"

enum candidate_event {
    CANDIDATE_ELECTED,   /* status: redlock_election_is_leader() then */
    CANDIDATE_LOST,      /* status: as told */
    CANDIDATE_RESIGNS,   /* it is about to */
    CANDIDATE_RESIGNED,  /* status: as told */
    CANDIDATE_CAMPAIGNS, /* again */
    CANDIDATE_WAKES      /* it stood still for 300 ms or more; status: is_leader before all else */
};

struct candidate_record {
    uint64_t at_ns;
    enum candidate_event event;
    int index;
    int status;
    uint64_t fence; /* redlock_election_fence() then */
};

struct candidates {
    const char *const *urls;
    size_t n_urls;
    int64_t ttl_ms, poll_ms;
    int log[2];     /* pipe */
    uint64_t fence; /* the largest of all that were elected */
    pid_t pid[CANDIDATES_MAX];
};

void candidates_start(struct candidates *c, const char *const *urls, size_t n_urls, int64_t ttl_ms,
                      int64_t poll_ms);
void candidates_spawn(struct candidates *c, int index);

/* The next record of this kind, by this candidate or any; those before it are dropped. */
bool candidates_wait(struct candidates *c, enum candidate_event event, int index,
                     struct candidate_record *record);

void candidates_resign(const struct candidates *c, int index);

/* SIGKILL, and reaped. Returns the time before the signal. */
uint64_t candidates_kill(struct candidates *c, int index);
void candidates_stop(const struct candidates *c, int index);
void candidates_continue(const struct candidates *c, int index);

void candidates_end(struct candidates *c);

#endif
