/* See options.h. */
#include "client/options.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "mode/mode.h"
#include "nodes/sets.h"

#define DURATION_MS_MAX 3600000 /* of connect, node and reconnect times: an hour */
#define TIMER_MS 1              /* how late a libuv timer may be by its resolution alone */

/* -- Ranges -- */

struct range {
    const char *name;
    int64_t value, least, most;
    enum { PLAIN, MS, OR_NO_LIMIT } kind;
};

#define OUTSIDE "%s is %lld: it must be %lld to %lld%s"
static const char *const ends[] =
    {[PLAIN] = "", [MS] = " ms", [OR_NO_LIMIT] = ", or REDLOCK_NO_LIMIT"};

/* The first value outside its range, or NULL. */
static const struct range *outside(const struct range *range, size_t n) {
    for (const struct range *end = range + n; range < end; range++) {
        const bool is_none = range->kind == OR_NO_LIMIT && range->value == REDLOCK_NO_LIMIT;
        if (!is_none && (range->value < range->least || range->value > range->most)) {
            return range;
        }
    }
    return NULL;
}

/* -- Client -- */

int rl_options_client(redlock_client_options *full, const redlock_client_options *user) {
    *full = (redlock_client_options)REDLOCK_CLIENT_OPTIONS_INIT;
    if (user == NULL) {
        return REDLOCK_ERR_INVALID;
    }
    if (!rl_sized_take(full, sizeof *full, user, user->size)) {
        return rl_sized_refuse(user, sizeof *user, offsetof(redlock_client_options, error),
                               "REDLOCK_CLIENT_OPTIONS_INIT");
    }
    if (full->error == NULL) {
        full->error_size = 0;
    }
    rl_error_set(full->error, full->error_size, 0, "%s", "");
    if (full->allocator != NULL &&
        (full->allocator->malloc == NULL || full->allocator->free == NULL)) {
        return rl_error_invalid(full, "allocator: malloc and free must both be set");
    }
    return 0;
}

static int check_ranges(const redlock_client_options *o) {
    const struct range ranges[] = {
        {"connect_timeout_ms", o->connect_timeout_ms, 1, DURATION_MS_MAX, MS},
        {"node_timeout_ms", o->node_timeout_ms, 1, DURATION_MS_MAX, MS},
        {"reconnect_min_ms", o->reconnect_min_ms, 1, DURATION_MS_MAX, MS},
        {"reconnect_max_ms", o->reconnect_max_ms, 1, DURATION_MS_MAX, MS},
        {"drift_ms", o->drift_ms, 0, REDLOCK_TTL_MS_MAX, PLAIN},
        {"lost_margin_ms", o->lost_margin_ms, 0, REDLOCK_TTL_MS_MAX, PLAIN},
        {"fence_retention_ms", o->fence_retention_ms, 1000, REDLOCK_RETENTION_MS_MAX, PLAIN},
        {"max_ttl_ms", o->max_ttl_ms, 1, REDLOCK_TTL_MS_MAX, PLAIN},
        {"metrics", o->metrics, 0, 1, PLAIN},
        {"background", o->background, 0, 1, PLAIN},
    };
    const struct range *bad = outside(ranges, sizeof ranges / sizeof ranges[0]);
    if (bad != NULL) {
        return rl_error_invalid(o, OUTSIDE, bad->name, (long long)bad->value, (long long)bad->least,
                                (long long)bad->most, ends[bad->kind]);
    }
    if (o->reconnect_min_ms > o->reconnect_max_ms) {
        return rl_error_invalid(o,
                                "reconnect_min_ms is %lld, above reconnect_max_ms, which is %lld",
                                (long long)o->reconnect_min_ms, (long long)o->reconnect_max_ms);
    }
    if (!(o->drift_ratio >= 0 && o->drift_ratio < 1)) { /* also refuses NaN */
        return rl_error_invalid(o, "drift_ratio is %g: it must be 0 or more and below 1",
                                o->drift_ratio);
    }
    return 0;
}

static int check_name(const redlock_client_options *o) {
    const char *name = o->client_name;
    const size_t length = name != NULL ? strlen(name) : 1;
    if (length < 1 || length > 64) {
        return rl_error_invalid(o, "client_name has %zu characters: 1 to 64, or NULL for none",
                                length);
    }
    for (const char *at = name; at != NULL && *at != '\0'; at++) {
        if (*at < '!' || *at > '~') {
            return rl_error_invalid(o,
                                    "client_name has a space or a character that is not printable");
        }
    }
    return 0;
}

static int check_config_id(const redlock_client_options *o) {
    const char *id = o->config_id;
    if (id != NULL &&
        (strlen(id) != RL_CONFIG_ID_LEN || strspn(id, "0123456789abcdef") != RL_CONFIG_ID_LEN)) {
        return rl_error_invalid(
            o,
            "config_id is \"%.40s\": it must be %d hex digits, as \"redlock set "
            "show\" prints them, or NULL",
            id, RL_CONFIG_ID_LEN);
    }
    return 0;
}

static int check_nodes(const redlock_client_options *o) {
    if (o->nodes == NULL || o->n_nodes == 0) {
        return rl_error_invalid(o, "no nodes are given: nodes and n_nodes need at least one URL");
    }
    if (o->n_nodes > REDLOCK_NAMED_MAX) {
        return rl_error_invalid(
            o,
            "%zu nodes are given: the maximum is %d; a client finds the nodes of "
            "other sets by itself",
            o->n_nodes, REDLOCK_NAMED_MAX);
    }
    return 0;
}

static int check_choices(const redlock_client_options *o) {
    const int guard = (int)o->guard;
    if (guard != REDLOCK_GUARD_OFF && guard != REDLOCK_GUARD_OBSERVED &&
        guard != REDLOCK_GUARD_STRICT) {
        return rl_error_invalid(
            o, "guard is %d: it must be one of REDLOCK_GUARD_STRICT, _OBSERVED and _OFF", guard);
    }
    if (o->metrics_label != NULL && !o->metrics) {
        return rl_error_invalid(o, "metrics_label is set, and metrics is 0: set metrics to 1, too");
    }
    return 0;
}

/* Converts to millionths, rounded up. Volatile, so that the product is a double: with the extended
 * precision of i386, 0.01 would be slightly more than 10,000 millionths. */
static uint32_t to_ppm(double ratio) {
    const volatile double millionths = ratio * 1e6;
    uint32_t ppm = (uint32_t)millionths;
    return ppm < millionths ? ppm + 1 : ppm;
}

int rl_options_apply(redlock_client *client, const redlock_client_options *o) {
    int status = check_nodes(o);
    status = status == 0 ? check_ranges(o) : status;
    status = status == 0 ? check_name(o) : status;
    status = status == 0 ? check_choices(o) : status;
    status = status == 0 ? check_config_id(o) : status;
    if (status != 0) {
        return status;
    }
    client->rules = (struct rl_rules){
        .electorate = rl_electorate_of((uint32_t)o->n_nodes),
        .drift_ppm = to_ppm(o->drift_ratio),
        .drift_ns = (uint64_t)o->drift_ms * RL_NS_PER_MS,
        .node_timeout_ns = (uint64_t)o->node_timeout_ms * RL_NS_PER_MS,
        .lost_margin_ns = ((uint64_t)o->lost_margin_ms + TIMER_MS) * RL_NS_PER_MS,
        .not_asked_reason = REDLOCK_ERR_NODE_SKIPPED,
        .timeout_reason = REDLOCK_ERR_NODE_TIMEOUT,
        .duplicate_reason = REDLOCK_ERR_DUPLICATE,
        .changed_reason = REDLOCK_ERR_NODE_CONFIG,
    };
    client->membership.sides.of[0] = client->membership.sides.of[1] =
        rl_bits_below((uint32_t)o->n_nodes);
    client->guard_rules = (struct rl_guard_rules){
        .mode = (enum rl_guard_mode)o->guard,
        .quarantine_ns = (uint64_t)o->max_ttl_ms * RL_NS_PER_MS +
                         rl_drift_ns(&client->rules, (uint32_t)o->max_ttl_ms),
    };
    client->max_ttl_ms =
        o->guard == REDLOCK_GUARD_OFF ? REDLOCK_TTL_MS_MAX : (uint32_t)o->max_ttl_ms;
    if (o->config_id != NULL) {
        memcpy(client->membership.wanted_id, o->config_id, RL_CONFIG_ID_LEN);
    }
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

#define refuse(why, ...) rl_error_set(why, REDLOCK_MESSAGE_MAX, REDLOCK_ERR_INVALID, __VA_ARGS__)

int rl_options_ttl(const redlock_lock *lock, int64_t ttl_ms, int64_t min_validity_ms,
                   char why[REDLOCK_MESSAGE_MAX]) {
    const struct rl_rules *rules = &lock->client->rules;
    if (ttl_ms < 1 || ttl_ms > REDLOCK_TTL_MS_MAX) {
        return refuse(why, OUTSIDE, "ttl_ms", (long long)ttl_ms, 1LL, (long long)REDLOCK_TTL_MS_MAX,
                      "");
    }
    if (ttl_ms > lock->client->max_ttl_ms) {
        return refuse(why,
                      "ttl_ms is %lld, above max_ttl_ms, which is %lld: the guard keeps a "
                      "restarted node from voting for no longer than that; ask for a shorter "
                      "ttl and extend it, or raise max_ttl_ms in all clients",
                      (long long)ttl_ms, (long long)lock->client->max_ttl_ms);
    }
    const struct rl_membership *membership = &lock->client->membership;
    if (membership->key.epoch != 0 && ttl_ms > membership->max_ttl_ms) {
        return refuse(why,
                      "ttl_ms is %lld, above the max_ttl of the set's "
                      "configuration, which is %lld: ask for a "
                      "shorter ttl and extend it",
                      (long long)ttl_ms, (long long)membership->max_ttl_ms);
    }
    if (rl_validity_ns(rules, (uint32_t)ttl_ms) <= (uint64_t)min_validity_ms * RL_NS_PER_MS) {
        double drift_ms = (double)rl_drift_ns(rules, (uint32_t)ttl_ms) / 1e6;
        return refuse(why,
                      "ttl_ms is %lld: the drift allowance of %.2f ms and min_validity_ms of "
                      "%lld leave nothing of it; ask for a longer ttl",
                      (long long)ttl_ms, drift_ms, (long long)min_validity_ms);
    }
    return 0;
}

static int check_acquire(const redlock_lock *lock, const redlock_acquire_options *full, char *why) {
    const int64_t most = UINT32_MAX - 1;
    const struct range ranges[] = {
        {"tries", full->tries, 1, most, OR_NO_LIMIT},
        {"wait_ms", full->wait_ms, 0, most, OR_NO_LIMIT},
        {"delay_ms", full->delay_ms, 0, REDLOCK_TTL_MS_MAX, PLAIN},
        {"jitter_ms", full->jitter_ms, 0, REDLOCK_TTL_MS_MAX, PLAIN},
        {"min_validity_ms", full->min_validity_ms, 0, REDLOCK_TTL_MS_MAX, PLAIN},
        {"auto_extend", full->auto_extend, 0, 1, PLAIN},
        {"fencing", full->fencing, 0, 1, PLAIN},
        {"max_hold_ms", full->max_hold_ms, 1, most, OR_NO_LIMIT},
        {"max_silence_ms", full->max_silence_ms, 0, most, PLAIN},
    };
    const struct range *bad = outside(ranges, sizeof ranges / sizeof ranges[0]);
    if (bad != NULL) {
        return refuse(why, OUTSIDE, bad->name, (long long)bad->value, (long long)bad->least,
                      (long long)bad->most, ends[bad->kind]);
    }
    return rl_options_ttl(lock, full->ttl_ms, full->min_validity_ms, why);
}

/* Determines after how much of the validity the watchdog extends; 0: no watchdog. */
static int watch(const redlock_lock *lock, const redlock_acquire_options *full, uint32_t *renew_ms,
                 char *why) {
    int64_t renew = full->renew_ms;
    *renew_ms = 0;
    if (!full->auto_extend) {
        return 0;
    }
    if (renew == REDLOCK_THIRD_OF_TTL) {
        renew = full->ttl_ms / 3;
    }
    uint64_t validity_ns = rl_validity_ns(&lock->client->rules, (uint32_t)full->ttl_ms);
    uint64_t margin_ns = lock->client->rules.lost_margin_ns;
    if (margin_ns > validity_ns / 2) {
        margin_ns = validity_ns / 2; /* the upper limit, see rl_lock_set_validity() */
    }
    int64_t most = (int64_t)((validity_ns - margin_ns - 1) / RL_NS_PER_MS);
    if (renew < 1 || renew > most) {
        return refuse(why,
                      "renew_ms is %lld: with ttl_ms %lld it must be 1 to %lld, since on_lost "
                      "takes %.2f of the %.2f ms of validity (lost_margin_ms); renew sooner, "
                      "or ask for a longer ttl",
                      (long long)renew, (long long)full->ttl_ms, (long long)most,
                      (double)margin_ns / 1e6, (double)validity_ns / 1e6);
    }
    *renew_ms = (uint32_t)renew;
    return 0;
}

static int fence(const redlock_lock *lock, const redlock_acquire_options *full, char *why) {
    const uint32_t retention_ms = lock->client->fence_retention_ms;
    if (full->fencing && full->ttl_ms > retention_ms / 2) { /* see fence.h, "later than that" */
        return refuse(why,
                      "ttl_ms is %lld, above half of fence_retention_ms of the client, which is "
                      "%u: counters must outlive locks by a wide margin; raise it",
                      (long long)full->ttl_ms, (unsigned)retention_ms);
    }
    return 0;
}

static int linger(const redlock_lock *lock, const redlock_acquire_options *full, char *why) {
    const bool may = lock->mode->is_passed_on && lock->resource_count == 1 && !full->fencing &&
                     full->max_hold_ms == REDLOCK_NO_LIMIT;
    if (full->linger_ms < 0 || full->linger_ms > full->ttl_ms) {
        return refuse(why, OUTSIDE, "linger_ms", (long long)full->linger_ms, 0LL,
                      (long long)full->ttl_ms, ", which is ttl_ms");
    }
    if (full->linger_ms > 0 && !may) {
        return refuse(why,
                      "linger_ms is %lld: it must be 0 with fencing or max_hold_ms, and for "
                      "readers, permits and several resources",
                      (long long)full->linger_ms);
    }
    return 0;
}

#define SHOWN 60

/* Formats a name for a message. */
static const char *show(char text[SHOWN + 1], const struct rl_bytes *name) {
    const size_t length = name->length < SHOWN ? name->length : SHOWN;
    for (size_t i = 0; i < length; i++) {
        const char c = ((const char *)name->data)[i];
        text[i] = (char)(c >= ' ' && c <= '~' ? c : '?');
    }
    text[length] = '\0';
    return text;
}

static int check_sets(const redlock_lock *lock, char *why) {
    const char *sets[2];
    char one[SHOWN + 1], other[SHOWN + 1];
    uint32_t i;
    if (!rl_sets_are_apart(lock, &i, sets)) {
        return 0;
    }
    return refuse(
        why,
        "\"%s\" is of set %s and \"%s\" of set %s: a lock needs its resources in one set; give "
        "their names the same part in {braces}",
        show(one, &lock->target.resources[0]), sets[0], show(other, &lock->target.resources[i]),
        sets[1]);
}

static uint32_t or_no_limit(int64_t value) {
    return value == REDLOCK_NO_LIMIT ? RL_NO_LIMIT : (uint32_t)value;
}

int rl_options_acquire(const redlock_lock *lock, const redlock_acquire_options *user,
                       struct rl_acquire *out, redlock_acquire_options *full,
                       char why[REDLOCK_MESSAGE_MAX]) {
    *full = (redlock_acquire_options)REDLOCK_ACQUIRE_OPTIONS_INIT;
    if (user != NULL && !rl_sized_take(full, sizeof *full, user, user->size)) {
        return refuse(why, "options.size is %zu, not %zu: begin with REDLOCK_ACQUIRE_OPTIONS_INIT",
                      user->size, sizeof *full);
    }
    uint32_t renew_ms = 0;
    int status = check_acquire(lock, full, why);
    status = status == 0 ? watch(lock, full, &renew_ms, why) : status;
    status = status == 0 ? fence(lock, full, why) : status;
    status = status == 0 ? linger(lock, full, why) : status;
    status = status == 0 ? check_sets(lock, why) : status;
    if (status != 0) {
        return status;
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
        .max_silence_ms = (uint32_t)full->max_silence_ms,
        .fences = full->fencing != 0,
    };
    return 0;
}
