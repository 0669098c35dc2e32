/* Options: checks, defaults, and a sentence for each error.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "client/options.h"
#include "lock/message.h"

#define DURATION_MS_MAX 3600000 /* of connect, node and reconnect times: an hour */
#define TIMER_MS 1              /* how late a libuv timer may be by its resolution alone */

/* -- Client -- */

static bool check_duration(const char *name, int64_t value, char *error, size_t size) {
    if (value >= 1 && value <= DURATION_MS_MAX) {
        return true;
    }
    rl_error_set(error, size, REDLOCK_ERR_INVALID, "%s is %lld: it must be 1 to %d ms", name,
                 (long long)value, DURATION_MS_MAX);
    return false;
}

static bool check_times(const redlock_client_options *o, char *error, size_t size) {
    if (!check_duration("connect_timeout_ms", o->connect_timeout_ms, error, size) ||
        !check_duration("node_timeout_ms", o->node_timeout_ms, error, size) ||
        !check_duration("reconnect_min_ms", o->reconnect_min_ms, error, size) ||
        !check_duration("reconnect_max_ms", o->reconnect_max_ms, error, size)) {
        return false;
    }
    if (o->reconnect_min_ms > o->reconnect_max_ms) {
        rl_error_set(error, size, REDLOCK_ERR_INVALID,
                     "reconnect_min_ms is %lld, above reconnect_max_ms, which is %lld",
                     (long long)o->reconnect_min_ms, (long long)o->reconnect_max_ms);
        return false;
    }
    return true;
}

static bool check_drift(const redlock_client_options *o, char *error, size_t size) {
    if (!(o->drift_ratio >= 0 && o->drift_ratio < 1)) { /* also refuses NaN */
        rl_error_set(error, size, REDLOCK_ERR_INVALID,
                     "drift_ratio is %g: it must be 0 or more and below 1", o->drift_ratio);
        return false;
    }
    if (o->drift_ms < 0 || o->drift_ms > REDLOCK_TTL_MS_MAX) {
        rl_error_set(error, size, REDLOCK_ERR_INVALID, "drift_ms is %lld: it must be 0 to %d",
                     (long long)o->drift_ms, REDLOCK_TTL_MS_MAX);
        return false;
    }
    if (o->lost_margin_ms < 0 || o->lost_margin_ms > REDLOCK_TTL_MS_MAX) {
        rl_error_set(error, size, REDLOCK_ERR_INVALID, "lost_margin_ms is %lld: it must be 0 to %d",
                     (long long)o->lost_margin_ms, REDLOCK_TTL_MS_MAX);
        return false;
    }
    return true;
}

static bool check_retention(int64_t retention_ms, char *error, size_t size) {
    if (retention_ms < 1000 || retention_ms > REDLOCK_RETENTION_MS_MAX) {
        rl_error_set(error, size, REDLOCK_ERR_INVALID,
                     "fence_retention_ms is %lld: it must be 1000 to %lld", (long long)retention_ms,
                     (long long)REDLOCK_RETENTION_MS_MAX);
        return false;
    }
    return true;
}

static bool check_guard(const redlock_client_options *o, char *error, size_t size) {
    int guard = (int)o->guard;
    if (guard != REDLOCK_GUARD_OFF && guard != REDLOCK_GUARD_OBSERVED &&
        guard != REDLOCK_GUARD_STRICT) {
        rl_error_set(error, size, REDLOCK_ERR_INVALID,
                     "guard is %d: it must be one of REDLOCK_GUARD_STRICT, _OBSERVED and _OFF",
                     guard);
        return false;
    }
    if (o->max_ttl_ms < 1 || o->max_ttl_ms > REDLOCK_TTL_MS_MAX) {
        rl_error_set(error, size, REDLOCK_ERR_INVALID, "max_ttl_ms is %lld: it must be 1 to %d",
                     (long long)o->max_ttl_ms, REDLOCK_TTL_MS_MAX);
        return false;
    }
    return true;
}

static bool check_name(const char *name, char *error, size_t size) {
    size_t length = name != NULL ? strlen(name) : 1;
    if (length < 1 || length > 64) {
        rl_error_set(error, size, REDLOCK_ERR_INVALID,
                     "client_name has %zu characters: 1 to 64, or NULL for none", length);
        return false;
    }
    for (const char *at = name; at != NULL && *at != '\0'; at++) {
        if (*at < '!' || *at > '~') {
            rl_error_set(error, size, REDLOCK_ERR_INVALID,
                         "client_name has a space or a character that is not printable");
            return false;
        }
    }
    return true;
}

static bool check_nodes(const redlock_client_options *o, char *error, size_t size) {
    if (o->nodes == NULL || o->n_nodes == 0) {
        rl_error_set(error, size, REDLOCK_ERR_INVALID,
                     "no nodes are given: nodes and n_nodes need at least one URL");
        return false;
    }
    if (o->n_nodes > REDLOCK_NODES_MAX) {
        rl_error_set(error, size, REDLOCK_ERR_INVALID, "%zu nodes are given: the maximum is %d",
                     o->n_nodes, REDLOCK_NODES_MAX);
        return false;
    }
    return true;
}

static bool check_metrics(const redlock_client_options *o, char *error, size_t size) {
    if (o->metrics != 0 && o->metrics != 1) {
        rl_error_set(error, size, REDLOCK_ERR_INVALID, "metrics is %d: it must be 0 or 1",
                     o->metrics);
        return false;
    }
    if (o->metrics_label != NULL && !o->metrics) {
        rl_error_set(error, size, REDLOCK_ERR_INVALID,
                     "metrics_label is set, and metrics is 0: set metrics to 1, too");
        return false;
    }
    return true;
}

static bool check_allocator(const redlock_allocator *allocator, char *error, size_t size) {
    if (allocator != NULL && (allocator->malloc == NULL || allocator->free == NULL)) {
        rl_error_set(error, size, REDLOCK_ERR_INVALID,
                     "allocator: malloc and free must both be set");
        return false;
    }
    return true;
}

/* Converts to millionths, rounded up. Volatile, so that the product is a double: with the extended
 * precision of i386, 0.01 would be slightly more than 10,000 millionths. */
static uint32_t to_ppm(double ratio) {
    const volatile double millionths = ratio * 1e6;
    uint32_t ppm = (uint32_t)millionths;
    return ppm < millionths ? ppm + 1 : ppm;
}

int rl_options_apply(redlock_client *client, const redlock_client_options *o, char *error,
                     size_t error_size) {
    if (!check_nodes(o, error, error_size) || !check_times(o, error, error_size) ||
        !check_drift(o, error, error_size) || !check_name(o->client_name, error, error_size) ||
        !check_retention(o->fence_retention_ms, error, error_size) ||
        !check_guard(o, error, error_size) || !check_metrics(o, error, error_size) ||
        !check_allocator(o->allocator, error, error_size)) {
        return REDLOCK_ERR_INVALID;
    }
    client->rules = (struct rl_rules){
        .n = (uint32_t)o->n_nodes,
        .drift_ppm = to_ppm(o->drift_ratio),
        .drift_ns = (uint64_t)o->drift_ms * RL_NS_PER_MS,
        .node_timeout_ns = (uint64_t)o->node_timeout_ms * RL_NS_PER_MS,
        .lost_margin_ns = ((uint64_t)o->lost_margin_ms + TIMER_MS) * RL_NS_PER_MS,
        .not_asked_reason = REDLOCK_ERR_NODE_SKIPPED,
        .duplicate_reason = REDLOCK_ERR_DUPLICATE,
    };
    client->guard_rules = (struct rl_guard_rules){
        .mode = (enum rl_guard_mode)o->guard,
        .quarantine_ns = (uint64_t)o->max_ttl_ms * RL_NS_PER_MS +
                         rl_drift_ns(&client->rules, (uint32_t)o->max_ttl_ms),
    };
    client->max_ttl_ms =
        o->guard == REDLOCK_GUARD_OFF ? REDLOCK_TTL_MS_MAX : (uint32_t)o->max_ttl_ms;
    if (o->client_name != NULL) {
        snprintf(client->client_name, sizeof client->client_name, "%s", o->client_name);
    }
    client->node_options = (struct rl_node_options){
        .handshake = {.client_name = o->client_name != NULL ? client->client_name : NULL,
                      .wants_info = o->guard != REDLOCK_GUARD_OFF},
        .connect_timeout_ns = (uint64_t)o->connect_timeout_ms * RL_NS_PER_MS,
        .stall_ns = 4 * client->rules.node_timeout_ns,
        .backoff_min_ns = (uint64_t)o->reconnect_min_ms * RL_NS_PER_MS,
        .backoff_max_ns = (uint64_t)o->reconnect_max_ms * RL_NS_PER_MS,
        .requests_max = RL_NODE_REQUESTS_MAX,
        .unsent_max = RL_NODE_UNSENT_MAX,
    };
    client->fence_retention_ms = (uint32_t)o->fence_retention_ms;
    client->trace = o->trace;
    client->trace_data = o->trace_data;
    return 0;
}

/* -- Acquire and extend -- */

int rl_options_ttl(redlock_lock *lock, int64_t ttl_ms, int64_t min_validity_ms) {
    if (ttl_ms < 1 || ttl_ms > REDLOCK_TTL_MS_MAX) {
        rl_message_refuse_format(lock, "ttl_ms is %lld: it must be 1 to %d", (long long)ttl_ms,
                                 REDLOCK_TTL_MS_MAX);
        return REDLOCK_ERR_INVALID;
    }
    if (ttl_ms > lock->client->max_ttl_ms) {
        rl_message_refuse_format(
            lock,
            "ttl_ms is %lld, above max_ttl_ms, which is %lld: the guard keeps a "
            "restarted node from voting for no longer than that; ask for a shorter "
            "ttl and extend it, or raise max_ttl_ms in all clients",
            (long long)ttl_ms, (long long)lock->client->max_ttl_ms);
        return REDLOCK_ERR_INVALID;
    }
    uint64_t validity_ns = rl_validity_ns(&lock->client->rules, (uint32_t)ttl_ms);
    if (validity_ns <= (uint64_t)min_validity_ms * RL_NS_PER_MS) {
        double drift_ms = (double)rl_drift_ns(&lock->client->rules, (uint32_t)ttl_ms) / 1e6;
        rl_message_refuse_format(
            lock,
            "ttl_ms is %lld: the drift allowance of %.2f ms and min_validity_ms of "
            "%lld leave nothing of it; ask for a longer ttl",
            (long long)ttl_ms, drift_ms, (long long)min_validity_ms);
        return REDLOCK_ERR_INVALID;
    }
    return 0;
}

static bool check_range(redlock_lock *lock, const char *name, int64_t value, int64_t least,
                        int64_t most, bool no_limit) {
    if ((value >= least && value <= most) || (no_limit && value == REDLOCK_NO_LIMIT)) {
        return true;
    }
    rl_message_refuse_format(lock, "%s is %lld: it must be %lld to %lld%s", name, (long long)value,
                             (long long)least, (long long)most,
                             no_limit ? ", or REDLOCK_NO_LIMIT" : "");
    return false;
}

/* Determines the watchdog's interval: after how much of the validity it extends; 0: no watchdog. */
static bool watch(redlock_lock *lock, const redlock_acquire_options *full, uint32_t *renew_ms) {
    int64_t renew = full->renew_ms;
    *renew_ms = 0;
    if (!full->auto_extend) {
        return true;
    }
    if (renew == REDLOCK_THIRD_OF_TTL) {
        renew = full->ttl_ms / 3;
    }
    uint64_t validity_ns = rl_validity_ns(&lock->client->rules, (uint32_t)full->ttl_ms);
    uint64_t margin_ns = lock->client->rules.lost_margin_ns;
    if (margin_ns > validity_ns / 2) {
        margin_ns = validity_ns / 2; /* the most there is, see rl_lock_set_validity() */
    }
    int64_t most = (int64_t)((validity_ns - margin_ns - 1) / RL_NS_PER_MS);
    if (renew < 1 || renew > most) {
        rl_message_refuse_format(
            lock,
            "renew_ms is %lld: with ttl_ms %lld it must be 1 to %lld, since on_lost "
            "takes %.2f of the %.2f ms of validity (lost_margin_ms); renew sooner, "
            "or ask for a longer ttl",
            (long long)renew, (long long)full->ttl_ms, (long long)most, (double)margin_ns / 1e6,
            (double)validity_ns / 1e6);
        return false;
    }
    *renew_ms = (uint32_t)renew;
    return true;
}

static bool fence(redlock_lock *lock, const redlock_acquire_options *full) {
    const uint32_t retention_ms = lock->client->fence_retention_ms;
    if (full->fencing && full->ttl_ms > retention_ms / 2) { /* see fence.h, "later than that" */
        rl_message_refuse_format(
            lock,
            "ttl_ms is %lld, above half of fence_retention_ms of the client, which is "
            "%u: counters must outlive locks by a wide margin; raise it",
            (long long)full->ttl_ms, (unsigned)retention_ms);
        return false;
    }
    return true;
}

static uint32_t or_no_limit(int64_t value) {
    return value == REDLOCK_NO_LIMIT ? RL_NO_LIMIT : (uint32_t)value;
}

int rl_options_acquire(redlock_lock *lock, const redlock_acquire_options *user,
                       struct rl_acquire *out, redlock_acquire_options *full) {
    *full = (redlock_acquire_options)REDLOCK_ACQUIRE_OPTIONS_INIT;
    if (user != NULL && !rl_sized_take(full, sizeof *full, user, user->size)) {
        rl_message_refuse_format(
            lock, "options.size is %zu, not %zu: begin with REDLOCK_ACQUIRE_OPTIONS_INIT",
            user->size, sizeof *full);
        return REDLOCK_ERR_INVALID;
    }
    const int64_t most = UINT32_MAX - 1;
    if (!check_range(lock, "tries", full->tries, 1, most, true) ||
        !check_range(lock, "wait_ms", full->wait_ms, 0, most, true) ||
        !check_range(lock, "delay_ms", full->delay_ms, 0, REDLOCK_TTL_MS_MAX, false) ||
        !check_range(lock, "jitter_ms", full->jitter_ms, 0, REDLOCK_TTL_MS_MAX, false) ||
        !check_range(lock, "min_validity_ms", full->min_validity_ms, 0, REDLOCK_TTL_MS_MAX,
                     false) ||
        !check_range(lock, "auto_extend", full->auto_extend, 0, 1, false) ||
        !check_range(lock, "fencing", full->fencing, 0, 1, false) ||
        !check_range(lock, "max_hold_ms", full->max_hold_ms, 1, most, true)) {
        return REDLOCK_ERR_INVALID;
    }
    int status = rl_options_ttl(lock, full->ttl_ms, full->min_validity_ms);
    uint32_t renew_ms;
    if (status != 0 || !watch(lock, full, &renew_ms) || !fence(lock, full)) {
        return REDLOCK_ERR_INVALID;
    }
    bool once = full->wait_ms == 0;
    *out = (struct rl_acquire){
        .ttl_ms = (uint32_t)full->ttl_ms,
        .tries = once ? 1 : or_no_limit(full->tries),
        .wait_ms = once ? RL_NO_LIMIT : or_no_limit(full->wait_ms),
        .delay_ms = (uint32_t)full->delay_ms,
        .jitter_ms = (uint32_t)full->jitter_ms,
        .min_validity_ms = (uint32_t)full->min_validity_ms,
        .renew_ms = renew_ms,
        .max_hold_ms = full->max_hold_ms == REDLOCK_NO_LIMIT ? 0 : (uint32_t)full->max_hold_ms,
        .fences = full->fencing != 0,
    };
    return 0;
}

int redlock_client_options_init(redlock_client_options *options, size_t size) {
    static const redlock_client_options fresh = REDLOCK_CLIENT_OPTIONS_INIT;
    return rl_sized_fresh(options, size, &fresh, sizeof fresh);
}

int redlock_lock_options_init(redlock_lock_options *options, size_t size) {
    static const redlock_lock_options fresh = REDLOCK_LOCK_OPTIONS_INIT;
    return rl_sized_fresh(options, size, &fresh, sizeof fresh);
}

int redlock_acquire_options_init(redlock_acquire_options *options, size_t size) {
    static const redlock_acquire_options fresh = REDLOCK_ACQUIRE_OPTIONS_INIT;
    return rl_sized_fresh(options, size, &fresh, sizeof fresh);
}
