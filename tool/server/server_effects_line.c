/* The scripts that know the line, in C: step by step as in lib/redis/scripts. What their parts do
 * is in server_script_line.c. That a script has too few arguments does not happen. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "redis/command.h"
#include "server/server_effects.h"
#include "server/server_script_line.h"

#define TRIES 16 /* as many members does a script try to tell */
#define LINE_MS 600000
#define LIFE_READ_MS 1000

/* Where in the scripts. */
#define GET "redis.call('get'"
#define GET_EACH "redis.call('get', KEYS[i]"
#define SET "redis.call('set'"
#define SET_EACH "redis.call('set', KEYS[i]"
#define DEL "redis.call('del'"
#define PEXPIRE "redis.call('pexpire'"
#define TIME "redis.call('time'"
#define ZREM "redis.call('zrem'"
#define PTTL_OF_NO "string.format('0 "

/* -- TAKE -- */

/* Whether each of the first n keys may be taken; if not, the answer is there. */
bool script_may_take(struct script_run *run, double n, size_t place_at) {
    const struct resp_arg *place = script_arg(run, place_at);
    struct text mine = reservation_of(place);
    bool takes_any = is_word(place, RL_PLACE_ANY) || script_breaks(run, SERVER_BREAK_TAKE_OTHERS);
    for (double i = 1; i <= n; i++) {
        const struct resp_arg *name = script_key(run, i);
        struct resp_arg value;
        bool is_there = script_get(run, GET_EACH, name, &value);
        if (run->is_over) {
            return false;
        }
        bool is_others = is_there && value.length > 9 && memcmp(value.data, "reserved:", 9) == 0;
        if (!is_there || script_same(&value, script_arg(run, 1)) || is_word(&value, RL_RESERVED) ||
            is_text(&value, &mine) || script_breaks(run, SERVER_BREAK_TAKE_ANY) ||
            (is_others && takes_any)) {
            continue;
        }
        double life = script_pttl(run, PTTL_OF_NO, name);
        if (!run->is_over) {
            script_answer(run, "0 %.0f %.0f", i, life);
        }
        return false;
    }
    return true;
}

static void take_own(struct script_run *run, const struct resp_arg *name) {
    double ms = 0;
    if (script_breaks(run, SERVER_BREAK_TAKE_LEAVES)) {
        return;
    }
    if (script_breaks(run, SERVER_BREAK_TAKE_SHORTENS)) {
        script_number(script_arg(run, 2), &ms);
        script_pexpire(run, PEXPIRE, name, ms);
        return;
    }
    script_extend(run, name);
}

void script_take_key(struct script_run *run, const struct resp_arg *name) {
    struct resp_arg value, ttl = *script_arg(run, 2);
    bool is_there = script_get(run, GET_EACH, name, &value);
    char left[32];
    if (is_there && script_same(&value, script_arg(run, 1))) {
        take_own(run, name);
        return;
    }
    double life =
        is_there && script_breaks(run, SERVER_BREAK_TAKE_KEEPS) ? script_pttl(run, GET, name) : 0;
    if (life > 0) {
        ttl.data = left;
        ttl.length = (size_t)snprintf(left, sizeof left, "%.0f", life);
    }
    if (!run->is_over) {
        script_set(run, SET_EACH, name, script_arg(run, 1), false, &ttl);
    }
}

static void count_lines(struct script_run *run, const struct resp_arg *name, struct count *count) {
    struct text line = line_name(name), readers = line_shared_name(name);
    line_count(run, &line, count);
    line_count(run, &readers, count);
}

void effect_take(struct script_run *run) {
    const double n = (double)run->n_keys;
    struct count count = {0, 0};
    if (!script_may_take(run, n, 3)) {
        return;
    }
    for (double i = 1; i <= n && !run->is_over; i++) {
        script_take_key(run, script_key(run, i));
        if (!run->is_over) {
            count_lines(run, script_key(run, i), &count);
        }
    }
    if (!run->is_over) {
        script_answer(run, "1 %.0f %.0f 0", count.waiting, count.first_ms);
    }
}

void effect_take_fenced(struct script_run *run) {
    const double n = (double)run->n_keys / 2;
    struct count count = {0, 0};
    double fence = 0;
    char digits[400];
    bool has_fence = script_number(script_arg(run, 3), &fence);
    if (!script_may_take(run, n, 5) || !script_count_on(run, n, has_fence, &fence)) {
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
        if (!run->is_over) {
            count_lines(run, script_key(run, i), &count);
        }
    }
    if (!run->is_over) {
        script_answer(run, "1 %.0f %.0f %.0f", count.waiting, count.first_ms, fence);
    }
}

/* -- JOIN -- */

struct join {
    const struct resp_arg *name, *ms;
    struct text line, me;
    bool is_free, is_read; /* read: shared */
};

/* Stands in the line from now on, and its end is put off. */
static void stand_in_line(struct script_run *run, const struct join *join) {
    struct resp_arg line_arg = text_arg(&join->line);
    struct server_member me = {text_arg(&join->me), 0};
    double waited = 0;
    struct server_key *key;
    const char *error = line_open(run, "zadd", &join->line, &key);
    script_raise_if(run, "redis.call('zadd'", error);
    if (run->is_over) {
        return;
    }
    script_number(script_arg(run, 3), &waited);
    me.score = (double)run->call->now_us - waited * 1000;
    if (key == NULL) {
        key = keys_put(&run->call->server->keys, run->call->connection->db, &line_arg);
        key->is_line = true;
    }
    uint32_t rank = server_line_rank(key, &me.name);
    if (rank < key->elements && script_breaks(run, SERVER_BREAK_JOIN_ANEW)) {
        line_remove(key, rank);
    }
    if (server_line_rank(key, &me.name) == key->elements) {
        line_add(key, &me);
    }
    script_pexpire(run, PEXPIRE ", l", &line_arg, LINE_MS);
}

/* A place of the same client. */
static bool is_own(const struct resp_arg *member, const struct resp_arg *place) {
    return member->length >= RL_CLIENT_ID_LEN && place->length >= RL_CLIENT_ID_LEN &&
           memcmp(member->data, place->data, RL_CLIENT_ID_LEN) == 0;
}

/* What becomes of those before it. True: it is its own turn. */
static bool clear_line(struct script_run *run, const struct join *join) {
    struct text first = {.length = 0};
    bool ignored;
    for (int i = 0; i < TRIES; i++) {
        bool has_first = line_first(run, &join->line, &first);
        struct resp_arg name = text_arg(&first);
        if (!has_first || is_text(&name, &join->me) ||
            (join->is_free && script_breaks(run, SERVER_BREAK_JOIN_PASSES))) {
            return join->is_free;
        }
        if (is_own(&name, script_arg(run, 1))) {
            script_raise_if(run, ZREM, line_drop(run, &join->line, &first, &ignored));
        } else if (join->is_free) {
            struct text value = reservation_of(&name);
            struct resp_arg arg = text_arg(&value);
            if (!script_breaks(run, SERVER_BREAK_SERVE_STAYS)) {
                script_raise_if(run, ZREM, line_drop(run, &join->line, &first, &ignored));
            }
            if (!run->is_over && line_tell(run, &first, "turn ")) {
                script_set(run, "'PX', ms)\nbreak", join->name, &arg, false, join->ms);
                return false;
            }
        } else {
            struct text channel = channel_of(&first);
            if (count_listeners(run, &channel) != 0 || script_breaks(run, SERVER_BREAK_JOIN_DEAD)) {
                return false;
            }
            script_raise_if(run, ZREM, line_drop(run, &join->line, &first, &ignored));
        }
        if (run->is_over) {
            return false;
        }
    }
    return false;
}

/* The score of the first in a line; by pcall. False: nobody. */
static bool first_score(struct script_run *run, const struct text *line, double *score) {
    struct server_key *key;
    struct server_member member;
    bool is_there = line_open(run, "zrange", line, &key) == NULL && server_line_at(key, 0, &member);
    if (is_there) {
        *score = member.score;
    }
    return is_there;
}

/* Readers that have waited longer than all writers go first. */
static void serve_readers(struct script_run *run, struct join *join) {
    struct text readers = line_shared_name(join->name);
    double reader = 0, writer = 0;
    if (first_score(run, &readers, &reader) && first_score(run, &join->line, &writer) &&
        reader < writer && line_serve_shared(run, join->name, join->ms, false)) {
        join->is_free = false;
    }
}

static void answer_no(struct script_run *run, const struct join *join) {
    struct resp_arg me = text_arg(&join->me);
    struct server_key *key;
    const char *error = line_open(run, "zrank", &join->line, &key);
    script_raise_if(run, "redis.call('zrank'", error);
    double life = run->is_over ? 0 : script_pttl(run, "redis.call('pttl'", join->name);
    if (!run->is_over) {
        uint32_t rank = key != NULL ? server_line_rank(key, &me) : 0;
        rank = key != NULL && rank == key->elements ? 0 : rank;
        life = life < -1.5 ? 0 : life;
        life = join->is_read && life < LIFE_READ_MS ? LIFE_READ_MS : life;
        script_answer(run, "0 %u %.0f", rank, life);
    }
}

void effect_join(struct script_run *run) {
    const struct resp_arg *place = script_arg(run, 1);
    struct join join = {.name = script_key(run, 1),
                        .ms = script_arg(run, 4),
                        .line = line_name(script_key(run, 1)),
                        .me = member_of(place, script_arg(run, 2))};
    struct text was, mine = reservation_of(place);
    struct resp_arg value, arg = text_arg(&mine);
    bool ignored, is_there = script_get(run, GET, join.name, &value);
    if (run->is_over) {
        return;
    }
    bool yes = is_there && is_text(&value, &mine);
    join.is_free = !is_there || is_word(&value, RL_RESERVED);
    join.is_read = is_there && is_word(&value, RL_SHARED_VALUE);
    bool has_first = line_first(run, &join.line, &was);
    script_raise_if(run, TIME, script_refusal(run, "time", NULL, NULL));
    if (!run->is_over && !yes) {
        stand_in_line(run, &join);
        if (!run->is_over && join.is_free) {
            serve_readers(run, &join);
        }
        yes = !run->is_over && clear_line(run, &join);
    }
    if (!run->is_over && yes) {
        script_set(run, SET ", k, 'reserved:' .. p", join.name, &arg, false, join.ms);
        if (!run->is_over) {
            script_raise_if(run, ZREM ", l, me", line_drop(run, &join.line, &join.me, &ignored));
        }
    }
    if (run->is_over) {
        return;
    }
    line_heir(run, &join.line, has_first ? &was : NULL, &join.me);
    if (yes) {
        script_answer(run, "1");
    } else {
        answer_no(run, &join);
    }
}

/* -- JOIN of readers -- */

/* The first whose client is there. False: nobody. */
static bool first_that_lives(struct script_run *run, const struct text *line, struct text *out) {
    bool ignored;
    for (int i = 0; i < TRIES; i++) {
        if (!line_first(run, line, out)) {
            return false;
        }
        struct text channel = channel_of(out);
        if (count_listeners(run, &channel) != 0) {
            return true;
        }
        line_drop(run, line, out, &ignored);
    }
    return line_first(run, line, out);
}

/* Drops before it who is gone, and what its own client has left. */
static void clear_readers(struct script_run *run, const struct join *join) {
    struct text first;
    bool ignored;
    for (int i = 0; i < TRIES && !run->is_over; i++) {
        bool has_first = line_first(run, &join->line, &first);
        struct resp_arg name = text_arg(&first);
        if (!has_first || is_text(&name, &join->me)) {
            return;
        }
        struct text channel = channel_of(&first);
        if (!is_own(&name, script_arg(run, 1)) && count_listeners(run, &channel) != 0) {
            return;
        }
        script_raise_if(run, ZREM ", l, m)", line_drop(run, &join->line, &first, &ignored));
    }
}

/* Whether the place has waited longer than the writer; the line of writers may not be readable. */
static bool is_before(struct script_run *run, const struct join *join, const struct text *writers,
                      const struct text *writer) {
    struct resp_arg me = text_arg(&join->me), other = text_arg(writer);
    struct server_key *key;
    struct server_member mine = {.score = 0}, theirs;
    if (line_open(run, "zscore", writers, &key) != NULL ||
        !server_line_at(key, server_line_rank(key, &other), &theirs)) {
        return true;
    }
    const char *error = line_open(run, "zscore", &join->line, &key);
    script_raise_if(run, "redis.call('zscore'", error);
    return !run->is_over && server_line_at(key, server_line_rank(key, &me), &mine) &&
           mine.score < theirs.score;
}

static void come_in(struct script_run *run, const struct join *join, bool has_writer) {
    static const struct resp_arg reserved = {RL_RESERVED_SHARED, sizeof RL_RESERVED_SHARED - 1};
    bool ignored;
    script_raise_if(run, ZREM ", l, me)", line_drop(run, &join->line, &join->me, &ignored));
    if (!run->is_over && (join->is_free || !has_writer)) {
        line_serve_shared(run, join->name, join->ms, join->is_read);
    }
    if (!run->is_over && !join->is_read) {
        script_set(run, "if not is then " SET, join->name, &reserved, false, join->ms);
    }
}

void effect_join_shared(struct script_run *run) {
    struct join join = {.name = script_key(run, 1),
                        .ms = script_arg(run, 4),
                        .line = line_shared_name(script_key(run, 1)),
                        .me = member_of(script_arg(run, 1), script_arg(run, 2))};
    struct text writers = line_name(join.name), was, wrote, writer;
    struct resp_arg value;
    bool is_there = script_get(run, GET, join.name, &value);
    if (run->is_over) {
        return;
    }
    bool yes = is_there && is_word(&value, RL_RESERVED_SHARED);
    join.is_free = !is_there || is_word(&value, RL_RESERVED);
    join.is_read = is_there && is_word(&value, RL_SHARED_VALUE);
    bool has_first = line_first(run, &join.line, &was);
    bool has_wrote = line_first(run, &writers, &wrote);
    script_raise_if(run, TIME, script_refusal(run, "time", NULL, NULL));
    if (!run->is_over) {
        stand_in_line(run, &join);
        clear_readers(run, &join);
    }
    if (run->is_over) {
        return;
    }
    bool has_writer = first_that_lives(run, &writers, &writer);
    bool before = !has_writer || is_before(run, &join, &writers, &writer);
    yes = yes || (before && (join.is_read || join.is_free));
    if (!run->is_over && join.is_free && !before) {
        yes = !line_serve(run, join.name, &writers, join.ms) || yes;
    }
    if (!run->is_over && yes) {
        come_in(run, &join, has_writer);
    }
    if (run->is_over) {
        return;
    }
    line_heir(run, &writers, has_wrote ? &wrote : NULL, NULL);
    line_heir(run, &join.line, has_first ? &was : NULL, &join.me);
    if (yes) {
        script_answer(run, "1");
    } else {
        answer_no(run, &join);
    }
}

/* -- LEAVE, WAITER -- */

void effect_leave(struct script_run *run) {
    const struct resp_arg *name = script_key(run, 1), *place = script_arg(run, 1);
    struct text line = line_name(name), me = member_of(place, script_arg(run, 2)), was, writer;
    struct text mine = reservation_of(place);
    struct resp_arg value;
    bool was_there = false, is_there = false, has_first = line_first(run, &line, &was);
    script_raise_if(run, ZREM, line_drop(run, &line, &me, &was_there));
    if (run->is_over) {
        return;
    }
    bool is_good = script_try_get(run, name, &value, &is_there) == NULL;
    bool is_shared = is_there && is_word(&value, RL_SHARED_VALUE);
    bool is_free = is_good && (!is_there || is_word(&value, RL_RESERVED));
    if (is_there && (is_text(&value, &mine) || script_breaks(run, SERVER_BREAK_LEAVE_BLIND))) {
        was_there = true;
        if (!line_serve(run, name, &line, script_arg(run, 3)) && !run->is_over &&
            !line_serve_shared(run, name, script_arg(run, 3), false) && !run->is_over) {
            script_del(run, DEL ", k", name);
        }
    } else if ((is_free || is_shared) && !line_first(run, &line, &writer)) {
        line_serve_shared(run, name, script_arg(run, 3), is_shared);
    }
    if (run->is_over) {
        return;
    }
    line_heir(run, &line, has_first ? &was : NULL, NULL);
    script_return(run, was_there);
}

void effect_leave_shared(struct script_run *run) {
    struct text line = line_shared_name(script_key(run, 1)), was;
    struct text me = member_of(script_arg(run, 1), script_arg(run, 2));
    bool was_there = false, has_first = line_first(run, &line, &was);
    script_raise_if(run, ZREM, line_drop(run, &line, &me, &was_there));
    if (!run->is_over) {
        line_heir(run, &line, has_first ? &was : NULL, NULL);
        script_return(run, was_there);
    }
}

void effect_waiter(struct script_run *run) {
    const struct resp_arg *which = script_arg(run, 2);
    char prefix[64];
    snprintf(prefix, sizeof prefix, RL_COMMAND_LINE_PREFIX "%.*s%s{", (int)which->length,
             which->data, which->length > 0 ? ":" : "");
    struct text line = text_of(prefix, script_key(run, 1), "}");
    struct server_key *key;
    struct server_member member;
    double index = 0;
    const char *error = line_open(run, "zrange", &line, &key);
    script_raise_if(run, "redis.call('zrange'", error);
    if (run->is_over) {
        return;
    }
    script_number(script_arg(run, 1), &index);
    if (!server_line_at(key, (uint32_t)index, &member)) {
        reply_line(run->call, "$-1");
        run->is_over = true;
        return;
    }
    script_raise_if(run, TIME, script_refusal(run, "time", NULL, NULL));
    if (!run->is_over) {
        script_raise_if(run, "redis.call('zcard'", line_open(run, "zcard", &line, &key));
    }
    if (!run->is_over) {
        char text[160];
        struct resp_arg shown = front_of(&member.name, 97);
        int length =
            snprintf(text, sizeof text, "%u %.0f ", key->elements, waited_ms(run, member.score));
        memcpy(text + length, shown.data, shown.length);
        reply_bulk(run->call, text, (size_t)length + shown.length);
        run->is_over = true;
    }
}
