/* The scripts that give up and hand on, in C: step by step as in lib/redis/scripts. That a script
 * has too few arguments does not happen. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "redis/command.h"
#include "server/server_effects.h"
#include "server/server_script_readers.h"

#define SERVE_MS "250"
#define DEL "redis.call('del'" /* where in the scripts */

static const struct resp_arg serve_ms = {SERVE_MS, sizeof SERVE_MS - 1};

struct release {
    const struct resp_arg *mode;
    bool is_shared; /* of readers */
    bool released, served;
    char error[256]; /* "": none */
    struct count count;
};

/* What is found under one key, and what becomes of it. */
struct given_up {
    const struct resp_arg *name;
    bool is_mine, is_free; /* free: absent, or reserved for nobody */
    bool is_there;         /* a text */
    bool is_read;          /* shared, and stays so */
    bool others;           /* they have it, or the turn */
};

static bool serves(const struct release *release) {
    return is_word(release->mode, "serve");
}

/* Gives the key to who is first: a writer or, after a writer, all readers before it. True: nobody
 * hears it. */
static bool hand_on(struct script_run *run, const struct resp_arg *name, struct release *release) {
    struct text line = line_name(name), readers = line_shared_name(name), was, ignored;
    bool has_first = line_first(run, &line, &was);
    bool has_reader = line_first(run, &readers, &ignored);
    bool is_served = false;
    if (has_reader && !release->is_shared) {
        is_served = line_serve_shared(run, name, &serve_ms, false);
    }
    if (!run->is_over && !is_served && has_first) {
        is_served = line_serve(run, name, &line, &serve_ms);
    }
    if (!run->is_over && !is_served && has_reader && release->is_shared) {
        is_served = line_serve_shared(run, name, &serve_ms, false);
    }
    if (run->is_over) {
        return false;
    }
    release->served = release->served || is_served;
    if (has_first) {
        line_heir(run, &line, &was, NULL);
    }
    return !is_served;
}

static const char *reserve(struct script_run *run, const struct resp_arg *name,
                           const struct release *release) {
    const struct resp_arg *mode = release->mode;
    bool keeps = mode->length == RL_PLACE_LEN;
    struct text word = text_of(keeps && release->is_shared ? RL_RESERVED_SHARED : RL_RESERVED,
                               &(struct resp_arg){"", 0}, "");
    struct text kept = reservation_of(mode);
    struct resp_arg value = text_arg(keeps && !release->is_shared ? &kept : &word);
    return script_try_set(run, name, &value, script_arg(run, 2));
}

static void keep_error(struct release *release, const char *problem) {
    if (problem != NULL && !script_is_wrong_type(problem)) {
        snprintf(release->error, sizeof release->error, "%s", problem);
    }
}

/* What both scripts do once they know what is there. */
static void pass_on(struct script_run *run, const struct given_up *key, struct release *release) {
    struct text line = line_name(key->name), readers = line_shared_name(key->name), first;
    bool deletes = key->is_mine;
    if (serves(release) && (key->is_mine || key->is_free)) {
        deletes = hand_on(run, key->name, release) &&
                  (key->is_mine || (key->is_there && run->n_keys == 1));
    } else if (serves(release) && key->is_read && !line_first(run, &line, &first)) {
        release->served = line_serve_shared(run, key->name, &serve_ms, true) || release->served;
    } else if (key->is_mine && !is_word(script_arg(run, 2), "0")) {
        deletes = reserve(run, key->name, release) != NULL;
    }
    if (!run->is_over && deletes) {
        script_del(run, DEL ", k)", key->name);
    }
    if (!run->is_over && key->is_mine && is_word(script_arg(run, 4), "1")) {
        script_try_publish(run, key->name);
    }
    if (!run->is_over && release->mode->length > 0) {
        line_count(run, &line, &release->count);
        line_count(run, &readers, &release->count);
        release->count.waiting += key->others;
    }
}

static void answer_release(struct script_run *run, const struct release *release) {
    if (run->is_over) {
        return;
    }
    if (release->error[0] != '\0') {
        script_return_error(run, release->error);
    } else {
        script_answer(run, "%d %.0f %.0f %d", release->released, release->count.waiting,
                      release->count.first_ms, release->served);
    }
}

/* -- Writers -- */

static void release_one(struct script_run *run, const struct resp_arg *name,
                        struct release *release) {
    const struct resp_arg *intent = script_arg(run, 5);
    struct text noted = intent_name(name);
    struct resp_arg value;
    struct given_up key = {.name = name};
    const char *problem = script_try_get(run, name, &value, &key.is_there);
    bool is_ours = key.is_there && script_same(&value, script_arg(run, 1));
    bool is_shared = key.is_there && is_word(&value, RL_SHARED_VALUE);
    key.is_mine = is_ours || (key.is_there && script_breaks(run, SERVER_BREAK_BLIND_RELEASE));
    key.is_free = problem == NULL && (!key.is_there || is_word(&value, RL_RESERVED));
    key.others = key.is_there && !is_ours && !is_word(&value, RL_RESERVED);
    release->released = release->released || key.is_mine;
    keep_error(release, problem);
    pass_on(run, &key, release);
    if (!run->is_over && is_word(intent, "0")) {
        far_del(run, &noted);
    } else if (!run->is_over && intent->length > 0 && is_shared) {
        intent_note(run, name, intent);
    }
}

/* EXISTS of both lines: nobody waits. */
static bool nobody_waits(struct script_run *run, const struct resp_arg *name) {
    struct text line = line_name(name), readers = line_shared_name(name);
    const struct resp_arg lines[] = {text_arg(&line), text_arg(&readers)};
    return script_none_exists(run, lines, 2);
}

/* The script's first lines. */
static bool release_alone(struct script_run *run, const struct release *release) {
    const struct resp_arg *name = script_key(run, 1);
    struct resp_arg value;
    bool is_there = false;
    if (run->n_keys != 1 || !serves(release) || script_arg(run, 4)->length > 0 ||
        script_arg(run, 5)->length > 0 || !nobody_waits(run, name) ||
        script_try_get(run, name, &value, &is_there) != NULL || !is_there ||
        !script_same(&value, script_arg(run, 1))) {
        return false;
    }
    script_del(run, DEL ", KEYS[1]", name);
    if (!run->is_over) {
        script_answer(run, "1 0 0 0");
    }
    return true;
}

void effect_release_line(struct script_run *run) {
    struct release release = {.mode = script_arg(run, 3)};
    if (release_alone(run, &release)) {
        return;
    }
    for (size_t i = 1; i <= run->n_keys && !run->is_over; i++) {
        release_one(run, script_key(run, (double)i), &release);
    }
    answer_release(run, &release);
}

/* -- Readers -- */

/* Ends the lease of the value. Returns the error; else *lived says whether it lived, and *last that
 * it was the last one. */
static const char *end_lease(struct script_run *run, const struct resp_arg *name, bool *lived,
                             bool *last) {
    struct text leases = readers_name(name), value = text_of("", script_arg(run, 1), "");
    struct server_key *key;
    struct server_member member;
    bool ignored;
    const char *error = line_open(run, "zscore", &leases, &key);
    if (error != NULL || key == NULL ||
        !server_line_at(key, server_line_rank(key, script_arg(run, 1)), &member)) {
        return error;
    }
    double end = member.score;
    error = line_drop(run, &leases, &value, &ignored);
    if (error == NULL) {
        *last = !readers_settle(run, name) || script_breaks(run, SERVER_BREAK_SHARE_ENDS);
        *lived = end > readers_now_ms(run);
    }
    return error;
}

static void release_shared_one(struct script_run *run, const struct resp_arg *name,
                               struct release *release) {
    struct resp_arg value;
    struct given_up key = {.name = name};
    const char *problem = script_try_get(run, name, &value, &key.is_there);
    bool is_shared = key.is_there && is_word(&value, RL_SHARED_VALUE);
    bool is_reserved =
        key.is_there && (is_word(&value, RL_RESERVED) || is_word(&value, RL_RESERVED_SHARED));
    key.is_mine = key.is_there && script_same(&value, script_arg(run, 1));
    key.is_free = problem == NULL && (!key.is_there || is_word(&value, RL_RESERVED));
    bool lived = key.is_mine;
    if (is_shared) {
        problem = end_lease(run, name, &lived, &key.is_mine);
    }
    key.is_read = is_shared && !key.is_mine;
    key.others = key.is_there && !key.is_mine && !key.is_read && !is_reserved;
    release->released = release->released || lived;
    keep_error(release, problem);
    pass_on(run, &key, release);
}

/* The value's is the only lease. */
static bool reads_alone(struct script_run *run, const struct text *leases) {
    struct server_key *key;
    struct server_member member;
    return line_open(run, "zrange", leases, &key) == NULL && key != NULL && key->elements == 1 &&
           server_line_at(key, 0, &member) && script_same(&member.name, script_arg(run, 1));
}

/* The script's first lines. */
static bool release_shared_alone(struct script_run *run, const struct release *release) {
    const struct resp_arg *name = script_key(run, 1);
    const bool deletes = release->mode->length == 0 && is_word(script_arg(run, 2), "0");
    struct resp_arg value;
    bool is_there = false;
    if (run->n_keys != 1 || script_arg(run, 4)->length > 0 || !(serves(release) || deletes)) {
        return false;
    }
    struct text leases = readers_name(name);
    if (!reads_alone(run, &leases) || script_try_get(run, name, &value, &is_there) != NULL ||
        !is_there || !is_word(&value, RL_SHARED_VALUE) || !(deletes || nobody_waits(run, name))) {
        return false;
    }
    struct resp_arg arg = text_arg(&leases);
    script_raise_if(run, DEL ", k, z)", script_refusal(run, "del", &arg, NULL));
    if (!run->is_over) {
        far_del(run, &leases);
        script_del(run, DEL ", k, z)", name);
    }
    if (!run->is_over) {
        script_answer(run, "1 0 0 0");
    }
    return true;
}

void effect_release_shared(struct script_run *run) {
    struct release release = {.mode = script_arg(run, 3), .is_shared = true};
    if (release_shared_alone(run, &release)) {
        return;
    }
    readers_time(run);
    for (size_t i = 1; i <= run->n_keys && !run->is_over; i++) {
        release_shared_one(run, script_key(run, (double)i), &release);
    }
    answer_release(run, &release);
}
