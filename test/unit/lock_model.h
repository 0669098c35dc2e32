/* A second specification of what a lock must do: the oracle for the tests of core/lock.h.
 *
 * It is written from the specification and from the comments of lock.h, round.h and redlock.h, not
 * from lock.c, and in another manner: votes are sets of nodes, and what follows from them is worked
 * out anew each time. It knows no table of states. Where the two differ, one of them is wrong. The
 * way to a lock is in lock_model_acquire.h, what everything needs in lock_model_parts.h. */
#ifndef UNIT_LOCK_MODEL_H
#define UNIT_LOCK_MODEL_H

#include "unit/lock_model_acquire.h"

/* -- Rounds -- */

static inline void model_extend_decided(struct model *m, const struct rl_event *e,
                                        struct rl_actions *x) {
    if (m->won) {
        m->leased = false;
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

/* Of an extension that nobody asked for: where the usual one would take away some of the time that
 * is left, the longest that there was. */
static inline uint32_t model_no_shorter_ms(const struct model *m) {
    bool shortens = m->now_ns + model_validity(m, m->wish.ttl_ms) < m->valid_until_ns;
    return shortens ? m->longest_ms : m->wish.ttl_ms;
}

static inline void model_begin_extend(struct model *m, const struct rl_event *e,
                                      struct rl_actions *x, uint32_t ttl_ms);

/* The one that reads is the writer where it has a majority, and for as long as that was asked for.
 * Otherwise it is told so when the nodes have been asked to forget it. */
static inline void model_upgrade_decided(struct model *m, const struct rl_event *e,
                                         struct rl_actions *x) {
    bool asked = m->kind == RL_ROUND_UPGRADE;
    bool heard = asked && m->rules->n - set_size(m->failed) >= model_majority(m);
    enum rl_result why = heard ? RL_RESULT_HELD : RL_RESULT_UNKNOWN;
    if (!m->won) {
        m->in_vain = why;
        m->carried = m->counts_up ? m->fence : m->carried;
        m->counts_up = false;
        model_begin_extend(m, e, x, model_no_shorter_ms(m));
        return;
    }
    if (m->counts_up && asked) {
        uint32_t agree = 0;
        m->carried = model_largest(m, &agree);
        if (agree < model_majority(m)) {
            model_round(m, e, x, RL_ROUND_FENCE);
            model_count(m, e, x);
            return;
        }
    }
    m->fence = m->counts_up ? m->carried : m->fence;
    model_extension_over(m, x, RL_RESULT_OK);
    m->state = RL_HELD;
    if (asked && m->valid_until_ns < m->hold_until_ns) {
        model_valid_until(m, m->sent_ns + model_validity(m, m->ttl_ms));
    }
    model_plan(m, e, false);
}

/* Is the round that is open decided by now? */
static inline void model_count(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    uint32_t yes = set_size(m->kind == RL_ROUND_RELEASE ? m->yes | m->no : m->yes);
    uint32_t out = set_size(model_out(m));
    if (yes < model_majority(m) && yes + out >= model_majority(m)) {
        return;
    }
    if (yes >= model_majority(m) && (model_out(m) & m->awaited) != 0) {
        return;
    }
    m->open = false;
    m->won = yes >= model_majority(m);
    if (m->state == RL_TRYING || m->state == RL_FENCING) {
        model_acquire_decided(m, e, x);
    } else if (m->kind == RL_ROUND_EXTEND) {
        model_extend_decided(m, e, x);
    } else if (m->kind == RL_ROUND_UPGRADE || m->counts_up) {
        model_upgrade_decided(m, e, x);
    } else {
        x->released = m->won ? RL_RESULT_OK : RL_RESULT_NO_QUORUM;
        m->may_hold = 0;
        model_end(m, RL_IDLE);
    }
}

/* -- Events -- */

static inline void model_vote(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    const struct rl_ballot_in *in = &e->u.vote;
    uint32_t bit = UINT32_C(1) << in->node;
    bool known = in->round == m->id && (model_out(m) & bit) != 0;
    if (in->vote == RL_VOTE_NONE) { /* it has the key, and cannot say since when: it is asked */
        bool asks = known && m->state == RL_TRYING && m->leased;
        x->send = asks ? bit & e->voters & ~m->asked : 0;
        m->asked |= x->send;
        return;
    }
    x->late = !known || !m->open;
    if (!known) {
        return;
    }
    bool prolongs = m->kind == RL_ROUND_EXTEND || m->kind == RL_ROUND_UPGRADE;
    bool counts = !prolongs || (e->voters & bit) != 0;
    uint32_t *set = in->vote == RL_VOTE_GRANTED && counts ? &m->yes
                    : in->vote == RL_VOTE_REFUSED         ? &m->no
                                                          : &m->failed;
    *set |= bit;
    if (m->open && (m->yes & bit) && in->start_ns != 0 && in->start_ns < m->set_ns) {
        m->set_ns = in->start_ns;
    }
    bool ran = in->vote == RL_VOTE_GRANTED ||
               (in->vote == RL_VOTE_FAILED && (in->may_have_run || m->given));
    if (m->kind == RL_ROUND_ACQUIRE && !ran) {
        m->may_hold &= ~bit;
    }
    if (m->open) {
        m->counters[in->node] = in->counter;
        model_count(m, e, x);
        if (m->open && m->awaited != 0 && set_size(m->yes) >= model_majority(m) &&
            m->now_ns + 1000000 < m->collect_ns) {
            m->collect_ns = m->now_ns + 1000000; /* it is no use to wait for long */
        }
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
    m->may_hold |= m->given ? e->up : 0; /* and so has a longer life */
    model_count(m, e, x);
}

static inline void model_tick(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    bool may_give_up = model_acquires(m) && m->state != RL_GRANTED;
    bool is_won = m->state == RL_TRYING && m->open && set_size(m->yes) >= model_majority(m);
    if (model_holds(m) && m->now_ns >= m->lost_ns) {
        model_lose(m, e, x, model_why_over(m));
    } else if (m->state == RL_HELD && m->now_ns >= m->renew_ns) {
        m->renews = true;
        model_begin_extend(m, e, x, m->wish.ttl_ms);
    } else if (is_won && m->now_ns >= m->give_up_ns) {
        model_collect(m, e, x); /* without the word that it waits for */
    } else if (may_give_up && m->now_ns >= m->give_up_ns) {
        model_let_go(m, e, x);
        x->acquired = RL_RESULT_DEADLINE;
        model_end(m, RL_IDLE);
    } else if (m->state == RL_WAITING && m->now_ns >= m->retry_ns) {
        model_wait(m, e, x);
    } else if (m->state == RL_BACKOFF && m->now_ns >= m->retry_ns) {
        model_ask(m, 0, x);
    } else if (m->state == RL_READY && m->now_ns >= m->retry_ns) {
        model_ask(m, m->turn, x);
    } else if (m->state == RL_TRYING && m->now_ns >= m->collect_ns) {
        model_collect(m, e, x);
    } else if (m->open && m->now_ns >= m->until_ns) {
        m->failed |= model_out(m);
        model_count(m, e, x);
    }
}

/* The user's word comes before the watchdog's. False: it is over by the clock. */
static inline bool model_may_extend(struct model *m, struct rl_actions *x) {
    if (m->state == RL_EXTENDING && m->renews) {
        m->renews = m->open = false;
        m->state = RL_HELD;
    }
    if (m->state != RL_HELD) {
        x->extended = RL_RESULT_EXPIRED;
    }
    return m->state == RL_HELD;
}

static inline void model_extend(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    if (model_may_extend(m, x)) {
        model_begin_extend(m, e, x, e->u.ttl_ms == 0 ? m->wish.ttl_ms : e->u.ttl_ms);
    }
}

/* Nodes that are too few for it are asked nothing. */
static inline void model_upgrade(struct model *m, const struct rl_event *e, struct rl_actions *x) {
    if (!model_may_extend(m, x)) {
        return;
    }
    m->ttl_ms = m->longest_ms;
    m->state = RL_EXTENDING;
    m->counts_up = m->fence != 0;
    if (m->counts_up) { /* above its own, and no lower than the clock */
        m->carried = e->floor > m->fence ? e->floor : m->fence + 1;
        m->carried = m->carried < RL_FENCE_FLOOR_MAX ? m->carried : RL_FENCE_FLOOR_MAX;
    }
    model_round(m, e, x, RL_ROUND_UPGRADE);
    if (set_size(e->voters) < model_majority(m)) {
        x->send = 0;
        m->failed = model_all(m);
        m->open = false;
        model_extension_over(m, x, RL_RESULT_UNKNOWN);
        m->state = RL_HELD;
        model_plan(m, e, true);
    }
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
        bool upgrades = m->kind == RL_ROUND_UPGRADE || m->kind == RL_ROUND_FENCE;
        model_extension_over(m, x, RL_RESULT_CANCELED);
        m->open = false;
        m->state = RL_HELD;
        if (upgrades) {
            m->renews = true; /* what it has done is undone without being asked */
            model_begin_extend(m, e, x, model_no_shorter_ms(m));
        }
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
    if (m->state == RL_LOST) {
        return; /* its validity ended in this moment */
    }
    if (m->state == RL_EXTENDING) {
        model_extension_over(m, x, RL_RESULT_CANCELED);
    }
    if (m->leased) { /* its keeper expects it to live for the requested ttl */
        m->ttl_ms = m->wish.ttl_ms;
        model_round(m, e, x, RL_ROUND_EXTEND);
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
        [RL_EV_UPGRADE] = model_upgrade, [RL_EV_READY] = model_ready,
        [RL_EV_NONE] = model_none,       [RL_EV_PERMITS] = model_permits,
    };
    if (e->type != RL_EV_TELL) {
        handle[e->type](m, e, x);
    } else if (m->state == RL_GRANTED) {
        m->state = RL_HELD;
        m->fence = model_fences(m) ? m->carried : 0;
        m->adopts = false;
        x->acquired = RL_RESULT_OK;
        model_valid_until(m, m->valid_until_ns);
        model_plan(m, e, false);
    }
}

static inline uint64_t model_wake(const struct model *m) {
    uint64_t wake_ns = UINT64_MAX;
    if (m->state == RL_TRYING && m->collect_ns < m->until_ns) {
        wake_ns = m->collect_ns;
    } else if (m->open) {
        wake_ns = m->until_ns;
    } else if (m->state == RL_BACKOFF || m->state == RL_WAITING || m->state == RL_READY) {
        wake_ns = m->retry_ns;
    } else if (m->state == RL_HELD) {
        wake_ns = m->renew_ns;
    } else if (m->state == RL_GRANTED) {
        wake_ns = m->valid_until_ns;
    }
    if (model_holds(m) && m->lost_ns < wake_ns) {
        wake_ns = m->lost_ns;
    }
    bool may_give_up = model_acquires(m) && m->state != RL_GRANTED;
    if (may_give_up && m->give_up_ns < wake_ns) {
        wake_ns = m->give_up_ns;
    }
    return wake_ns;
}

#endif
