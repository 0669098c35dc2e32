/* See command.h. Only the buffer can be too small, and constants rule that out for our own
 * commands. */
#include "redis/command.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "redis/scripts/scripts.h" /* generated from the *.lua there */
#include "redlock/redlock.h"

#define FRAME_MAX 32 /* "$65536\r\n" and "\r\n" around an argument */
#define SLOT_MAX (sizeof RL_COMMAND_COUNTER_PREFIX RL_COMMAND_SLOT_PREFIX "65535:{}")

static_assert(RL_TOKEN_LEN == REDLOCK_TOKEN_LENGTH, "one length of a token");
static_assert(REDLOCK_TTL_MS_MAX < 100000000, "a life is written in digits: extend.lua");
static_assert(RL_PERMITS_MAX <= RL_NO_SLOT, "no slot has the number of none");
static_assert(RL_PERMITS_MAX == REDLOCK_PERMITS_MAX, "redis and interface agree on the permits");
static_assert(RL_SLOTS_MAX == REDLOCK_TAKE_MAX, "redis and interface agree on what one lock takes");
static_assert(sizeof RL_SCRIPT_RELEASE_LINE_TEXT + RL_COMMAND_RELEASE_MORE <=
                  RL_COMMAND_RELEASE_WHOLE,
              "the script fits");

/* -- RESP, written into a buffer of a fixed size --
 *
 * Every command of a lock is written here, five small pieces for each argument. A piece that does
 * not fit sets `overflow`, and nothing more is written. */

struct writer {
    char *at;
    size_t left; /* always more than what is written: a zero follows */
    bool overflow;
};

static inline void put_bytes(struct writer *w, const void *bytes, size_t length) {
    assert(w->left > 0);
    if (length >= w->left) {
        w->overflow = true;
        return;
    }
    memcpy(w->at, bytes, length);
    w->at += length;
    w->left -= length;
}

/* Writes the digits of a number before `end`. Returns where they begin. */
static inline char *put_digits(char *end, uint64_t number) {
    do {
        *--end = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return end;
}

/* "*5\r\n" or "$40\r\n" */
static inline void put_count(struct writer *w, char prefix, size_t count) {
    assert(prefix == '*' || prefix == '$');
    char digits[24], *end = digits + sizeof digits;
    *--end = '\n';
    *--end = '\r';
    char *at = put_digits(end, count);
    *--at = prefix;
    put_bytes(w, at, (size_t)(digits + sizeof digits - at));
}

/* An argument. */
static inline void put_bulk(struct writer *w, const void *bytes, size_t length) {
    assert(bytes != NULL);
    put_count(w, '$', length);
    put_bytes(w, bytes, length);
    put_bytes(w, "\r\n", 2);
}

static inline void put_text(struct writer *w, const char *text) {
    put_bulk(w, text, strlen(text));
}

static inline void put_number(struct writer *w, uint64_t number) {
    char digits[24], *end = digits + sizeof digits, *at = put_digits(end, number);
    put_bulk(w, at, (size_t)(end - at));
}

/* -- Kinds of commands -- */

/* A command that runs a script. */
struct row {
    const char *text;
    const char *sha1;
    const char *args; /* after the keys, a letter each: arg_of() */
    bool is_of_one;   /* for one resource of its target, or a semaphore */
};

#define SCRIPT(name) RL_SCRIPT_##name##_TEXT, RL_SCRIPT_##name##_SHA1

static const struct row rows[RL_COMMAND_HANDSHAKE] = {
    [RL_COMMAND_TAKE] = {SCRIPT(TAKE), "vtfkpsmr", false},
    [RL_COMMAND_RAISE] = {SCRIPT(RAISE), "vfkx", false},
    [RL_COMMAND_EXTEND] = {SCRIPT(EXTEND), "vtfkx", false},
    [RL_COMMAND_EXTEND_MANY] = {SCRIPT(EXTEND_MANY), "", false},
    [RL_COMMAND_UPGRADE] = {SCRIPT(UPGRADE), "vtfk", false},
    [RL_COMMAND_RELEASE] = {SCRIPT(RELEASE), "v", false},
    [RL_COMMAND_RELEASE_LINE] = {SCRIPT(RELEASE_LINE), "vgqaixcluy", false},
    [RL_COMMAND_RELEASE_PERMIT] = {SCRIPT(RELEASE_PERMIT), "vgqmr", false},
    [RL_COMMAND_JOIN] = {SCRIPT(JOIN), "vwgoemr", true},
    [RL_COMMAND_LEAVE] = {SCRIPT(LEAVE), "vgemr", true},
    [RL_COMMAND_SET_PERMITS] = {SCRIPT(SET_PERMITS), "gmr", true},
    [RL_COMMAND_READ] = {SCRIPT(READ), "", true},
    [RL_COMMAND_WAITER] = {SCRIPT(WAITER), "nd", true},
    [RL_COMMAND_READER] = {SCRIPT(READERS), "n", true},
    [RL_COMMAND_SLOT] = {SCRIPT(SLOTS), "nr", true},
};

bool rl_command_is_native_release(enum rl_command_kind kind) {
    return kind == RL_COMMAND_DELIFEQ || kind == RL_COMMAND_DELEX;
}

bool rl_command_acquires(enum rl_command_kind kind) {
    return kind == RL_COMMAND_SET || kind == RL_COMMAND_TAKE;
}

bool rl_command_hands_on(enum rl_command_kind kind) {
    return kind == RL_COMMAND_RELEASE_LINE || kind == RL_COMMAND_RELEASE_PERMIT;
}

bool rl_command_releases(enum rl_command_kind kind) {
    return rl_command_hands_on(kind) || kind == RL_COMMAND_RELEASE ||
           rl_command_is_native_release(kind) || kind == RL_COMMAND_LEAVE;
}

bool rl_command_is_script(enum rl_command_kind kind) {
    return kind < RL_COMMAND_HANDSHAKE && rows[kind].text != NULL;
}

static bool is_permit(const struct rl_request *request) {
    assert(request->lock_mode <= RL_PERMIT);
    return request->lock_mode == RL_PERMIT;
}

/* -- Keys -- */

static void put_name(struct writer *w, const char *before, const struct rl_bytes *resource,
                     const char *behind) {
    const size_t length = strlen(before), more = strlen(behind);
    put_count(w, '$', length + resource->length + more);
    put_bytes(w, before, length);
    put_bytes(w, resource->data, resource->length);
    put_bytes(w, behind, more);
    put_bytes(w, "\r\n", 2);
}

/* The number of keys: of slots for a semaphore, otherwise of resources. */
static uint32_t count_keys(const struct rl_request *request) {
    assert(rows[request->kind].is_of_one || !is_permit(request) || request->slots.n > 0);
    return rows[request->kind].is_of_one ? 1
           : is_permit(request)          ? request->slots.n
                                         : request->target->n;
}

static void put_key(struct writer *w, const struct rl_request *request, const char *prefix,
                    uint32_t i) {
    const struct rl_bytes *resources = request->target->resources;
    char slot[SLOT_MAX];
    assert(request->which < request->target->n);
    if (rows[request->kind].is_of_one && is_permit(request) && request->kind != RL_COMMAND_WAITER) {
        put_name(w, RL_COMMAND_PERMITS_PREFIX "{", resources, "}");
    } else if (rows[request->kind].is_of_one) {
        put_name(w, prefix, &resources[request->which], "");
    } else if (is_permit(request)) {
        assert(i < request->slots.n && request->slots.n <= RL_SLOTS_MAX);
        assert(request->slots.at[i] < RL_PERMITS_MAX);
        int length = snprintf(slot, sizeof slot, "%s" RL_COMMAND_SLOT_PREFIX "%u:{", prefix,
                              (unsigned)request->slots.at[i]);
        assert((size_t)length < sizeof slot);
        (void)length; /* without assertions */
        put_name(w, slot, resources, "}");
    } else {
        assert(i < request->target->n);
        put_name(w, prefix, &resources[i], "");
    }
}

static void put_keys(struct writer *w, const struct rl_request *request, bool counters) {
    const uint32_t n = count_keys(request);
    put_number(w, n * (counters ? 2 : 1));
    for (uint32_t i = 0; i < n; i++) {
        put_key(w, request, "", i);
    }
    for (uint32_t i = 0; counters && i < n; i++) {
        put_key(w, request, RL_COMMAND_COUNTER_PREFIX, i);
    }
}

/* -- Arguments -- */

#define ARGS_MAX 10

struct arg {
    const void *bytes; /* NULL: the number */
    size_t length;
    uint64_t number;
    bool is_value; /* the token, and the holder after it */
};

static struct arg text(const char *bytes) {
    return (struct arg){.bytes = bytes, .length = strlen(bytes)};
}

static struct arg number(uint64_t number) {
    return (struct arg){.number = number};
}

static struct arg number_if(bool is_there, uint64_t n) {
    return is_there ? number(n) : text("");
}

/* The mode argument of a RELEASE_LINE. */
static struct arg way_of(const struct rl_request *request) {
    static const char *const ways[] = {
        [RL_RELEASE_PLAIN] = "", [RL_RELEASE_LOOK] = "look", [RL_RELEASE_SERVE] = "serve"};
    assert(request->mode < sizeof ways / sizeof ways[0]);
    return text(ways[request->mode]);
}

/* Without a turn, slots are keys like any others: the number of permits is not checked. */
static bool knows_permits(const struct rl_request *request) {
    return is_permit(request) && (request->kind != RL_COMMAND_TAKE || request->has_turn);
}

static bool passes(const struct rl_request *request) {
    return request->successor != NULL && request->successor[0] != '\0';
}

/* The mode argument of a JOIN or a LEAVE. */
static struct arg line_way_of(const struct rl_request *request) {
    static const char *const joins[] = {
        [RL_JOIN] = "", [RL_JOIN_PEEK] = "peek", [RL_JOIN_QUIET] = "quiet"};
    assert(request->join < sizeof joins / sizeof joins[0]);
    assert(request->join != RL_JOIN_PEEK || is_permit(request));
    return text(request->line_only ? "line" : joins[request->join]);
}

static struct arg mode_of(const struct rl_request *request) {
    assert(!is_permit(request) || (request->target->permits > 0 && request->target->n == 1));
    return knows_permits(request) ? number(request->target->permits)
                                  : text(request->lock_mode == RL_SHARED ? "shared" : "");
}

static struct arg reader_of(const struct rl_request *request) {
    const bool reads = request->lock_mode == RL_SHARED;
    assert(reads || !request->converts);
    return text(request->converts ? "convert" : reads ? "shared" : "");
}

static struct arg arg_of(const struct rl_request *request, char letter) {
    static const char *const lines[] = {
        [RL_EXCLUSIVE] = "", [RL_SHARED] = "shared", [RL_PERMIT] = "permits"};
    const struct rl_target *target = request->target;
    const struct rl_bytes *resource = &target->resources[0];
    switch (letter) {
        case 't':
            assert(request->ttl_ms > 0); /* PX 0 is an error */
            return number(request->ttl_ms);
        case 'f': /* the fence, or its floor; and how long its counter lives */
        case 'u':
            assert(request->counter > 0 || request->kind != RL_COMMAND_RAISE);
            return number_if(request->counter > 0, request->counter);
        case 'k':
        case 'y':
            return number_if(request->counter > 0, target->retention_ms);
        case 'p':
            return text(request->has_turn ? "1" : "");
        case 'c':                                       /* the successor, and its lease */
            assert(!passes(request) || target->n == 1); /* the script passes only its first key */
            return text(passes(request) ? request->successor : "");
        case 'l':
            return number_if(passes(request), request->lease_ms);
        case 'g': /* the life of a reservation; in a release 0: none */
            assert(request->grace_ms > 0 || rl_command_hands_on(request->kind));
            return number(request->grace_ms);
        case 's':
            assert(request->shut_ms == 0 || request->lock_mode == RL_SHARED);
            return number_if(request->shut_ms > 0, request->shut_ms);
        case 'q':
            return way_of(request);
        case 'a':
            return text(request->announces && target->notifies ? "1" : "");
        case 'i':
            assert(request->intent_ms == 0 || request->lock_mode == RL_EXCLUSIVE);
            return number_if(request->intent_ms > 0,
                             request->intent_ms == RL_INTENT_DROP ? 0 : request->intent_ms);
        case 'm': /* a semaphore's number of permits, then its resource */
            return mode_of(request);
        case 'r':
            return knows_permits(request)
                       ? (struct arg){.bytes = resource->data, .length = resource->length}
                       : text("");
        case 'x': /* the mode, where slots are ordinary keys */
            return reader_of(request);
        case 'o':
            return number_if(is_permit(request) && request->from != RL_NO_SLOT, request->from);
        case 'e':
            return line_way_of(request);
        case 'w':
            return number(request->waited_ms);
        case 'd':
            return text(lines[request->lock_mode]);
        default:
            assert(letter == 'n');
            return number_if(request->kind != RL_COMMAND_SLOT || request->index != RL_NO_SLOT,
                             request->index);
    }
}

/* The token, and the holder behind it. */
static void put_value(struct writer *w, const struct rl_request *request) {
    const struct rl_target *target = request->target;
    assert(target->holder_length <= REDLOCK_HOLDER_MAX);
    size_t behind = target->holder_length > 0 ? 1 + (size_t)target->holder_length : 0;
    put_count(w, '$', RL_TOKEN_LEN + behind);
    put_bytes(w, request->token, RL_TOKEN_LEN);
    if (behind > 0) {
        put_bytes(w, ":", 1);
        put_bytes(w, target->holder, target->holder_length);
    }
    put_bytes(w, "\r\n", 2);
}

/* Lists the arguments without empty ones at the end. Returns their number. */
static size_t list_args(const struct rl_request *request, struct arg args[ARGS_MAX]) {
    const char *letters = rows[request->kind].args;
    size_t n = 0;
    for (size_t i = 0; letters[i] != '\0'; i++) {
        assert(i < ARGS_MAX);
        args[i] = letters[i] == 'v' ? (struct arg){.is_value = true} : arg_of(request, letters[i]);
        n = args[i].bytes != NULL && args[i].length == 0 ? n : i + 1;
    }
    return n;
}

static void put_arg(struct writer *w, const struct rl_request *request, const struct arg *arg) {
    if (arg->is_value) {
        put_value(w, request);
    } else if (arg->bytes != NULL) {
        put_bulk(w, arg->bytes, arg->length);
    } else {
        put_number(w, arg->number);
    }
}

/* -- Commands -- */

static void put_native(struct writer *w, const struct rl_request *request) {
    const bool delex = request->kind == RL_COMMAND_DELEX;
    put_count(w, '*', delex ? 4 : 3);
    put_text(w, delex ? "DELEX" : "DELIFEQ");
    put_key(w, request, "", 0);
    if (delex) {
        put_text(w, "IFEQ");
    }
    put_value(w, request);
}

static void put_set(struct writer *w, const struct rl_request *request) {
    assert(request->ttl_ms > 0); /* PX 0 is an error */
    put_count(w, '*', 6);
    put_text(w, "SET");
    put_key(w, request, "", 0);
    put_value(w, request);
    put_text(w, "NX");
    put_text(w, "PX");
    put_number(w, request->ttl_ms);
}

static void put_script(struct writer *w, const struct rl_request *request) {
    const struct row *row = &rows[request->kind];
    const bool counters = strchr(row->args, 'f') != NULL && request->counter > 0;
    struct arg args[ARGS_MAX];
    const size_t n = list_args(request, args);
    put_count(w, '*', 3 + (counters ? 2 : 1) * count_keys(request) + n);
    put_text(w, request->whole_script ? "EVAL" : "EVALSHA");
    put_text(w, request->whole_script ? row->text : row->sha1);
    put_keys(w, request, counters);
    for (size_t i = 0; i < n; i++) {
        put_arg(w, request, &args[i]);
    }
}

size_t rl_command_room(const struct rl_target *target) {
    size_t longest = 0, keys = target->permits > 0 ? target->take : target->n;
    for (uint32_t i = 0; i < target->n; i++) {
        longest = target->resources[i].length > longest ? target->resources[i].length : longest;
    }
    assert(keys <= RL_SLOTS_MAX || target->permits == 0);
    /* Each key and its counter, the resource once more, and numbers. */
    return RL_SCRIPT_LENGTH_MAX + 2 * RL_VALUE_MAX + 16 * FRAME_MAX +
           (2 * keys + 1) * (longest + SLOT_MAX + FRAME_MAX);
}

size_t rl_command_format(char *wire, const struct rl_request *request) {
    const struct rl_target *target = request->target;
    const bool is_native = rl_command_is_native_release(request->kind),
               releases_one = request->kind == RL_COMMAND_RELEASE || is_native,
               is_plain = releases_one || request->kind == RL_COMMAND_SET;
    struct writer w = {wire, rl_command_room(target), false};
    assert(request->kind != RL_COMMAND_HANDSHAKE);
    assert(target->n >= 1 && target->n <= REDLOCK_RESOURCES_MAX);
    assert(!is_plain || (count_keys(request) == 1 && request->lock_mode != RL_SHARED));
    assert(!releases_one || !(request->announces && target->notifies));
    assert(request->lock_mode == RL_SHARED || request->kind != RL_COMMAND_UPGRADE);
    (void)is_plain; /* without assertions */
    if (request->kind == RL_COMMAND_SET) {
        put_set(&w, request);
    } else if (is_native) {
        put_native(&w, request);
    } else {
        put_script(&w, request);
    }
    assert(!w.overflow);
    *w.at = '\0';
    return (size_t)(w.at - wire);
}

bool rl_command_extends_one_key(const struct rl_request *request) {
    return request->kind == RL_COMMAND_EXTEND && request->lock_mode != RL_SHARED &&
           count_keys(request) == 1;
}

size_t rl_command_many_room(const struct rl_request *first, uint32_t n) {
    const struct row *row = &rows[n > 1 ? RL_COMMAND_EXTEND_MANY : RL_COMMAND_EXTEND];
    size_t room = (first->whole_script ? strlen(row->text) : 0) + 8 * FRAME_MAX;
    for (; n > 0; n--, first = first->next) {
        assert(rl_command_extends_one_key(first));
        room += 2 * (first->target->resources[0].length + SLOT_MAX + FRAME_MAX) + RL_VALUE_MAX +
                4 * FRAME_MAX;
    }
    return room;
}

size_t rl_command_format_many(char *wire, size_t room, const struct rl_request *first, uint32_t n) {
    const struct row *row = &rows[RL_COMMAND_EXTEND_MANY];
    const struct rl_request *request = first, *behind = first;
    struct writer w = {wire, room, false};
    size_t keys = n;
    for (uint32_t i = 0; i < n; i++, behind = behind->next) {
        keys += behind->counter > 0;
    }
    put_count(&w, '*', 3 + keys + 4 * (size_t)n);
    put_text(&w, first->whole_script ? "EVAL" : "EVALSHA");
    put_text(&w, first->whole_script ? row->text : row->sha1);
    put_number(&w, keys);
    for (request = first; request != behind; request = request->next) {
        put_key(&w, request, "", 0);
        if (request->counter > 0) {
            put_key(&w, request, RL_COMMAND_COUNTER_PREFIX, 0);
        }
    }
    for (request = first; request != behind; request = request->next) {
        struct arg args[ARGS_MAX];
        list_args(request, args);
        for (size_t i = 0; i < 4; i++) { /* the value, the life, the fence, the counter's life */
            put_arg(&w, request, &args[i]);
        }
    }
    assert(!w.overflow);
    *w.at = '\0';
    return (size_t)(w.at - wire);
}

size_t rl_command_format_args(char *wire, size_t capacity, const char *const *args, size_t count) {
    assert(capacity > 0);
    assert(count > 0);
    struct writer w = {wire, capacity, false};
    put_count(&w, '*', count);
    for (size_t i = 0; i < count; i++) {
        put_text(&w, args[i]);
    }
    *w.at = '\0';
    return w.overflow ? 0 : (size_t)(w.at - wire);
}

const char *rl_command_script(enum rl_command_kind kind) {
    assert(rl_command_is_script(kind));
    return rows[kind].text;
}

const char *rl_command_script_sha1(enum rl_command_kind kind) {
    assert(rl_command_is_script(kind));
    return rows[kind].sha1;
}

const char *rl_command_script_at(size_t index, const char **sha1) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].text != NULL && index-- == 0) {
            *sha1 = rows[i].sha1;
            return rows[i].text;
        }
    }
    return NULL;
}
