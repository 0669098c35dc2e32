/* See random_commands.h. */
#include "server/random_commands.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "redis/command.h"
#include "redis/handshake.h"
#include "server/random_parts.h"
#include "server/splitmix.h"

#define FENCE RL_COMMAND_COUNTER_PREFIX
#define TEXT(text) \
    { text, sizeof(text) - 1 }

#define SLOT_NAME(number) RL_COMMAND_SLOT_PREFIX number ":{p}"
#define SLOT(number) TEXT(SLOT_NAME(number)), TEXT(FENCE SLOT_NAME(number))

const struct resp_arg random_keys[RANDOM_KEYS] = {
    TEXT("a"),
    TEXT("b"),
    TEXT("c\r\n\0d"),
    TEXT(""),
    TEXT(FENCE "a"),
    TEXT(FENCE "b"),
    TEXT(FENCE "c\r\n\0d"),
    TEXT(FENCE ""),
    TEXT("l"),
    TEXT(RL_COMMAND_LINE_PREFIX "{a}"),
    TEXT(RL_COMMAND_LINE_PREFIX "{b}"),
    TEXT(RL_COMMAND_LINE_PREFIX "{c\r\n\0d}"),
    TEXT(RL_COMMAND_LINE_PREFIX "{}"),
    TEXT(RL_COMMAND_LINE_SHARED_PREFIX "{a}"),
    TEXT(RL_COMMAND_LINE_SHARED_PREFIX "{b}"),
    TEXT(RL_COMMAND_READERS_PREFIX "{a}"),
    TEXT(RL_COMMAND_READERS_PREFIX "{b}"),
    TEXT(RL_COMMAND_INTENT_PREFIX "{a}"),
    TEXT(RL_COMMAND_INTENT_PREFIX "{b}"),
    TEXT(RL_COMMAND_UPGRADE_PREFIX "{a}"),
    TEXT(RL_COMMAND_UPGRADE_PREFIX "{b}"),
    SLOT("0"),
    SLOT("1"),
    SLOT("2"),
    SLOT("3"),
    SLOT("4"),
    TEXT(RL_COMMAND_PERMITS_PREFIX "{p}"),
    TEXT(RL_COMMAND_LINE_PREFIX "permits:{p}"),
};

#define TOKEN_0 "0000000000000001000000000000000123456789"
#define TOKEN_1 "00000000000000010000000000000002abcdefab"

/* Tokens of three clients, three of them the first one's. */
const char *const random_tokens[RANDOM_TOKENS] = {
    TOKEN_0,
    TOKEN_1,
    "0000000000000001000000000000000300000000",
    "0000000000000002000000000000000100000000",
    "0000000000000003000000000000000100000000",
};
#define HOLDER "a-holder-with-a-name-of-sixty-four-characters-0123456789-abcdefg"
static const char holder[] = HOLDER;

/* How long each has waited: the differences are much longer than the test, so that neither order
 * depends on the microsecond in which a JOIN runs. */
static const uint32_t waited_ms[RANDOM_TOKENS] = {50000000, 10000000, 90000000, 30000000, 70000000};
#define HOLDER_WAITED_MS 5000000
#define READER_WAITED_MS 1000000

static const char *const odd_args[] = {
    TOKEN_0,
    TOKEN_1,
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

uint32_t pick(struct random_commands *random, uint32_t count) {
    return random_pick(&random->state, count);
}

bool chance(struct random_commands *random, uint32_t percent) {
    return pick(random, 100) < percent;
}

/* -- Writing -- */

void put_arg(struct bytes *wire, const void *data, size_t length) {
    bytes_append_number(wire, '$', (long long)length);
    bytes_append(wire, data, length);
    bytes_append(wire, "\r\n", 2);
}

void put_word(struct bytes *wire, const char *word) {
    put_arg(wire, word, strlen(word));
}

void put_key_at(struct bytes *wire, uint32_t index) {
    put_arg(wire, random_keys[index].data, random_keys[index].length);
}

void put_number(struct bytes *wire, long long number) {
    char text[24];
    snprintf(text, sizeof text, "%lld", number);
    put_word(wire, text);
}

uint32_t any_key(struct random_commands *random) {
    return chance(random, 60) ? pick(random, 2) : pick(random, RANDOM_KEYS);
}

const char *odd_arg(struct random_commands *random) {
    return odd_args[pick(random, COUNT(odd_args))];
}

static uint32_t any_token(struct random_commands *random) {
    return chance(random, 50) ? 0 : pick(random, RANDOM_TOKENS);
}

static uint32_t ttl(struct random_commands *random) {
    static const uint32_t ttls[] = {1, 2, 3, 8, 5000, 30000, 60000, 86400000};
    return ttls[pick(random, COUNT(ttls))];
}

/* -- What the library sends -- */

static void put_command(struct bytes *wire, const struct rl_request *command) {
    char text[16384];
    assert(rl_command_room(command->target) <= sizeof text);
    bytes_append(wire, text, rl_command_format(text, command));
}

/* Extends two locks. */
static void put_many(struct random_commands *random, struct bytes *wire,
                     const struct rl_request *command, const struct rl_target *other) {
    struct rl_request many[] = {*command, *command};
    char text[16384];
    many[0].next = &many[1];
    many[1].target = other;
    many[1].ttl_ms = ttl(random);
    many[1].counter = chance(random, 40) ? 1 + pick(random, 6) : 0;
    bytes_append(wire, text, rl_command_format_many(text, sizeof text, many, COUNT(many)));
}

static void lock_command(struct random_commands *random, struct bytes *wire) {
    static const enum rl_command_kind kinds[] = {
        RL_COMMAND_SET,     RL_COMMAND_SET,     RL_COMMAND_TAKE,   RL_COMMAND_TAKE,
        RL_COMMAND_RAISE,   RL_COMMAND_EXTEND,  RL_COMMAND_EXTEND, RL_COMMAND_EXTEND,
        RL_COMMAND_RELEASE, RL_COMMAND_RELEASE, RL_COMMAND_READ,   RL_COMMAND_DELIFEQ,
        RL_COMMAND_DELEX};
    struct rl_request command = {.kind = (uint8_t)kinds[pick(random, COUNT(kinds))]};
    struct rl_bytes resources[RESOURCES];
    uint32_t first = chance(random, 70) ? 0 : pick(random, RESOURCES);
    uint32_t n = 1 + (chance(random, 40) ? pick(random, RESOURCES - 1) : 0);
    if (command.kind == RL_COMMAND_SET || command.kind == RL_COMMAND_READ ||
        command.kind == RL_COMMAND_RELEASE || rl_command_is_native_release(command.kind)) {
        n = 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct resp_arg *key = &random_keys[(first + i) % RESOURCES];
        resources[i] = (struct rl_bytes){key->data, key->length};
    }
    bool has_holder = chance(random, 20);
    struct rl_target target = {.resources = resources,
                               .n = n,
                               .holder_length = has_holder ? sizeof holder - 1 : 0,
                               .retention_ms = chance(random, 90) ? 3600000 : ttl(random),
                               .holder = holder};
    bool may_have = command.kind == RL_COMMAND_TAKE || command.kind == RL_COMMAND_EXTEND;
    bool has_fence = command.kind == RL_COMMAND_RAISE || (may_have && chance(random, 40));
    command.whole_script = chance(random, 15);
    command.ttl_ms = ttl(random);
    command.counter = has_fence ? 1 + pick(random, 6) : 0;
    command.target = &target;
    memcpy(command.token, random_tokens[chance(random, 75) ? 0 : any_token(random)], RL_TOKEN_LEN);
    if (command.kind == RL_COMMAND_EXTEND && n > 1 && chance(random, 50)) {
        target.n = 1;
        struct rl_target other = target;
        other.resources = &resources[1];
        put_many(random, wire, &command, &other);
        return;
    }
    put_command(wire, &command);
}

/* One resource most of the time, so that lines form. */
static void line_command(struct random_commands *random, struct bytes *wire) {
    static const enum rl_command_kind kinds[] = {
        RL_COMMAND_JOIN,  RL_COMMAND_JOIN,   RL_COMMAND_JOIN,
        RL_COMMAND_TAKE,  RL_COMMAND_TAKE,   RL_COMMAND_RELEASE_LINE,
        RL_COMMAND_LEAVE, RL_COMMAND_WAITER, RL_COMMAND_RELEASE_LINE,
    };
    static const uint32_t intents[] = {0, 0, 0, RL_INTENT_DROP, 8, 5000};
    uint32_t token = any_token(random), first = chance(random, 80) ? 0 : pick(random, 3);
    bool has_holder = chance(random, 20), has_fence = chance(random, 30);
    char successor[RL_VALUE_MAX + 1] = "";
    struct rl_bytes resources[2];
    for (uint32_t i = 0; i < 2; i++) {
        const struct resp_arg *key = &random_keys[(first + i) % RESOURCES];
        resources[i] = (struct rl_bytes){key->data, key->length};
    }
    struct rl_target target = {.resources = resources,
                               .n = chance(random, 75) ? 1 : 2,
                               .holder_length = has_holder ? sizeof holder - 1 : 0,
                               .notifies = chance(random, 50),
                               .retention_ms = 3600000,
                               .holder = holder};
    struct rl_request command = {
        .kind = (uint8_t)kinds[pick(random, COUNT(kinds))],
        .whole_script = chance(random, 10),
        .announces = chance(random, 50),
        .ttl_ms = ttl(random),
        .target = &target,
        .successor = successor,
        .lease_ms = chance(random, 80) ? 1000 : ttl(random),
        .waited_ms = waited_ms[token] + (has_holder ? HOLDER_WAITED_MS : 0),
        .grace_ms = chance(random, 80) ? 250 : ttl(random),
        .index = pick(random, 3),
        .mode = (uint8_t)pick(random, RL_RELEASE_SERVE + 1),
        .which = (uint8_t)pick(random, target.n),
        .join = chance(random, 20) ? RL_JOIN_QUIET : RL_JOIN,
        .has_turn = chance(random, 70)};
    memcpy(command.token, random_tokens[token], RL_TOKEN_LEN);
    command.counter = command.kind == RL_COMMAND_TAKE && has_fence ? 1 + pick(random, 6) : 0;
    command.line_only = command.kind == RL_COMMAND_LEAVE && chance(random, 30);
    if (command.kind == RL_COMMAND_RELEASE_LINE) {
        command.grace_ms = chance(random, 50) ? 0 : command.grace_ms;
        command.intent_ms = intents[pick(random, COUNT(intents))];
    }
    if (command.kind == RL_COMMAND_RELEASE_LINE && target.n == 1 && chance(random, 80)) {
        snprintf(successor, sizeof successor, "%s%s", random_tokens[pick(random, RANDOM_TOKENS)],
                 chance(random, 20) ? ":" HOLDER : "");
        command.counter = chance(random, 70) ? 1 + pick(random, 3) : 0;
    }
    put_command(wire, &command);
}

/* Of the first two resources. */
static void shared_command(struct random_commands *random, struct bytes *wire) {
    static const enum rl_command_kind kinds[] = {
        RL_COMMAND_TAKE,         RL_COMMAND_TAKE,         RL_COMMAND_TAKE,
        RL_COMMAND_TAKE,         RL_COMMAND_EXTEND,       RL_COMMAND_EXTEND,
        RL_COMMAND_RAISE,        RL_COMMAND_RELEASE_LINE, RL_COMMAND_RELEASE_LINE,
        RL_COMMAND_RELEASE_LINE, RL_COMMAND_JOIN,         RL_COMMAND_JOIN,
        RL_COMMAND_LEAVE,        RL_COMMAND_WAITER,       RL_COMMAND_UPGRADE,
        RL_COMMAND_UPGRADE,      RL_COMMAND_READER,
    };
    static const uint32_t shuts[] = {0, 0, 0, 8, 2000};
    uint32_t token = pick(random, RANDOM_TOKENS), first = chance(random, 80) ? 0 : 1;
    bool has_holder = chance(random, 20), has_fence = chance(random, 30);
    struct rl_bytes resources[2];
    for (uint32_t i = 0; i < 2; i++) {
        const struct resp_arg *key = &random_keys[(first + i) % 2];
        resources[i] = (struct rl_bytes){key->data, key->length};
    }
    struct rl_target target = {.resources = resources,
                               .n = chance(random, 75) ? 1 : 2,
                               .holder_length = has_holder ? sizeof holder - 1 : 0,
                               .notifies = chance(random, 50),
                               .retention_ms = 3600000,
                               .holder = holder};
    struct rl_request command = {.kind = (uint8_t)kinds[pick(random, COUNT(kinds))],
                                 .lock_mode = RL_SHARED,
                                 .whole_script = chance(random, 10),
                                 .announces = chance(random, 50),
                                 .ttl_ms = ttl(random),
                                 .target = &target,
                                 .waited_ms = waited_ms[token] + READER_WAITED_MS,
                                 .grace_ms = chance(random, 80) ? 250 : ttl(random),
                                 .index = pick(random, 3),
                                 .mode = (uint8_t)pick(random, RL_RELEASE_SERVE + 1),
                                 .which = (uint8_t)pick(random, target.n),
                                 .join = chance(random, 20) ? RL_JOIN_QUIET : RL_JOIN,
                                 .has_turn = chance(random, 50)};
    memcpy(command.token, random_tokens[token], RL_TOKEN_LEN);
    const bool takes = command.kind == RL_COMMAND_TAKE, extends = command.kind == RL_COMMAND_EXTEND;
    const bool may_count = takes || extends || command.kind == RL_COMMAND_UPGRADE;
    command.waited_ms += has_holder ? HOLDER_WAITED_MS : 0;
    command.shut_ms = takes ? shuts[pick(random, COUNT(shuts))] : 0;
    command.converts = extends && chance(random, 50);
    if ((may_count && has_fence) || command.kind == RL_COMMAND_RAISE) {
        command.counter = 1 + pick(random, 6);
    }
    command.line_only = command.kind == RL_COMMAND_LEAVE && chance(random, 30);
    if (command.kind == RL_COMMAND_RELEASE_LINE && chance(random, 50)) {
        command.grace_ms = 0;
    }
    put_command(wire, &command);
}

static void greeting(struct random_commands *random, struct bytes *wire) {
    struct rl_url url = {.db = pick(random, 2)};
    struct rl_handshake_options options = {chance(random, 50) ? "redlock" : NULL, true};
    char text[RL_COMMAND_WIRE_MAX];
    enum rl_step step = pick(random, RL_STEPS);
    if (step == RL_STEP_RESP3 || step == RL_STEP_TRACK || step == RL_STEP_STATS) {
        step = RL_STEP_INFO; /* the server in memory does not have this */
    }
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

/* -- The interface -- */

void random_command(struct random_commands *random, struct bytes *wire) {
    size_t before = wire->length;
    while (wire->length == before) { /* a skipped step of the handshake appends nothing */
        uint32_t what = pick(random, 100);
        if (random->listens && (random->is_line || random->is_permits) && chance(random, 30)) {
            channel(random, wire);
        } else if (random->is_permits && what < 70) {
            random_permits(random, wire);
        } else if (random->calls && what < 80) {
            random_plain(random, wire);
        } else if (random->is_line ? what < 35 : what < 8) {
            line_command(random, wire);
        } else if (random->is_line ? what < 65 : what < 13) {
            shared_command(random, wire);
        } else if (random->is_line ? what < 70 : what < 15) {
            random_alone(random, wire);
        } else if (what < 45) {
            lock_command(random, wire);
        } else if (what < 53) {
            greeting(random, wire);
        } else if (what < 61) {
            channel(random, wire);
        } else if (what < 71) {
            random_odd_script(random, wire);
        } else if (what < 75) {
            random_scripts(random, wire);
        } else if (what < 80) {
            random_odd_set(random, wire);
        } else if (what < 86) {
            random_key_command(random, wire);
        } else if (what < 92) {
            random_plain(random, wire);
        } else if (what < 96) {
            random_connection_command(random, wire);
        } else {
            random_odd_count(random, wire);
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
    static const struct resp_arg secret = TEXT(RANDOM_SECRET);
    return index < RANDOM_KEYS ? &random_keys[index] : index == RANDOM_KEYS ? &secret : NULL;
}

void random_plant(struct bytes *wire) {
    random_alone_plant(wire);
    for (uint32_t i = 0; i < RESOURCES; i++) {
        bytes_append_text(wire, i == RANDOM_ALONE_KEY ? "*6\r\n" : "*5\r\n");
        put_word(wire, "SET");
        put_key_at(wire, i);
        put_word(wire, random_tokens[0]);
        put_word(wire, "PX");
        put_word(wire, "60000");
        if (i == RANDOM_ALONE_KEY) {
            put_word(wire, "NX"); /* it is read */
        }
    }
}

bool random_hold(size_t index, struct bytes *wire) {
    static const struct {
        enum rl_command_kind kind;
        uint32_t n;
        uint64_t counter;
        enum rl_mode mode;
        bool converts;
    } sent[] = {
        {RL_COMMAND_READ, 1, 0, RL_EXCLUSIVE, false},
        {RL_COMMAND_EXTEND, 1, 0, RL_EXCLUSIVE, false},
        {RL_COMMAND_EXTEND, 2, 0, RL_EXCLUSIVE, false},
        {RL_COMMAND_EXTEND, 2, 3, RL_EXCLUSIVE, false},
        {RL_COMMAND_RAISE, 1, 5, RL_EXCLUSIVE, false},
        {RL_COMMAND_TAKE, 1, 7, RL_EXCLUSIVE, false},
        {RL_COMMAND_EXTEND, 2, 9, RL_SHARED, false},
        {RL_COMMAND_EXTEND, 2, 9, RL_SHARED, true},
        {RL_COMMAND_RAISE, 2, 12, RL_SHARED, false},
        {RL_COMMAND_READER, 1, 0, RL_SHARED, false},
        {RL_COMMAND_TAKE, 2, 13, RL_SHARED, false},
        {RL_COMMAND_UPGRADE, 2, 13, RL_SHARED, false},
        {RL_COMMAND_RELEASE_LINE, 1, 0, RL_SHARED, false},
        {RL_COMMAND_TAKE, 1, 0, RL_SHARED, false},
        {RL_COMMAND_RELEASE_LINE, 1, 0, RL_SHARED, false},
        {RL_COMMAND_TAKE, 2, 0, RL_EXCLUSIVE, false},
        {RL_COMMAND_SET, 1, 0, RL_EXCLUSIVE, false},
        {RL_COMMAND_DELIFEQ, 1, 0, RL_EXCLUSIVE, false},
        {RL_COMMAND_DELEX, 1, 0, RL_EXCLUSIVE, false},
        {RL_COMMAND_RELEASE, 1, 0, RL_EXCLUSIVE, false},
        {RL_COMMAND_RELEASE_LINE, 2, 0, RL_EXCLUSIVE, false},
    };
    const struct rl_bytes resources[] = {{random_keys[0].data, random_keys[0].length},
                                         {random_keys[1].data, random_keys[1].length}};
    if (index >= COUNT(sent)) {
        random_alone_release(wire);
        return index == COUNT(sent);
    }
    struct rl_target target = {
        .resources = resources, .n = sent[index].n, .notifies = true, .retention_ms = 3600000};
    struct rl_request command = {.kind = (uint8_t)sent[index].kind,
                                 .whole_script = true,
                                 .announces = sent[index].kind == RL_COMMAND_RELEASE_LINE,
                                 .ttl_ms = 70000,
                                 .counter = sent[index].counter,
                                 .target = &target,
                                 .lock_mode = (uint8_t)sent[index].mode,
                                 .converts = sent[index].converts};
    memcpy(command.token, random_tokens[0], RL_TOKEN_LEN);
    put_command(wire, &command);
    return true;
}
