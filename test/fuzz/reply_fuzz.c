/* libFuzzer: any bytes as the answers of a node, through the real guard and judge.
 *
 * Input: one line of letters, the commands that wait for an answer (S set, A set of several, F with
 * a fence, W raise, E extend, R release, Q query, J join, T take, L release in a line, X leave, I a
 * waiter, H a step of the handshake); then the bytes that the node sends. They are read three
 * times: at once, one by one, and in pieces of three; how they arrive must not matter.
 *
 * The result of each answer is compared with its bytes, parsed here without hiredis: only the exact
 * words of our own protocol may be a yes or a no. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/conn.h"
#include "redis/guard.h"
#include "redlock/redlock.h"

#define ANSWERS_MAX 64
#define STREAM_MAX 65536

struct outcome { /* the results of a stream */
    size_t count;
    enum rl_verdict verdicts[ANSWERS_MAX];
    size_t ends[ANSWERS_MAX]; /* of the bytes of each answer */
    bool refused;             /* the connection ends */
};

/* An assertion that NDEBUG does not remove. */
static void demand(bool truth) {
    if (!truth) {
        abort();
    }
}

static bool is_exactly(const uint8_t *bytes, size_t size, const char *text) {
    return size == strlen(text) && memcmp(bytes, text, size) == 0;
}

static bool begins_with(const uint8_t *bytes, size_t size, const char *text) {
    return size >= strlen(text) && memcmp(bytes, text, strlen(text)) == 0;
}

/* -- What an answer may come to -- */

/* A bulk string of "-1" or digits, a space, and 's', or 't' and a name. */
static bool is_sighting(const uint8_t *b, size_t size) {
    const uint8_t *end = b + size - 2;
    const uint8_t *at = memchr(b, '\n', size);
    if (b[0] != '$' || at == NULL || end - ++at > RL_REPLY_TEXT_MAX - 1) {
        return false;
    }
    bool is_minus_one = end - at > 3 && memcmp(at, "-1 ", 3) == 0;
    const uint8_t *digits = at;
    at += is_minus_one ? 2 : 0;
    while (!is_minus_one && at < end && *at >= '0' && *at <= '9') {
        at++;
    }
    return at > digits && end - at >= 2 && at[0] == ' ' &&
           (at[1] == 's' || (at[1] == 't' && end - at >= 3));
}

/* What is in a bulk string, up to `end`. NULL: it is none, or too long to be kept. */
static const uint8_t *inside(const uint8_t *b, size_t size, const uint8_t **end) {
    const uint8_t *at = memchr(b, '\n', size);
    *end = b + size - 2;
    return b[0] == '$' && at != NULL && ++at <= *end && *end - at < RL_REPLY_TEXT_MAX ? at : NULL;
}

/* A bulk string of n numbers without zeros before them, one space in between; more: anything after
 * another space. */
static bool are_numbers(const uint8_t *b, size_t size, int n, bool has_life, bool has_more) {
    const uint8_t *end, *at = inside(b, size, &end);
    for (int i = 0; at != NULL && i < n; i++) {
        bool is_last = i == n - 1;
        at += is_last && has_life && end - at == 2 && memcmp(at, "-1", 2) == 0;
        const uint8_t *from = at;
        while (at < end && *at >= '0' && *at <= '9') {
            at++;
        }
        bool is_number = at - from == 1 ||
                         (at - from > 1 && at - from <= 18 + (is_last && has_life) && *from != '0');
        bool is_behind = is_last && !has_more ? at == end : at < end && *at == ' ';
        at = is_number && is_behind ? at + (at < end) : NULL;
    }
    return at != NULL;
}

/* Slots of a semaphore after the "1": each is below 1,024, none is there twice, and writing the
 * parsed slots gives the same text. */
static void check_slots(const struct rl_slots *slots, const uint8_t *b, size_t size) {
    char text[1 + RL_SLOTS_MAX * sizeof " 1023"] = "1";
    const uint8_t *end, *at = inside(b, size, &end);
    size_t length = 1;
    demand(slots->n <= RL_SLOTS_MAX);
    for (uint32_t i = 0; i < slots->n; i++) {
        demand(slots->at[i] < RL_PERMITS_MAX);
        for (uint32_t j = 0; j < i; j++) {
            demand(slots->at[i] != slots->at[j]);
        }
        length +=
            (size_t)snprintf(text + length, sizeof text - length, " %u", (unsigned)slots->at[i]);
    }
    demand(at != NULL && is_exactly(at, (size_t)(end - at), text));
}

static bool begins_inside(const uint8_t *b, size_t size, uint8_t first) {
    const uint8_t *end, *at = inside(b, size, &end);
    return at != NULL && at < end && *at == first;
}

/* One character for each lock, as rl_reply_judge_one() reads it. */
static bool are_verdicts(const uint8_t *b, size_t size) {
    const uint8_t *end, *at = inside(b, size, &end);
    while (at != NULL && at < end && (*at == '0' || *at == '1' || *at == 'w')) {
        at++;
    }
    return at != NULL && at == end && b[1] != '0';
}

/* How many numbers: of a yes, of a no. */
static void check_numbers(enum rl_command_kind kind, bool yes, const uint8_t *b, size_t size) {
    if (kind == RL_COMMAND_WAITER || kind == RL_COMMAND_READER || kind == RL_COMMAND_SLOT) {
        demand(yes ? are_numbers(b, size, 2, false, true) : is_exactly(b, size, "$-1\r\n"));
        return;
    }
    demand(begins_inside(b, size, yes ? '1' : '0'));
    if (kind == RL_COMMAND_JOIN) {
        bool is_one = false;
        for (int n = 1; yes && n <= 1 + RL_SLOTS_MAX; n++) {
            is_one = is_one || are_numbers(b, size, n, false, false);
        }
        demand(is_one || (!yes && are_numbers(b, size, 3, true, false)));
    } else if (kind == RL_COMMAND_TAKE || kind == RL_COMMAND_UPGRADE) {
        demand(are_numbers(b, size, yes ? 4 : 3, !yes, false));
    } else {
        demand(are_numbers(b, size, 6, false, false));
    }
}

static bool has_numbers(enum rl_command_kind kind) {
    return kind == RL_COMMAND_JOIN || kind == RL_COMMAND_TAKE || rl_command_hands_on(kind) ||
           kind == RL_COMMAND_WAITER || kind == RL_COMMAND_UPGRADE || kind == RL_COMMAND_READER ||
           kind == RL_COMMAND_SLOT;
}

static void check_yes_or_no(enum rl_command_kind kind, bool yes, const uint8_t *b, size_t size) {
    if (kind == RL_COMMAND_SET) {
        demand(is_exactly(b, size, yes ? "+OK\r\n" : "$-1\r\n"));
    } else if (kind == RL_COMMAND_READ) {
        demand(yes ? is_sighting(b, size) : is_exactly(b, size, "$-1\r\n"));
    } else if (kind == RL_COMMAND_HANDSHAKE) {
        demand(yes ? b[0] == '+' || b[0] == '$' : is_exactly(b, size, "$-1\r\n"));
    } else if (rl_command_releases(kind) && !yes && b[0] == '-') {
        demand(memmem(b, size, "WRONGTYPE", 9) != NULL || /* what is there cannot be our token */
               begins_with(b, size, "-ERR Key should be of string type"));
    } else if (kind == RL_COMMAND_EXTEND_MANY) {
        demand(yes && are_verdicts(b, size));
    } else if (has_numbers(kind)) {
        check_numbers(kind, yes, b, size);
    } else {
        demand(is_exactly(b, size, yes ? ":1\r\n" : ":0\r\n"));
    }
}

static void check_answer(enum rl_command_kind kind, const struct rl_answer *answer,
                         const uint8_t *b, size_t size) {
    bool decided = answer->verdict == RL_YES || answer->verdict == RL_NO;
    demand(size >= 3);
    bool is_bulk = b[0] == '$' || b[0] == '='; /* hiredis skips what is at their end */
    demand(is_bulk || memcmp(b + size - 2, "\r\n", 2) == 0);
    demand(answer->verdict != RL_UNANSWERED);
    demand((answer->reason == 0) == decided);
    const bool differs = answer->reason == REDLOCK_ERR_NODE_PERMITS;
    demand(decided || differs ||
           (answer->reason <= REDLOCK_ERR_NODE_DOWN && answer->reason >= REDLOCK_ERR_NODE_ERROR));
    demand(!differs || memmem(b, size, "PERMITS", 7) != NULL);
    if (decided) {
        check_yes_or_no(kind, answer->verdict == RL_YES, b, size);
        if (kind == RL_COMMAND_JOIN && answer->verdict == RL_YES) {
            check_slots(&answer->line.slots, b, size);
        }
    } else {
        demand((b[0] == '-') == (answer->verdict != RL_NOT_REDIS));
        demand(answer->verdict != RL_NOSCRIPT || begins_with(b, size, "-NOSCRIPT"));
        demand(answer->verdict != RL_NOSCRIPT || kind != RL_COMMAND_SET);
    }
    demand(strlen(answer->text) < RL_REPLY_TEXT_MAX);
    for (const char *c = answer->text; *c != '\0'; c++) {
        demand(*c >= 0x20 && *c < 0x7f);
    }
}

/* What a query shows is bounded and printable, and tokens are well formed. */
static void check_sighting(const char *text) {
    struct rl_holder_reply seen;
    demand(rl_holder_reply_parse(text, &seen));
    demand(seen.remaining_ms >= -1);
    demand(seen.token[0] == '\0' || (strlen(seen.token) == RL_TOKEN_LEN &&
                                     strspn(seen.token, "0123456789abcdef") == RL_TOKEN_LEN &&
                                     strlen(seen.holder) <= RL_HOLDER_NAME_MAX));
    demand((seen.token[0] == '\0' && seen.holder[0] == '\0') ==
           (seen.is_reserved || seen.is_shared));
    demand(strlen(seen.holder) <= RL_HOLDER_TEXT_MAX);
}

/* -- Reading -- */

/* Takes complete replies from the reader, as hiredis does for a connection. */
static void take_answers(redisReader *reader, const enum rl_command_kind *kinds, uint32_t *waiting,
                         const uint8_t *stream, size_t fed, struct outcome *out) {
    void *reply = NULL;
    while (!out->refused && redisReaderGetReply(reader, &reply) == REDIS_OK && reply != NULL) {
        size_t begin = out->count > 0 ? out->ends[out->count - 1] : 0;
        size_t end = fed - (reader->len - reader->pos);
        demand(*waiting > 0 && out->count < ANSWERS_MAX && end > begin);
        struct rl_answer answer = rl_reply_judge(kinds[out->count], reply);
        check_answer(kinds[out->count], &answer, stream + begin, end - begin);
        if (kinds[out->count] == RL_COMMAND_READ && answer.verdict == RL_YES) {
            check_sighting(answer.text);
        }
        out->verdicts[out->count] = answer.verdict;
        out->ends[out->count++] = end;
        out->refused = answer.verdict == RL_NOT_REDIS;
        --*waiting;
    }
    out->refused = out->refused || reader->err != 0;
    demand(out->refused || reader->len - reader->pos <= fed);
}

static void read_stream(const enum rl_command_kind *kinds, uint32_t waiting, const uint8_t *stream,
                        size_t size, size_t piece, struct outcome *out) {
    struct rl_reply_slot slot;
    redisReader *reader = redisReaderCreate();
    demand(reader != NULL);
    memset(&slot, 0, sizeof(slot));
    memset(out, 0, sizeof(*out));
    rl_reply_guard(reader, &slot, &waiting);
    for (size_t fed = 0; fed < size && !out->refused;) {
        size_t more = size - fed < piece ? size - fed : piece;
        demand(redisReaderFeed(reader, (const char *)stream + fed, more) == REDIS_OK);
        fed += more;
        take_answers(reader, kinds, &waiting, stream, fed, out);
    }
    redisReaderFree(reader);
}

static bool kind_of(uint8_t letter, enum rl_command_kind *kind) {
    static const char letters[] = {
        [RL_COMMAND_SET] = 'S',          [RL_COMMAND_RAISE] = 'W',
        [RL_COMMAND_EXTEND] = 'E',       [RL_COMMAND_EXTEND_MANY] = 'N',
        [RL_COMMAND_RELEASE] = 'R',      [RL_COMMAND_READ] = 'Q',
        [RL_COMMAND_JOIN] = 'J',         [RL_COMMAND_TAKE] = 'T',
        [RL_COMMAND_RELEASE_LINE] = 'L', [RL_COMMAND_RELEASE_PERMIT] = 'M',
        [RL_COMMAND_LEAVE] = 'X',        [RL_COMMAND_WAITER] = 'I',
        [RL_COMMAND_UPGRADE] = 'U',      [RL_COMMAND_READER] = 'B',
        [RL_COMMAND_SET_PERMITS] = 'P',  [RL_COMMAND_SLOT] = 'D',
        [RL_COMMAND_HANDSHAKE] = 'H',    [RL_COMMAND_DELIFEQ] = 'K',
        [RL_COMMAND_DELEX] = 'V',
    };
    const char *found = letter != '\0' ? memchr(letters, letter, sizeof letters) : NULL;
    *kind = found != NULL ? (enum rl_command_kind)(found - letters) : RL_COMMAND_SET;
    return found != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const size_t pieces[] = {1, 3};
    enum rl_command_kind kinds[ANSWERS_MAX];
    struct outcome whole, other;
    uint32_t waiting = 0;
    while (waiting < ANSWERS_MAX && waiting < size && kind_of(data[waiting], &kinds[waiting])) {
        waiting++;
    }
    if (waiting >= size || data[waiting] != '\n' || size > STREAM_MAX) {
        return 0;
    }
    const uint8_t *stream = data + waiting + 1;
    size -= waiting + 1;
    read_stream(kinds, waiting, stream, size, STREAM_MAX, &whole);
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        read_stream(kinds, waiting, stream, size, pieces[i], &other);
        demand(other.refused == whole.refused && other.count == whole.count);
        demand(memcmp(other.verdicts, whole.verdicts, sizeof(whole.verdicts)) == 0);
        demand(memcmp(other.ends, whole.ends, sizeof(whole.ends)) == 0);
    }
    return 0;
}
