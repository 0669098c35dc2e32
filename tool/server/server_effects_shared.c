/* The scripts of readers, in C: step by step as in lib/redis/scripts. What their parts do is in
 * server_script_readers.c. That a script has too few arguments does not happen. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "redis/command.h"
#include "redlock/redlock.h"
#include "server/server_effects.h"
#include "server/server_script_readers.h"

/* Where in the scripts. */
#define CALL(name) "redis.call('" name "'"
#define COUNTER_LIMIT 9007199254740991.0
#define UPGRADE_MS "5000"
#define SERVE_MS "250"

/* What the keys are found to be, before anything is written. */
struct look {
    double n;
    double ms;
    bool is_shared[REDLOCK_RESOURCES_MAX];
    double
        ends[REDLOCK_RESOURCES_MAX]; /* of the lease, or of the key that has the value; 0: none */
};

/* fence_at: which argument is the fence, if there is one. */
static struct look look_at(struct script_run *run, size_t fence_at) {
    bool has_fence = script_arg(run, fence_at) != NULL;
    struct look look = {.n = (double)(run->n_keys / (has_fence ? 2 : 1))};
    script_number(script_arg(run, 2), &look.ms);
    assert(look.n <= REDLOCK_RESOURCES_MAX);
    readers_time(run);
    return look;
}

static bool is_shared(const struct resp_arg *value) {
    return is_word(value, RL_SHARED_VALUE);
}

/* -- SHARE -- */

static bool lets_in(struct script_run *run, const struct resp_arg *value) {
    const struct resp_arg *place = script_arg(run, 3);
    struct text mine = reservation_of(place);
    bool is_others = value->length > 9 && memcmp(value->data, "reserved:", 9) == 0;
    if (is_shared(value) || script_breaks(run, SERVER_BREAK_SHARE_ANY)) {
        return true;
    }
    return place->length > 0 &&
           (is_word(value, RL_RESERVED) || is_word(value, RL_RESERVED_SHARED) ||
            is_text(value, &mine) || (is_word(place, RL_PLACE_ANY) && is_others));
}

/* Whether key i may be shared; if not, the answer is there. */
static bool may_share(struct script_run *run, struct look *look, double i) {
    const struct resp_arg *name = script_key(run, i);
    const size_t at = (size_t)i - 1;
    struct resp_arg value;
    struct text intent = intent_name(name);
    bool is_there = script_get(run, CALL("get"), name, &value);
    if (run->is_over) {
        return false;
    }
    look->is_shared[at] = is_there && is_shared(&value);
    if (is_there && !lets_in(run, &value)) {
        double life = script_pttl(run, CALL("pttl"), name);
        if (!run->is_over) {
            script_answer(run, "0 %.0f %.0f", i, life);
        }
        return false;
    }
    if (look->is_shared[at]) {
        look->ends[at] = readers_lease(run, name, script_arg(run, 1));
    }
    if (run->is_over) {
        return false;
    }
    bool heeds = script_arg(run, 3)->length == 0 && look->ends[at] < 1;
    double left = heeds ? far_pttl(run, &intent) : 0;
    if (left > 0 && !script_breaks(run, SERVER_BREAK_INTENT_UNHEARD)) {
        script_answer(run, "0 %.0f %.0f", i, left);
        return false;
    }
    return true;
}

/* The largest counter; what is missing counts as the least that is good. False: over. */
static bool find_fence(struct script_run *run, const struct look *look, double *fence) {
    for (double i = look->n + 1; i <= (double)run->n_keys; i++) {
        const struct resp_arg *name = script_key(run, i);
        struct resp_arg value;
        double count = 0;
        bool is_there = script_get(run, CALL("get") ", KEYS[i])", name, &value);
        if (run->is_over) {
            return false;
        }
        bool is_number = script_number(is_there ? &value : script_arg(run, 5), &count);
        if (!is_number || count < 0 || count >= COUNTER_LIMIT) {
            script_return_no_counter(run, name);
            return false;
        }
        *fence = count > *fence ? count : *fence;
    }
    return true;
}

static void share_one(struct script_run *run, const struct look *look, double i, double fence) {
    const struct resp_arg *name = script_key(run, i);
    double end = readers_now_ms(run) + look->ms, old = look->ends[(size_t)i - 1];
    readers_hold(run, name, old > end ? old : end, look->is_shared[(size_t)i - 1]);
    if (!run->is_over && !is_word(script_arg(run, 4), "0")) {
        intent_note(run, name, script_arg(run, 4));
    }
    if (!run->is_over && script_arg(run, 5) != NULL) {
        char digits[400];
        int length = snprintf(digits, sizeof digits, "%.0f", fence);
        struct resp_arg text = {digits, (size_t)length};
        script_set(run, CALL("set") ", KEYS[n + i]", script_key(run, look->n + i), &text, false,
                   script_arg(run, 6));
    }
}

/* The script's first lines. */
static bool share_alone(struct script_run *run) {
    const struct resp_arg *name = script_key(run, 1);
    if (run->n_keys != 1 || script_arg(run, 3)->length > 0 || !is_word(script_arg(run, 4), "0")) {
        return false;
    }
    struct text leases = readers_name(name), intent = intent_name(name), line = line_name(name);
    const struct resp_arg keys[] = {*name, text_arg(&leases), text_arg(&intent), text_arg(&line)};
    if (!script_none_exists(run, keys, sizeof keys / sizeof keys[0])) {
        return false;
    }
    readers_hold_alone(run, name, script_arg(run, 2));
    if (!run->is_over) {
        script_answer(run, "1 0 0 0");
    }
    return true;
}

void effect_share(struct script_run *run) {
    if (share_alone(run)) {
        return;
    }
    struct look look = look_at(run, 5);
    struct count count = {0, 0};
    double fence = 0;
    for (double i = 1; i <= look.n && !run->is_over; i++) {
        if (!may_share(run, &look, i)) {
            return;
        }
    }
    if (run->is_over || !find_fence(run, &look, &fence)) {
        return;
    }
    for (double i = 1; i <= look.n && !run->is_over; i++) {
        share_one(run, &look, i, fence);
        if (!run->is_over) {
            struct text line = line_name(script_key(run, i));
            line_count(run, &line, &count);
        }
    }
    if (!run->is_over) {
        script_answer(run, "1 %.0f %.0f %.0f", count.waiting, count.first_ms, fence);
    }
}

/* -- EXTEND, RAISE -- */

/* Whether the lease or the key with the value is there. False: over, or it is not. */
static bool find_own(struct script_run *run, struct look *look, double i, const char *get,
                     bool with_life) {
    const struct resp_arg *name = script_key(run, i);
    const size_t at = (size_t)i - 1;
    struct resp_arg value;
    bool is_there = script_get(run, get, name, &value);
    if (run->is_over || !is_there) {
        return false;
    }
    look->is_shared[at] = is_shared(&value);
    if (look->is_shared[at]) {
        look->ends[at] = readers_lease(run, name, script_arg(run, 1));
        return !run->is_over && look->ends[at] > 0;
    }
    if (!script_same(&value, script_arg(run, 1))) {
        return false;
    }
    if (with_life) {
        look->ends[at] = readers_now_ms(run) + script_pttl(run, CALL("pttl"), name);
    }
    return !run->is_over;
}

/* A writer has become a reader: so may those that wait to read. */
static void let_in(struct script_run *run, const struct resp_arg *name, bool was_shared) {
    static const struct resp_arg ms = {SERVE_MS, sizeof SERVE_MS - 1};
    if (!run->is_over && !was_shared) {
        line_serve_shared(run, name, &ms, true);
    }
}

void effect_extend_shared(struct script_run *run) {
    struct look look = look_at(run, 4);
    bool converts = script_same(script_arg(run, 3), &(struct resp_arg){"1", 1}) ||
                    script_breaks(run, SERVER_BREAK_EXTEND_CONVERTS);
    for (double i = 1; i <= look.n && !run->is_over; i++) {
        if (!find_own(run, &look, i, CALL("get"), true) && !run->is_over) {
            script_return(run, 0);
        }
    }
    for (double i = 1; i <= look.n && !run->is_over; i++) {
        const struct resp_arg *name = script_key(run, i);
        const size_t at = (size_t)i - 1;
        double end = readers_now_ms(run) + look.ms;
        bool shortens = script_breaks(run, SERVER_BREAK_EXTEND_SHORTENS);
        end = look.ends[at] > end && !shortens ? look.ends[at] : end;
        if (look.is_shared[at] || converts) {
            readers_hold(run, name, end, look.is_shared[at]);
            let_in(run, name, look.is_shared[at]);
        } else {
            readers_pexpireat(run, CALL("pexpireat") ", KEYS[i]", name, end);
        }
        if (!run->is_over && script_arg(run, 4) != NULL &&
            !script_breaks(run, SERVER_BREAK_COUNTER_LEFT)) {
            script_keep_counter(run, script_key(run, look.n + i), 4);
        }
    }
    if (!run->is_over) {
        script_return(run, 1);
    }
}

/* The counter's number; one that is missing is 0. False: over, or it is none. */
static bool read_counter(struct script_run *run, const char *at, double i, double *count) {
    struct resp_arg value;
    *count = 0;
    bool is_there = script_get(run, at, script_key(run, i), &value);
    return !run->is_over && (!is_there || script_number(&value, count));
}

void effect_raise_shared(struct script_run *run) {
    struct look look = look_at(run, 1);
    double count = 0, fence = 0;
    script_number(script_arg(run, 2), &fence);
    for (double i = 1; i <= look.n && !run->is_over; i++) {
        if (!find_own(run, &look, i, "local x = " CALL("get"), false) && !run->is_over) {
            script_return(run, 0);
        }
    }
    for (double i = look.n + 1; i <= 2 * look.n && !run->is_over; i++) {
        if (!read_counter(run, "if not tonumber(" CALL("get"), i, &count) && !run->is_over) {
            script_return(run, 0);
        }
    }
    for (double i = look.n + 1; i <= 2 * look.n && !run->is_over; i++) {
        const struct resp_arg *name = script_key(run, i);
        if (!read_counter(run, "if tonumber(" CALL("get"), i, &count)) {
            continue;
        }
        if (count <= fence) {
            script_set(run, CALL("set") ", KEYS[i]", name, script_arg(run, 2), false,
                       script_arg(run, 3));
        } else {
            script_pexpire_by(run, CALL("pexpire") ", KEYS[i]", name, script_arg(run, 3));
        }
    }
    if (!run->is_over) {
        script_return(run, 1);
    }
}

/* -- UPGRADE -- */

/* How many leases live. */
static uint32_t count_leases(struct script_run *run, const struct resp_arg *name, const char *at) {
    struct text leases = readers_name(name);
    struct server_key *key;
    struct server_member member;
    uint32_t count = 0;
    script_raise_if(run, at, line_open(run, "zcount", &leases, &key));
    for (uint32_t i = 0; !run->is_over && server_line_at(key, i, &member); i++) {
        count += member.score > readers_now_ms(run);
    }
    return count;
}

/* Others read: notes that this one wants to write, or finds that another one does. */
static void meet_others(struct script_run *run, const struct resp_arg *name, int *code,
                        double *life) {
    static const struct resp_arg ms = {UPGRADE_MS, sizeof UPGRADE_MS - 1};
    struct text note = upgrade_name(name), copy;
    struct resp_arg arg = text_arg(&note);
    const char *error = script_refusal(run, "get", &arg, NULL);
    const struct server_key *key = error == NULL ? find_key(run->call, &arg) : NULL;
    if (key != NULL && key->elements > 0) {
        error = WRONGTYPE_TEXT;
    }
    if (*code == 0) {
        *code = RL_UPGRADE_OTHERS;
        *life = script_pttl(run, "life = 1, " CALL("pttl"), name);
    }
    if (run->is_over || error != NULL) {
        return;
    }
    bool is_there = key != NULL;
    if (is_there) {
        struct resp_arg value = {key->value.data, key->value.length};
        copy = text_of("", &value, "");
        value = text_arg(&copy);
        is_there = !script_same(&value, script_arg(run, 1)) && readers_lease(run, name, &value) > 0;
    }
    if (is_there) {
        *code = RL_UPGRADE_MEETS_UPGRADE;
    } else if (!run->is_over) {
        far_set(run, &note, script_arg(run, 1), &ms);
    }
}

static void upgrade_one(struct script_run *run, const struct look *look, double i, double fence) {
    const struct resp_arg *name = script_key(run, i);
    const char *at = CALL("set") ", k, v, 'PX'";
    struct text leases = readers_name(name), intent = intent_name(name), note = upgrade_name(name);
    struct resp_arg arg = text_arg(&leases);
    char text[32];
    double left = script_pttl(run, at, name);
    int length = snprintf(text, sizeof text, "%.0f", left > look->ms ? left : look->ms);
    struct resp_arg life = {text, (size_t)length};
    if (!run->is_over) {
        script_set(run, at, name, script_arg(run, 1), false, &life);
    }
    if (!run->is_over && look->is_shared[(size_t)i - 1]) {
        at = CALL("del") ", readers(k)";
        script_raise_if(run, at, script_refusal(run, "del", &arg, NULL));
        if (!run->is_over) {
            far_del(run, &leases);
            far_del(run, &intent);
            far_del(run, &note);
        }
    }
    if (!run->is_over && script_arg(run, 3) != NULL) {
        char digits[400];
        length = snprintf(digits, sizeof digits, "%.0f", fence);
        script_set(run, CALL("set") ", KEYS[n + i], s", script_key(run, look->n + i),
                   &(struct resp_arg){digits, (size_t)length}, false, script_arg(run, 4));
    }
}

void effect_upgrade(struct script_run *run) {
    struct look look = look_at(run, 3);
    const bool has_fence = script_arg(run, 3) != NULL;
    double life = 0, fence = 0;
    int code = 0;
    for (double i = 1; i <= look.n && !run->is_over; i++) {
        if (!find_own(run, &look, i, "local x = " CALL("get"), false) && !run->is_over) {
            script_answer(run, "0 3 0");
        }
    }
    for (double i = 1; i <= look.n && !run->is_over; i++) {
        const struct resp_arg *name = script_key(run, i);
        if (look.is_shared[(size_t)i - 1] && count_leases(run, name, CALL("zcount")) > 1 &&
            !script_breaks(run, SERVER_BREAK_UPGRADE_BLIND)) {
            meet_others(run, name, &code, &life);
        }
    }
    if (!run->is_over && code > 0) {
        script_answer(run, "0 %d %.0f", code, life);
    }
    script_number(script_arg(run, 3), &fence);
    if (run->is_over || (has_fence && !script_count_on(run, look.n, true, &fence))) {
        return;
    }
    for (double i = 1; i <= look.n && !run->is_over; i++) {
        upgrade_one(run, &look, i, fence);
    }
    if (!run->is_over) {
        script_answer(run, "1 0 0 %.0f", fence);
    }
}

/* -- READER -- */

void effect_readers(struct script_run *run) {
    const struct resp_arg *name = script_key(run, 1);
    struct text leases = readers_name(name);
    struct resp_arg value;
    struct server_key *key = NULL;
    struct server_member member;
    double index = 0;
    uint32_t ended = 0;
    char text[160];
    readers_time(run);
    bool is_there = !run->is_over && script_get(run, CALL("get"), name, &value);
    if (!run->is_over && is_there && is_shared(&value)) {
        const char *at = CALL("zrangebyscore");
        script_raise_if(run, at, line_open(run, "zrangebyscore", &leases, &key));
    }
    if (run->is_over) {
        return;
    }
    script_number(script_arg(run, 1), &index);
    while (server_line_at(key, ended, &member) && member.score <= readers_now_ms(run)) {
        ended++;
    }
    if (!server_line_at(key, ended + (uint32_t)index, &member)) {
        reply_line(run->call, "$-1");
        run->is_over = true;
        return;
    }
    uint32_t count = count_leases(run, name, CALL("zcount"));
    if (!run->is_over) {
        struct resp_arg shown = front_of(&member.name, 106);
        int length =
            snprintf(text, sizeof text, "%u %.0f ", count, member.score - readers_now_ms(run));
        memcpy(text + length, shown.data, shown.length);
        reply_bulk(run->call, text, (size_t)length + shown.length);
        run->is_over = true;
    }
}
