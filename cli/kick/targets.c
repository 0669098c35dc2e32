/* See targets.h. */
#include "kick/targets.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "redlock/semaphore.h"
#include "say.h"

/* -- What the nodes say -- */

static redlock_node_outcome outcome_of(const struct rl_kick_target *target, const char *node) {
    redlock_node_outcome outcome = REDLOCK_NODE_OUTCOME_INIT;
    for (size_t i = 0; redlock_lock_outcome(target->lock, i, &outcome) == 0; i++) {
        if (strcmp(outcome.node, node) == 0) {
            return outcome;
        }
    }
    return (redlock_node_outcome)REDLOCK_NODE_OUTCOME_INIT;
}

redlock_node_outcome rl_kick_outcome(const struct rl_kick_targets *targets, const char *node) {
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

/* The result for one target, and for all. */
static enum rl_kick_verdict verdict_of(const struct rl_kick_target *target,
                                       const struct rl_look *look) {
    size_t deleted = 0, unknown = 0;
    for (size_t i = 0; i < look->n; i++) {
        const redlock_node_outcome outcome = outcome_of(target, look->node_holders[i].s.node);
        deleted += outcome.vote == REDLOCK_VOTE_GRANTED;
        unknown += outcome.vote != REDLOCK_VOTE_GRANTED && outcome.vote != REDLOCK_VOTE_REFUSED;
    }
    return unknown >= look->needed ? RL_KICK_NOT_KNOWN : deleted > 0 ? RL_KICK_DONE : RL_KICK_GONE;
}

enum rl_kick_verdict rl_kick_verdict(const struct rl_kick_targets *targets,
                                     const struct rl_look *look) {
    enum rl_kick_verdict worst = RL_KICK_GONE;
    for (size_t i = 0; i < targets->n; i++) {
        const enum rl_kick_verdict one = verdict_of(&targets->items[i], look);
        worst = one > worst ? one : worst;
    }
    return worst;
}

/* -- The release -- */

static bool is_answered(const struct rl_session *session, const void *data) {
    const struct rl_kick_targets *targets = data;
    bool is_answered = true;
    (void)session;
    for (size_t i = 0; i < targets->n; i++) {
        const struct rl_kick_target *target = &targets->items[i];
        is_answered = is_answered && target->is_done;
        redlock_node_outcome outcome = REDLOCK_NODE_OUTCOME_INIT;
        for (size_t node = 0; redlock_lock_outcome(target->lock, node, &outcome) == 0; node++) {
            is_answered = is_answered && outcome.vote != REDLOCK_VOTE_PENDING;
        }
    }
    return is_answered;
}

static void on_released(redlock_lock *lock, int status, void *data) {
    struct rl_kick_target *target = data;
    (void)lock, (void)status; /* each node's answer is more precise */
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
    int exit_status = 0;
    for (size_t i = 0; exit_status == 0 && i < targets->n; i++) {
        exit_status = begin(session, key, &targets->items[i]);
    }
    if (exit_status == 0) {
        rl_session_until(session, is_answered, targets, session->args->client.node_timeout_ms,
                         false);
    }
    return exit_status;
}

#define NONE (-1)

/* text: a token as status shows it. Adds each token once; ignores anything that is not
 * libredlock's. */
static void add(struct rl_kick_targets *targets, const char *text, size_t votes, int32_t slot) {
    struct rl_token token;
    if (targets->n == RL_KICK_TARGETS_MAX || rl_token_parse(&token, text) != NULL) {
        return;
    }
    for (size_t i = 0; i < targets->n; i++) {
        struct rl_kick_target *other = &targets->items[i];
        if (other->slot == slot && strcmp(other->token.digits, token.digits) == 0) {
            other->votes += votes;
            return;
        }
    }
    token.n_slots = 0; /* of a holder of several slots, only this one */
    targets->items[targets->n++] =
        (struct rl_kick_target){.token = token, .votes = votes, .slot = slot};
}

static void be(struct rl_kick_targets *targets, const char *what, int64_t left_ms) {
    snprintf(targets->what, sizeof targets->what, "%s", what);
    targets->left_ms = left_ms;
}

/* -- Who is there -- */

static void add_readers(struct rl_kick_targets *targets, const struct rl_part *readers) {
    for (size_t i = 0; i < readers->n; i++) {
        add(targets, readers->items[i].token, readers->items[i].votes, NONE);
    }
    targets->unlisted = readers->total - readers->n;
}

/* Adds the tokens that no client holds by a quorum. */
static void add_left_overs(struct rl_kick_targets *targets, const struct rl_found *found) {
    for (size_t i = 0; i < found->look.n; i++) {
        const struct rl_look_node *seen = &found->look.node_holders[i];
        if (seen->s.status == 0 && seen->s.is_held && seen->token[0] != '\0') {
            add(targets, rl_token_show(NULL, 0, seen->token, seen->holder), 1, NONE);
        }
    }
    add_readers(targets, &found->readers);
}

static void choose_lock(struct rl_kick_targets *targets, const struct rl_found *found) {
    const struct rl_look *look = &found->look;
    if (look->is_held && !look->is_shared) {
        be(targets, "lock", look->remaining_ms);
        add(targets, look->token, look->holding, NONE);
    } else if (look->is_held) {
        be(targets, found->readers.n == 1 ? "reader" : "readers", look->remaining_ms);
        add_readers(targets, &found->readers);
    } else {
        be(targets, "leftover", 0);
        add_left_overs(targets, found);
    }
}

static void choose_slot(struct rl_kick_targets *targets, const struct rl_part *slots,
                        int64_t number) {
    for (size_t i = 0; i < slots->n; i++) {
        const struct rl_item *slot = &slots->items[i];
        if (slot->number == number && !slot->is_reserved) {
            be(targets, rl_text("slot:%" PRId64, number), slot->left_ms);
            add(targets, slot->token, slot->votes, (int32_t)slot->number);
        }
    }
}

/* Keeps only the target with this token. */
static void keep(struct rl_kick_targets *targets, const char *digits) {
    size_t kept = 0;
    for (size_t i = 0; i < targets->n; i++) {
        if (strcmp(targets->items[i].token.digits, digits) == 0) {
            targets->items[kept++] = targets->items[i];
        }
    }
    targets->n = kept;
    targets->unlisted = 0;
    if (strcmp(targets->what, "readers") == 0) {
        be(targets, "reader", targets->left_ms);
    }
}

/* -- Nobody is -- */

static int no_slot(const struct rl_found *found, int64_t number) {
    char slots[128] = "";
    size_t used = 0;
    for (size_t i = 0; i < found->slots.n && used + 16 < sizeof slots; i++) {
        if (!found->slots.items[i].is_reserved) {
            used += (size_t)snprintf(slots + used, sizeof slots - used, "%s%" PRIu32,
                                     used > 0 ? ", " : "", found->slots.items[i].number);
        }
    }
    if (number != NONE) {
        return rl_fail(RL_EXIT_HELD, "%s: nobody has slot %" PRId64 "; in use are: %s",
                       found->look.shown, number, used > 0 ? slots : "none");
    }
    return rl_usage("%s is a semaphore: say which slot, by --slot; in use are: %s",
                    found->look.shown, slots);
}

static int nobody(const struct rl_found *found, const struct rl_args *args) {
    const struct rl_look *look = &found->look;
    const bool is_odd = look->is_foreign || look->having > 0;
    if (args->slot != NONE || (!is_odd && found->slots.n > 0)) {
        return no_slot(found, args->slot);
    }
    if (is_odd) {
        const char *why = rl_look_say(look, 0);
        return rl_usage(
            "%s: %s; only a lock of this library can be kicked. \"Taking a lock away\" in "
            "docs/troubleshooting.md has the command for redis-cli",
            found->look.shown, why != NULL ? why : "its key is not a lock of this library");
    }
    if (!look->is_answered) {
        return rl_fail(RL_EXIT_NO_QUORUM,
                       "%s: nothing is known of it: %zu of %zu nodes answer (%zu needed)",
                       found->look.shown, look->answered, look->n, look->needed);
    }
    return rl_fail(RL_EXIT_HELD, "%s: nobody holds it, there is nothing to kick",
                   found->look.shown);
}

int rl_kick_targets_choose(struct rl_kick_targets *targets, const struct rl_found *found,
                           const struct rl_args *args) {
    struct rl_token token = {.digits = ""};
    memset(targets, 0, sizeof *targets);
    const char *why = args->token != NULL ? rl_token_parse(&token, args->token) : NULL;
    if (why != NULL) {
        return rl_usage("--token: %s", why);
    }
    if (args->slot != NONE) {
        choose_slot(targets, &found->slots, args->slot);
    } else {
        choose_lock(targets, found);
    }
    if (targets->n == 0) {
        return nobody(found, args);
    }
    if (args->token != NULL) {
        keep(targets, token.digits);
    }
    assert(args->token != NULL || targets->n > 0);
    return targets->n > 0 ? 0
                          : rl_fail(RL_EXIT_LOST, "%s: nobody holds it by this token any more",
                                    found->look.shown);
}

const char *rl_kick_targets_say(const struct rl_kick_targets *targets) {
    const struct rl_kick_target *first = &targets->items[0];
    const char *who =
        first->token.holder[0] != '\0' ? first->token.holder : "a holder without a name";
    const bool is_left = strcmp(targets->what, "leftover") == 0;
    assert(targets->n > 0);
    if (first->slot != NONE) {
        return rl_text("%s (slot %" PRId32 ")", who, first->slot);
    }
    return rl_text(
        "%s%s", is_left ? "what is left of " : "",
        targets->n == 1 ? who : rl_text("%zu %s", targets->n, is_left ? "holders" : "readers"));
}
