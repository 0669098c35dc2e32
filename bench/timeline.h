/* The times of all waits and holds: the basis of every figure of contention, whichever program
 * measured them.
 *
 * Happy path: fill in waits, in any order; rl_bench_timeline_open() puts them into the order of
 * their grants and counts overtakings; rl_bench_timeline_slice() then computes the figures of a
 * period, as often as wanted. All times are of one clock.
 *
 * What is counted:
 *   hand-over   a grant whose waiter is another one than that of the grant before
 *   gap         from the end of a hold to the next grant, of hand-overs, if somebody waited then.
 *               Of permits the grant before is that of the same slot
 *   overtaking  a pair: one began to wait later than the other, by more than slack_ns, and was
 *               granted earlier. A wait that was never granted is overtaken, too
 *   overlap     a grant before the end of an earlier hold, unless both read, or hold permits and
 *               have no slot in common. It must not be
 *   phase       of a reader's wait: a writer's hold that began in it; of a writer's wait: readers
 *               that were granted in it, those between two writers being one phase
 *   in use      permits, from the grant to the end of the hold. Crowded is a moment at which more
 *               permits are waited for than there are
 *   tau         Kendall's, of the order of grants against that of arrival: 1 first come, first
 *               served; -1 the reverse
 *
 * Failure modes: without memory open() returns -1. A wait without a grant counts towards the
 * longest wait with its length at the end of the slice: this shows starvation.
 *
 * Used by the workloads contend and shells, and the records of others (records.h). */
#ifndef RL_BENCH_TIMELINE_H
#define RL_BENCH_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "slice.h"

/* With more grants than this in a slice there is no tau: it takes time quadratic in their
 * number. */
#define RL_BENCH_TAU_MAX 5000

struct rl_bench_wait {
    uint64_t asked_ns;
    uint64_t granted_ns; /* 0: not until the end */
    uint64_t ended_ns;   /* the release was requested, or validity was over; 0: not until the end */
    uint32_t waiter;
    uint32_t process;
    bool reads;
    uint64_t slots;                     /* of permits: a bit for each; 0: it has the lock itself */
    const struct rl_bench_wait *before; /* set by open(): the hold that ended before; NULL: none */
    uint32_t phases;                    /* set by open(): phases of the other kind */
    uint32_t overtook;                  /* set by open(): how many waits its grant overtook */
    uint32_t overtaken;                 /* set by open(): how many overtook it */
};

struct rl_bench_timeline {
    struct rl_bench_wait *waits; /* the caller's */
    size_t n;
    size_t n_waiters; /* their numbers are below this */
    uint64_t slack_ns;
    uint32_t permits;  /* their number; 0: not a semaphore */
    uint32_t take;     /* permits of each wait */
    uint64_t overlaps; /* set by open() */
    bool is_mixed;     /* set by open(): there are readers and writers */
};

/* Selects the waits to count. */
enum rl_bench_kind { RL_BENCH_ALL, RL_BENCH_READERS, RL_BENCH_WRITERS };

/* 0, or -1 without memory. */
int rl_bench_timeline_open(struct rl_bench_timeline *timeline);

/* Adds to the slice how many permits were in use from from_ns to to_ns. 0, or -1 without memory. */
int rl_bench_timeline_use(const struct rl_bench_timeline *timeline, uint64_t from_ns,
                          uint64_t to_ns, struct rl_bench_slice *slice);

/* Adds the figures of the grants from from_ns on, and before to_ns, to the slice. */
void rl_bench_timeline_slice(const struct rl_bench_timeline *timeline, enum rl_bench_kind kind,
                             uint64_t from_ns, uint64_t to_ns, struct rl_bench_slice *slice);

/* The fewest and the most grants of one waiter in this period. 0, or -1 without memory. */
int rl_bench_timeline_extremes(const struct rl_bench_timeline *timeline, enum rl_bench_kind kind,
                               uint64_t from_ns, uint64_t to_ns, uint64_t *least, uint64_t *most);

#endif /* RL_BENCH_TIMELINE_H */
