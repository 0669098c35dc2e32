/* See permit_answer.h. */
#include "client/permit_answer.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "client/permit.h"
#include "client/step.h"

void rl_permit_answer(struct rl_line_request *call, const struct rl_answer *answer) {
    redlock_lock *lock = call->lock;
    struct rl_permit *permit = lock->permit;
    assert(call->request.peeks);
    if (!permit->asks || permit->place != call->place) {
        return; /* LEAVE is on its way */
    }
    assert(lock->core.state == RL_READY);
    permit->asks = false;
    if (answer->verdict == RL_YES && rl_permit_may_be(lock, &answer->line.slots)) {
        permit->next = answer->line.slots;
        rl_step_simple(lock, RL_EV_READY);
    } else if (answer->verdict == RL_NO) {
        permit->found_none = true;
        rl_step_simple(lock, RL_EV_NONE);
    } else if (answer->reason == REDLOCK_ERR_NODE_PERMITS) {
        rl_permit_disagrees(lock, answer->text);
    } else {
        permit->is_blind = true;
        rl_step_simple(lock, RL_EV_READY);
    }
}

/* "PERMITS this semaphore has 5 permits, not 3" */
void rl_permit_disagrees(redlock_lock *lock, const char *text) {
    unsigned kept = 0;
    assert(lock->core.state == RL_READY || lock->core.state == RL_WAITING);
    const char *at = strstr(text, " has ");
    if (at != NULL && sscanf(at, " has %5u", &kept) == 1 && kept <= UINT16_MAX) {
        lock->permit->kept = (uint16_t)kept;
    }
    rl_step_simple(lock, RL_EV_PERMITS);
}
