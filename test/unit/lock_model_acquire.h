/* The oracle for the tests of core/lock.h, see lock_model.h: the way to a lock. */
#ifndef UNIT_LOCK_MODEL_ACQUIRE_H
#define UNIT_LOCK_MODEL_ACQUIRE_H

#include "unit/lock_model_parts.h"

/* -- The fence -- */

static inline bool model_fences(const struct model *m) {
    return m->wish.fences && !m->adopts;
}

/* The largest counter of those that granted, and how many of them answered just that. */
static inline uint64_t model_largest(const struct model *m, uint32_t *agree) {
    uint64_t largest = 0;
    for (uint32_t i = 0; i < m->rules->n; i++) {
        if ((m->yes >> i & 1) && m->counters[i] >= largest) {
            *agree = m->counters[i] == largest ? *agree + 1 : 1;
            largest = m->counters[i];
        }
    }
    return largest;
}

/* A majority granted. Returns whether the fence has to be raised first, or it is too late for that.
 */
static inline bool model_has_to_raise(struct model *m, const struct rl_event *e,
                                      struct rl_actions *x) {
    uint32_t agree = 0;
    if (!model_fences(m) || m->kind != RL_ROUND_ACQUIRE) {
        return false;
    }
    uint64_t fence = model_largest(m, &agree);
    if (agree >= model_majority(m)) {
        m->carried = fence;
        return false;
    }
    if (m->now_ns >= model_worth_until(m)) {
        model_attempt_over(m, e, x, RL_RESULT_EXPIRED);
        return true;
    }
    if (m->now_ns >= m->give_up_ns) {
        model_let_go(m, e, x);
        x->acquired = RL_RESULT_DEADLINE;
        model_end(m, RL_IDLE);
        return true;
    }
    m->carried = fence;
    m->state = RL_FENCING;
    model_round(m, e, x, RL_ROUND_FENCE);
    if (set_size(e->up) < model_majority(m)) {
        model_count(m, e, x);
        x->send = 0;
    }
    return true;
}

/* -- An attempt is decided -- */

static inline void model_acquire_decided(struct model *m, const struct rl_event *e,
                                         struct rl_actions *x) {
    uint32_t answers = m->rules->n - set_size(m->failed);
    if (m->won && model_has_to_raise(m, e, x)) {
        return;
    }
    if (m->won) {
        m->state = RL_GRANTED;
        m->hold_until_ns = m->wish.max_hold_ms == 0
                               ? UINT64_MAX
                               : m->set_ns + (uint64_t)m->wish.max_hold_ms * 1000000;
        model_valid_until(m, model_worth_until(m));
        if (model_grant_is_late(m)) {
            model_attempt_over(m, e, x, RL_RESULT_EXPIRED);
        } else {
            x->tell = true;
        }
    } else {
        bool none = answers < model_majority(m);
        bool gone = m->rules->n - set_size(m->no) < model_majority(m);
        enum rl_result not_adopted = gone ? RL_RESULT_LOST : RL_RESULT_NO_QUORUM;
        enum rl_result not_set = m->kind == RL_ROUND_FENCE ? RL_RESULT_EXPIRED : RL_RESULT_HELD;
        not_set = none ? RL_RESULT_NO_QUORUM : not_set;
        model_attempt_over(m, e, x, m->adopts ? not_adopted : not_set);
    }
}

/* -- Asking -- */

static inline void model_attempt(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    m->wish.tries -= m->wish.tries != RL_NO_LIMIT;
    m->turn = m->turn != 0 ? m->turn : e->place;
    m->leased = e->lease_ms > 0;
    m->ttl_ms = m->leased && e->lease_ms < m->wish.ttl_ms ? e->lease_ms : m->wish.ttl_ms;
    m->set_ns = m->now_ns;
    m->collect_ns = UINT64_MAX;
    m->carried = e->floor > 0 ? e->floor : 1; /* 0 means that no fence is wanted */
    m->carried = m->wish.fences ? m->carried : 0;
    m->carried = m->carried < RL_FENCE_FLOOR_MAX ? m->carried : RL_FENCE_FLOOR_MAX;
    m->state = RL_TRYING;
    model_round(m, e, x, RL_ROUND_ACQUIRE);
    m->longest_ms = e->lease_ms > m->wish.ttl_ms ? e->lease_ms : m->wish.ttl_ms;
    m->given = m->turn != 0; /* by its turn */
    m->may_hold = m->given ? e->up : e->voters;
    if (set_size(e->voters) < model_majority(m)) {
        model_count(m, e, x); /* nothing is sent that could not win */
        x->send = 0;
        x->release = m->given ? e->up : 0;
        m->failed = model_all(m);
    } else if (m->leased) { /* it is told of its keys */
        uint64_t quarter_ns = m->rules->node_timeout_ns / 4;
        x->send = m->asked = 0;
        m->awaited = e->awaited;
        m->collect_ns = m->now_ns + (quarter_ns < 20000000 ? quarter_ns : 20000000);
    }
}

/* Nodes that have not reported a key are asked, if that is useful. */
static inline void model_collect(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    m->collect_ns = UINT64_MAX;
    m->awaited = 0;
    bool is_won = set_size(m->yes) >= model_majority(m);
    if (is_won || m->now_ns >= model_worth_until(m)) {
        m->failed |= is_won ? 0 : model_out(m);
        model_count(m, e, x);
        return;
    }
    x->send = model_out(m) & e->voters & ~m->asked;
    m->until_ns = m->now_ns + m->rules->node_timeout_ns;
    model_not_past_validity(m);
}

/* It asks, by a turn of this place; 0: by none. */
static inline void model_ask(struct model *m, uint64_t place, struct rl_actions *x) {
    m->state = RL_READY;
    m->was_refused = false;
    m->turn = place;
    m->retry_ns = m->now_ns + m->rules->node_timeout_ns; /* the driver may know it later */
    x->generate_token = true;
}

/* What was waited for is there; or nothing is: an attempt that failed before it was made. */
static inline void model_ready(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    (void)e;
    model_ask(m, m->turn, x);
}

static inline void model_none(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    m->wish.tries -= m->wish.tries != RL_NO_LIMIT;
    model_attempt_over(m, e, x, RL_RESULT_HELD);
}

static inline void model_permits(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    model_let_go(m, e, x);
    x->acquired = RL_RESULT_PERMITS;
    model_end(m, RL_IDLE);
}

/* In line each pause costs a try; the last one is not spent on waiting for others. */
static inline void model_wait(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    m->retry_ns = UINT64_MAX;
    if (m->was_refused && m->wish.tries == 1) {
        model_ask(m, 0, x);
        return;
    }
    if (m->wish.tries != RL_NO_LIMIT) {
        m->wish.tries--;
        m->retry_ns = m->now_ns + rl_retry_delay_ns(m->wish.delay_ms, m->wish.jitter_ms, e->random);
    }
    if (m->wish.tries == 0) {
        x->acquired = RL_RESULT_HELD;
        model_end(m, RL_IDLE);
    }
}

static inline void model_acquire(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    m->wish = e->u.acquire;
    m->carried = m->fence = 0;
    m->give_up_ns = UINT64_MAX;
    if (m->wish.wait_ms != RL_NO_LIMIT) {
        m->give_up_ns = m->now_ns + (uint64_t)m->wish.wait_ms * 1000000;
    }
    m->was_refused = false;
    if (m->wish.waits) {
        m->state = RL_WAITING;
        model_wait(m, e, x);
    } else {
        model_ask(m, 0, x);
    }
}

static inline void model_turn(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    if (e->u.pause) {
        model_attempt_over(m, e, x, RL_RESULT_HELD);
    } else {
        model_ask(m, e->place, x);
    }
}

static inline void model_notice(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    (void)x;
    uint64_t soon_ns = m->now_ns + e->random % 3000000;
    if (m->state == RL_BACKOFF && soon_ns < m->retry_ns) {
        m->retry_ns = soon_ns;
    }
}

static inline void model_adopt(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    m->wish = e->u.adopt.acquire;
    m->wish.tries = 0;
    m->give_up_ns = UINT64_MAX;
    m->ttl_ms = m->wish.ttl_ms;
    m->set_ns = m->now_ns;
    m->carried = m->fence = 0;
    m->leased = m->given = false;
    m->collect_ns = UINT64_MAX;
    m->adopts = true;
    m->turn = 0;
    m->state = RL_TRYING;
    model_round(m, e, x, RL_ROUND_EXTEND);
    m->may_hold = model_all(m);
    model_count(m, e, x);
}

#endif
