/* Going through everything that can happen to a lock: see world_probe() and world_explore().
 *
 * Two ways to the same state of lock, model and ledger have the same future, so each state is gone
 * through once: world_seen() remembers them by a hash of 64 bits.
 */
#ifndef UNIT_LOCK_EXPLORE_H
#define UNIT_LOCK_EXPLORE_H

#include "unit/lock_world.h"

#define SEEN_SLOTS (1u << 21)

/* The events that lock.h allows in each state. */
static const uint32_t allowed_events[RL_LOCK_STATES] = {
#define ALWAYS_                                                                    \
    (1u << RL_EV_VOTE | 1u << RL_EV_TICK | 1u << RL_EV_TELL | 1u << RL_EV_NOTICE | \
     1u << RL_EV_ABANDON)
    [RL_IDLE] = ALWAYS_ | 1u << RL_EV_ACQUIRE | 1u << RL_EV_ADOPT,
    [RL_WAITING] = ALWAYS_ | 1u << RL_EV_TURN | 1u << RL_EV_CANCEL | 1u << RL_EV_PERMITS,
    [RL_READY] = ALWAYS_ | 1u << RL_EV_ATTEMPT | 1u << RL_EV_CANCEL | 1u << RL_EV_READY |
                 1u << RL_EV_NONE | 1u << RL_EV_PERMITS,
    [RL_TRYING] = ALWAYS_ | 1u << RL_EV_CANCEL | 1u << RL_EV_PERMITS,
    [RL_FENCING] = ALWAYS_ | 1u << RL_EV_CANCEL,
    [RL_BACKOFF] = ALWAYS_ | 1u << RL_EV_CANCEL | 1u << RL_EV_PERMITS,
    [RL_GRANTED] = ALWAYS_ | 1u << RL_EV_CANCEL,
    [RL_HELD] = ALWAYS_ | 1u << RL_EV_EXTEND | 1u << RL_EV_UPGRADE | 1u << RL_EV_RELEASE |
                1u << RL_EV_DISOWN,
    [RL_EXTENDING] = ALWAYS_ | 1u << RL_EV_RELEASE | 1u << RL_EV_CANCEL | 1u << RL_EV_DISOWN,
    [RL_RELEASING] = ALWAYS_,
    [RL_LOST] = ALWAYS_ | 1u << RL_EV_ACQUIRE | 1u << RL_EV_RELEASE | 1u << RL_EV_ADOPT |
                1u << RL_EV_EXTEND | 1u << RL_EV_UPGRADE | 1u << RL_EV_DISOWN,
#undef ALWAYS_
};

static inline bool world_allows(const struct world *w, enum rl_event_type type) {
    bool extends = type == RL_EV_EXTEND || type == RL_EV_UPGRADE;
    bool takes_precedence = extends && w->lock.renews;        /* over the watchdog's */
    bool has_turn = type == RL_EV_NONE && w->lock.place != 0; /* that has something */
    bool adopts = type == RL_EV_PERMITS && w->lock.adopts;    /* asks no such thing */
    bool is_allowed = takes_precedence || (allowed_events[w->lock.state] >> type & 1) != 0;
    return is_allowed && !has_turn && !adopts;
}

/* -- States that have been gone through -- */

static inline uint64_t hash_word(uint64_t hash, uint64_t word) {
    uint64_t state = hash ^ word;
    return random_next(&state);
}

static inline uint64_t hash_words(uint64_t hash, const uint64_t *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        hash = hash_word(hash, words[i]);
    }
    return hash;
}

static inline uint64_t ledger_hash(const struct world *w) {
    const uint64_t now_ns = w->lock.now_ns;
    const uint64_t words[] = {
        w->turn,
        w->lines,
        w->upgrading,
        w->upgrading ? now_ns - w->upgrade_ns : 0,
        w->upgrading ? w->upgrade_ttl_ms : 0,
        w->upgrading ? w->converted : 0,
        w->reached,
        w->unanswered,
        w->asked,
        w->set_round,
        w->lease_ms,
        w->early_ns,
        w->awaited,
        w->given,
        w->raised,
        w->counting_round,
        w->fence,
        w->random,
        w->voters,
        w->floor,
        w->rules.n,
        w->rules.node_timeout_ns,
        w->rules.lost_margin_ns,
    };
    return hash_words(1, words, COUNT(words));
}

/* Times count from now on: nothing depends on the hour. */
static inline uint64_t world_hash(const struct world *w) {
    const struct rl_lock *lock = &w->lock;
    const struct rl_round *round = &lock->round;
    const uint64_t now_ns = lock->now_ns;
    const uint64_t words[] = {
        lock->valid_until_ns - now_ns * (lock->valid_until_ns != 0),
        state_is(w, HOLDS) ? lock->lost_at_ns - now_ns : 0,
        state_is(w, ACQUIRES) && lock->give_up_ns != RL_NEVER ? lock->give_up_ns - now_ns : 0,
        round->decision == RL_OPEN ? lock->round_until_ns - now_ns : 0,
        lock->state == RL_BACKOFF || lock->state == RL_READY ? lock->retry_ns - now_ns : 0,
        lock->state == RL_WAITING && lock->retry_ns != RL_NEVER ? lock->retry_ns - now_ns : 0,
        lock->state == RL_HELD && lock->renew_ns != RL_NEVER ? lock->renew_ns - now_ns : 0,
        state_is(w, HOLDS) && lock->acquire.max_hold_ms != 0 ? lock->hold_until_ns - now_ns : 0,
        lock->acquire.renew_ms,
        lock->acquire.max_hold_ms,
        lock->acquire.waits,
        lock->was_refused,
        lock->place,
        lock->is_leased,
        lock->state == RL_TRYING && lock->collect_ns != RL_NEVER ? lock->collect_ns - now_ns : 0,
        lock->renews,
        lock->reverts,
        lock->adopts,
        round->decision == RL_OPEN ? now_ns - round->sent_ns : 0,
        lock->acquire.tries,
        lock->acquire.wait_ms,
        lock->acquire.ttl_ms,
        lock->acquire.min_validity_ms,
        lock->acquire.delay_ms,
        lock->acquire.jitter_ms,
        lock->ttl_ms,
        lock->life_ms,
        lock->may_hold,
        lock->state,
        round->id,
        round->kind,
        round->decision,
        round->awaited,
        lock->asked,
        lock->acquire.fences,
        lock->fence.value,
        lock->fence.nodes,
        lock->fence.floor,
        lock->reader_fence,
        state_is(w, 1u << RL_TRYING | 1u << RL_FENCING) ? now_ns - lock->set_ns : 0,
    };
    uint64_t hash = hash_words(ledger_hash(w), words, COUNT(words));
    for (uint32_t i = 0; i < w->rules.n; i++) {
        hash = hash_word(hash, w->ballots[i].vote);
        hash = hash_word(hash, lock->acquire.fences ? w->counted[i] : 0);
    }
    return hash;
}

/* Whether a state like this one was asked for before. salt tells two walks apart. */
static inline bool world_seen(const struct world *w, uint64_t salt) {
    static uint64_t slots[SEEN_SLOTS];
    static uint32_t used;
    uint64_t hash = hash_word(world_hash(w), salt) | 1;
    uint32_t slot = (uint32_t)(hash >> 20) % SEEN_SLOTS;
    while (slots[slot] != 0) {
        if (slots[slot] == hash) {
            return true;
        }
        slot = (slot + 1) % SEEN_SLOTS;
    }
    slots[slot] = hash;
    assert_true(++used < SEEN_SLOTS / 4 * 3);
    return false;
}

/* -- What can happen next -- */

/* The moments at which something changes, one ns before and after them, and now. */
static inline size_t world_moments(const struct world *w, uint64_t moments[32]) {
    const struct model *m = &w->model;
    uint64_t min_ns = (uint64_t)m->wish.min_validity_ms * 1000000;
    const uint64_t edges[] = {
        m->now_ns + 1,
        model_wake(m),
        m->valid_until_ns,
        m->valid_until_ns > min_ns ? m->valid_until_ns - min_ns : 0,
        m->open || m->state == RL_BACKOFF || m->state == RL_WAITING || m->state == RL_READY
            ? m->give_up_ns
            : 0,
        model_acquires(m) && m->open ? model_worth_until(m) : 0};
    size_t count = 0;
    moments[count++] = m->now_ns;
    for (size_t i = 0; i < COUNT(edges); i++) {
        for (uint64_t at_ns = edges[i] - 1; at_ns != edges[i] + 2; at_ns++) {
            bool possible = at_ns > m->now_ns && at_ns < UINT64_MAX - 2;
            for (size_t j = 0; j < count; j++) {
                possible = possible && moments[j] != at_ns;
            }
            if (possible) {
                moments[count++] = at_ns;
            }
        }
    }
    return count;
}

/* Time goes by until the lock has nothing more to wait for. */
static inline void world_run_out(struct world *w, uint32_t up) {
    for (uint32_t i = 0; i < 3 && rl_lock_wake_ns(&w->lock) != UINT64_MAX; i++) {
        world_tick(w, up);
    }
}

static inline void world_try(const struct world *w, enum rl_event_type type, uint64_t now_ns,
                             uint32_t up) {
    static const uint32_t ttls_ms[] = {0, 40, 60000};
    struct world copy;
    world_copy(&copy, w);
    if (type == RL_EV_ACQUIRE) {
        world_acquire(&copy, usual_acquire(), now_ns);
    } else if (type == RL_EV_ATTEMPT) {
        world_attempt(&copy, now_ns, up);
    } else if (type == RL_EV_ADOPT) {
        world_take_over(&copy, usual_acquire(), now_ns, up);
    } else if (type == RL_EV_EXTEND) {
        world_extend(&copy, ttls_ms[now_ns % COUNT(ttls_ms)], now_ns, up);
    } else {
        world_simple(&copy, type, now_ns, up);
    }
    world_run_out(&copy, up);
}

/* Behind others of its client, or in the line; or it is to let others go first. */
static inline void world_try_turns(const struct world *w, uint64_t now_ns, uint32_t up) {
    static const uint64_t places[] = {0, 5, UINT64_MAX, 5};
    for (size_t i = 0; i < COUNT(places); i++) {
        struct world copy;
        world_copy(&copy, w);
        world_turn(&copy, places[i], i == COUNT(places) - 1, now_ns, up);
        if (copy.lock.state == RL_READY) {
            world_attempt(&copy, now_ns, up);
        }
        world_run_out(&copy, up);
    }
}

static inline void world_try_vote(const struct world *w, uint32_t round, uint32_t node,
                                  enum answer answer, uint64_t now_ns, uint32_t up) {
    struct world copy;
    world_copy(&copy, w);
    world_vote_of(&copy, round, node, answer, now_ns, up);
    CHECK(&copy, round == w->lock.round.id || copy.out.late);
    world_run_out(&copy, up);
}

/* Every event that is allowed now, at every moment that matters, with all, none and some nodes up;
 * and votes of other rounds. */
static inline void world_probe(const struct world *w) {
    uint64_t moments[32];
    size_t n_moments = world_moments(w, moments);
    const uint32_t ups[] = {world_all(w), 0, world_all(w) & 0x2a};
    const uint32_t id = w->lock.round.id;
    for (size_t i = 0; i < n_moments; i++) {
        for (size_t j = 0; j < COUNT(ups); j++) {
            for (enum rl_event_type type = RL_EV_ACQUIRE; type < RL_EVENT_TYPES; type++) {
                if (type == RL_EV_TURN && world_allows(w, type)) {
                    world_try_turns(w, moments[i], ups[j]);
                } else if (type != RL_EV_VOTE && world_allows(w, type)) {
                    world_try(w, type, moments[i], ups[j]);
                }
            }
        }
        for (uint32_t node = 0; node < w->rules.n; node++) {
            uint32_t up = ups[node % COUNT(ups)];
            world_try_vote(w, id - 1, node, GRANTS, moments[i], up);
            world_try_vote(w, id + 1, node, REFUSES, moments[i], up);
            enum answer answer = (enum answer)((node + i) % ANSWERS);
            world_try_vote(w, id, node, world_is_passed(w, id, node) ? GRANTS : answer, moments[i],
                           up);
        }
    }
}

/* -- All votes, in every order -- */

struct exploration {
    void (*visit)(const struct world *w); /* may be NULL */
    uint64_t salt;
    uint64_t states;
    uint32_t counters; /* a node that grants may answer 1 to so many; 0: always the same */
    bool probes;
};

/* From here on: every pending node votes next, in every way, and so on to the last; that is also
 * past the moment at which the round is decided. Each vote comes 1 ms after the one before. */
static inline void world_explore(const struct world *w, struct exploration *exploration) {
    if (world_seen(w, exploration->salt)) {
        return;
    }
    exploration->states++;
    if (exploration->probes) {
        world_probe(w);
    }
    if (exploration->visit != NULL) {
        exploration->visit(w);
    }
    bool collects = w->lock.state == RL_TRYING && w->lock.collect_ns != RL_NEVER;
    for (uint32_t node = 0; node <= w->rules.n && collects; node++) {
        struct world next;
        world_copy(&next, w);
        if (node == w->rules.n) {
            world_tick(&next, world_all(w));
        } else if (model_out(&w->model) >> node & 1) {
            world_ask(&next, node, w->model.now_ns, world_all(w));
        }
        world_explore(&next, exploration);
    }
    for (uint32_t node = 0; node < w->rules.n; node++) {
        enum answer last = world_is_passed(w, w->lock.round.id, node) ? GRANTS : BREAKS;
        for (enum answer answer = GRANTS; answer <= last && model_out(&w->model) >> node & 1;
             answer++) {
            for (uint32_t i = 0; i == 0 || (i < exploration->counters && answer == GRANTS); i++) {
                struct world next;
                world_copy(&next, w);
                next.counter = i + 1;
                world_vote(&next, node, answer, w->model.now_ns + MS);
                world_explore(&next, exploration);
            }
        }
    }
}

#endif
