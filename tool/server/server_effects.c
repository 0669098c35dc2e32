/* See server_effects.h. Each function follows the text of its script (lib/redis/command.c) step by
 * step, Lua's manners with missing arguments included; server/differential compares them. After
 * everything that can raise an error comes a look whether it did. */
#include "server/server_effects.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "redis/command.h"
#include "server/server_parts.h"

/* Where in the scripts. */
#define GET "redis.call('get'"
#define SET "redis.call('set'"
#define DEL "redis.call('del'"
#define PEXPIRE "redis.call('pexpire'"
#define GET_COUNTER "local c = "
#define SET_COUNTER "KEYS[n + i], s"
#define FORMAT "string.format("

#define COUNTER_LIMIT 9007199254740991.0

static bool breaks(const struct script_run *run, enum server_broken broken) {
    return is_set(run->call->server, broken);
}

/* Whether the key has the value ARGV[1]. */
static bool has_token(struct script_run *run, const struct resp_arg *name) {
    struct resp_arg value;
    return script_get(run, GET, name, &value) && script_same(&value, script_arg(run, 1));
}

/* math.max(redis.call('pttl',key),ARGV[2]), and redis.call('pexpire') */
void script_extend(struct script_run *run, const struct resp_arg *name) {
    const struct resp_arg *ttl = script_arg(run, 2);
    double ms = 0, left = script_pttl(run, PEXPIRE, name);
    if (run->is_over) {
        return;
    }
    if (!script_number(ttl, &ms)) {
        script_fail(run, PEXPIRE,
                    ttl == NULL ? "bad argument #2 to 'max' (number expected, got nil)"
                                : "bad argument #2 to 'max' (number expected, got string)");
        return;
    }
    bool shortens = breaks(run, SERVER_BREAK_EXTEND_SHORTENS);
    script_pexpire(run, PEXPIRE, name, left > ms && !shortens ? left : ms);
}

/* -- SET_ALL, FENCE, RAISE -- */

/* Whether each of the first n keys is free or has the value; if not, the answer is -I. */
static bool are_free(struct script_run *run, double n) {
    for (double i = 1; i <= n; i++) {
        struct resp_arg value;
        bool is_there = script_get(run, GET, script_key(run, i), &value);
        if (run->is_over) {
            return false;
        }
        if (is_there && !script_same(&value, script_arg(run, 1)) &&
            !breaks(run, SERVER_BREAK_PARTIAL_SET)) {
            script_return(run, -(long long)i);
            return false;
        }
    }
    return true;
}

static void run_set_all(struct script_run *run) {
    double n = (double)run->n_keys;
    if (!are_free(run, n)) {
        return;
    }
    for (double i = 1; i <= n && !run->is_over; i++) {
        script_set(run, SET, script_key(run, i), script_arg(run, 1), true, script_arg(run, 2));
    }
    if (!run->is_over) {
        script_return(run, 1);
    }
}

static const struct resp_arg *counter_life(const struct script_run *run, size_t at) {
    return script_arg(run, breaks(run, SERVER_BREAK_COUNTER_TTL) ? 2 : at);
}

/* redis.error_reply('ERR '..KEYS[i]..' is not the counter of a fence'), as C reads it: up to the
 * first zero byte, and without line ends behind it. */
void script_return_no_counter(struct script_run *run, const struct resp_arg *name) {
    char text[1200];
    int length = snprintf(text, sizeof text, "ERR %.*s",
                          (int)(name->length < 1100 ? name->length : 1100), name->data);
    bool is_cut = memchr(name->data, '\0', name->length) != NULL;
    if (!is_cut) {
        snprintf(text + length, sizeof text - (size_t)length, " is not the counter of a fence");
    }
    while (is_cut && length > 0 && strchr("\r\n", text[length - 1]) != NULL) {
        text[--length] = '\0';
    }
    script_return_error(run, text);
}

/* The counters' next value, not below *fence. False: the script is over. */
bool script_count_on(struct script_run *run, double n, bool has_fence, double *fence) {
    for (double i = n + 1; i <= 2 * n; i++) {
        const struct resp_arg *name = script_key(run, i);
        struct resp_arg value;
        double count = 0;
        bool is_there = script_get(run, GET_COUNTER, name, &value);
        if (run->is_over) {
            return false;
        }
        if (!is_there) {
            continue;
        }
        if (!script_number(&value, &count) || count < 0 || count >= COUNTER_LIMIT) {
            script_return_no_counter(run, name);
            return false;
        }
        if (!has_fence) {
            script_fail(run, "c >= g", "attempt to compare nil with number");
            return false;
        }
        *fence = count >= *fence ? count + 1 : *fence;
    }
    return true;
}

static void run_fence(struct script_run *run) {
    const double n = (double)run->n_keys / 2;
    double fence = 0;
    bool has_fence = script_number(script_arg(run, 3), &fence);
    char digits[400];
    if (!are_free(run, n) || !script_count_on(run, n, has_fence, &fence)) {
        return;
    }
    if (!has_fence) {
        script_fail(run, FORMAT, "bad argument #2 to 'format' (number expected, got nil)");
        return;
    }
    int length = snprintf(digits, sizeof digits, "%.0f", fence);
    struct resp_arg text = {digits, (size_t)length};
    for (double i = 1; i <= n && !run->is_over; i++) {
        script_set(run, SET, script_key(run, i), script_arg(run, 1), true, script_arg(run, 2));
        if (!run->is_over) {
            script_set(run, SET_COUNTER, script_key(run, n + i), &text, false,
                       counter_life(run, 4));
        }
    }
    if (!run->is_over) {
        bool fits = fence < 9223372036854775807.0; /* if not: as x86 has it */
        script_return(run, fits ? (long long)fence : INT64_MIN);
    }
}

/* Whether the counters are not above the fence; if not, the answer is there. */
static bool may_raise(struct script_run *run, double n) {
    double fence = 0;
    bool has_fence = script_number(script_arg(run, 2), &fence);
    for (double i = n + 1; i <= 2 * n; i++) {
        struct resp_arg value;
        double count = 0;
        bool is_there = script_get(run, GET_COUNTER, script_key(run, i), &value);
        if (run->is_over) {
            return false;
        }
        bool is_number = !is_there || script_number(&value, &count);
        if (is_number && !has_fence) {
            script_fail(run, "c > f", "attempt to compare nil with number");
            return false;
        }
        if (!is_number || count > fence) {
            script_return(run, breaks(run, SERVER_BREAK_RAISE_LARGER) ? 1 : 0);
            return false;
        }
    }
    return true;
}

static void run_raise(struct script_run *run) {
    const double n = (double)run->n_keys / 2;
    const bool blind = breaks(run, SERVER_BREAK_RAISE_BLIND);
    const bool anywhere = blind || breaks(run, SERVER_BREAK_RAISE_ANYWHERE);
    for (double i = 1; i <= n; i++) {
        bool has = has_token(run, script_key(run, i));
        if (!run->is_over && !has && !anywhere) {
            script_return(run, 0);
        }
        if (run->is_over) {
            return;
        }
    }
    if (!blind && !may_raise(run, n)) {
        return;
    }
    for (double i = n + 1; i <= 2 * n && !run->is_over; i++) {
        script_set(run, SET, script_key(run, i), script_arg(run, 2), false, script_arg(run, 3));
    }
    if (!run->is_over) {
        script_return(run, 1);
    }
}

/* -- EXTEND -- */

/* Whether each of the first n keys has the value; if not, the answer is there. */
static bool have_token(struct script_run *run, double n) {
    for (double i = 1; i <= n; i++) {
        bool has = has_token(run, script_key(run, i));
        if (!run->is_over && !has) {
            script_return(run, 0);
        }
        if (run->is_over) {
            return false;
        }
    }
    return true;
}

static void run_extend(struct script_run *run) {
    if (!have_token(run, 1)) {
        return;
    }
    script_extend(run, script_key(run, 1));
    if (!run->is_over) {
        script_return(run, 1);
    }
}

static void run_extend_all(struct script_run *run) {
    const double n = (double)run->n_keys;
    if (!have_token(run, n)) {
        return;
    }
    for (double i = 1; i <= n && !run->is_over; i++) {
        script_extend(run, script_key(run, i));
    }
    if (!run->is_over) {
        script_return(run, 1);
    }
}

/* What hinders a counter does not hinder the extension. */
void script_keep_counter(struct script_run *run, const struct resp_arg *name, size_t fence_at) {
    struct resp_arg value;
    double count = 0, fence = 0;
    bool is_there = false;
    if (script_try_get(run, name, &value, &is_there) != NULL ||
        (is_there && !script_number(&value, &count))) {
        return;
    }
    if (!script_number(script_arg(run, fence_at), &fence)) {
        script_fail(run, "c < f", "attempt to compare number with nil");
    } else if (count < fence) {
        script_try_set(run, name, script_arg(run, fence_at), counter_life(run, fence_at + 1));
    } else {
        script_try_pexpire(run, name, counter_life(run, fence_at + 1));
    }
}

static void run_extend_fenced(struct script_run *run) {
    const double n = (double)run->n_keys / 2;
    if (!have_token(run, n)) {
        return;
    }
    for (double i = 1; i <= n && !run->is_over; i++) {
        script_extend(run, script_key(run, i));
        if (!run->is_over && !breaks(run, SERVER_BREAK_COUNTER_LEFT)) {
            script_keep_counter(run, script_key(run, n + i), 3);
        }
    }
    if (!run->is_over) {
        script_return(run, 1);
    }
}

/* -- RELEASE, READ -- */

static void run_release(struct script_run *run) {
    const struct resp_arg *name = script_key(run, 1);
    struct resp_arg value;
    bool is_there = script_get(run, GET, name, &value);
    if (run->is_over) {
        return;
    }
    bool is_ours = is_there && (script_same(&value, script_arg(run, 1)) ||
                                breaks(run, SERVER_BREAK_BLIND_RELEASE));
    if (is_ours) {
        script_del(run, DEL, name);
    }
    if (!run->is_over) {
        script_return(run, is_ours ? 1 : 0);
    }
}

static void run_read(struct script_run *run) {
    const struct resp_arg *name = script_key(run, 1);
    const char *type = type_of(script_look(run, "redis.call('type'", "type", name));
    if (run->is_over) {
        return;
    }
    if (strcmp(type, "none") == 0) {
        reply_line(run->call, "$-1");
        run->is_over = true;
        return;
    }
    char text[160];
    int length = snprintf(text, sizeof text, "%.0f ", script_pttl(run, FORMAT, name));
    if (!run->is_over && strcmp(type, "string") != 0) {
        length += snprintf(text + length, sizeof text - (size_t)length, "t%s", type);
    } else if (!run->is_over) {
        const struct server_key *key = script_look(run, "redis.call('getrange'", "getrange", name);
        size_t shown = key == NULL ? 0 : key->value.length < 106 ? key->value.length : 106;
        text[length++] = 's';
        if (shown > 0) {
            memcpy(text + length, key->value.data, shown);
        }
        length += (int)shown;
    }
    if (!run->is_over) {
        reply_bulk(run->call, text, (size_t)length);
        run->is_over = true;
    }
}

/* -- The list -- */

static const struct {
    const char *name;
    enum rl_command_kind kind;
    uint32_t resources;
    uint64_t counter;
    void (*run)(struct script_run *run);
    enum rl_mode mode;
} effects[EFFECTS_MAX] = {
    {"set_all", RL_COMMAND_SET_ALL, 2, 0, run_set_all, RL_EXCLUSIVE},
    {"fence", RL_COMMAND_FENCE, 1, 1, run_fence, RL_EXCLUSIVE},
    {"raise", RL_COMMAND_RAISE, 1, 1, run_raise, RL_EXCLUSIVE},
    {"extend", RL_COMMAND_EXTEND, 1, 0, run_extend, RL_EXCLUSIVE},
    {"extend_all", RL_COMMAND_EXTEND, 2, 0, run_extend_all, RL_EXCLUSIVE},
    {"extend_fenced", RL_COMMAND_EXTEND, 1, 1, run_extend_fenced, RL_EXCLUSIVE},
    {"release", RL_COMMAND_RELEASE, 1, 0, run_release, RL_EXCLUSIVE},
    {"read", RL_COMMAND_READ, 1, 0, run_read, RL_EXCLUSIVE},
    {"join", RL_COMMAND_JOIN, 1, 0, effect_join, RL_EXCLUSIVE},
    {"take", RL_COMMAND_TAKE, 1, 0, effect_take, RL_EXCLUSIVE},
    {"take_fenced", RL_COMMAND_TAKE, 1, 1, effect_take_fenced, RL_EXCLUSIVE},
    {"release_line", RL_COMMAND_RELEASE_LINE, 1, 0, effect_release_line, RL_EXCLUSIVE},
    {"leave", RL_COMMAND_LEAVE, 1, 0, effect_leave, RL_EXCLUSIVE},
    {"waiter", RL_COMMAND_WAITER, 1, 0, effect_waiter, RL_EXCLUSIVE},
    {"share", RL_COMMAND_TAKE, 1, 0, effect_share, RL_SHARED},
    {"extend_shared", RL_COMMAND_EXTEND, 1, 0, effect_extend_shared, RL_SHARED},
    {"raise_shared", RL_COMMAND_RAISE, 1, 1, effect_raise_shared, RL_SHARED},
    {"release_shared", RL_COMMAND_RELEASE_LINE, 1, 0, effect_release_shared, RL_SHARED},
    {"join_shared", RL_COMMAND_JOIN, 1, 0, effect_join_shared, RL_SHARED},
    {"leave_shared", RL_COMMAND_LEAVE, 1, 0, effect_leave_shared, RL_SHARED},
    {"upgrade", RL_COMMAND_UPGRADE, 1, 0, effect_upgrade, RL_SHARED},
    {"readers", RL_COMMAND_READER, 1, 0, effect_readers, RL_SHARED},
    {"take_permit", RL_COMMAND_TAKE, 1, 0, effect_take_permit, RL_PERMIT},
    {"take_permit_fenced", RL_COMMAND_TAKE, 1, 1, effect_take_permit_fenced, RL_PERMIT},
    {"join_permit", RL_COMMAND_JOIN, 1, 0, effect_join_permit, RL_PERMIT},
    {"release_permit", RL_COMMAND_RELEASE_LINE, 1, 0, effect_release_permit, RL_PERMIT},
    {"leave_permit", RL_COMMAND_LEAVE, 1, 0, effect_leave_permit, RL_PERMIT},
    {"set_permits", RL_COMMAND_SET_PERMITS, 1, 0, effect_set_permits, RL_PERMIT},
    {"slots", RL_COMMAND_SLOT, 1, 0, effect_slots, RL_PERMIT},
};

size_t effect_format(uint32_t script, char wire[EFFECT_WIRE_MAX]) {
    static const struct rl_bytes resources[2] = {{"a", 1}, {"b", 1}};
    struct rl_target target = {
        .resources = resources, .n = effects[script].resources, .retention_ms = 1};
    struct rl_slots slots = {.n = 1};
    if (effects[script].mode == RL_PERMIT) {
        target.permits = target.take = 1;
    }
    struct rl_command command = {.kind = effects[script].kind,
                                 .whole_script = true,
                                 .ttl_ms = 1,
                                 .counter = effects[script].counter,
                                 .target = &target,
                                 .token = "0000000000000000000000000000000000000000",
                                 .place = "00000000000000000000000000000000",
                                 .grace_ms = 1,
                                 .lock_mode = (uint8_t)effects[script].mode,
                                 .slots = &slots};
    assert(rl_command_room(&target) <= EFFECT_WIRE_MAX);
    return rl_command_format(wire, &command);
}

const char *effect_name(uint32_t script) {
    return effects[script].name;
}

void effect_run(uint32_t script, struct script_run *run) {
    effects[script].run(run);
}
