/* The oracle for the tests of core/lock.h, see lock_model.h: what it knows of a lock, how things
 * end, and how a round begins. */
#ifndef UNIT_LOCK_MODEL_PARTS_H
#define UNIT_LOCK_MODEL_PARTS_H

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
    enum rl_result in_vain; /* what an upgrade came to that is being undone; NONE: none is */
    bool adopts;            /* the attempt under way is an adoption */
    bool was_refused;       /* waiting: by other clients, and not for its turn in this one */
    uint64_t turn;          /* whose place the attempt is to take; of no meaning when none is */
    uint32_t ttl_ms;
    uint32_t longest_ms; /* that a key of this token was given */
    uint32_t may_hold;
    /* the attempt */
    uint64_t set_ns;                 /* its SETs, or the first key of those that were passed */
    uint64_t collect_ns;             /* keys that were not reported by then are requested */
    bool leased;                     /* keys were passed, and not extended by us so far */
    bool given;                      /* nodes may have keys of it that were not requested */
    uint32_t asked;                  /* nodes that were asked one by one */
    uint64_t counters[RL_NODES_MAX]; /* what those that granted answered */
    uint64_t carried; /* what commands carry: the floor, later the fence; 0: neither */
    uint64_t fence;   /* that the user can see */
    bool counts_up;   /* an upgrade of what has a fence */
    /* the last round */
    enum rl_round_kind kind;
    uint64_t sent_ns;
    uint64_t until_ns;
    uint32_t id;
    uint32_t yes, no, failed; /* nodes, as masks */
    uint32_t awaited;         /* a majority without these is none yet */
    bool open;
    bool won;
};

/* Is the round that is open decided by now? See lock_model.h. */
static inline void model_count(struct model *m, const struct rl_event *e, struct rl_actions *x);

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

/* The place that the attempt takes keys with. A grant has no more use for it. */
static inline uint64_t model_place(const struct model *m) {
    return m->state == RL_READY || m->state == RL_TRYING || m->state == RL_FENCING ? m->turn : 0;
}

/* The loss is reported a margin before the end, at most half of the remaining validity. */
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
    bool may_grow = m->valid_until_ns < m->hold_until_ns;
    uint64_t validity_ns = model_validity(m, m->wish.ttl_ms);
    uint64_t left_ns = m->valid_until_ns - m->now_ns;
    m->renew_ns = UINT64_MAX;
    if (may_grow && m->leased) { /* others have chosen how long it lives, and it is not for long */
        uint64_t soon_ns = left_ns / 3 < 50000000 ? left_ns / 3 : 50000000;
        m->renew_ns = m->now_ns + (unknown ? rl_watch_retry_ns(left_ns, e->random) : soon_ns);
    } else if (may_grow && m->wish.renew_ms != 0) {
        m->renew_ns = rl_watch_next_ns(m->valid_until_ns, validity_ns,
                                       (uint64_t)m->wish.renew_ms * 1000000, e->random);
        uint64_t pause_ns = rl_watch_retry_ns(left_ns, e->random);
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
    if (m->in_vain != RL_RESULT_NONE && (why == RL_RESULT_OK || why == RL_RESULT_UNKNOWN)) {
        why = m->in_vain; /* whether it could be undone is not what was asked */
    }
    m->in_vain = RL_RESULT_NONE;
    m->carried = m->counts_up ? m->fence : m->carried; /* as before */
    m->counts_up = false;
    if (!m->renews) {
        x->extended = why;
    } else if (why == RL_RESULT_OK || why == RL_RESULT_UNKNOWN) {
        x->renewed = why;
    }
    m->renews = false;
}

/* An attempt or a hold is over: nothing that a SET may have reached is left alone. */
static inline void model_let_go(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    bool done_before = m->state == RL_BACKOFF || m->state == RL_WAITING || m->state == RL_READY;
    if (!done_before && !m->adopts) { /* an adopted token may belong to another client */
        x->release = e->up;
        x->owe |= m->may_hold & ~e->up;
    }
    m->may_hold = 0;
    m->open = false;
}

static inline void model_attempt_over(struct model *m, const struct rl_event *e,
                                      struct rl_actions *x, enum rl_result why) {
    uint64_t pause_ns = rl_retry_delay_ns(m->wish.delay_ms, m->wish.jitter_ms, e->random);
    /* Held by others, and there is a line: it waits there, however little time is left. */
    bool asked = m->state == RL_TRYING || m->state == RL_READY;
    bool queues = asked && why == RL_RESULT_HELD && e->lines;
    model_let_go(m, e, x);
    if (queues && m->wish.tries > 0) {
        m->retry_ns = m->wish.tries == RL_NO_LIMIT ? UINT64_MAX : m->now_ns + pause_ns;
        model_end(m, RL_WAITING);
        m->was_refused = true;
    } else if (m->wish.tries > 0 && m->now_ns + pause_ns < m->give_up_ns) {
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

/* When the validity ends that the attempt could win. */
static inline uint64_t model_worth_until(const struct model *m) {
    return m->set_ns + model_validity(m, m->ttl_ms);
}

/* No vote of an attempt is waited for for longer than it is good for. */
static inline void model_not_past_validity(struct model *m) {
    if (m->until_ns > model_worth_until(m)) {
        m->until_ns = model_worth_until(m);
    }
}

static inline void model_round(struct model *m, const struct rl_event *e, struct rl_actions *x,
                               enum rl_round_kind kind) {
    bool wants = kind == RL_ROUND_ACQUIRE || kind == RL_ROUND_UPGRADE || m->counts_up;
    uint32_t asked = wants ? e->voters : e->up;
    uint64_t wait_ns = m->rules->node_timeout_ns;
    uint64_t quarter_ns = (m->valid_until_ns - m->now_ns) / 4;
    wait_ns = m->renews && quarter_ns > wait_ns ? quarter_ns : wait_ns; /* there is time */
    bool is_first = kind == RL_ROUND_ACQUIRE || m->adopts;
    m->longest_ms = is_first || m->longest_ms < m->ttl_ms ? m->ttl_ms : m->longest_ms;
    m->kind = kind;
    m->sent_ns = m->now_ns;
    m->until_ns = m->now_ns + wait_ns;
    if (kind == RL_ROUND_ACQUIRE || (kind == RL_ROUND_FENCE && !m->counts_up)) {
        model_not_past_validity(m);
    }
    m->id = m->id + 1 != 0 ? m->id + 1 : 1;
    m->yes = m->no = m->awaited = 0;
    m->failed = model_all(m) & ~asked;
    m->open = true;
    m->won = false;
    x->send = asked;
}

#endif
