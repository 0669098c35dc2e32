/* See plan.h. */
#include "plan.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exits.h"
#include "say.h"
#include "tool/number.h"
#include "work.h"

static int64_t validity_of(int64_t ttl_ms) {
    return ttl_ms - rl_args_drift_ms(ttl_ms);
}

/* A renewal begins when a third of the ttl is used up. One may hang for node_timeout_ms, and there
 * has to be time for another before the command is terminated; that begins no earlier than at half
 * of the validity. */
static bool is_long_enough(const struct rl_args *args, int64_t ttl_ms, int64_t grace_ms) {
    int64_t validity_ms = validity_of(ttl_ms);
    int64_t margin_ms = RL_WORK_DUE_MS(grace_ms);
    return margin_ms <= validity_ms / 2 &&
           ttl_ms / 3 + args->node_timeout_ms <= validity_ms - margin_ms;
}

/* That the ttl has room for, in tenths of a second; 0: for none. */
static int64_t longest_grace_ms(const struct rl_args *args) {
    int64_t grace_ms = args->ttl_ms / 2 / 100 * 100;
    while (grace_ms > 0 && !is_long_enough(args, args->ttl_ms, grace_ms)) {
        grace_ms -= 100;
    }
    return grace_ms;
}

int rl_plan_check_ttl(const struct rl_args *args) {
    char ttl[TOOL_DURATION_TEXT_MAX], grace[TOOL_DURATION_TEXT_MAX],
        timeout[TOOL_DURATION_TEXT_MAX];
    char enough[TOOL_DURATION_TEXT_MAX];
    struct rl_args other = *args;
    if (is_long_enough(args, args->ttl_ms, rl_args_grace_ms(args))) {
        return 0;
    }
    const char *option = "--ttl", *bound = "more";
    int64_t ttl_ms_max = args->guard == REDLOCK_GUARD_OFF ? REDLOCK_TTL_MS_MAX : args->max_ttl_ms;
    while (!is_long_enough(&other, other.ttl_ms, rl_args_grace_ms(&other)) &&
           other.ttl_ms < REDLOCK_TTL_MS_MAX) {
        other.ttl_ms += 100 - other.ttl_ms % 100;
    }
    int64_t enough_ms = other.ttl_ms;
    if (enough_ms > ttl_ms_max && longest_grace_ms(args) > 0) { /* --max-ttl would refuse it */
        option = "--grace";
        bound = "less";
        enough_ms = longest_grace_ms(args);
    }
    return rl_fail(RL_EXIT_USAGE,
                   "--ttl %s is too short to renew the lock (a node may take --node-timeout %s to "
                   "answer) and to end the command in time (--grace %s); give %s %s or %s",
                   tool_duration_show(args->ttl_ms, ttl, sizeof ttl),
                   tool_duration_show(args->node_timeout_ms, timeout, sizeof timeout),
                   tool_duration_show(rl_args_grace_ms(args), grace, sizeof grace), option,
                   tool_duration_show(enough_ms, enough, sizeof enough), bound);
}

bool rl_plan_variables(struct rl_variables *variables, const char *keys, const char *token,
                       int64_t valid_ms, uint64_t fence, const char *slots) {
    size_t used = 0;
    memset(variables, 0, sizeof *variables);
    bool done = asprintf(&variables->list[used++], "REDLOCK_KEY=%s", keys) >= 0;
    if (done && token != NULL) {
        done = asprintf(&variables->list[used++], "REDLOCK_TOKEN=%s", token) >= 0;
    }
    done = done && asprintf(&variables->list[used++], "REDLOCK_VALID_MS=%" PRId64, valid_ms) >= 0;
    if (done && fence != 0) {
        done = asprintf(&variables->list[used++], "REDLOCK_FENCE=%" PRIu64, fence) >= 0;
    }
    if (done && slots != NULL) {
        done = asprintf(&variables->list[used++], "REDLOCK_SLOT=%s", slots) >= 0;
    }
    assert(used < RL_PLAN_VARIABLES);
    if (!done) {
        variables->list[used - 1] = NULL; /* asprintf() leaves it undefined */
        rl_plan_variables_free(variables);
    }
    return done;
}

void rl_plan_variables_free(struct rl_variables *variables) {
    for (size_t i = 0; i < RL_PLAN_VARIABLES; i++) {
        free(variables->list[i]);
        variables->list[i] = NULL;
    }
}
