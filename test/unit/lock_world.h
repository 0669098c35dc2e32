/* A lock under test, its model and a ledger (lock_ledger.h), fed with events.
 *
 * world_step() feeds one event to lock and model and compares all that can be seen of them. Then
 * the ledger is asked.
 *
 * A world is a value: it is copied to try something out. world_probe() tries all that can happen
 * next, at all times at which something changes. A failure prints the events that led to it.
 */
#ifndef UNIT_LOCK_WORLD_H
#define UNIT_LOCK_WORLD_H

#include "unit/lock_ledger.h"

/* -- A step -- */

/* What lock and model did must be the same. */
static inline void world_compare(const struct world *w, const struct rl_actions *wanted) {
    const struct rl_actions *x = &w->out;
    const struct rl_lock *lock = &w->lock;
    const struct model *m = &w->model;
    CHECK(w, lock->state == m->state);
    CHECK(w, x->release == wanted->release);
    CHECK(w, x->owe == wanted->owe);
    CHECK(w, x->send == wanted->send);
    CHECK(w, x->repair == wanted->repair);
    CHECK(w, x->generate_token == wanted->generate_token);
    CHECK(w, x->tell == wanted->tell);
    CHECK(w, x->late == wanted->late);
    CHECK(w, x->acquired == wanted->acquired);
    CHECK(w, x->extended == wanted->extended);
    CHECK(w, x->renewed == wanted->renewed);
    CHECK(w, x->released == wanted->released);
    CHECK(w, x->lost == wanted->lost);
    CHECK(w, lock->valid_until_ns == m->valid_until_ns);
    CHECK(w, rl_lock_wake_ns(lock) == model_wake(m));
    CHECK(w, lock->may_hold == m->may_hold);
    CHECK(w, lock->now_ns == m->now_ns);
    CHECK(w, lock->round.id == m->id);
    CHECK(w, x->send == 0 || lock->round.kind == m->kind);
    CHECK(w, (x->send | x->repair) == 0 || lock->ttl_ms == m->ttl_ms);
    bool sets = x->send != 0 && (m->kind <= RL_ROUND_FENCE || m->fence != 0);
    CHECK(w, !(sets || x->repair) || lock->fence.floor == m->carried);
    CHECK(w, rl_lock_fence(lock) == m->fence);
    CHECK(w, lock->place == model_place(m));
    CHECK(w, lock->is_leased == m->leased);
    if (m->id != 0) {
        CHECK(w, rl_round_mask(&lock->round, RL_VOTE_GRANTED) == m->yes);
        CHECK(w, rl_round_mask(&lock->round, RL_VOTE_REFUSED) == m->no);
        CHECK(w, rl_round_mask(&lock->round, RL_VOTE_FAILED) == m->failed);
    }
}

static inline void world_note(struct world *w, const struct rl_event *e) {
    struct step_note *note = &w->trail[w->steps++ % TRAIL];
    *note = (struct step_note){.now_ns = e->now_ns,
                               .up = e->up,
                               .voters = e->voters,
                               .type = (uint8_t)e->type,
                               .state = w->lock.state};
    if (e->type == RL_EV_VOTE) {
        const struct rl_ballot_in *in = &e->u.vote;
        note->round = in->round;
        note->node = (uint8_t)in->node;
        note->answer = (uint8_t)(in->vote == RL_VOTE_GRANTED   ? GRANTS
                                 : in->vote == RL_VOTE_REFUSED ? REFUSES
                                 : in->may_have_run            ? BREAKS
                                                               : ANSWERS_ERROR);
    }
}

static inline void world_step(struct world *w, const struct rl_event *e) {
    struct rl_actions wanted;
    w->adopting = w->adopting || e->type == RL_EV_ADOPT;
    w->acquiring = w->acquiring || e->type == RL_EV_ACQUIRE || e->type == RL_EV_ADOPT;
    w->extending = w->extending || e->type == RL_EV_EXTEND || e->type == RL_EV_UPGRADE;
    w->releasing = w->releasing || e->type == RL_EV_RELEASE;
    w->was_valid_ns = w->lock.valid_until_ns;
    model_step(&w->model, e, &wanted);
    rl_lock_step(&w->lock, e, &w->out);
    world_note(w, e);
    world_compare(w, &wanted);
    ledger_operations(w, e);
    ledger_attempts(w, e);
    ledger_fence(w, e); /* before adoptions end, there */
    ledger_keys(w, e);
    ledger_life(w, e);
    ledger_upgrade(w, e);
    ledger_validity(w, e);
}

/* -- Events -- */

static inline struct rl_event world_event(const struct world *w, enum rl_event_type type,
                                          uint64_t now_ns, uint32_t up) {
    static const int16_t reasons[RL_NODES_MAX] = {-40, -41, -42};
    return (struct rl_event){.type = type,
                             .now_ns = now_ns > w->model.now_ns ? now_ns : w->model.now_ns,
                             .random = w->random,
                             .up = up,
                             .voters = up & w->voters,
                             .lines = w->lines,
                             .floor = type == RL_EV_UPGRADE ? w->floor : 0,
                             .reasons = reasons};
}

static inline void world_simple(struct world *w, enum rl_event_type type, uint64_t now_ns,
                                uint32_t up) {
    struct rl_event e = world_event(w, type, now_ns, up);
    world_step(w, &e);
}

/* place: whose turn it is in the line; 0: behind others of its client. */
static inline void world_turn(struct world *w, uint64_t place, bool pause, uint64_t now_ns,
                              uint32_t up) {
    struct rl_event e = world_event(w, RL_EV_TURN, now_ns, up);
    e.place = place;
    e.u.pause = pause;
    w->turn = pause ? 0 : place;
    world_step(w, &e);
}

static inline void world_acquire(struct world *w, struct rl_acquire acquire, uint64_t now_ns) {
    struct rl_event e = world_event(w, RL_EV_ACQUIRE, now_ns, world_all(w));
    e.u.acquire = acquire;
    world_step(w, &e);
}

/* A token that another client holds, or held. */
static inline void world_take_over(struct world *w, struct rl_acquire acquire, uint64_t now_ns,
                                   uint32_t up) {
    struct rl_event e = world_event(w, RL_EV_ADOPT, now_ns, up);
    memset(w->token, 'a', RL_TOKEN_LEN);
    e.u.adopt.acquire = acquire;
    e.u.adopt.token = w->token;
    world_step(w, &e);
    CHECK(w, memcmp(w->lock.token, w->token, sizeof w->token) == 0);
}

static inline void world_release_token(struct world *w, uint64_t now_ns, uint32_t up) {
    struct rl_event e = world_event(w, RL_EV_RELEASE, now_ns, up);
    memset(w->token, 'b', RL_TOKEN_LEN);
    e.u.token = w->token;
    world_step(w, &e);
    CHECK(w, memcmp(w->lock.token, w->token, sizeof w->token) == 0);
}

/* With a token that was never used: the number of the round that will be begun. Keys are passed to
 * a place in line. */
static inline void world_attempt(struct world *w, uint64_t now_ns, uint32_t up) {
    struct rl_event e = world_event(w, RL_EV_ATTEMPT, now_ns, up);
    snprintf(w->token, sizeof w->token, "%040x", (unsigned)(w->lock.round.id + 1));
    e.floor = w->floor;
    e.u.token = w->token;
    e.lease_ms = w->lease_ms;
    e.awaited = w->awaited;
    if (w->lease_ms != 0 && w->turn == 0) {
        e.place = w->turn = 6;
    }
    world_step(w, &e);
}

/* Whether the node's key is one that is passed: it was not asked for it, and says when that was. */
static inline bool world_is_passed(const struct world *w, uint32_t round, uint32_t node) {
    return w->model.leased && round == w->set_round && (w->asked >> node & 1) == 0;
}

/* It has passed its key, and is asked for its vote. */
static inline void world_ask(struct world *w, uint32_t node, uint64_t now_ns, uint32_t up) {
    struct rl_event e = world_event(w, RL_EV_VOTE, now_ns, up);
    e.u.vote = (struct rl_ballot_in){.round = w->lock.round.id, .node = node};
    world_step(w, &e);
}

static inline void world_vote_of(struct world *w, uint32_t round, uint32_t node, enum answer answer,
                                 uint64_t now_ns, uint32_t up) {
    static const enum rl_vote votes[] = {RL_VOTE_GRANTED, RL_VOTE_REFUSED, RL_VOTE_FAILED,
                                         RL_VOTE_FAILED};
    struct rl_event e = world_event(w, RL_EV_VOTE, now_ns, up);
    bool passed = answer == GRANTS && world_is_passed(w, round, node);
    e.u.vote = (struct rl_ballot_in){.round = round,
                                     .node = node,
                                     .vote = votes[answer],
                                     .reason = (int16_t)(answer >= ANSWERS_ERROR ? -56 : 0),
                                     .counter = answer == GRANTS ? w->counter : 0,
                                     .start_ns = passed ? e.now_ns - w->early_ns : 0,
                                     .may_have_run = answer == BREAKS};
    world_step(w, &e);
}

/* A vote of the present round, with all nodes up. */
static inline void world_vote(struct world *w, uint32_t node, enum answer answer, uint64_t now_ns) {
    world_vote_of(w, w->lock.round.id, node, answer, now_ns, world_all(w));
}

static inline void world_extend(struct world *w, uint32_t ttl_ms, uint64_t now_ns, uint32_t up) {
    struct rl_event e = world_event(w, RL_EV_EXTEND, now_ns, up);
    e.u.ttl_ms = ttl_ms;
    world_step(w, &e);
}

/* Held, with a grant of each node of a mask; the others have not answered. */
static inline void world_hold(struct world *w, struct rl_acquire acquire, uint32_t grants) {
    uint64_t now_ns = w->model.now_ns;
    world_acquire(w, acquire, now_ns);
    world_attempt(w, now_ns, world_all(w));
    for (uint32_t node = 0; node < w->rules.n; node++) {
        if (grants >> node & 1) {
            world_vote(w, node, GRANTS, now_ns + MS);
        }
    }
    CHECK(w, w->lock.state == RL_GRANTED);
    world_simple(w, RL_EV_TELL, now_ns + MS, world_all(w));
    CHECK(w, w->lock.state == RL_HELD);
}

/* A tick at the time that the lock named. The next one is later: otherwise the driver would spin.
 */
static inline void world_tick(struct world *w, uint32_t up) {
    uint64_t wake_ns = rl_lock_wake_ns(&w->lock);
    CHECK(w, wake_ns != UINT64_MAX);
    world_simple(w, RL_EV_TICK, wake_ns, up);
    CHECK(w, rl_lock_wake_ns(&w->lock) > w->lock.now_ns);
}

#endif
