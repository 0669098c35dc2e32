/* See timeline.h. */
#include "timeline.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Waits that were not granted come last. */
static uint64_t grant_of(const struct rl_bench_wait *wait) {
    return wait->granted_ns != 0 ? wait->granted_ns : UINT64_MAX;
}

static int compare(const void *a, const void *b) {
    const struct rl_bench_wait *left = a, *right = b;
    uint64_t x = grant_of(left), y = grant_of(right);
    return (x > y) - (x < y);
}

static bool is_granted_in(const struct rl_bench_wait *wait, uint64_t from_ns, uint64_t to_ns) {
    return wait->granted_ns >= from_ns && wait->granted_ns < to_ns && wait->granted_ns != 0;
}

/* From the last grant to the first: next[] has each waiter's wait at that time. So a grant is
 * compared with as many waits as there are waiters. */
static int count_overtakings(struct rl_bench_timeline *timeline) {
    struct rl_bench_wait **next = calloc(timeline->n_waiters + 1, sizeof(*next));
    if (next == NULL) {
        return -1;
    }
    for (size_t i = timeline->n; i > 0; i--) {
        struct rl_bench_wait *wait = &timeline->waits[i - 1];
        assert(wait->waiter < timeline->n_waiters);
        wait->overtook = wait->overtaken = 0;
        for (size_t j = 0; j < timeline->n_waiters && wait->granted_ns != 0; j++) {
            struct rl_bench_wait *other = next[j];
            if (other != NULL && other->asked_ns + timeline->slack_ns < wait->asked_ns) {
                wait->overtook++;
                other->overtaken++;
            }
        }
        next[wait->waiter] = wait;
    }
    free(next);
    return 0;
}

/* Keeps for each slot the hold that was granted last. Also sets each wait's `before`: among the
 * earlier holds of its slots the one that ended last. */
static uint64_t count_slot_overlaps(struct rl_bench_timeline *timeline) {
    const struct rl_bench_wait *last[64] = {NULL};
    uint64_t until_ns[64] = {0};
    uint64_t overlaps = 0;
    for (size_t i = 0; i < timeline->n; i++) {
        struct rl_bench_wait *wait = &timeline->waits[i];
        bool is_held = false;
        wait->before = NULL;
        for (size_t slot = 0; slot < 64 && wait->granted_ns != 0; slot++) {
            const struct rl_bench_wait *other = last[slot];
            if ((wait->slots >> slot & 1) == 0) {
                continue;
            }
            is_held |= wait->granted_ns < until_ns[slot];
            if (wait->before == NULL ||
                (other != NULL && other->ended_ns > wait->before->ended_ns)) {
                wait->before = other;
            }
            last[slot] = wait;
            until_ns[slot] = wait->ended_ns > until_ns[slot] ? wait->ended_ns : until_ns[slot];
        }
        overlaps += is_held;
    }
    return overlaps;
}

/* A hold without an end, of a client that is gone, overlaps nothing: its end is unknown. */
static uint64_t count_overlaps(struct rl_bench_timeline *timeline) {
    if (timeline->permits > 0) {
        return count_slot_overlaps(timeline);
    }
    uint64_t overlaps = 0;
    uint64_t held_until_ns[2] = {0}; /* by writers, by readers */
    for (size_t i = 0; i < timeline->n; i++) {
        struct rl_bench_wait *wait = &timeline->waits[i];
        wait->before = i > 0 ? wait - 1 : NULL;
        bool is_held = wait->granted_ns < held_until_ns[false] ||
                       (!wait->reads && wait->granted_ns < held_until_ns[true]);
        uint64_t *until_ns = &held_until_ns[wait->reads];
        overlaps += wait->granted_ns != 0 && is_held;
        *until_ns = wait->ended_ns > *until_ns ? wait->ended_ns : *until_ns;
    }
    return overlaps;
}

/* The first grant after this time; grants are in order. */
static size_t first_after(const struct rl_bench_timeline *timeline, uint64_t asked_ns, size_t end) {
    size_t begin = 0;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (grant_of(&timeline->waits[middle]) > asked_ns) {
            end = middle;
        } else {
            begin = middle + 1;
        }
    }
    return begin;
}

/* begun[i]: how many phases of a kind have begun before grant number i. 0, or -1. */
static int count_phases(struct rl_bench_timeline *timeline) {
    size_t n = timeline->n;
    uint32_t *begun[2] = {calloc(n + 1, sizeof(uint32_t)), calloc(n + 1, sizeof(uint32_t))};
    int result = begun[0] != NULL && begun[1] != NULL ? 0 : -1;
    for (size_t i = 0; result == 0 && i < n; i++) {
        const struct rl_bench_wait *waits = timeline->waits;
        bool is_granted = waits[i].granted_ns != 0;
        bool reads = waits[i].reads;
        begun[false][i + 1] = begun[false][i] + (is_granted && !reads);
        begun[true][i + 1] =
            begun[true][i] + (is_granted && reads && (i == 0 || !waits[i - 1].reads));
    }
    for (size_t i = 0; result == 0 && i < n; i++) {
        struct rl_bench_wait *wait = &timeline->waits[i];
        const uint32_t *others = begun[!wait->reads];
        wait->phases = others[i] - others[first_after(timeline, wait->asked_ns, i)];
    }
    free(begun[0]);
    free(begun[1]);
    return result;
}

int rl_bench_timeline_open(struct rl_bench_timeline *timeline) {
    qsort(timeline->waits, timeline->n, sizeof(*timeline->waits), compare);
    timeline->overlaps = count_overlaps(timeline);
    size_t readers = 0;
    for (size_t i = 0; i < timeline->n; i++) {
        readers += timeline->waits[i].reads;
    }
    timeline->is_mixed = readers > 0 && readers < timeline->n;
    return count_phases(timeline) == 0 ? count_overtakings(timeline) : -1;
}

static bool is_of(const struct rl_bench_wait *wait, enum rl_bench_kind kind) {
    return kind == RL_BENCH_ALL || wait->reads == (kind == RL_BENCH_READERS);
}

/* first and last: indices of grants, which are in order. */
static double tau_of(const struct rl_bench_timeline *timeline, size_t first, size_t last) {
    size_t n = last - first;
    int64_t sum = 0;
    if (n < 2 || n > RL_BENCH_TAU_MAX) {
        return (double)NAN;
    }
    for (size_t i = first; i < last; i++) {
        for (size_t j = i + 1; j < last; j++) {
            uint64_t left = timeline->waits[i].asked_ns, right = timeline->waits[j].asked_ns;
            sum += (left < right) - (left > right);
        }
    }
    return (double)sum / ((double)n * (double)(n - 1) / 2);
}

static void count_grant(const struct rl_bench_wait *wait, struct rl_bench_slice *slice) {
    const struct rl_bench_wait *before = wait->before;
    slice->locks++;
    slice->phases += wait->phases;
    slice->most_phases = wait->phases > slice->most_phases ? wait->phases : slice->most_phases;
    slice->overtakings += wait->overtook;
    slice->overtakers += wait->overtook > 0;
    rl_bench_hist_record(&slice->grant, wait->granted_ns - wait->asked_ns);
    if (before != NULL && before->waiter != wait->waiter) {
        slice->hand_overs++;
        bool somebody_waited = wait->asked_ns <= before->ended_ns || wait->overtook > 0;
        if (somebody_waited && before->ended_ns != 0 && before->ended_ns <= wait->granted_ns) {
            rl_bench_hist_record(&slice->gap, wait->granted_ns - before->ended_ns);
        }
    }
}

void rl_bench_timeline_slice(const struct rl_bench_timeline *timeline, enum rl_bench_kind kind,
                             uint64_t from_ns, uint64_t to_ns, struct rl_bench_slice *slice) {
    size_t first = 0;
    size_t last = 0;
    for (size_t i = 0; i < timeline->n; i++) {
        const struct rl_bench_wait *wait = &timeline->waits[i];
        uint64_t until_ns = grant_of(wait) < to_ns ? grant_of(wait) : to_ns;
        if (until_ns < from_ns || wait->asked_ns >= to_ns || !is_of(wait, kind)) {
            continue;
        }
        uint64_t waited_ns = until_ns - wait->asked_ns;
        slice->longest_wait_ns =
            waited_ns > slice->longest_wait_ns ? waited_ns : slice->longest_wait_ns;
        slice->most_overtaken =
            wait->overtaken > slice->most_overtaken ? wait->overtaken : slice->most_overtaken;
        if (is_granted_in(wait, from_ns, to_ns)) {
            first = slice->locks == 0 ? i : first;
            last = i + 1;
            count_grant(wait, slice);
        }
    }
    slice->tau = tau_of(timeline, first, last);
}

/* A moment at which a wait begins or ends, or a hold ends. */
struct edge {
    uint64_t at_ns;
    int waiting, in_use; /* what changes, in holders */
};

static int compare_edges(const void *a, const void *b) {
    const struct edge *left = a, *right = b;
    return (left->at_ns > right->at_ns) - (left->at_ns < right->at_ns);
}

static size_t put_edges(const struct rl_bench_timeline *timeline, struct edge *edges) {
    size_t n = 0;
    for (size_t i = 0; i < timeline->n; i++) {
        const struct rl_bench_wait *wait = &timeline->waits[i];
        edges[n++] = (struct edge){wait->asked_ns, 1, 0};
        if (wait->granted_ns != 0) {
            edges[n++] = (struct edge){wait->granted_ns, -1, 1};
        }
        if (wait->granted_ns != 0 && wait->ended_ns != 0) {
            edges[n++] = (struct edge){wait->ended_ns, 0, -1};
        }
    }
    qsort(edges, n, sizeof(*edges), compare_edges);
    return n;
}

int rl_bench_timeline_use(const struct rl_bench_timeline *timeline, uint64_t from_ns,
                          uint64_t to_ns, struct rl_bench_slice *slice) {
    double take = timeline->take;
    double permits = timeline->permits;
    int waiting = 0;
    int in_use = 0;
    struct edge *edges = timeline->permits > 0 ? calloc(3 * timeline->n + 1, sizeof(*edges)) : NULL;
    if (edges == NULL) {
        return timeline->permits > 0 ? -1 : 0;
    }
    size_t n = put_edges(timeline, edges);
    for (size_t i = 0; i <= n; i++) {
        uint64_t begin_ns = i > 0 && edges[i - 1].at_ns > from_ns ? edges[i - 1].at_ns : from_ns;
        uint64_t end_ns = i < n && edges[i].at_ns < to_ns ? edges[i].at_ns : to_ns;
        double seconds = end_ns > begin_ns ? (double)(end_ns - begin_ns) / 1e9 : 0;
        bool is_crowded = waiting * take > permits;
        slice->used_s += seconds * in_use * take;
        slice->crowded_s += is_crowded ? seconds : 0;
        slice->crowded_share_s += is_crowded ? seconds * in_use * take / permits : 0;
        waiting += i < n ? edges[i].waiting : 0;
        in_use += i < n ? edges[i].in_use : 0;
    }
    free(edges);
    return 0;
}

int rl_bench_timeline_extremes(const struct rl_bench_timeline *timeline, enum rl_bench_kind kind,
                               uint64_t from_ns, uint64_t to_ns, uint64_t *least, uint64_t *most) {
    uint64_t *grants = calloc(timeline->n_waiters + 1, sizeof(*grants));
    bool *others = calloc(timeline->n_waiters + 1, sizeof(*others)); /* of the other kind */
    if (grants == NULL || others == NULL) {
        free(grants);
        free(others);
        return -1;
    }
    for (size_t i = 0; i < timeline->n; i++) {
        const struct rl_bench_wait *wait = &timeline->waits[i];
        grants[wait->waiter] += is_granted_in(wait, from_ns, to_ns);
        others[wait->waiter] |= !is_of(wait, kind);
    }
    *least = timeline->n_waiters > 0 ? UINT64_MAX : 0;
    *most = 0;
    for (size_t i = 0; i < timeline->n_waiters; i++) {
        *least = !others[i] && grants[i] < *least ? grants[i] : *least;
        *most = !others[i] && grants[i] > *most ? grants[i] : *most;
    }
    free(grants);
    free(others);
    return 0;
}
