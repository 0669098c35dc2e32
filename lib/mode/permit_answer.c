/* See permit_answer.h. */
#include "mode/permit_answer.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mark.h"
#include "core/quorum.h"
#include "lock/step.h"
#include "mode/permit.h"

/* -- The number of permits -- */

/* Whether the acquire cannot succeed: no quorum is left that could agree. */
static bool is_outvoted(const redlock_lock *lock) {
    const uint32_t n = lock->client->n_nodes;
    const uint8_t state = lock->core.state;
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        count += lock->permit->differ >> i & 1;
    }
    assert(count <= n);
    const bool asks = state == RL_WAITING || state == RL_READY || state == RL_BACKOFF ||
                      (state == RL_TRYING && !lock->core.adopts);
    return asks && count > n - rl_quorum(n);
}

bool rl_permit_hear(redlock_lock *lock, uint32_t node, const struct rl_answer *answer) {
    struct rl_permit *permit = lock->permit;
    const uint32_t bit = UINT32_C(1) << node;
    const char *at = strstr(answer->text, " has "); /* "PERMITS this semaphore has 5 permits" */
    unsigned kept = 0;
    assert(node < lock->client->n_nodes);
    if (answer->verdict == RL_YES || answer->verdict == RL_NO) {
        permit->differ &= ~bit;
        return false;
    }
    if (answer->verdict != RL_ERROR || answer->reason != REDLOCK_ERR_NODE_PERMITS) {
        return false;
    }
    permit->differ |= bit;
    if (at != NULL && sscanf(at, " has %5u", &kept) == 1 && kept <= RL_PERMITS_MAX) {
        permit->kept = (uint16_t)kept;
    }
    if (!is_outvoted(lock)) {
        return false;
    }
    rl_step_simple(lock, RL_EV_PERMITS);
    return true;
}

void rl_permit_learn(redlock_lock *lock, uint32_t node, const struct rl_request *request,
                     const struct rl_answer *answer) {
    struct rl_permit *permit = lock->permit;
    assert(node < lock->client->n_nodes);
    if (request->kind != RL_COMMAND_TAKE || !request->has_turn ||
        !rl_lock_has_token(&lock->core, request->token)) {
        return;
    }
    if (rl_permit_hear(lock, node, answer)) {
        return; /* its vote is too late */
    }
    const uint32_t which = answer->line.which > 0 ? answer->line.which - 1u : 0;
    assert(permit->slots.n > 0 && lock->target.permits > 0);
    if (answer->verdict == RL_NO && which < permit->slots.n) {
        permit->from = (uint16_t)((permit->slots.at[which] + 1u) % lock->target.permits);
    }
}

/* -- A peek -- */

static bool is_same_name(const struct rl_target *target, const struct rl_resource *resource) {
    const struct rl_bytes *name = &target->resources[0];
    assert(target->n > 0);
    return name->length == resource->length &&
           memcmp(name->data, resource->bytes, name->length) == 0;
}

/* Whether a release of the same semaphore was sent before the peek, and sent again behind it,
 * because home did not know its script or refused the native command in its place. */
static bool is_overtaken(const redlock_lock *lock, uint32_t node) {
    const struct rl_request *request = lock->client->nodes[node].node.head;
    bool found = false;
    assert(lock->resource_count == 1);
    for (; request != NULL && !found; request = request->next) {
        found = request->sent_again && request->lock_mode == RL_PERMIT &&
                rl_command_releases((enum rl_command_kind)request->kind) &&
                is_same_name(request->target, lock->resources[0]);
    }
    return found;
}

static void take_no(redlock_lock *lock, uint32_t node) {
    if (is_overtaken(lock, node) && rl_permit_peek(lock)) {
        RL_MARK(PEEK_AGAIN);
        return;
    }
    lock->permit->found_none = true;
    rl_step_simple(lock, RL_EV_NONE);
}

void rl_permit_answer(struct rl_line_request *call, const struct rl_answer *answer) {
    redlock_lock *lock = call->lock;
    struct rl_permit *permit = lock->permit;
    assert(call->request.join == RL_JOIN_PEEK);
    if (!permit->asks || permit->place != call->place) {
        return; /* a LEAVE is on its way */
    }
    assert(lock->core.state == RL_READY);
    permit->asks = false;
    if (rl_permit_hear(lock, call->node, answer)) {
        return;
    }
    if (answer->verdict == RL_YES && rl_permit_may_be(lock, &answer->line.slots)) {
        permit->next = answer->line.slots;
        rl_step_simple(lock, RL_EV_READY);
    } else if (answer->verdict == RL_NO) {
        take_no(lock, call->node);
    } else {
        if (answer->verdict == RL_UNANSWERED) { /* home may have reserved slots */
            rl_line_call_leave(lock, lock->resources[0], call->node, call->place, false);
        }
        permit->is_blind = answer->reason != REDLOCK_ERR_NODE_PERMITS; /* else ask the next */
        rl_step_simple(lock, RL_EV_READY);
    }
}
