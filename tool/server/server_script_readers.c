/* See server_script_readers.h. */
#include "server/server_script_readers.h"

#include <stdio.h>
#include <string.h>

#include "redis/command.h"
#include "server/server_effects.h"

/* Where in the scripts. */
#define CALL(name) "redis.call('" name "'"

static const struct resp_arg shared = {RL_SHARED_VALUE, sizeof RL_SHARED_VALUE - 1};

struct text readers_name(const struct resp_arg *resource) {
    return text_of(RL_COMMAND_READERS_PREFIX "{", resource, "}");
}

struct text intent_name(const struct resp_arg *resource) {
    return text_of(RL_COMMAND_INTENT_PREFIX "{", resource, "}");
}

struct text upgrade_name(const struct resp_arg *resource) {
    return text_of(RL_COMMAND_UPGRADE_PREFIX "{", resource, "}");
}

void readers_time(struct script_run *run) {
    script_raise_if(run, "local t = " CALL("time"), script_refusal(run, "time", NULL, NULL));
}

double readers_now_ms(const struct script_run *run) {
    return (double)(run->call->now_us / 1000);
}

/* redis.call() of a command on leases. */
static struct server_key *open_leases(struct script_run *run, const char *at, const char *command,
                                      const struct text *name) {
    struct server_key *key = NULL;
    if (!run->is_over) {
        script_raise_if(run, at, line_open(run, command, name, &key));
    }
    return key;
}

double readers_lease(struct script_run *run, const struct resp_arg *resource,
                     const struct resp_arg *value) {
    struct text name = readers_name(resource);
    struct server_key *key = open_leases(run, CALL("zscore") ", readers(k), v)", "zscore", &name);
    struct server_member member = {.score = 0};
    if (run->is_over || key == NULL ||
        !server_line_at(key, server_line_rank(key, value), &member)) {
        return 0;
    }
    return member.score > readers_now_ms(run) ? member.score : 0;
}

/* -- part_hold.lua -- */

static void forget_leases(struct script_run *run, const struct text *name) {
    struct resp_arg arg = text_arg(name);
    const char *at = CALL("exists") ", z";
    script_raise_if(run, at, script_refusal(run, "exists", &arg, NULL));
    struct server_key *key = run->is_over ? NULL : find_key(run->call, &arg);
    if (key != NULL) {
        script_raise_if(run, at, script_refusal(run, "del", &arg, NULL));
        if (!run->is_over) {
            delete_key(run->call, key);
        }
    }
}

static void add_lease(struct script_run *run, const char *at, const struct text *name, double end) {
    struct resp_arg arg = text_arg(name);
    struct server_member lease = {*script_arg(run, 1), end};
    struct server_key *key = open_leases(run, at, "zadd", name);
    if (run->is_over) {
        return;
    }
    if (key == NULL) {
        key = keys_put(&run->call->server->keys, run->call->connection->db, &arg);
        key->is_line = true;
    }
    uint32_t rank = server_line_rank(key, &lease.name);
    if (rank < key->elements) {
        line_remove(key, rank);
    }
    line_add(key, &lease);
}

/* ZREMRANGEBYSCORE up to now. */
static void drop_ended(struct script_run *run, struct server_key *key) {
    struct server_member member;
    while (server_line_at(key, 0, &member) && member.score <= readers_now_ms(run)) {
        line_remove(key, 0);
    }
}

/* False: there is none. */
static bool last_end(const struct server_key *key, double *end) {
    struct server_member member;
    bool is_there = key != NULL && server_line_at(key, key->elements - 1, &member);
    if (is_there) {
        *end = member.score;
    }
    return is_there;
}

void readers_pexpireat(struct script_run *run, const char *at, const struct resp_arg *name,
                       double when_ms) {
    if (!run->is_over) {
        script_raise_if(run, at, script_refusal(run, "pexpireat", name, NULL));
    }
    struct server_key *key = run->is_over ? NULL : find_key(run->call, name);
    if (key != NULL) {
        expire_key(run->call, key, (long long)when_ms);
    }
}

void readers_hold_alone(struct script_run *run, const struct resp_arg *resource,
                        const struct resp_arg *ms) {
    struct text name = readers_name(resource);
    struct resp_arg arg = text_arg(&name);
    double life = 0;
    script_number(ms, &life);
    script_raise_if(run, "local c = " CALL("time"), script_refusal(run, "time", NULL, NULL));
    const double end = readers_now_ms(run) + life;
    if (!run->is_over) {
        add_lease(run, CALL("zadd") ", z, till", &name, end);
    }
    readers_pexpireat(run, CALL("pexpireat") ", z, till", &arg, end);
    if (!run->is_over) {
        script_set(run, CALL("set") ", k, 'redlock:shared', 'PX', ARGV", resource, &shared, false,
                   ms);
    }
    readers_pexpireat(run, CALL("pexpireat") ", k, till", resource, end);
}

void readers_hold(struct script_run *run, const struct resp_arg *resource, double end, bool is) {
    struct text name = readers_name(resource);
    struct resp_arg arg = text_arg(&name);
    if (!is) {
        forget_leases(run, &name);
    }
    if (!run->is_over) {
        add_lease(run, CALL("zadd") ", z, num", &name, end);
    }
    struct server_key *key = open_leases(run, CALL("zremrangebyscore"), "zremrangebyscore", &name);
    if (!run->is_over) {
        drop_ended(run, key);
    }
    key = open_leases(run, CALL("zrange") ", z", "zrange", &name);
    if (!run->is_over && !script_breaks(run, SERVER_BREAK_SHARE_SHORTENS)) {
        last_end(key, &end);
    }
    readers_pexpireat(run, CALL("pexpireat") ", z, e)", &arg, end);
    if (!run->is_over && !is) {
        char text[32];
        int length = snprintf(text, sizeof text, "%.0f", end - readers_now_ms(run));
        struct resp_arg life = {text, (size_t)length};
        script_set(run, "if not is then " CALL("set") ", k", resource, &shared, false, &life);
    }
    readers_pexpireat(run, CALL("pexpireat") ", k, e)", resource, end);
}

/* -- A release -- */

static void try_pexpireat(struct script_run *run, const struct resp_arg *name, double when_ms) {
    bool may = script_refusal(run, "pexpireat", name, NULL) == NULL;
    struct server_key *key = may ? find_key(run->call, name) : NULL;
    if (key != NULL) {
        expire_key(run->call, key, (long long)when_ms);
    }
}

bool readers_settle(struct script_run *run, const struct resp_arg *resource) {
    struct text name = readers_name(resource);
    struct resp_arg arg = text_arg(&name);
    struct server_key *key;
    double end = 0;
    if (line_open(run, "zremrangebyscore", &name, &key) == NULL && key != NULL) {
        drop_ended(run, key);
        if (key->elements == 0) {
            keys_remove(&run->call->server->keys, key);
        }
    }
    if (line_open(run, "zrange", &name, &key) != NULL) {
        return true; /* who knows */
    }
    bool is_left = last_end(key, &end);
    if (is_left) {
        try_pexpireat(run, &arg, end);
        try_pexpireat(run, resource, end);
    }
    return is_left;
}

/* -- Keys that are no ZSET -- */

double far_pttl(struct script_run *run, const struct text *name) {
    struct resp_arg arg = text_arg(name);
    if (script_refusal(run, "pttl", &arg, NULL) != NULL) {
        return -3;
    }
    const struct server_key *key = find_key(run->call, &arg);
    return key == NULL ? -2 : (double)pttl_of(run->call, key);
}

void far_set(struct script_run *run, const struct text *name, const struct resp_arg *value,
             const struct resp_arg *ms) {
    struct resp_arg arg = text_arg(name);
    uint64_t expires_ms = SERVER_NEVER_MS;
    if (script_refusal(run, "set", &arg, NULL) == NULL &&
        read_ttl(run->call, ms, 1, &expires_ms) == NULL) {
        put_key(run->call, &arg, value, expires_ms);
    }
}

void far_del(struct script_run *run, const struct text *name) {
    struct resp_arg arg = text_arg(name);
    bool may = script_refusal(run, "del", &arg, NULL) == NULL;
    struct server_key *key = may ? find_key(run->call, &arg) : NULL;
    if (key != NULL) {
        delete_key(run->call, key);
    }
}

void intent_note(struct script_run *run, const struct resp_arg *resource,
                 const struct resp_arg *ms) {
    static const struct resp_arg one = {"1", 1};
    struct text name = intent_name(resource);
    double left = far_pttl(run, &name), wanted = 0;
    bool shortens = script_breaks(run, SERVER_BREAK_INTENT_SHORTENS);
    if (script_breaks(run, SERVER_BREAK_INTENT_STAYS)) {
        struct resp_arg arg = text_arg(&name);
        put_key(run->call, &arg, &one, SERVER_NEVER_MS);
    } else if (script_number(ms, &wanted) && left > -2.5 && (left < wanted || shortens)) {
        far_set(run, &name, &one, ms);
    }
}
