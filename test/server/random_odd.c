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
    do { /* what those say to odd arguments that name keys themselves is not compared */
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
    if (chance(random, 95) || random->users != NULL) { /* which keys are meant? servers differ */
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

/* A name that exists, or not, with too few arguments or too many. */
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
