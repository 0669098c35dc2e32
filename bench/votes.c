/* How attempts ended: see votes.h for what it is for, how it is used and how it fails. */
#include "votes.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_GRANT SIZE_MAX

int rl_bench_votes_open(struct rl_bench_votes *votes, size_t n) {
    memset(votes, 0, sizeof(*votes));
    votes->attempts = calloc(n, sizeof(*votes->attempts));
    return votes->attempts != NULL ? 0 : -1;
}

void rl_bench_votes_add(struct rl_bench_votes *votes, const redlock_lock *lock) {
    votes->attempts[votes->n++] = (struct rl_bench_attempt){.lock = lock, .grant = NO_GRANT};
}

void rl_bench_votes_close(struct rl_bench_votes *votes) {
    free(votes->attempts);
    votes->attempts = NULL;
    votes->n = 0;
}

static struct rl_bench_attempt *find(struct rl_bench_votes *votes, const redlock_lock *lock) {
    for (size_t i = 0; i < votes->n; i++) {
        if (votes->attempts[i].lock == lock) {
            return &votes->attempts[i];
        }
    }
    return NULL;
}

/* Whether somebody's hold, with the attempt that led to it, overlaps this time. */
static bool somebody_won(const struct rl_bench_votes *votes, uint64_t from_ns, uint64_t to_ns) {
    size_t oldest =
        votes->n_grants > RL_BENCH_VOTES_GRANTS ? votes->n_grants - RL_BENCH_VOTES_GRANTS : 0;
    for (size_t i = votes->n_grants; i > oldest; i--) {
        const struct rl_bench_hold *hold = &votes->holds[(i - 1) % RL_BENCH_VOTES_GRANTS];
        bool is_over = hold->released_ns != 0 && hold->released_ns < from_ns;
        if (is_over) {
            return false; /* and so are those before it */
        }
        if (hold->sent_ns <= to_ns) {
            return true;
        }
    }
    return false;
}

static void judge(struct rl_bench_votes *votes, struct rl_bench_attempt *attempt, uint64_t now_ns) {
    bool failed = attempt->sent_ns != 0 && attempt->grant == NO_GRANT;
    if (failed && attempt->granted > 0) {
        uint64_t ended_ns = attempt->ended_ns != 0 ? attempt->ended_ns : now_ns;
        votes->parted++;
        votes->split += !somebody_won(votes, attempt->sent_ns, ended_ns);
    }
    attempt->sent_ns = 0;
}

static void on_acquired(struct rl_bench_votes *votes, struct rl_bench_attempt *attempt) {
    attempt->grant = votes->n_grants++;
    votes->holds[attempt->grant % RL_BENCH_VOTES_GRANTS] =
        (struct rl_bench_hold){.sent_ns = attempt->sent_ns};
}

static void on_release(struct rl_bench_votes *votes, struct rl_bench_attempt *attempt,
                       uint64_t now_ns) {
    if (attempt->grant != NO_GRANT) {
        assert(votes->n_grants - attempt->grant <= RL_BENCH_VOTES_GRANTS);
        votes->holds[attempt->grant % RL_BENCH_VOTES_GRANTS].released_ns = now_ns;
    } else if (attempt->ended_ns == 0) {
        attempt->ended_ns = now_ns;
    }
}

static void begin(struct rl_bench_attempt *attempt, const redlock_event *event) {
    *attempt =
        (struct rl_bench_attempt){.lock = event->lock, .sent_ns = event->now_ns, .grant = NO_GRANT};
    snprintf(attempt->token, sizeof(attempt->token), "%s", redlock_lock_token(event->lock));
}

void rl_bench_votes_trace(const redlock_event *event, void *data) {
    struct rl_bench_votes *votes = data;
    struct rl_bench_attempt *attempt = event->lock != NULL ? find(votes, event->lock) : NULL;
    if (attempt == NULL) {
        return;
    }
    bool is_vote = event->type == REDLOCK_EVENT_VOTE || event->type == REDLOCK_EVENT_LATE_VOTE;
    if (event->type == REDLOCK_EVENT_ATTEMPT) {
        if (strcmp(attempt->token, redlock_lock_token(event->lock)) == 0) {
            return; /* one node was asked alone, now the others are */
        }
        judge(votes, attempt, event->now_ns);
        begin(attempt, event);
    } else if (is_vote && event->status == 0 && attempt->grant == NO_GRANT) {
        attempt->granted++;
    } else if (event->type == REDLOCK_EVENT_ACQUIRED) {
        on_acquired(votes, attempt);
    } else if (event->type == REDLOCK_EVENT_RELEASE) {
        on_release(votes, attempt, event->now_ns);
    }
}

void rl_bench_votes_end(struct rl_bench_votes *votes, struct rl_bench_slice *slice) {
    for (size_t i = 0; i < votes->n; i++) {
        judge(votes, &votes->attempts[i], rl_bench_now_ns());
    }
    slice->parted = votes->parted;
    slice->split = votes->split;
    votes->parted = votes->split = 0;
}
