/* What a lock must do, told a second time: the oracle for the tests of core/lock.h.
 *
 * It is written from the specification and from the comments of lock.h, round.h and redlock.h, not
 * from lock.c, and in another manner: votes are sets of nodes, and what follows from them is worked
 * out anew each time. It knows no table of states. Where the two differ, one of them is wrong. */
#ifndef UNIT_LOCK_MODEL_H
#define UNIT_LOCK_MODEL_H

#include "core/lock.h"
#include "core/retry.h"
#include "core/watch.h"
#include "unit/check.h"

struct model {
    const struct rl_rules *rules;
    struct rl_acquire wish; /* tries: those that are left */
    enum rl_lock_state state;
    uint64_t now_ns;
    uint64_t give_up_ns;
    uint64_t retry_ns;
    uint64_t valid_until_ns;
    uint64_t lost_ns;
    uint64_t hold_until_ns; /* max_hold_ms */
    uint64_t renew_ns;      /* the watchdog's next extension */
    bool renews;            /* the extension under way is the watchdog's */
    bool adopts;            /* the attempt under way is an adoption */
    uint32_t ttl_ms;
    uint32_t may_hold;
    /* the last round */
    enum rl_round_kind kind;
    uint64_t sent_ns;
    uint64_t until_ns;
    uint32_t id;
    uint32_t yes, no, failed; /* nodes, as masks */
    bool open;
    bool won;
};

static inline uint32_t set_size(uint32_t mask) {
    uint32_t size = 0;
    for (; mask != 0; mask >>= 1) {
        size += mask & 1;
    }
    return size;
}

static inline uint32_t model_all(const struct model *m) {
    return (1u << m->rules->n) - 1;
}

static inline uint32_t model_majority(const struct model *m) {
    uint32_t some = 1;
    while (2 * some <= m->rules->n) {
        some++;
    }
    return some;
}

/* Nodes whose vote is still out. */
static inline uint32_t model_out(const struct model *m) {
    return m->id == 0 ? 0 : model_all(m) & ~(m->yes | m->no | m->failed);
}

static inline uint64_t model_validity(const struct model *m, uint32_t ttl_ms) {
    uint64_t ttl_ns = (uint64_t)ttl_ms * 1000000;
    uint64_t drift_ns = ttl_ns / 1000000 * m->rules->drift_ppm + m->rules->drift_ns;
    return drift_ns < ttl_ns ? ttl_ns - drift_ns : 0;
}

static inline bool model_holds(const struct model *m) {
    return m->state == RL_HELD || m->state == RL_EXTENDING;
}

static inline bool model_acquires(const struct model *m) {
    return m->state >= RL_WAITING && m->state <= RL_GRANTED;
}

/* The loss is told a margin before the end, half of what is left at most. */
static inline void model_valid_until(struct model *m, uint64_t until_ns) {
    until_ns = until_ns < m->hold_until_ns ? until_ns : m->hold_until_ns;
    uint64_t half_ns = (until_ns - m->now_ns) / 2;
    uint64_t margin_ns = m->rules->lost_margin_ns;
    m->valid_until_ns = until_ns;
    m->lost_ns = until_ns - (margin_ns < half_ns ? margin_ns : half_ns);
}

static inline enum rl_result model_why_over(const struct model *m) {
    return m->valid_until_ns == m->hold_until_ns ? RL_RESULT_MAX_HOLD : RL_RESULT_EXPIRED;
}

/* A lock that the watchdog keeps, and that may still grow older, is extended in time. */
static inline void model_plan(struct model *m, const struct rl_event *e, bool unknown) {
    bool may_grow = m->wish.renew_ms != 0 && m->valid_until_ns < m->hold_until_ns;
    uint64_t validity_ns = model_validity(m, m->wish.ttl_ms);
    m->renew_ns = UINT64_MAX;
    if (may_grow) {
        m->renew_ns = rl_watch_next_ns(m->valid_until_ns, validity_ns,
                                       (uint64_t)m->wish.renew_ms * 1000000, e->random);
        uint64_t pause_ns = rl_watch_retry_ns(m->valid_until_ns - m->now_ns, e->random);
        if (unknown && m->renew_ns < m->now_ns + pause_ns) {
            m->renew_ns = m->now_ns + pause_ns;
        }
    }
}

/* -- Ends -- */

static inline void model_end(struct model *m, enum rl_lock_state state) {
    m->state = state;
    m->valid_until_ns = 0;
    m->adopts = false;
}

/* The watchdog hears only whether it worked. */
static inline void model_extension_over(struct model *m, struct rl_actions *x, enum rl_result why) {
    if (!m->renews) {
        x->extended = why;
    } else if (why == RL_RESULT_OK || why == RL_RESULT_UNKNOWN) {
        x->renewed = why;
    }
    m->renews = false;
}

/* An attempt or a hold is over: nothing that a SET may have reached is left alone. */
static inline void model_let_go(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    bool done_before = m->state == RL_BACKOFF || m->state == RL_WAITING;
    if (!done_before && !m->adopts) { /* what is adopted may be somebody else's */
        x->release = e->up;
        x->owe |= m->may_hold & ~e->up;
    }
    m->may_hold = 0;
    m->open = false;
}

static inline void model_attempt_over(struct model *m, const struct rl_event *e,
                                      struct rl_actions *x, enum rl_result why) {
    uint64_t pause_ns = rl_retry_delay_ns(m->wish.delay_ms, m->wish.jitter_ms, e->random);
    model_let_go(m, e, x);
    if (m->wish.tries > 0 && m->now_ns + pause_ns < m->give_up_ns) {
        m->retry_ns = m->now_ns + pause_ns;
        model_end(m, RL_BACKOFF);
    } else {
        x->acquired = m->wish.tries > 0 ? RL_RESULT_DEADLINE : why;
        model_end(m, RL_IDLE);
    }
}

static inline void model_lose(struct model *m, const struct rl_event *e, struct rl_actions *x,
                              enum rl_result why) {
    if (m->state == RL_EXTENDING) {
        model_extension_over(m, x, why);
    }
    x->lost = why;
    model_let_go(m, e, x);
    model_end(m, RL_LOST);
}

static inline bool model_grant_is_late(const struct model *m) {
    return m->now_ns + (uint64_t)m->wish.min_validity_ms * 1000000 >= m->valid_until_ns;
}

/* -- Rounds -- */

static inline void model_round(struct model *m, const struct rl_event *e, struct rl_actions *x,
                               enum rl_round_kind kind) {
    uint64_t wait_ns = m->rules->node_timeout_ns;
    if (kind == RL_ROUND_ACQUIRE && model_validity(m, m->ttl_ms) < wait_ns) {
        wait_ns = model_validity(m, m->ttl_ms);
    }
    uint64_t quarter_ns = (m->valid_until_ns - m->now_ns) / 4;
    wait_ns = m->renews && quarter_ns > wait_ns ? quarter_ns : wait_ns; /* there is time */
    m->kind = kind;
    m->sent_ns = m->now_ns;
    m->until_ns = m->now_ns + wait_ns;
    m->id = m->id + 1 != 0 ? m->id + 1 : 1;
    m->yes = m->no = 0;
    m->failed = model_all(m) & ~e->up;
    m->open = true;
    m->won = false;
    x->send = e->up;
}

static inline void model_acquire_decided(struct model *m, const struct rl_event *e,
                                         struct rl_actions *x) {
    uint32_t answers = m->rules->n - set_size(m->failed);
    if (m->won) {
        m->state = RL_GRANTED;
        m->hold_until_ns = m->wish.max_hold_ms == 0
                               ? UINT64_MAX
                               : m->sent_ns + (uint64_t)m->wish.max_hold_ms * 1000000;
        model_valid_until(m, m->sent_ns + model_validity(m, m->ttl_ms));
        if (model_grant_is_late(m)) {
            model_attempt_over(m, e, x, RL_RESULT_EXPIRED);
        } else {
            x->tell = true;
        }
    } else {
        bool none = answers < model_majority(m);
        bool gone = m->rules->n - set_size(m->no) < model_majority(m);
        enum rl_result not_adopted = gone ? RL_RESULT_LOST : RL_RESULT_NO_QUORUM;
        enum rl_result not_set = none ? RL_RESULT_NO_QUORUM : RL_RESULT_HELD;
        model_attempt_over(m, e, x, m->adopts ? not_adopted : not_set);
    }
}

static inline void model_extend_decided(struct model *m, const struct rl_event *e,
                                        struct rl_actions *x) {
    if (m->won) {
        model_extension_over(m, x, RL_RESULT_OK);
        x->repair = m->no & e->up;
        m->may_hold |= x->repair;
        m->state = RL_HELD;
        uint64_t until_ns = m->sent_ns + model_validity(m, m->ttl_ms);
        if (until_ns < m->hold_until_ns || m->valid_until_ns < m->hold_until_ns) {
            model_valid_until(m, until_ns); /* else it ends when it would have ended */
        }
        model_plan(m, e, false);
    } else if (m->rules->n - set_size(m->no) < model_majority(m)) {
        model_lose(m, e, x, RL_RESULT_LOST);
    } else {
        model_extension_over(m, x, RL_RESULT_UNKNOWN);
        m->state = RL_HELD;
        model_plan(m, e, true);
    }
}

/* Is the round that is open decided by now? */
static inline void model_count(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    uint32_t yes = set_size(m->kind == RL_ROUND_RELEASE ? m->yes | m->no : m->yes);
    uint32_t out = set_size(model_out(m));
    if (yes < model_majority(m) && yes + out >= model_majority(m)) {
        return;
    }
    m->open = false;
    m->won = yes >= model_majority(m);
    if (m->state == RL_TRYING) {
        model_acquire_decided(m, e, x);
    } else if (m->kind == RL_ROUND_EXTEND) {
        model_extend_decided(m, e, x);
    } else {
        x->released = m->won ? RL_RESULT_OK : RL_RESULT_NO_QUORUM;
        m->may_hold = 0;
        model_end(m, RL_IDLE);
    }
}

/* -- Events -- */

/* In line each pause costs a try. */
static inline void model_wait(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    m->retry_ns = UINT64_MAX;
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
    m->give_up_ns = UINT64_MAX;
    if (m->wish.wait_ms != RL_NO_LIMIT) {
        m->give_up_ns = m->now_ns + (uint64_t)m->wish.wait_ms * 1000000;
    }
    m->state = RL_READY;
    x->draw = true;
    if (m->wish.waits) {
        x->draw = false;
        m->state = RL_WAITING;
        model_wait(m, e, x);
    }
}

static inline void model_turn(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    if (e->u.pause) {
        model_attempt_over(m, e, x, RL_RESULT_HELD);
    } else {
        m->state = RL_READY;
        x->draw = true;
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
    m->adopts = true;
    m->state = RL_TRYING;
    model_round(m, e, x, RL_ROUND_EXTEND);
    m->may_hold = model_all(m);
    model_count(m, e, x);
}

static inline void model_attempt(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    m->wish.tries -= m->wish.tries != RL_NO_LIMIT;
    m->ttl_ms = m->wish.ttl_ms;
    m->state = RL_TRYING;
    model_round(m, e, x, RL_ROUND_ACQUIRE);
    m->may_hold = e->up;
    if (set_size(e->up) < model_majority(m)) {
        m->may_hold = 0; /* nothing is sent that could not win */
        model_count(m, e, x);
        x->send = x->release = 0;
        m->failed = model_all(m);
    }
}

static inline void model_vote(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    const struct rl_ballot_in *in = &e->u.vote;
    uint32_t bit = UINT32_C(1) << in->node;
    bool known = in->round == m->id && (model_out(m) & bit) != 0;
    x->late = !known || !m->open;
    if (!known) {
        return;
    }
    uint32_t *set = in->vote == RL_VOTE_GRANTED   ? &m->yes
                    : in->vote == RL_VOTE_REFUSED ? &m->no
                                                  : &m->failed;
    *set |= bit;
    bool ran = in->vote == RL_VOTE_GRANTED || (in->vote == RL_VOTE_FAILED && in->may_have_run);
    if (m->kind == RL_ROUND_ACQUIRE && !ran) {
        m->may_hold &= ~bit;
    }
    if (m->open) {
        model_count(m, e, x);
    } else if (m->state == RL_HELD && m->kind == RL_ROUND_EXTEND && m->won && (m->no & bit)) {
        x->repair = bit & e->up;
        m->may_hold |= x->repair;
    }
}

static inline void model_begin_extend(struct model *m, const struct rl_event *e,
                                      struct rl_actions *x, uint32_t ttl_ms) {
    m->ttl_ms = ttl_ms;
    uint64_t shorter_ns = m->now_ns + model_validity(m, m->ttl_ms);
    if (shorter_ns < m->valid_until_ns) {
        model_valid_until(m, shorter_ns);
    }
    m->state = RL_EXTENDING;
    model_round(m, e, x, RL_ROUND_EXTEND);
    model_count(m, e, x);
}

static inline void model_tick(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    bool may_give_up = m->state == RL_TRYING || m->state == RL_BACKOFF || m->state == RL_WAITING;
    if (model_holds(m) && m->now_ns >= m->lost_ns) {
        model_lose(m, e, x, model_why_over(m));
    } else if (m->state == RL_HELD && m->now_ns >= m->renew_ns) {
        m->renews = true;
        model_begin_extend(m, e, x, m->wish.ttl_ms);
    } else if (may_give_up && m->now_ns >= m->give_up_ns) {
        model_let_go(m, e, x);
        x->acquired = RL_RESULT_DEADLINE;
        model_end(m, RL_IDLE);
    } else if (m->state == RL_WAITING && m->now_ns >= m->retry_ns) {
        model_wait(m, e, x);
    } else if (m->state == RL_BACKOFF && m->now_ns >= m->retry_ns) {
        m->state = RL_READY;
        x->draw = true;
    } else if (m->open && m->now_ns >= m->until_ns) {
        m->failed |= model_out(m);
        model_count(m, e, x);
    }
}

static inline void model_extend(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    if (m->state == RL_EXTENDING && m->renews) {
        m->renews = m->open = false;
        m->state = RL_HELD;
    }
    if (m->state != RL_HELD) {
        x->extended = RL_RESULT_EXPIRED;
        return;
    }
    model_begin_extend(m, e, x, e->u.ttl_ms == 0 ? m->wish.ttl_ms : e->u.ttl_ms);
}

static inline void model_release(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    if (!model_holds(m) && e->u.token != NULL) {
        m->may_hold = model_all(m);
    } else if (m->state == RL_LOST) {
        x->released = RL_RESULT_LOST;
        model_end(m, RL_IDLE);
        return;
    }
    if (m->state == RL_EXTENDING) {
        model_extension_over(m, x, RL_RESULT_CANCELED);
    }
    model_end(m, RL_RELEASING);
    model_round(m, e, x, RL_ROUND_RELEASE);
    x->owe = m->may_hold & ~e->up;
    model_count(m, e, x);
}

static inline void model_cancel(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    if (m->state == RL_EXTENDING && !m->renews) {
        model_extension_over(m, x, RL_RESULT_CANCELED);
        m->open = false;
        m->state = RL_HELD;
    } else if (model_acquires(m)) {
        if (m->state != RL_READY) {
            model_let_go(m, e, x);
        }
        x->acquired = RL_RESULT_CANCELED;
        model_end(m, RL_IDLE);
    }
}

static inline void model_abandon(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    if (model_acquires(m)) {
        x->acquired = RL_RESULT_CANCELED;
        model_let_go(m, e, x);
    } else if (m->state == RL_RELEASING) {
        x->released = RL_RESULT_CANCELED;
        m->may_hold = 0;
        m->open = false;
    } else if (model_holds(m)) {
        if (m->state == RL_EXTENDING) {
            model_extension_over(m, x, RL_RESULT_CANCELED);
        }
        model_let_go(m, e, x);
    }
    model_end(m, RL_IDLE);
}

static inline void model_disown(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    (void)e;
    if (m->state == RL_LOST) {
        return; /* its validity ended in this moment */
    }
    if (m->state == RL_EXTENDING) {
        model_extension_over(m, x, RL_RESULT_CANCELED);
    }
    m->may_hold = 0;
    m->open = false;
    model_end(m, RL_IDLE);
}

static inline void model_step(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    *x = (struct rl_actions){.late = false};
    m->now_ns = e->now_ns;
    if (model_holds(m) && m->now_ns >= m->valid_until_ns) {
        model_lose(m, e, x, model_why_over(m));
    } else if (m->state == RL_GRANTED && model_grant_is_late(m)) {
        model_attempt_over(m, e, x, RL_RESULT_EXPIRED);
    }
    static void (*const handle[RL_EVENT_TYPES])(struct model *, const struct rl_event *,
                                                struct rl_actions *) = {
        [RL_EV_ACQUIRE] = model_acquire, [RL_EV_ATTEMPT] = model_attempt,
        [RL_EV_VOTE] = model_vote,       [RL_EV_TICK] = model_tick,
        [RL_EV_EXTEND] = model_extend,   [RL_EV_RELEASE] = model_release,
        [RL_EV_CANCEL] = model_cancel,   [RL_EV_ABANDON] = model_abandon,
        [RL_EV_TURN] = model_turn,       [RL_EV_NOTICE] = model_notice,
        [RL_EV_ADOPT] = model_adopt,     [RL_EV_DISOWN] = model_disown,
    };
    if (e->type != RL_EV_TELL) {
        handle[e->type](m, e, x);
    } else if (m->state == RL_GRANTED) {
        m->state = RL_HELD;
        m->adopts = false;
        x->acquired = RL_RESULT_OK;
        model_valid_until(m, m->valid_until_ns);
        model_plan(m, e, false);
    }
}

static inline uint64_t model_wake(const struct model *m) {
    uint64_t wake_ns = UINT64_MAX;
    if (m->open) {
        wake_ns = m->until_ns;
    } else if (m->state == RL_BACKOFF || m->state == RL_WAITING) {
        wake_ns = m->retry_ns;
    } else if (m->state == RL_HELD) {
        wake_ns = m->renew_ns;
    } else if (m->state == RL_GRANTED) {
        wake_ns = m->valid_until_ns;
    }
    if (model_holds(m) && m->lost_ns < wake_ns) {
        wake_ns = m->lost_ns;
    }
    bool may_give_up = m->state == RL_TRYING || m->state == RL_BACKOFF || m->state == RL_WAITING;
    if (may_give_up && m->give_up_ns < wake_ns) {
        wake_ns = m->give_up_ns;
    }
    return wake_ns;
}

#endif
