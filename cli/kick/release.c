/* See release.h. */
#include "kick/release.h"

#include <assert.h>

#include "exits.h"
#include "redlock/semaphore.h"
#include "say.h"

#define LOOK_MS 5 /* how often late answers are looked for */

struct release {
    struct rl_session *session;
    struct rl_kick_targets *targets;
    uint64_t began_ms;
};

/* -- What the nodes say -- */

static redlock_node_outcome outcome_of(const struct rl_kick_target *target, size_t node) {
    redlock_node_outcome outcome = REDLOCK_NODE_OUTCOME_INIT;
    if (target->lock != NULL) {
        redlock_lock_outcome(target->lock, node, &outcome);
    }
    return outcome;
}

redlock_node_outcome rl_kick_outcome(const struct rl_kick_targets *targets, size_t node) {
    redlock_node_outcome all = outcome_of(&targets->items[0], node);
    for (size_t i = 1; i < targets->n; i++) {
        const redlock_node_outcome one = outcome_of(&targets->items[i], node);
        const bool is_refused = all.vote == REDLOCK_VOTE_REFUSED;
        const bool is_better = one.vote == REDLOCK_VOTE_GRANTED && all.vote != REDLOCK_VOTE_FAILED;
        if (is_better || (is_refused && one.vote != REDLOCK_VOTE_REFUSED)) {
            all = one;
        }
    }
    return all;
}

enum rl_kick_verdict rl_kick_verdict_of(const struct rl_kick_target *target, size_t n_nodes) {
    size_t deleted = 0, unknown = 0;
    for (size_t i = 0; i < n_nodes; i++) {
        const redlock_node_outcome outcome = outcome_of(target, i);
        deleted += outcome.vote == REDLOCK_VOTE_GRANTED;
        unknown += outcome.vote != REDLOCK_VOTE_GRANTED && outcome.vote != REDLOCK_VOTE_REFUSED;
    }
    return unknown >= n_nodes / 2 + 1 ? RL_KICK_NOT_KNOWN
           : deleted > 0              ? RL_KICK_DONE
                                      : RL_KICK_GONE;
}

enum rl_kick_verdict rl_kick_verdict(const struct rl_kick_targets *targets, size_t n_nodes) {
    enum rl_kick_verdict worst = RL_KICK_GONE;
    for (size_t i = 0; i < targets->n; i++) {
        const enum rl_kick_verdict one = rl_kick_verdict_of(&targets->items[i], n_nodes);
        worst = one > worst ? one : worst;
    }
    return worst;
}

/* -- The release -- */

static bool is_answered(const struct release *release) {
    bool is_answered = true;
    for (size_t i = 0; i < release->targets->n; i++) {
        const struct rl_kick_target *target = &release->targets->items[i];
        is_answered = is_answered && target->is_done;
        for (size_t node = 0; node < release->session->args->nodes.n; node++) {
            is_answered = is_answered && outcome_of(target, node).vote != REDLOCK_VOTE_PENDING;
        }
    }
    return is_answered;
}

static void on_look(uv_timer_t *timer) {
    struct release *release = timer->data;
    const uint64_t waited_ms = uv_now(timer->loop) - release->began_ms;
    if (is_answered(release) || waited_ms >= (uint64_t)release->session->args->node_timeout_ms) {
        rl_session_done(release->session, 0);
    }
}

static void on_released(redlock_lock *lock, int status, void *data) {
    struct rl_kick_target *target = data;
    (void)lock, (void)status; /* each node's answer says more */
    target->is_done = true;
}

/* Returns 0 or an exit status. */
static int begin(struct rl_session *session, const char *key, struct rl_kick_target *target) {
    struct rl_args *args = session->args;
    const struct rl_token *token = &target->token;
    args->permits = target->slot >= 0 ? target->slot + 1 : 0;
    args->take = 1;
    int exit_status = rl_session_lock(session, key, token->holder[0] != '\0' ? token->holder : NULL,
                                      &target->lock);
    if (exit_status != 0) {
        return exit_status;
    }
    int status = target->slot >= 0 ? redlock_lock_set_slots(target->lock, &target->slot, 1) : 0;
    status = status == 0 ? redlock_release_token(target->lock, token->digits, on_released, target)
                         : status;
    return status == 0 ? 0 : rl_session_refused(target->lock, key, status);
}

int rl_kick_release(struct rl_session *session, const char *key, struct rl_kick_targets *targets) {
    struct release release = {.session = session, .targets = targets};
    uv_timer_t timer;
    int exit_status = 0;
    for (size_t i = 0; exit_status == 0 && i < targets->n; i++) {
        exit_status = begin(session, key, &targets->items[i]);
    }
    uv_update_time(&session->loop);
    release.began_ms = uv_now(&session->loop);
    uv_timer_init(&session->loop, &timer);
    timer.data = &release;
    uv_timer_start(&timer, on_look, 0, LOOK_MS);
    if (exit_status == 0) {
        rl_session_wait(session);
    }
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&session->loop, UV_RUN_NOWAIT);
    return exit_status;
}
