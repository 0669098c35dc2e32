/* See random_commands.h. */
#include "server/random_commands.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "redis/command.h"
#include "redis/handshake.h"
#include "server/splitmix.h"

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))
#define FENCE RL_COMMAND_COUNTER_PREFIX
#define LINE(name) RL_COMMAND_LINE_PREFIX "{" name "}"

#define TEXT(text) \
    { text, sizeof(text) - 1 }
/* Resources, then their counters; then a list; then the lines. */
static const struct resp_arg keys[] = {
    TEXT("a"),       TEXT("b"),       TEXT("c\r\n\0d"),       TEXT(""),
    TEXT(FENCE "a"), TEXT(FENCE "b"), TEXT(FENCE "c\r\n\0d"), TEXT(FENCE ""),
    TEXT("l"),       TEXT(LINE("a")), TEXT(LINE("b")),        TEXT(LINE("c\r\n\0d")),
    TEXT(LINE("")),
};
#define RESOURCES 4
#define LIST 8

/* The last is a holder's that is shown cut. */
static const char *const tokens[] = {
    "0123456789abcdef0123456789abcdef01234567",
    "76543210fedcba9876543210fedcba9876543210",
    "ffffffffffffffffffffffffffffffffffffffff",
};
static const char holder[] = "a-holder-with-a-name-of-sixty-four-characters-0123456789-abcdefg";

/* Of three clients, the first of which has three. How long each has waited: much more apart than
 * this takes, so that neither order depends on the microsecond in which a JOIN runs. */
static const struct {
    const char *place;
    uint32_t waited_ms;
} places[] = {
    {"00000000000000010000000000000001", 50000000}, {"00000000000000010000000000000002", 10000000},
    {"00000000000000010000000000000003", 90000000}, {"00000000000000020000000000000001", 30000000},
    {"00000000000000030000000000000001", 70000000},
};
#define HOLDER_WAITED_MS 5000000

static const char *const odd_args[] = {
    "0123456789abcdef0123456789abcdef01234567",
    "76543210fedcba9876543210fedcba9876543210",
    "5000",
    "60000",
    "0",
    "-5",
    "x",
    "1.5",
    "3",
    "7",
    "1e3",
    "0x10",
    " 12 ",
    "9007199254740991",
    "9007199254740990",
    "99999999999999999999",
    "9223372036854775808",
    "",
};

uint32_t random_pick(uint64_t *state, uint32_t count) {
    return (uint32_t)(next_random(state) % count);
}

static uint32_t pick(struct random_commands *random, uint32_t count) {
    return random_pick(&random->state, count);
}

static bool chance(struct random_commands *random, uint32_t percent) {
    return pick(random, 100) < percent;
}

/* -- Writing -- */

static void put_arg(struct bytes *wire, const void *data, size_t length) {
    bytes_append_number(wire, '$', (long long)length);
    bytes_append(wire, data, length);
    bytes_append(wire, "\r\n", 2);
}

static void put_word(struct bytes *wire, const char *word) {
    put_arg(wire, word, strlen(word));
}

static void put_key(struct bytes *wire, uint32_t index) {
    put_arg(wire, keys[index].data, keys[index].length);
}

static void put_number(struct bytes *wire, long long number) {
    char text[24];
    snprintf(text, sizeof text, "%lld", number);
    put_word(wire, text);
}

static uint32_t any_key(struct random_commands *random) {
    return chance(random, 60) ? pick(random, 2) : pick(random, COUNT(keys));
}

static const char *odd_arg(struct random_commands *random) {
    return odd_args[pick(random, COUNT(odd_args))];
}

static uint32_t ttl(struct random_commands *random) {
    static const uint32_t ttls[] = {1, 2, 3, 8, 5000, 30000, 60000, 86400000};
    return ttls[pick(random, COUNT(ttls))];
}

/* -- What the library sends -- */

static void lock_command(struct random_commands *random, struct bytes *wire) {
    static const enum rl_command_kind kinds[] = {
        RL_COMMAND_SET,     RL_COMMAND_SET,     RL_COMMAND_SET_ALL, RL_COMMAND_FENCE,
        RL_COMMAND_RAISE,   RL_COMMAND_EXTEND,  RL_COMMAND_EXTEND,  RL_COMMAND_EXTEND,
        RL_COMMAND_RELEASE, RL_COMMAND_RELEASE, RL_COMMAND_READ};
    struct rl_command command = {.kind = kinds[pick(random, COUNT(kinds))]};
    struct rl_bytes resources[RESOURCES];
    uint32_t first = chance(random, 70) ? 0 : pick(random, RESOURCES);
    uint32_t n = 1 + (chance(random, 40) ? pick(random, RESOURCES - 1) : 0);
    if (command.kind == RL_COMMAND_SET || command.kind == RL_COMMAND_READ ||
        command.kind == RL_COMMAND_RELEASE) {
        n = 1;
    } else if (command.kind == RL_COMMAND_SET_ALL) {
        n = n == 1 ? 2 : n;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct resp_arg *key = &keys[(first + i) % RESOURCES];
        resources[i] = (struct rl_bytes){key->data, key->length};
    }
    bool has_holder = chance(random, 20);
    struct rl_target target = {.resources = resources,
                               .n = n,
                               .holder_length = has_holder ? sizeof holder - 1 : 0,
                               .retention_ms = chance(random, 90) ? 3600000 : ttl(random),
                               .holder = holder};
    bool has_fence = command.kind == RL_COMMAND_FENCE || command.kind == RL_COMMAND_RAISE ||
                     (command.kind == RL_COMMAND_EXTEND && chance(random, 40));
    command.whole_script = chance(random, 15);
    command.ttl_ms = ttl(random);
    command.counter = has_fence ? 1 + pick(random, 6) : 0;
    command.target = &target;
    command.token = tokens[chance(random, 75) ? 0 : pick(random, COUNT(tokens))];
    char text[16384];
    assert(rl_command_room(&target) <= sizeof text);
    bytes_append(wire, text, rl_command_format(text, &command));
}

/* One resource most of the time, so that lines form. */
static void line_command(struct random_commands *random, struct bytes *wire) {
    static const enum rl_command_kind kinds[] = {
        RL_COMMAND_JOIN,  RL_COMMAND_JOIN,   RL_COMMAND_JOIN,
        RL_COMMAND_TAKE,  RL_COMMAND_TAKE,   RL_COMMAND_RELEASE_LINE,
        RL_COMMAND_LEAVE, RL_COMMAND_WAITER, RL_COMMAND_RELEASE_LINE,
    };
    uint32_t place = pick(random, COUNT(places)), first = chance(random, 80) ? 0 : pick(random, 3);
    bool has_holder = chance(random, 20), has_fence = chance(random, 30);
    struct rl_bytes resources[2];
    for (uint32_t i = 0; i < 2; i++) {
        const struct resp_arg *key = &keys[(first + i) % RESOURCES];
        resources[i] = (struct rl_bytes){key->data, key->length};
    }
    struct rl_target target = {.resources = resources,
                               .n = chance(random, 75) ? 1 : 2,
                               .holder_length = has_holder ? sizeof holder - 1 : 0,
                               .notifies = chance(random, 50),
                               .retention_ms = 3600000,
                               .holder = holder};
    struct rl_command command = {
        .kind = kinds[pick(random, COUNT(kinds))],
        .whole_script = chance(random, 10),
        .announces = chance(random, 50),
        .ttl_ms = ttl(random),
        .target = &target,
        .token = tokens[chance(random, 75) ? 0 : pick(random, COUNT(tokens))],
        .place = places[place].place,
        .waited_ms = places[place].waited_ms + (has_holder ? HOLDER_WAITED_MS : 0),
        .grace_ms = chance(random, 80) ? 250 : ttl(random),
        .index = pick(random, 3),
        .mode = (uint8_t)pick(random, RL_RELEASE_KEEP + 1),
        .which = (uint8_t)pick(random, target.n)};
    char text[16384];
    command.counter = command.kind == RL_COMMAND_TAKE && has_fence ? 1 + pick(random, 6) : 0;
    if (command.kind == RL_COMMAND_TAKE && chance(random, 15)) {
        command.place = RL_PLACE_ANY;
    }
    bool may_delete = command.kind == RL_COMMAND_RELEASE_LINE && command.mode != RL_RELEASE_KEEP;
    command.grace_ms = may_delete && chance(random, 50) ? 0 : command.grace_ms;
    assert(rl_command_room(&target) <= sizeof text);
    bytes_append(wire, text, rl_command_format(text, &command));
}

static void greeting(struct random_commands *random, struct bytes *wire) {
    struct rl_url url = {.db = pick(random, 2)};
    struct rl_handshake_options options = {chance(random, 50) ? "redlock" : NULL, true};
    char text[RL_COMMAND_WIRE_MAX];
    enum rl_step step = pick(random, RL_STEPS);
    if (random->is_plain && step == RL_STEP_AUTH) {
        return;
    }
    if (random->users != NULL && !random->is_plain && chance(random, 60)) {
        step = RL_STEP_AUTH;
    }
    if (step == RL_STEP_AUTH) {
        uint32_t n = 0;
        while (random->users != NULL && random->users[n].name != NULL) {
            n++;
        }
        const struct random_user *user = n > 0 ? &random->users[pick(random, n)] : NULL;
        bool is_right = user != NULL && !chance(random, 10);
        url.has_password = true;
        snprintf(url.password, sizeof url.password, "%s", user != NULL ? user->password : "any");
        url.password[0] = (char)(is_right ? url.password[0] : '!');
        bool is_named = user != NULL && (strcmp(user->name, "default") != 0 || chance(random, 50));
        snprintf(url.user, sizeof url.user, "%s", is_named ? user->name : "");
    }
    bytes_append(wire, text, rl_handshake_format(step, &url, &options, text));
}

static void channel(struct random_commands *random, struct bytes *wire) {
    static const char *const names[] = {"redlock:a",
                                        "redlock:b",
                                        "other",
                                        RL_COMMAND_CLIENT_CHANNEL "0000000000000001",
                                        RL_COMMAND_CLIENT_CHANNEL "0000000000000001",
                                        RL_COMMAND_CLIENT_CHANNEL "0000000000000002"};
    const char *name = names[pick(random, COUNT(names))];
    uint32_t what = pick(random, 100);
    if (what < (random->listens ? 40u : 5u)) {
        uint32_t n = 1 + pick(random, 2);
        bytes_append_number(wire, '*', 1 + n);
        put_word(wire, "SUBSCRIBE");
        for (uint32_t i = 0; i < n; i++) {
            put_word(wire, names[pick(random, COUNT(names))]);
        }
    } else if (what < 60 && random->is_bare && chance(random, 20)) {
        bytes_append_text(wire, "*1\r\n");
        put_word(wire, "UNSUBSCRIBE");
    } else if (what < 60) {
        bytes_append_text(wire, "*2\r\n");
        put_word(wire, "UNSUBSCRIBE");
        put_word(wire, name);
    } else {
        bytes_append_text(wire, "*3\r\n");
        put_word(wire, "PUBLISH");
        put_word(wire, name);
        put_word(wire, odd_arg(random));
    }
}

/* -- What is nearly that -- */

static void put_script(struct random_commands *random, struct bytes *wire, bool whole) {
    const char *sha1 = NULL, *text = NULL;
    uint32_t n = 0;
    while (rl_command_script_at(n, &sha1) != NULL) {
        n++;
    }
    do { /* what the line's say to odd arguments is not compared */
        text = rl_command_script_at(pick(random, n), &sha1);
    } while (strstr(text, RL_COMMAND_LINE_PREFIX) != NULL);
    put_word(wire, whole ? text : sha1);
}

static void odd_script(struct random_commands *random, struct bytes *wire) {
    uint32_t n_keys = pick(random, 5), n_args = pick(random, 6);
    bool whole = chance(random, 30);
    bytes_append_number(wire, '*', 3 + n_keys + n_args);
    put_word(wire, whole ? "EVAL" : "evalsha");
    if (whole || !chance(random, 5)) {
        put_script(random, wire, whole);
    } else {
        put_word(wire, chance(random, 50) ? "abc" : tokens[2]);
    }
    if (chance(random, 95) || random->users != NULL) { /* which keys are meant? servers differ */
        put_number(wire, n_keys);
    } else {
        put_word(wire, odd_arg(random));
    }
    for (uint32_t i = 0; i < n_keys; i++) {
        put_key(wire, any_key(random));
    }
    for (uint32_t i = 0; i < n_args; i++) {
        put_word(wire, chance(random, 50) && i == 0 ? tokens[0] : odd_arg(random));
    }
}

static void scripts(struct random_commands *random, struct bytes *wire) {
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

static void odd_set(struct random_commands *random, struct bytes *wire) {
    static const char *const options[] = {
        "NX", "XX", "PX", "EX", "KEEPTTL", "px", "5000", "PERSIST", "9223372036854775807"};
    uint32_t n = pick(random, 5);
    bytes_append_number(wire, '*', 3 + n);
    put_word(wire, "set");
    put_key(wire, any_key(random));
    put_word(wire, chance(random, 50) ? tokens[0] : odd_arg(random));
    for (uint32_t i = 0; i < n; i++) {
        put_word(wire,
                 chance(random, 60) ? options[pick(random, COUNT(options))] : odd_arg(random));
    }
}

static void key_command(struct random_commands *random, struct bytes *wire) {
    static const char *const names[] = {"GET",      "PTTL",    "TYPE",      "PEXPIRETIME", "DEL",
                                        "GETRANGE", "PEXPIRE", "PEXPIREAT", "RPUSH"};
    uint32_t what = pick(random, COUNT(names));
    uint32_t count = what < 5 ? 2 : what == 5 ? 4 : 3;
    bool two = what == 4 && chance(random, 30);
    bytes_append_number(wire, '*', count + (two ? 1 : 0));
    put_word(wire, names[what]);
    put_key(wire, what == 8 && chance(random, 80) ? LIST : any_key(random));
    if (two) {
        put_key(wire, any_key(random));
    } else if (what == 5) {
        put_number(wire, (long long)pick(random, 60) - 50);
        put_number(wire, (long long)pick(random, 60) - 50);
    } else if (what == 7 && chance(random, 80)) {
        put_number(wire, (long long)random->now_ms + (long long)pick(random, 8) - 3);
    } else if (what > 5) {
        put_word(wire, odd_arg(random));
    }
}

static void connection_command(struct random_commands *random, struct bytes *wire) {
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
static void odd_count(struct random_commands *random, struct bytes *wire) {
    static const struct {
        const char *name;
        uint32_t max;
    } names[] = {{"get", 3},    {"SET", 2},    {"pttl", 2},    {"del", 0},        {"ping", 2},
                 {"auth", 3},   {"eval", 1},   {"EVALSHA", 1}, {"subscribe", 0},  {"publish", 1},
                 {"client", 1}, {"script", 1}, {"pexpire", 1}, {"nosuch", 3},     {"getrange", 4},
                 {"rpush", 1},  {"type", 2},   {"select", 0},  {"NoSuch\r\n", 2}, {"flushall", 1}};
    uint32_t which = pick(random, COUNT(names));
    uint32_t n = pick(random, names[which].max + 1);
    if (random->is_plain && strcmp(names[which].name, "auth") == 0) {
        return;
    }
    bytes_append_number(wire, '*', 1 + n);
    put_word(wire, names[which].name);
    for (uint32_t i = 0; i < n; i++) {
        if (chance(random, 50)) {
            put_key(wire, any_key(random) == 2 ? 0 : any_key(random));
        } else {
            put_word(wire, odd_arg(random));
        }
    }
}

/* -- The interface -- */

void random_command(struct random_commands *random, struct bytes *wire) {
    size_t before = wire->length;
    while (wire->length == before) { /* a step of the handshake may be left out */
        uint32_t what = pick(random, 100);
        if (random->is_line ? what < 70 : what < 15) {
            line_command(random, wire);
        } else if (what < 45) {
            lock_command(random, wire);
        } else if (what < 53) {
            greeting(random, wire);
        } else if (what < 61) {
            channel(random, wire);
        } else if (what < 71) {
            odd_script(random, wire);
        } else if (what < 75) {
            scripts(random, wire);
        } else if (what < 80) {
            odd_set(random, wire);
        } else if (what < 92) {
            key_command(random, wire);
        } else if (what < 96) {
            connection_command(random, wire);
        } else {
            odd_count(random, wire);
        }
    }
}

void random_garbage(struct random_commands *random, struct bytes *wire) {
    static const char *const garbage[] = {"*x\r\n",
                                          "*1\r\nx\r\n",
                                          "*1\r\n$x\r\n",
                                          "*1\r\n$-1\r\n",
                                          "*01\r\n$4\r\nPING\r\n",
                                          "*\r\n",
                                          "*+1\r\n$4\r\nPING\r\n",
                                          "*2\r\n$4\r\nPING\r\n:1\r\n",
                                          "*99999999999999999999\r\n",
                                          "*-3\r\n*0\r\n*1\r\n$04\r\nPING\r\n"};
    bytes_append_text(wire, garbage[pick(random, COUNT(garbage))]);
}

const struct resp_arg *random_key(size_t index) {
    return index < COUNT(keys) ? &keys[index] : NULL;
}

void random_plant(struct bytes *wire) {
    for (uint32_t i = 0; i < RESOURCES; i++) {
        bytes_append_text(wire, "*5\r\n");
        put_word(wire, "SET");
        put_key(wire, i);
        put_word(wire, tokens[0]);
        put_word(wire, "PX");
        put_word(wire, "60000");
    }
}

void random_hold(struct bytes *wire) {
    static const struct {
        enum rl_command_kind kind;
        uint32_t n;
        uint64_t counter;
    } sent[] = {
        {RL_COMMAND_READ, 1, 0},         {RL_COMMAND_EXTEND, 1, 0}, {RL_COMMAND_EXTEND, 2, 0},
        {RL_COMMAND_EXTEND, 2, 3},       {RL_COMMAND_RAISE, 1, 5},  {RL_COMMAND_FENCE, 1, 7},
        {RL_COMMAND_SET_ALL, 2, 0},      {RL_COMMAND_SET, 1, 0},    {RL_COMMAND_RELEASE, 1, 0},
        {RL_COMMAND_RELEASE_LINE, 2, 0},
    };
    const struct rl_bytes resources[] = {{keys[0].data, keys[0].length},
                                         {keys[1].data, keys[1].length}};
    char text[4096];
    for (uint32_t i = 0; i < COUNT(sent); i++) {
        struct rl_target target = {
            .resources = resources, .n = sent[i].n, .notifies = true, .retention_ms = 3600000};
        struct rl_command command = {.kind = sent[i].kind,
                                     .whole_script = true,
                                     .announces = sent[i].kind == RL_COMMAND_RELEASE_LINE,
                                     .ttl_ms = 70000,
                                     .counter = sent[i].counter,
                                     .target = &target,
                                     .token = tokens[0]};
        assert(rl_command_room(&target) <= sizeof text);
        bytes_append(wire, text, rl_command_format(text, &command));
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
