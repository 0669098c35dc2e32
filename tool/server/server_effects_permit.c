/* The scripts of a semaphore, in C: step by step as in lib/redis/scripts. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "redis/command.h"
#include "server/server_effects.h"
#include "server/server_script_permit.h"

#define SLOTS_BROKEN 16 /* at most, where they are counted */
#define DEAD_MAX 16     /* as many members of clients that are gone does JOIN drop */
#define LINE_MS 600000
#define DEL_EACH "redis.call('del', KEYS[i]"
#define ZREM_ME "redis.call('zrem', l, me"
#define ZREM_OTHER "redis.call('zrem', l, m)"
#define ZREM_LEFT "redis.call('zrem', l, ARGV[2]"
#define PTTL_SLOT "redis.call('pttl', slot("

/* -- TAKE -- */

static void answer_taken(const struct permit *p, const struct resp_arg *k, double fence) {
    struct count count = {0, 0};
    char text[96];
    permit_keep(p, k);
    if (!p->run->is_over) {
        line_count(p->run, &p->line, &count);
        snprintf(text, sizeof text, "1 %.0f %.0f %.0f", count.waiting, count.first_ms, fence);
        permit_answer(p->run, text);
    }
}

/* Broken: whichever slots are free at this node. */
static void take_any_slots(const struct permit *p, const struct resp_arg *k, const char *refusal) {
    const struct resp_arg *place = script_arg(p->run, 3);
    const struct text mine = reservation_of(place);
    struct picked picked;
    if (!permit_pick(p, permit_number(k), (uint32_t)p->run->n_keys, 0, &mine, &picked)) {
        permit_answer(p->run, refusal);
        return;
    }
    permit_set(p, "redis.call('set', KEYS[i]", &picked, script_arg(p->run, 1),
               script_arg(p->run, 2));
    if (!p->run->is_over) {
        answer_taken(p, k, 0);
    }
}

void effect_take_permit(struct script_run *run) {
    struct permit p = permit_of(run);
    const double n = (double)run->n_keys;
    if (permit_breaks(&p, SERVER_PERMITS_COUNTED)) {
        p.is_readable = true;
        take_any_slots(&p, script_arg(run, 4), "0 1 100");
        return;
    }
    if (permit_disagree(&p, permit_number(script_arg(run, 4))) || !script_may_take(run, n, 3)) {
        return;
    }
    for (double i = 1; i <= n && !run->is_over; i++) {
        script_take_key(run, script_key(run, i));
    }
    if (!run->is_over) {
        answer_taken(&p, script_arg(run, 4), 0);
    }
}

void effect_take_permit_fenced(struct script_run *run) {
    struct permit p = permit_of(run);
    const double n = (double)run->n_keys / 2;
    double fence = 0;
    char digits[400];
    script_number(script_arg(run, 3), &fence);
    if (permit_disagree(&p, permit_number(script_arg(run, 6))) || !script_may_take(run, n, 5) ||
        !script_count_on(run, n, true, &fence)) {
        return;
    }
    int length = snprintf(digits, sizeof digits, "%.0f", fence);
    struct resp_arg text = {digits, (size_t)length};
    const struct resp_arg *life =
        script_arg(run, script_breaks(run, SERVER_BREAK_COUNTER_TTL) ? 2 : 4);
    for (double i = 1; i <= n && !run->is_over; i++) {
        script_take_key(run, script_key(run, i));
        if (!run->is_over) {
            script_set(run, "KEYS[n + i], s", script_key(run, n + i), &text, false, life);
        }
    }
    if (!run->is_over) {
        answer_taken(&p, script_arg(run, 6), fence);
    }
}

/* -- JOIN -- */

struct join {
    const struct resp_arg *place, *ms, *from;
    struct text me, mine;
    uint32_t k, n;
    bool peeks;
};

static void stand_in_line(const struct permit *p, const struct join *join) {
    struct resp_arg line = text_arg(&p->line);
    struct server_member me = {text_arg(&join->me), 0};
    struct server_key *key;
    double waited = 0;
    script_raise_if(p->run, "redis.call('time'", script_refusal(p->run, "time", NULL, NULL));
    if (!p->run->is_over) {
        script_raise_if(p->run, "redis.call('zadd'", line_open(p->run, "zadd", &p->line, &key));
    }
    if (p->run->is_over) {
        return;
    }
    script_number(script_arg(p->run, 3), &waited);
    me.score = (double)p->run->call->now_us - waited * 1000;
    if (key == NULL) {
        key = keys_put(&p->run->call->server->keys, p->run->call->connection->db, &line);
        key->is_line = true;
    }
    if (server_line_rank(key, &me.name) == key->elements) {
        line_add(key, &me);
    }
    script_pexpire(p->run, "redis.call('pexpire', l", &line, LINE_MS);
}

/* What becomes of those before it. True: it has slots. */
static bool clear_line(const struct permit *p, const struct join *join, struct picked *picked) {
    struct text first = {.length = 0};
    double from = 0;
    bool ignored;
    script_number(join->from, &from);
    for (int i = 0; i < DEAD_MAX; i++) {
        permit_serve(p, join->k, join->ms, &join->me);
        if (p->run->is_over) {
            return false;
        }
        bool has_first = line_first(p->run, &p->line, &first);
        struct resp_arg name = text_arg(&first);
        if (!has_first || is_text(&name, &join->me)) {
            return permit_pick(p, join->k, join->n, (uint32_t)from, &join->mine, picked);
        }
        struct resp_arg whose = front_of(&name, 18), ours = front_of(join->place, 18);
        struct text channel = channel_of(&first);
        const bool may_be_left = !join->peeks && script_same(&whose, &ours);
        if (!may_be_left && count_listeners(p->run, &channel) != 0) {
            return false;
        }
        script_raise_if(p->run, ZREM_OTHER, line_drop(p->run, &p->line, &first, &ignored));
        if (p->run->is_over) {
            return false;
        }
    }
    return false;
}

static void answer_no(const struct permit *p, const struct join *join) {
    struct picked ignored;
    struct resp_arg me = text_arg(&join->me);
    struct server_key *key;
    double left = -1;
    char text[64];
    bool is_free = permit_pick(p, join->k, join->n, 0, &join->mine, &ignored);
    if (!is_free) {
        script_raise_if(p->run, PTTL_SLOT, permit_refusal(p, "pttl"));
    }
    for (uint32_t i = 0; i < join->k && !is_free && !p->run->is_over; i++) {
        const struct server_key *slot = permit_slot(p, i);
        double life = slot != NULL ? (double)pttl_of(p->run->call, slot) : -2;
        left = life >= 0 && (left < 0 || life < left) ? life : left;
    }
    if (!p->run->is_over) {
        const char *error = line_open(p->run, "zrank", &p->line, &key);
        script_raise_if(p->run, "redis.call('zrank'", error);
    }
    if (p->run->is_over) {
        return;
    }
    uint32_t rank = key != NULL ? server_line_rank(key, &me) : 0; /* not there: how many are */
    snprintf(text, sizeof text, "0 %u %.0f", rank, is_free ? 0 : left);
    permit_answer(p->run, text);
}

static void take_slots(const struct permit *p, const struct join *join,
                       const struct picked *picked) {
    bool ignored;
    permit_give_up(p, join->k, &join->mine);
    if (!p->run->is_over) {
        permit_reserve(p, picked, join->place, join->ms);
    }
    if (!p->run->is_over) {
        script_raise_if(p->run, ZREM_ME, line_drop(p->run, &p->line, &join->me, &ignored));
    }
    if (!p->run->is_over && join->from->length > 0) {
        permit_serve(p, join->k, join->ms, NULL);
    }
}

/* Those that are reserved for it, where it does not look for others. */
static bool has_own(const struct permit *p, const struct join *join, struct picked *picked) {
    picked->n = 0;
    for (uint32_t i = 0; i < join->k && join->from->length == 0; i++) {
        if (permit_slot_has(p, i, &join->mine) && picked->n < TAKE_MAX) {
            picked->slot[picked->n++] = i;
        }
    }
    return picked->n == join->n;
}

void effect_join_permit(struct script_run *run) {
    struct permit p = permit_of(run);
    struct join join = {.place = script_arg(run, 1),
                        .ms = script_arg(run, 4),
                        .from = script_arg(run, 6),
                        .me = member_of(script_arg(run, 1), script_arg(run, 2)),
                        .mine = reservation_of(script_arg(run, 1)),
                        .k = permit_number(script_arg(run, 5)),
                        .peeks = script_arg(run, 7)->length > 0};
    struct picked picked;
    struct text was;
    bool ignored;
    join.n = permit_wants(&join.me);
    if (permit_disagree(&p, join.k)) {
        line_drop(run, &p.line, &join.me, &ignored);
        return;
    }
    permit_keep(&p, script_arg(run, 5));
    if (!run->is_over) {
        script_raise_if(run, MGET, permit_refusal(&p, "mget"));
    }
    if (run->is_over) {
        return;
    }
    p.is_readable = true;
    bool has_first = line_first(run, &p.line, &was);
    bool yes = has_own(&p, &join, &picked);
    if (!yes && !join.peeks) {
        stand_in_line(&p, &join);
    }
    yes = yes || (!run->is_over && clear_line(&p, &join, &picked));
    if (yes && !run->is_over) {
        take_slots(&p, &join, &picked);
    }
    if (run->is_over) {
        return;
    }
    line_heir(run, &p.line, has_first ? &was : NULL, &join.me);
    if (yes) {
        char text[TAKE_MAX * 5 + 2] = "1";
        text[1 + permit_write(&p, &picked, text + 1, sizeof text - 1)] = '\0';
        permit_answer(run, text);
    } else {
        answer_no(&p, &join);
    }
}

/* -- LEAVE, RELEASE, the number set -- */

void effect_leave_permit(struct script_run *run) {
    struct permit p = permit_of(run);
    const struct resp_arg *place = script_arg(run, 1);
    struct text me = member_of(place, script_arg(run, 2)), mine = reservation_of(place), was;
    uint32_t k = permit_kept(&p, script_arg(run, 4));
    bool was_there = false, has_first = line_first(run, &p.line, &was);
    script_raise_if(run, ZREM_LEFT, line_drop(run, &p.line, &me, &was_there));
    if (run->is_over) {
        return;
    }
    p.is_readable = permit_refusal(&p, "mget") == NULL;
    bool had = permit_give_up(&p, k, &mine);
    if (!run->is_over && (has_first || had || was_there)) {
        permit_serve(&p, k, script_arg(run, 3), NULL);
    }
    if (!run->is_over) {
        line_heir(run, &p.line, has_first ? &was : NULL, NULL);
        script_return(run, had || was_there);
    }
}

struct release {
    uint32_t others;
    bool given, told;
    char error[256]; /* "": none */
};

/* Broken: wherever the value is. */
static void release_counted(const struct permit *p) {
    const struct text value = text_of("", script_arg(p->run, 1), "");
    for (uint32_t i = 0; i < SLOTS_BROKEN && !p->run->is_over; i++) {
        if (permit_slot_has(p, i, &value)) {
            const struct server_key *slot = permit_slot(p, i);
            const struct resp_arg found = {slot->name.data, slot->name.length};
            const struct text copy = text_of("", &found, "");
            const struct resp_arg name = text_arg(&copy);
            script_del(p->run, DEL_EACH, &name);
        }
    }
}

static void release_one(const struct permit *p, const struct resp_arg *name,
                        struct release *release) {
    struct script_run *run = p->run;
    const struct resp_arg *mode = script_arg(run, 3);
    struct text word = text_of(RL_RESERVED, mode, ""), own = reservation_of(mode);
    struct resp_arg value;
    bool is_there = false;
    const char *problem = script_try_get(run, name, &value, &is_there);
    bool is_mine = is_there && (script_same(&value, script_arg(run, 1)) ||
                                script_breaks(run, SERVER_BREAK_BLIND_RELEASE));
    bool is_nobodys = is_there && is_word(&value, RL_RESERVED);
    bool deletes = is_mine || (is_nobodys && is_word(mode, "serve"));
    release->others += is_there && !script_same(&value, script_arg(run, 1)) && !is_nobodys;
    release->given = release->given || is_mine;
    if (problem != NULL && !script_is_wrong_type(problem)) {
        snprintf(release->error, sizeof release->error, "%s", problem);
    }
    if (is_mine && !is_word(mode, "serve") && !is_word(script_arg(run, 2), "0")) {
        word.length = sizeof RL_RESERVED - 1;
        struct resp_arg to = text_arg(mode->length == RL_PLACE_LEN ? &own : &word);
        deletes = script_try_set(run, name, &to, script_arg(run, 2)) != NULL;
    }
    if (deletes) {
        script_del(run, DEL_EACH, name);
    }
}

/* Nobody waits: the script's first lines. */
static bool release_alone(const struct permit *p) {
    struct script_run *run = p->run;
    const struct resp_arg *name = script_key(run, 1);
    struct server_key *key;
    struct resp_arg value, line = text_arg(&p->line);
    bool is_there = false;
    if (run->n_keys != 1 || !is_word(script_arg(run, 3), "serve") ||
        script_refusal(run, "exists", &line, NULL) != NULL ||
        (line_open(run, "exists", &p->line, &key) != NULL || key != NULL) ||
        script_try_get(run, name, &value, &is_there) != NULL || !is_there ||
        !script_same(&value, script_arg(run, 1))) {
        return false;
    }
    script_del(run, "redis.call('del', KEYS[1]", name);
    if (!run->is_over) {
        permit_answer(run, "1 0 0 0");
    }
    return true;
}

void effect_release_permit(struct script_run *run) {
    static const struct resp_arg ms = {"250", 3};
    struct permit p = permit_of(run);
    struct release release = {.others = 0};
    struct count count = {0, 0};
    const struct resp_arg *mode = script_arg(run, 3);
    struct text was;
    char text[96];
    p.is_readable = permit_breaks(&p, SERVER_PERMITS_COUNTED);
    if (!p.is_readable && release_alone(&p)) {
        return;
    }
    for (size_t i = 1; i <= run->n_keys && !run->is_over; i++) {
        release_one(&p, script_key(run, (double)i), &release);
    }
    if (permit_breaks(&p, SERVER_PERMITS_COUNTED)) {
        release_counted(&p);
    }
    if (!run->is_over && is_word(mode, "serve") && line_first(run, &p.line, &was)) {
        uint32_t k = permit_kept(&p, script_arg(run, 4));
        p.is_readable = permit_refusal(&p, "mget") == NULL;
        release.told = permit_serve(&p, k, &ms, NULL);
        if (!run->is_over) {
            line_heir(run, &p.line, &was, NULL);
        }
    }
    if (run->is_over) {
        return;
    }
    if (mode->length > 0) {
        line_count(run, &p.line, &count);
        count.waiting += release.others;
    }
    if (release.error[0] != '\0') {
        script_return_error(run, release.error);
        return;
    }
    snprintf(text, sizeof text, "%d %.0f %.0f %d", release.given, count.waiting, count.first_ms,
             release.told);
    permit_answer(run, text);
}

void effect_set_permits(struct script_run *run) {
    struct permit p = permit_of(run);
    struct text was;
    permit_keep(&p, script_arg(run, 1));
    if (!run->is_over && line_first(run, &p.line, &was)) {
        p.is_readable = permit_refusal(&p, "mget") == NULL;
        permit_serve(&p, permit_number(script_arg(run, 1)), script_arg(run, 2), NULL);
        if (!run->is_over) {
            line_heir(run, &p.line, &was, NULL);
        }
    }
    if (!run->is_over) {
        script_return(run, 1);
    }
}

/* -- SLOT -- */

static void answer_text(struct script_run *run, const char *text, const struct resp_arg *value) {
    char out[160];
    int length = snprintf(out, sizeof out, "%s%.*s", text, (int)value->length, value->data);
    assert(length > 0 && (size_t)length < sizeof out);
    reply_bulk(run->call, out, (size_t)length);
    run->is_over = true;
}

static void answer_nil(struct script_run *run) {
    reply_line(run->call, "$-1");
    run->is_over = true;
}

/* Of all: how many there are, and how many are to be looked at. */
static void count_slots(const struct permit *p) {
    static const struct resp_arg none = {"0", 1}, nothing = {"", 0};
    struct script_run *run = p->run;
    struct resp_arg value, key = text_arg(&p->key);
    bool is_there = false;
    double number = 0;
    char text[64];
    if (script_refusal(run, "get", &key, NULL) != NULL ||
        script_try_get(run, &key, &value, &is_there) != NULL || !is_there) {
        value = none;
    }
    number = script_number(&value, &number) && number > 0 ? number : 0;
    const uint32_t k = number > RL_PERMITS_MAX ? RL_PERMITS_MAX : (uint32_t)number;
    uint32_t span = RL_PERMITS_MAX;
    script_raise_if(run, "redis.call('exists', slots(n)", permit_refusal(p, "exists"));
    while (!run->is_over && span > k && permit_slot(p, span - 1) == NULL) {
        span--;
    }
    if (!run->is_over && span == 0) {
        answer_nil(run);
    } else if (!run->is_over) {
        snprintf(text, sizeof text, "%u %u ", k, span);
        answer_text(run, text, &nothing);
    }
}

void effect_slots(struct script_run *run) {
    static const struct resp_arg odd = {"(not a string)", 14};
    struct permit p = permit_of(run);
    struct resp_arg value;
    bool is_there = false;
    double number = 0, fence = 0;
    char prefix[48], text[64];
    if (script_arg(run, 1)->length == 0) {
        count_slots(&p);
        return;
    }
    script_number(script_arg(run, 1), &number);
    snprintf(prefix, sizeof prefix, RL_COMMAND_SLOT_PREFIX "%.0f:{", number);
    struct text name = text_of(prefix, &p.resource, "}");
    struct resp_arg arg = text_arg(&name);
    struct text counter = text_of(RL_COMMAND_COUNTER_PREFIX, &arg, "");
    struct resp_arg counter_arg = text_arg(&counter);
    script_raise_if(run, "redis.call('pttl', s", permit_refusal(&p, "pttl"));
    const struct server_key *key = run->is_over ? NULL : find_key(run->call, &arg);
    if (run->is_over || key == NULL) {
        if (!run->is_over) {
            answer_nil(run);
        }
        return;
    }
    const double life = (double)pttl_of(run->call, key);
    const double left = life < 0 ? 0 : life < 1 ? 1 : life < 4294967295 ? life : 4294967295;
    if (script_refusal(run, "get", &counter_arg, NULL) != NULL ||
        script_try_get(run, &counter_arg, &value, &is_there) != NULL || !is_there ||
        !script_number(&value, &fence) || !(fence >= 0 && fence < 1e16)) {
        fence = 0;
    }
    snprintf(text, sizeof text, "%.0f %.0f ", left, fence);
    key = find_key(run->call, &arg);
    struct resp_arg all = {key->value.data, key->value.length};
    struct resp_arg shown = front_of(&all, 106);
    const bool is_odd = key->elements > 0 || permit_refusal(&p, "getrange") != NULL;
    answer_text(run, text, is_odd ? &odd : &shown);
}
