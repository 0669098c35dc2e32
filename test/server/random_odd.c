/* Commands that are nearly what the library sends: see random_parts.h. */
#include <stdio.h>
#include <string.h>

#include "redis/command.h"
#include "server/random_parts.h"

static void put_script(struct random_commands *random, struct bytes *wire, bool whole) {
    const char *sha1 = NULL, *text = NULL;
    uint32_t n = 0;
    while (rl_command_script_at(n, &sha1) != NULL) {
        n++;
    }
    do { /* not scripts that take keys from arguments: their answers to odd ones are not compared */
        text = rl_command_script_at(pick(random, n), &sha1);
    } while (strstr(text, RL_COMMAND_PREFIX) != NULL);
    put_word(wire, whole ? text : sha1);
}

void random_odd_script(struct random_commands *random, struct bytes *wire) {
    uint32_t n_keys = pick(random, 5), n_args = pick(random, 6);
    bool whole = chance(random, 30);
    bytes_append_number(wire, '*', 3 + n_keys + n_args);
    put_word(wire, whole ? "EVAL" : "evalsha");
    if (whole || !chance(random, 5)) {
        put_script(random, wire, whole);
    } else {
        put_word(wire, chance(random, 50) ? "abc" : random_tokens[2]);
    }
    if (chance(random, 95) || random->users != NULL) { /* servers differ in which keys they take */
        put_number(wire, n_keys);
    } else {
        put_word(wire, odd_arg(random));
    }
    for (uint32_t i = 0; i < n_keys; i++) {
        put_key_at(wire, any_key(random));
    }
    for (uint32_t i = 0; i < n_args; i++) {
        put_word(wire, chance(random, 50) && i == 0 ? random_tokens[0] : odd_arg(random));
    }
}

void random_scripts(struct random_commands *random, struct bytes *wire) {
    uint32_t what = pick(random, 10);
    if (what < 6) {
        bytes_append_text(wire, "*3\r\n");
        put_word(wire, "SCRIPT");
        put_word(wire, what < 4 ? "LOAD" : "EXISTS");
        put_script(random, wire, what < 4);
    } else {
        static const char *const how[] = {"SYNC", "ASYNC", "no"};
        bytes_append_text(wire, what < 9 ? "*2\r\n" : "*3\r\n");
        put_word(wire, "script");
        put_word(wire, "flush");
        if (what == 9) {
            put_word(wire, how[pick(random, COUNT(how))]);
        }
    }
}

void random_odd_set(struct random_commands *random, struct bytes *wire) {
    static const char *const options[] = {
        "NX", "XX", "PX", "EX", "KEEPTTL", "px", "5000", "PERSIST", "9223372036854775807"};
    static const char *const states[] = {RL_SHARED_VALUE, RL_RESERVED, RL_RESERVED_SHARED};
    uint32_t n = pick(random, 5);
    bytes_append_number(wire, '*', 3 + n);
    uint32_t key = any_key(random);
    put_word(wire, "set");
    put_key_at(wire, key);
    if (key < 2 && chance(random, 20)) {
        put_word(wire, states[pick(random, COUNT(states))]);
    } else {
        put_word(wire, chance(random, 50) ? random_tokens[0] : odd_arg(random));
    }
    for (uint32_t i = 0; i < n; i++) {
        put_word(wire,
                 chance(random, 60) ? options[pick(random, COUNT(options))] : odd_arg(random));
    }
}

void random_key_command(struct random_commands *random, struct bytes *wire) {
    static const char *const names[] = {"GET",      "PTTL",    "TYPE",      "PEXPIRETIME", "DEL",
                                        "GETRANGE", "PEXPIRE", "PEXPIREAT", "RPUSH"};
    uint32_t what = pick(random, COUNT(names));
    uint32_t count = what < 5 ? 2 : what == 5 ? 4 : 3;
    bool two = what == 4 && chance(random, 30);
    bytes_append_number(wire, '*', count + (two ? 1 : 0));
    put_word(wire, names[what]);
    put_key_at(wire, what == 8 && chance(random, 80) ? LIST : any_key(random));
    if (two) {
        put_key_at(wire, any_key(random));
    } else if (what == 5) {
        put_number(wire, (long long)pick(random, 60) - 50);
        put_number(wire, (long long)pick(random, 60) - 50);
    } else if (what == 7 && chance(random, 80)) {
        put_number(wire, (long long)random->now_ms + (long long)pick(random, 8) - 3);
    } else if (what > 5) {
        put_word(wire, odd_arg(random));
    }
}

static const char *one_of(struct random_commands *random, const char *const *words, uint32_t n) {
    return words[pick(random, n)];
}

static void put_plain_arg(struct random_commands *random, struct bytes *wire, char what) {
    /* Whole scores: servers write others in different ways. */
    static const char *const scores[] = {"0", "1", "2", "3", "-4", "1e3", "x", "", " 1", "nan"};
    static const char *const bounds[] = {"0", "(1", "2", "(3", "-inf", "+inf", "(inf", "x", "("};
    static const char *const members[] = {"m", "n", "o", ""};
    static const char *const ranks[] = {"0", "1", "-1", "-2", "5", "-9", "x"};
    static const char *const channels[] = {"redlock:a", "redlock:b", "none"};
    /* Not those whose scores are times, which differ by microseconds. */
    static const uint32_t zsets[] = {3, LIST, UPGRADE, UPGRADE, UPGRADE, UPGRADE, UPGRADE};
    switch (what) {
        case 'k':
            put_key_at(wire, any_key(random));
            break;
        case 'z':
            put_key_at(wire, zsets[pick(random, COUNT(zsets))]);
            break;
        case 'l':
            put_key_at(wire, chance(random, 80) ? LINE + pick(random, 2) : any_key(random));
            break;
        case 's':
            put_word(wire, chance(random, 80) ? scores[pick(random, 5)]
                                              : one_of(random, scores, COUNT(scores)));
            break;
        case 'b':
            put_word(wire, chance(random, 80) ? bounds[pick(random, 7)]
                                              : one_of(random, bounds, COUNT(bounds)));
            break;
        case 'm':
            put_word(wire, one_of(random, members, COUNT(members)));
            break;
        case 'r':
            put_word(wire, one_of(random, ranks, COUNT(ranks)));
            break;
        case 'c':
            put_word(wire, one_of(random, channels, COUNT(channels)));
            break;
        default:
            put_word(wire, odd_arg(random));
    }
}

/* Commands that the scripts and other clients call. */
void random_plain(struct random_commands *random, struct bytes *wire) {
    static const char *const forms[] = {
        "ZADD z s m",    "ZADD z s m s m",
        "zadd z NX s m", "ZADD z nx s m s m",
        "ZADD z s",      "ZADD z nx s",
        "ZCARD z",       "ZCOUNT z b b",
        "ZPOPMIN z",     "ZPOPMIN z r",
        "ZPOPMIN z r r", "ZRANGE z r r",
        "ZRANGE z 0 -1", "ZRANGE z r r withscores",
        "ZRANK z m",     "ZRANGEBYSCORE z b b WITHSCORES LIMIT r r",
        "ZREM z m",      "ZRANGEBYSCORE z b b",
        "ZREM z m m m",  "ZRANGEBYSCORE z b b LIMIT r",
        "ZSCORE z m",    "ZREMRANGEBYSCORE z b b",
        "ZADD z s m",    "ZADD z s m s m s m",
        "INCR k",        "ZREMRANGEBYSCORE z b b",
        "ZADD l nx s m", "ZADD l s m",
        "ZCARD l",       "ZCOUNT l b b",
        "ZRANGE l r r",  "ZRANK l m",
        "ZREM l m",      "ZREMRANGEBYSCORE l b b",
        "EXISTS z k k",  "PUBSUB NUMSUB c c",
        "MGET k z k",    "PUBSUB NUMSUB",
        "SETNX k o",     "SETEX k o o",
        "TTL k",         "PSETEX k o o",
        "ECHO o",        "EXPIRE k o",
        "INCR k",        "UNLINK z k",
        "PEXPIRE z o",   "TYPE z",
    };
    const char *form = forms[pick(random, COUNT(forms))];
    uint32_t count = 1;
    for (const char *c = form; *c != '\0'; c++) {
        count += *c == ' ';
    }
    bytes_append_number(wire, '*', count);
    for (uint32_t i = 0; i < count; i++) {
        const size_t length = strcspn(form, " ");
        if (length == 1 && form[0] >= 'a') {
            put_plain_arg(random, wire, form[0]);
        } else {
            put_arg(wire, form, length);
        }
        form += length + (form[length] == ' ');
    }
}

void random_connection_command(struct random_commands *random, struct bytes *wire) {
    static const char *const dbs[] = {"0", "1", "0", "1", "16", "-1", "x", "01", "4294967296"};
    static const char *const names[] = {"me", "a b", "", "redlock"};
    static const char *const sections[] = {"server", "replication", "memory", "nothing",
                                           "persistence"};
    switch (pick(random, 6)) {
        case 0:
            bytes_append_text(wire, "*2\r\n$6\r\nSELECT\r\n");
            put_word(wire, dbs[pick(random, COUNT(dbs))]);
            break;
        case 1:
            bytes_append_text(wire, "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n");
            put_word(wire, names[pick(random, COUNT(names))]);
            break;
        case 2:
            bytes_append_text(wire, "*2\r\n$6\r\nclient\r\n$7\r\ngetname\r\n");
            break;
        case 3:
            bytes_append_text(wire, "*2\r\n$4\r\nPING\r\n");
            put_word(wire, odd_arg(random));
            break;
        case 4:
            bytes_append_text(wire, "*2\r\n$4\r\nINFO\r\n");
            put_word(wire, sections[pick(random, COUNT(sections))]);
            break;
        default:
            bytes_append_text(
                wire, chance(random, 20) ? "*1\r\n$8\r\nFLUSHALL\r\n" : "*1\r\n$4\r\nPING\r\n");
            break;
    }
}

/* A known or unknown command with too few or too many arguments. */
void random_odd_count(struct random_commands *random, struct bytes *wire) {
    static const struct {
        const char *name;
        uint32_t max;
    } names[] = {{"get", 3},        {"SET", 2},     {"pttl", 2},     {"del", 0},
                 {"ping", 2},       {"auth", 3},    {"eval", 1},     {"EVALSHA", 1},
                 {"subscribe", 0},  {"publish", 1}, {"client", 1},   {"script", 1},
                 {"pexpire", 1},    {"nosuch", 3},  {"getrange", 4}, {"delex", 2},
                 {"delifeq", 3},    {"rpush", 1},   {"type", 2},     {"select", 0},
                 {"NoSuch\r\n", 2}, {"flushall", 1}};
    uint32_t which = pick(random, COUNT(names));
    uint32_t n = pick(random, names[which].max + 1);
    if (random->is_plain && strcmp(names[which].name, "auth") == 0) {
        return;
    }
    bytes_append_number(wire, '*', 1 + n);
    put_word(wire, names[which].name);
    for (uint32_t i = 0; i < n; i++) {
        if (chance(random, 50)) {
            put_key_at(wire, any_key(random) == 2 ? 0 : any_key(random));
        } else {
            put_word(wire, odd_arg(random));
        }
    }
}

bool random_load(size_t index, struct bytes *wire) {
    const char *sha1;
    const char *text = rl_command_script_at(index, &sha1);
    if (text != NULL) {
        bytes_append_text(wire, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n");
        put_word(wire, text);
    }
    return text != NULL;
}
