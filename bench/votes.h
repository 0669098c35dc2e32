/* How attempts ended that did not win: a split vote is time lost for everybody, and not just for
 * the one who lost.
 *
 * Happy path: open, add every lock, and hang rl_bench_votes_trace() into each client. An attempt
 * that failed although nodes had granted it is "parted": what they granted had to be undone. If,
 * besides, nobody held the lock at any time from its sending to its end, and no attempt of that
 * time went on to win, the votes were split. rl_bench_votes_end() notes both in a slice.
 *
 * Failure modes: an attempt is judged when the next one of its lock begins, or at the end of the
 * slice. By then the winners of its time are known, unless more than RL_BENCH_VOTES_GRANTS grants
 * came in between: then it would be called split. So many do not come within a pause.
 *
 * What it is for: the workload contend. All clients are on one loop, so what the hooks tell comes
 * in the order in which it happened. */
#ifndef RL_BENCH_VOTES_H
#define RL_BENCH_VOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redlock/redlock.h"
#include "slice.h"

#define RL_BENCH_VOTES_GRANTS 1024

/* The last attempt of a lock. */
struct rl_bench_attempt {
    const redlock_lock *lock;
    uint64_t sent_ns;  /* 0: none, or judged already */
    uint64_t ended_ns; /* 0: not yet */
    unsigned granted;
    size_t grant; /* of its grant if it won, else SIZE_MAX */
    char token[REDLOCK_TOKEN_LENGTH + 1];
};

/* From the sending of the attempt that won to the release, 0 before it. */
struct rl_bench_hold {
    uint64_t sent_ns;
    uint64_t released_ns;
};

struct rl_bench_votes {
    struct rl_bench_attempt *attempts;
    size_t n;
    size_t n_grants; /* the last ones are in holds[] */
    uint64_t parted;
    uint64_t split;
    struct rl_bench_hold holds[RL_BENCH_VOTES_GRANTS];
};

/* Room for n locks. 0, or -1 without memory; it is to be closed in any case. */
int rl_bench_votes_open(struct rl_bench_votes *votes, size_t n);
void rl_bench_votes_add(struct rl_bench_votes *votes, const redlock_lock *lock);
void rl_bench_votes_trace(const redlock_event *event, void *data);
void rl_bench_votes_end(struct rl_bench_votes *votes, struct rl_bench_slice *slice);
void rl_bench_votes_close(struct rl_bench_votes *votes);

#endif /* RL_BENCH_VOTES_H */
