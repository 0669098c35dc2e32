/* See command.h. Nothing here can fail but the size of the buffer, and that is settled by constants
 * for our own commands. */
#include "redis/command.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "redis/permit_command.h"
#include "redis/scripts/scripts.h" /* made of *.lua there */
#include "redis/writer.h"
#include "redlock/redlock.h"

static_assert(REDLOCK_TTL_MS_MAX < 100000000, "a life is written in digits: extend.lua");
static_assert(RL_SCRIPT_LENGTH_MAX + 1024 <= RL_COMMAND_RELEASE_ROOM, "a script and a usual name");

/* One resource, or any number if there is no other; several; of any number what has a fence; of any
 * number, with a fence or without, what is a reader's; of any number of a semaphore's slots,
 * without a fence and with one. */
enum variant { ONE, SEVERAL, FENCED, SHARED, PERMIT, PERMIT_FENCED, VARIANTS };

struct script {
    const char *text;
    const char *sha1;
};

#define SCRIPT(name) \
    { RL_SCRIPT_##name##_TEXT, RL_SCRIPT_##name##_SHA1 }

static const struct script scripts[][VARIANTS] = {
    [RL_COMMAND_SET_ALL] = {[SEVERAL] = SCRIPT(SET_ALL)},
    [RL_COMMAND_FENCE] = {[FENCED] = SCRIPT(SET_FENCED)},
    [RL_COMMAND_RAISE] = {[FENCED] = SCRIPT(RAISE), [SHARED] = SCRIPT(RAISE_SHARED)},
    [RL_COMMAND_EXTEND] = {[ONE] = SCRIPT(EXTEND),
                           [SEVERAL] = SCRIPT(EXTEND_ALL),
                           [FENCED] = SCRIPT(EXTEND_FENCED),
                           [SHARED] = SCRIPT(EXTEND_SHARED)},
    [RL_COMMAND_RELEASE] = {[ONE] = SCRIPT(RELEASE)},
    [RL_COMMAND_READ] = {[ONE] = SCRIPT(READ)},
    [RL_COMMAND_JOIN] =
        {[ONE] = SCRIPT(JOIN), [SHARED] = SCRIPT(JOIN_SHARED), [PERMIT] = SCRIPT(JOIN_PERMIT)},
    [RL_COMMAND_TAKE] = {[ONE] = SCRIPT(TAKE),
                         [FENCED] = SCRIPT(TAKE_FENCED),
                         [SHARED] = SCRIPT(SHARE),
                         [PERMIT] = SCRIPT(TAKE_PERMIT),
                         [PERMIT_FENCED] = SCRIPT(TAKE_PERMIT_FENCED)},
    [RL_COMMAND_RELEASE_LINE] = {[ONE] = SCRIPT(RELEASE_LINE),
                                 [SHARED] = SCRIPT(RELEASE_SHARED),
                                 [PERMIT] = SCRIPT(RELEASE_PERMIT)},
    [RL_COMMAND_LEAVE] =
        {[ONE] = SCRIPT(LEAVE), [SHARED] = SCRIPT(LEAVE_SHARED), [PERMIT] = SCRIPT(LEAVE_PERMIT)},
    [RL_COMMAND_WAITER] = {[ONE] = SCRIPT(WAITER)},
    [RL_COMMAND_UPGRADE] = {[SHARED] = SCRIPT(UPGRADE)},
    [RL_COMMAND_READER] = {[ONE] = SCRIPT(READERS)},
    [RL_COMMAND_SET_PERMITS] = {[PERMIT] = SCRIPT(SET_PERMITS)},
    [RL_COMMAND_SLOT] = {[PERMIT] = SCRIPT(SLOTS)},
};

static_assert(sizeof scripts / sizeof scripts[0] == RL_COMMAND_HANDSHAKE,
              "a row for each kind of command that a lock sends");

#define FRAME_MAX 32 /* "$65536\r\n" and "\r\n" around an argument */

static_assert(RL_COMMAND_TOKEN_LEN == REDLOCK_TOKEN_LENGTH, "one length of a token");

static void put_value(struct rl_writer *w, const struct rl_command *command) {
    const struct rl_target *target = command->target;
    assert(target->holder_length <= REDLOCK_HOLDER_MAX);
    size_t behind = target->holder_length > 0 ? 1 + (size_t)target->holder_length : 0;
    rl_put_count(w, '$', RL_COMMAND_TOKEN_LEN + behind);
    rl_put_bytes(w, command->token, RL_COMMAND_TOKEN_LEN);
    if (behind > 0) {
        rl_put_bytes(w, ":", 1);
        rl_put_bytes(w, target->holder, target->holder_length);
    }
    rl_put_bytes(w, "\r\n", 2);
}

static bool is_permit(const struct rl_command *command) {
    return command->lock_mode == RL_PERMIT;
}

/* Of a semaphore the slots, in which the number of resources has no part. */
static uint32_t count_keys(const struct rl_command *command) {
    assert(!is_permit(command) || command->slots != NULL);
    return is_permit(command) ? command->slots->n : command->target->n;
}

static void put_key(struct rl_writer *w, const struct rl_command *command, const char *prefix,
                    uint32_t i) {
    const size_t before = strlen(prefix);
    if (is_permit(command)) {
        rl_permit_put_slot(w, command, prefix, i);
        return;
    }
    const struct rl_bytes *resource = &command->target->resources[i];
    assert(i < command->target->n);
    rl_put_count(w, '$', before + resource->length);
    rl_put_bytes(w, prefix, before);
    rl_put_bytes(w, resource->data, resource->length);
    rl_put_bytes(w, "\r\n", 2);
}

static bool is_native(enum rl_command_kind kind) {
    return kind == RL_COMMAND_DELIFEQ || kind == RL_COMMAND_DELEX;
}

static void put_native(struct rl_writer *w, const struct rl_command *command) {
    const bool delex = command->kind == RL_COMMAND_DELEX;
    assert(is_native(command->kind));
    rl_put_count(w, '*', delex ? 4 : 3);
    rl_put_text(w, delex ? "DELEX" : "DELIFEQ");
    put_key(w, command, "", 0);
    if (delex) {
        rl_put_text(w, "IFEQ");
    }
    put_value(w, command);
}

static void put_set(struct rl_writer *w, const struct rl_command *command) {
    assert(command->ttl_ms > 0); /* PX 0 is an error */
    rl_put_count(w, '*', 6);
    rl_put_text(w, "SET");
    put_key(w, command, "", 0);
    put_value(w, command);
    rl_put_text(w, "NX");
    rl_put_text(w, "PX");
    rl_put_number(w, command->ttl_ms);
}

/* Which numbers stand behind the value. */
static bool has_ttl(enum rl_command_kind kind) {
    return kind == RL_COMMAND_SET_ALL || kind == RL_COMMAND_FENCE || kind == RL_COMMAND_EXTEND ||
           kind == RL_COMMAND_TAKE || kind == RL_COMMAND_UPGRADE;
}

static bool has_counters(const struct rl_command *command) {
    bool may_have = command->kind == RL_COMMAND_EXTEND || command->kind == RL_COMMAND_TAKE ||
                    command->kind == RL_COMMAND_UPGRADE;
    return command->kind == RL_COMMAND_FENCE || command->kind == RL_COMMAND_RAISE ||
           (may_have && command->counter != 0);
}

/* Of one resource, whatever others its target has. */
static bool is_of_one(enum rl_command_kind kind) {
    return kind == RL_COMMAND_JOIN || kind == RL_COMMAND_LEAVE || kind == RL_COMMAND_WAITER ||
           kind == RL_COMMAND_READER || kind == RL_COMMAND_SET_PERMITS || kind == RL_COMMAND_SLOT;
}

/* Of the permits' key and not of the resource's: permit_command.h. */
static bool is_of_permits(const struct rl_command *command) {
    return is_permit(command) && is_of_one(command->kind) && command->kind != RL_COMMAND_WAITER;
}

static bool is_shared(const struct rl_command *command) {
    assert(command->lock_mode <= RL_PERMIT);
    return command->lock_mode == RL_SHARED;
}

#ifndef NDEBUG
/* Which a reader never sends. */
static bool is_writers(enum rl_command_kind kind) {
    return kind == RL_COMMAND_SET || kind == RL_COMMAND_SET_ALL || kind == RL_COMMAND_FENCE ||
           kind == RL_COMMAND_RELEASE || is_native(kind);
}
#endif

bool rl_command_acquires(enum rl_command_kind kind) {
    return kind == RL_COMMAND_SET || kind == RL_COMMAND_SET_ALL || kind == RL_COMMAND_FENCE ||
           kind == RL_COMMAND_TAKE;
}

bool rl_command_releases(enum rl_command_kind kind) {
    return kind == RL_COMMAND_RELEASE || is_native(kind) || kind == RL_COMMAND_RELEASE_LINE ||
           kind == RL_COMMAND_LEAVE;
}

bool rl_command_is_native_release(enum rl_command_kind kind) {
    return is_native(kind);
}

static const struct script *script_of(const struct rl_command *command) {
    const struct script *known = scripts[command->kind];
    const enum variant permit = has_counters(command) ? PERMIT_FENCED : PERMIT;
    if (is_permit(command) && known[permit].text != NULL) {
        return &known[permit];
    }
    enum variant variant = is_of_one(command->kind) || count_keys(command) == 1 ? ONE : SEVERAL;
    if (is_shared(command) && known[SHARED].text != NULL) {
        variant = SHARED;
    } else if (has_counters(command)) {
        variant = FENCED;
    } else if (known[variant].text == NULL) {
        variant = ONE;
    }
    assert(known[variant].text != NULL);
    return &known[variant];
}

uint8_t rl_command_script_bit(const struct rl_command *command) {
    static_assert(VARIANTS <= 8, "a set of variants is a byte");
    const bool is_script = command->kind != RL_COMMAND_SET && !is_native(command->kind);
    return is_script ? (uint8_t)(1u << (script_of(command) - scripts[command->kind])) : 0;
}

static void put_keys(struct rl_writer *w, const struct rl_command *command, bool counters) {
    const uint32_t n = count_keys(command);
    rl_put_number(w, n * (counters ? 2 : 1));
    for (uint32_t i = 0; i < n; i++) {
        put_key(w, command, "", i);
    }
    for (uint32_t i = 0; counters && i < n; i++) {
        put_key(w, command, RL_COMMAND_COUNTER_PREFIX, i);
    }
}

static void put_place(struct rl_writer *w, const struct rl_command *command) {
    bool has_one = command->place != NULL;
    assert(!has_one || memchr(command->place, '\0', RL_PLACE_LEN) == NULL);
    rl_put_bulk(w, has_one ? command->place : "", has_one ? RL_PLACE_LEN : 0);
}

static void put_holder(struct rl_writer *w, const struct rl_target *target) {
    assert(target->holder_length <= REDLOCK_HOLDER_MAX);
    rl_put_bulk(w, target->holder_length > 0 ? target->holder : "", target->holder_length);
}

static size_t count_args(const struct rl_command *command) {
    static const uint8_t counts[] = {
        [RL_COMMAND_JOIN] = 4,   [RL_COMMAND_LEAVE] = 3,        [RL_COMMAND_WAITER] = 2,
        [RL_COMMAND_READER] = 1, [RL_COMMAND_RELEASE_LINE] = 5, [RL_COMMAND_READ] = 0};
    const bool shared = is_shared(command);
    if (is_of_permits(command)) {
        return rl_permit_count_args(command->kind);
    }
    if (command->kind == RL_COMMAND_RELEASE_LINE) {
        return shared ? counts[command->kind] - 1u : counts[command->kind];
    }
    if (is_of_one(command->kind) || command->kind == RL_COMMAND_READ) {
        return counts[command->kind];
    }
    return 1u + has_ttl(command->kind) + (has_counters(command) ? 2 : 0) +
           (command->kind == RL_COMMAND_TAKE ? 1u + shared + (is_permit(command) ? 2 : 0) : 0) +
           (command->kind == RL_COMMAND_EXTEND && shared);
}

/* What a command on one line has behind its key. */
static void put_line_args(struct rl_writer *w, const struct rl_command *command) {
    static const char *const lines[] = {
        [RL_EXCLUSIVE] = "", [RL_SHARED] = "shared", [RL_PERMIT] = "permits"};
    assert(command->lock_mode <= RL_PERMIT);
    if (command->kind == RL_COMMAND_WAITER || command->kind == RL_COMMAND_READER) {
        rl_put_number(w, command->index);
        if (command->kind == RL_COMMAND_WAITER) {
            rl_put_text(w, lines[command->lock_mode]);
        }
        return;
    }
    assert(command->place != NULL && command->grace_ms > 0); /* PX 0 is an error */
    put_place(w, command);
    put_holder(w, command->target);
    if (command->kind == RL_COMMAND_JOIN) {
        rl_put_number(w, command->waited_ms);
    }
    rl_put_number(w, command->grace_ms);
}

static void put_release_args(struct rl_writer *w, const struct rl_command *command) {
    static const char *const modes[] = {
        [RL_RELEASE_PLAIN] = "", [RL_RELEASE_LOOK] = "look", [RL_RELEASE_SERVE] = "serve"};
    assert(command->kind == RL_COMMAND_RELEASE_LINE);
    put_value(w, command);
    rl_put_number(w, command->grace_ms);
    if (command->mode == RL_RELEASE_KEEP) {
        assert(command->place != NULL && command->grace_ms > 0);
        put_place(w, command);
    } else {
        assert(command->mode < sizeof modes / sizeof modes[0]);
        rl_put_text(w, modes[command->mode]);
    }
    if (is_permit(command)) {
        rl_permit_put_end(w, command->target);
        return;
    }
    rl_put_text(w, command->announces && command->target->notifies ? "1" : "");
    assert(!is_shared(command) || command->intent_ms == 0);
    if (is_shared(command)) {
        return;
    }
    if (command->intent_ms == 0) {
        rl_put_text(w, "");
    } else {
        rl_put_number(w, command->intent_ms == RL_INTENT_DROP ? 0 : command->intent_ms);
    }
}

/* The value, and which numbers stand behind it. */
static void put_value_args(struct rl_writer *w, const struct rl_command *command) {
    put_value(w, command);
    if (has_ttl(command->kind)) {
        assert(command->ttl_ms > 0);
        rl_put_number(w, command->ttl_ms);
    }
    const bool takes = command->kind == RL_COMMAND_TAKE, shared = is_shared(command);
    assert((takes && shared) || command->shut_ms == 0);
    if (takes && shared) { /* one script with a fence and without, whose arguments end there */
        put_place(w, command);
        rl_put_number(w, command->shut_ms);
    } else if (shared && command->kind == RL_COMMAND_EXTEND) {
        rl_put_text(w, command->converts ? "1" : "");
    }
    assert(!command->converts || (shared && command->kind == RL_COMMAND_EXTEND));
    if (has_counters(command)) {
        assert(command->counter > 0);
        rl_put_number(w, command->counter);
        rl_put_number(w, command->target->retention_ms);
    }
    if (takes && !shared) {
        put_place(w, command);
    }
    if (takes && is_permit(command)) {
        rl_permit_put_end(w, command->target);
    }
}

static void put_script(struct rl_writer *w, const struct rl_command *command) {
    const struct script *script = script_of(command);
    const bool one = is_of_one(command->kind), counters = has_counters(command);
    const size_t n = one ? 1 : count_keys(command);
    rl_put_count(w, '*', 3 + (counters ? 2 : 1) * n + count_args(command));
    rl_put_text(w, command->whole_script ? "EVAL" : "EVALSHA");
    rl_put_text(w, command->whole_script ? script->text : script->sha1);
    if (is_of_permits(command)) {
        rl_permit_put_one(w, command);
        return;
    }
    if (one) {
        const struct rl_bytes *resource = &command->target->resources[command->which];
        assert(command->which < command->target->n);
        rl_put_number(w, 1);
        rl_put_bulk(w, resource->data, resource->length);
        put_line_args(w, command);
        return;
    }
    put_keys(w, command, counters);
    if (command->kind == RL_COMMAND_RELEASE_LINE) {
        put_release_args(w, command);
    } else if (command->kind != RL_COMMAND_READ) {
        put_value_args(w, command);
    }
}

size_t rl_command_room(const struct rl_target *target) {
    size_t room = RL_SCRIPT_LENGTH_MAX + RL_COMMAND_TOKEN_LEN + REDLOCK_HOLDER_MAX + RL_PLACE_LEN +
                  9 * FRAME_MAX;
    for (uint32_t i = 0; i < target->n; i++) { /* each, and its counter */
        room += 2 * (target->resources[i].length + FRAME_MAX) + sizeof RL_COMMAND_COUNTER_PREFIX;
    }
    return target->permits > 0 ? room + rl_permit_room(target) : room;
}

size_t rl_command_format(char *wire, const struct rl_command *command) {
    const struct rl_target *target = command->target;
    assert(command->kind != RL_COMMAND_HANDSHAKE);
    assert(target->n >= 1 && target->n <= REDLOCK_RESOURCES_MAX);
    struct rl_writer w = {wire, rl_command_room(target), false};
    bool is_release = command->kind == RL_COMMAND_RELEASE || is_native(command->kind);
    assert(target->n == 1 || (!is_permit(command) && command->kind != RL_COMMAND_READ));
    assert((command->kind != RL_COMMAND_SET && !is_release) || count_keys(command) == 1);
    assert(!is_release || !(command->announces && target->notifies));
    assert(!is_writers(command->kind) || !is_shared(command));
    assert(command->kind != RL_COMMAND_UPGRADE || is_shared(command));
    (void)is_release; /* without assertions */
    if (command->kind == RL_COMMAND_SET) {
        put_set(&w, command);
    } else if (is_native(command->kind)) {
        put_native(&w, command);
    } else {
        put_script(&w, command);
    }
    assert(!w.overflow);
    *w.at = '\0';
    return (size_t)(w.at - wire);
}

size_t rl_command_format_args(char *wire, size_t capacity, const char *const *args, size_t count) {
    assert(capacity > 0);
    assert(count > 0);
    struct rl_writer w = {wire, capacity, false};
    rl_put_count(&w, '*', count);
    for (size_t i = 0; i < count; i++) {
        rl_put_text(&w, args[i]);
    }
    *w.at = '\0';
    return w.overflow ? 0 : (size_t)(w.at - wire);
}

const char *rl_command_script(enum rl_command_kind kind) {
    assert(scripts[kind][ONE].text != NULL);
    return scripts[kind][ONE].text;
}

const char *rl_command_script_sha1(enum rl_command_kind kind) {
    assert(scripts[kind][ONE].text != NULL);
    return scripts[kind][ONE].sha1;
}

const char *rl_command_script_at(size_t index, const char **sha1) {
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        for (size_t j = 0; j < VARIANTS; j++) {
            if (scripts[i][j].text != NULL && index-- == 0) {
                *sha1 = scripts[i][j].sha1;
                return scripts[i][j].text;
            }
        }
    }
    return NULL;
}
