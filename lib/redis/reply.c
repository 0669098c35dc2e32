/* See reply.h. */
#include "redis/reply.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

#include "redlock/redlock.h"

#define DIGITS_MAX 18         /* enough for all of our numbers, and 2^53 */
#define LIFE_DIGITS_MAX 19    /* of the largest int64_t */
#define READERS_MAX 999999999 /* the limit of the READER script, so that a value still fits */
#define CUT "..." /* at the end of a foreign value that is longer than what is shown of it */
#define EMPTY "(empty string)"
#define IS(type) (1u << REDIS_REPLY_##type)

static_assert(RL_VALUE_MAX == 105 && RL_HOLDER_TEXT_MAX == 1 + 105, "the scripts cut there");
static_assert(sizeof "9223372036854775807 s" - 1 + RL_HOLDER_TEXT_MAX < RL_REPLY_TEXT_MAX,
              "the answer to READ is kept whole");
static_assert(sizeof "999999999 4294967295 " - 1 + RL_HOLDER_TEXT_MAX < RL_REPLY_TEXT_MAX,
              "the answer to READER is kept whole");
static_assert(sizeof "4294967295 9999999999999999 " - 1 + RL_HOLDER_TEXT_MAX < RL_REPLY_TEXT_MAX,
              "the answer to SLOT is kept whole");
static_assert(REDLOCK_RESOURCES_MAX <= UINT8_MAX, "which of them fits");
static_assert(RL_HOLDER_NAME_MAX == REDLOCK_HOLDER_MAX, "one length of a holder's name");

void rl_reply_keep(char text[RL_REPLY_TEXT_MAX], const char *bytes, size_t length) {
    size_t kept = length < RL_REPLY_TEXT_MAX ? length : RL_REPLY_TEXT_MAX - 1;
    for (size_t i = 0; i < kept; i++) {
        unsigned char c = (unsigned char)bytes[i];
        text[i] = (char)(c < 0x20 || c > 0x7e ? '?' : c);
    }
    assert(kept < RL_REPLY_TEXT_MAX);
    text[kept] = '\0';
}

/* -- Other servers -- */

const char *rl_reply_stranger(const char *bytes, size_t length) {
    static const struct {
        const char *begins;
        const char *name;
    } known[] = {
        {"\x15\x03", RL_REPLY_TLS},          /* an alert */
        {"\x16\x03", RL_REPLY_TLS},          /* a handshake */
        {"HTTP/", "an HTTP server"},         /**/
        {"<", "an HTTP server"},             /* an old one: the page alone */
        {"SSH-", "an SSH server"},           /**/
        {"ERROR\r\n", "a memcached server"}, /* it does not know "*1" */
        {"220 ", "a mail or an FTP server"}, /* greets every client */
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t begins = strlen(known[i].begins);
        if (length >= begins && memcmp(bytes, known[i].begins, begins) == 0) {
            return known[i].name;
        }
    }
    return NULL;
}

/* -- Errors -- */

static const struct {
    const char *word;
    int16_t reason;
} words[] = {
    {"LOADING", REDLOCK_ERR_NODE_LOADING},     {"READONLY", REDLOCK_ERR_NODE_READONLY},
    {"MASTERDOWN", REDLOCK_ERR_NODE_READONLY}, {"OOM", REDLOCK_ERR_NODE_OOM},
    {"NOAUTH", REDLOCK_ERR_NODE_AUTH},         {"WRONGPASS", REDLOCK_ERR_NODE_AUTH},
    {"DENIED", REDLOCK_ERR_NODE_PERMISSION},   {"NOPERM", REDLOCK_ERR_NODE_PERMISSION},
    {"MISCONF", REDLOCK_ERR_NODE_MISCONF},     {"NOREPLICAS", REDLOCK_ERR_NODE_MISCONF},
    {"BUSY", REDLOCK_ERR_NODE_BUSY},           {"MOVED", REDLOCK_ERR_NODE_CLUSTER},
    {"ASK", REDLOCK_ERR_NODE_CLUSTER},         {"CROSSSLOT", REDLOCK_ERR_NODE_CLUSTER},
    {"CLUSTERDOWN", REDLOCK_ERR_NODE_CLUSTER}, {"TRYAGAIN", REDLOCK_ERR_NODE_CLUSTER},
    {"WRONGTYPE", REDLOCK_ERR_NODE_WRONGTYPE}, {"PERMITS", REDLOCK_ERR_NODE_PERMITS},
};

static bool is_word(const char *at, const char *word) {
    size_t length = strlen(word);
    return strncmp(at, word, length) == 0 && (at[length] == ' ' || at[length] == '\0');
}

/* A script's error comes wrapped by old servers: "ERR Error running script (...): -OOM command not
 * allowed ...". Looks for the words wherever one begins. */
static int16_t wrapped_reason(const char *text) {
    for (const char *at = text; *at != '\0'; at++) {
        bool begins = at == text || at[-1] == ' ' || at[-1] == '-' || at[-1] == ':';
        for (size_t i = 0; begins && i < sizeof words / sizeof words[0]; i++) {
            if (is_word(at, words[i].word)) {
                return words[i].reason;
            }
        }
    }
    return REDLOCK_ERR_NODE_ERROR;
}

/* Whether the user may run scripts, but not the commands in them. Redis up to 7.0: "ERR The user
 * executing the script can't run this command or subcommand script: ...", in 6 wrapped as above;
 * since 7.2, and Valkey: "ERR ACL failure in script: User x has no permissions to run the 'get'
 * command ...". None has the word NOPERM. */
static bool is_script_denied(const char *text) {
    return strstr(text, "user executing the script can't") != NULL ||
           strstr(text, "ACL failure in script") != NULL;
}

int16_t rl_reply_reason(const char *text) {
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (is_word(text, words[i].word)) {
            return words[i].reason;
        }
    }
    if (strncmp(text, "ERR max number of clients", 25) == 0) {
        return REDLOCK_ERR_NODE_BUSY;
    }
    if (strncmp(text, "ERR Key should be of string type", 32) == 0) {
        return REDLOCK_ERR_NODE_WRONGTYPE; /* DELEX's wording */
    }
    if (is_script_denied(text)) {
        return REDLOCK_ERR_NODE_PERMISSION;
    }
    if (strstr(text, "running script") != NULL || strstr(text, "user_script") != NULL) {
        return wrapped_reason(text);
    }
    return REDLOCK_ERR_NODE_ERROR;
}

/* -- Numbers -- */

/* Reads at most so many digits and the character behind them. Returns what follows, or NULL; NULL
 * for NULL. */
static const char *take_digits(const char *at, size_t most, char behind, uint64_t *out) {
    size_t digits = 0;
    *out = 0;
    while (at != NULL && digits <= most && at[digits] >= '0' && at[digits] <= '9') {
        *out = *out * 10 + (uint64_t)(at[digits++] - '0'); /* 19 digits fit */
    }
    if (digits < 1 || digits > most || (at[0] == '0' && digits > 1) || at[digits] != behind) {
        return NULL;
    }
    return at + digits + (behind != '\0');
}

const char *rl_line_number(const char *at, uint64_t max, bool is_last, uint64_t *out) {
    at = take_digits(at, DIGITS_MAX, is_last ? '\0' : ' ', out);
    return at != NULL && *out <= max ? at : NULL;
}

/* "-1", or a number of any size: another library's key may have any life. */
static const char *take_life(const char *at, char behind, int64_t *ms) {
    uint64_t life = 0;
    if (at != NULL && strncmp(at, "-1", 2) == 0 && at[2] == behind) {
        *ms = -1;
        return at + 2 + (behind != '\0');
    }
    at = take_digits(at, LIFE_DIGITS_MAX, behind, &life);
    *ms = life < INT64_MAX ? (int64_t)life : INT64_MAX;
    return at;
}

static bool has_slot(const struct rl_slots *slots, uint64_t slot) {
    bool has = false;
    assert(slots->n <= RL_SLOTS_MAX);
    for (uint32_t i = 0; i < slots->n; i++) {
        has = has || slots->at[i] == slot;
    }
    return has;
}

bool rl_slots_parse(const char *text, struct rl_slots *out) {
    assert(text != NULL);
    out->n = 0;
    while (text[0] == ' ' && out->n < RL_SLOTS_MAX) {
        uint64_t slot = 0;
        const bool is_last = strchr(text + 1, ' ') == NULL;
        const char *behind = rl_line_number(text + 1, RL_PERMITS_MAX - 1, is_last, &slot);
        if (behind == NULL || has_slot(out, slot)) {
            return false;
        }
        out->at[out->n++] = (uint16_t)slot;
        text = behind - !is_last; /* the space belongs to the next number */
    }
    return out->n > 0 && text[0] == '\0';
}

/* -- What is in a key -- */

/* Whether a token is followed by nothing, or by a colon and a valid holder's name. */
static bool is_tail(const char *tail) {
    size_t length = strlen(tail);
    if (length == 0) {
        return true;
    }
    for (size_t i = 1; i < length; i++) {
        if (tail[i] <= ' ' || tail[i] > '~') {
            return false;
        }
    }
    return tail[0] == ':' && length >= 2 && length <= 1 + RL_HOLDER_NAME_MAX;
}

static void take_value(const char *value, struct rl_holder_reply *out) {
    size_t length = strlen(value);
    assert(length <= RL_HOLDER_TEXT_MAX);
    if (length >= RL_TOKEN_LEN && strspn(value, "0123456789abcdef") >= RL_TOKEN_LEN &&
        is_tail(value + RL_TOKEN_LEN)) {
        memcpy(out->token, value, RL_TOKEN_LEN);
        if (length > RL_TOKEN_LEN) {
            memcpy(out->holder, value + RL_TOKEN_LEN + 1, length - RL_TOKEN_LEN);
        }
        return;
    }
    out->is_shared = strcmp(value, RL_SHARED_VALUE) == 0;
    out->is_reserved = strcmp(value, RL_RESERVED) == 0 || strcmp(value, RL_RESERVED_SHARED) == 0;
    if (out->is_shared || out->is_reserved) {
        return;
    }
    out->is_foreign = true;
    if (length == 0) {
        memcpy(out->holder, EMPTY, sizeof EMPTY);
    } else {
        memcpy(out->holder, value, length + 1);
        if (length == RL_HOLDER_TEXT_MAX) {
            memcpy(out->holder + length - strlen(CUT), CUT, sizeof CUT);
        }
    }
}

void rl_holder_value_parse(const char *value, struct rl_holder_reply *out) {
    memset(out, 0, sizeof *out);
    take_value(value, out);
    assert(out->remaining_ms == 0);
}

bool rl_holder_reply_parse(const char *text, struct rl_holder_reply *out) {
    memset(out, 0, sizeof *out);
    const char *what = take_life(text, ' ', &out->remaining_ms);
    if (what == NULL || strlen(what) > 1 + RL_HOLDER_TEXT_MAX) {
        return false;
    }
    if (what[0] == 's') {
        take_value(what + 1, out);
    } else if (what[0] == 't' && what[1] != '\0') {
        snprintf(out->holder, sizeof out->holder, "(%.32s)", what + 1);
    } else {
        return false;
    }
    assert(strlen(out->holder) <= RL_HOLDER_TEXT_MAX);
    assert(out->remaining_ms >= -1);
    assert(!out->is_foreign || out->token[0] == '\0');
    assert(!out->is_reserved || (out->token[0] == '\0' && !out->is_foreign));
    assert(!out->is_shared || (out->token[0] == '\0' && !out->is_foreign && !out->is_reserved));
    return true;
}

/* -- The judge -- */

static struct rl_answer answer(enum rl_verdict verdict, int reason, const char *text) {
    assert((reason == 0) == (verdict == RL_YES || verdict == RL_NO));
    assert(reason >= INT16_MIN && reason <= 0);
    return (struct rl_answer){.verdict = verdict, .reason = (int16_t)reason, .text = text};
}

struct rl_answer rl_reply_unexpected(void) {
    return answer(RL_NOT_REDIS, REDLOCK_ERR_NODE_PROTOCOL, "unexpected reply");
}

static struct rl_answer judge_error(enum rl_command_kind kind, const char *text) {
    assert(text != NULL);
    if (rl_command_is_script(kind) && is_word(text, "NOSCRIPT")) {
        return answer(RL_NOSCRIPT, REDLOCK_ERR_NODE_ERROR, text);
    }
    int16_t reason = rl_reply_reason(text);
    if (rl_command_releases(kind) && reason == REDLOCK_ERR_NODE_WRONGTYPE) {
        return answer(RL_NO, 0, ""); /* the content of the key cannot be ours */
    }
    return answer(RL_ERROR, reason, text);
}

static struct rl_answer judge_status(const redisReply *reply, bool is_handshake) {
    if (is_handshake || strcmp(reply->str, "OK") == 0) {
        return answer(RL_YES, 0, is_handshake ? reply->str : "");
    }
    return rl_reply_unexpected();
}

static struct rl_answer judge_integer(long long integer) {
    return integer == 0 || integer == 1 ? answer(integer == 1 ? RL_YES : RL_NO, 0, "")
                                        : rl_reply_unexpected();
}

static const char *take_waiting(const char *at, struct rl_line_answer *line) {
    uint64_t waiting = 0;
    at = rl_line_number(at, UINT32_MAX, false, &waiting);
    line->waiting = (uint32_t)waiting;
    return rl_line_number(at, UINT64_MAX, false, &line->first_waited_ms);
}

/* Two numbers, and a place or a value, or what an unrelated process put there. */
static bool read_question(enum rl_command_kind kind, const char *text, struct rl_answer *out) {
    const size_t most = kind == RL_COMMAND_WAITER ? RL_VALUE_MAX : RL_HOLDER_TEXT_MAX;
    out->text = take_waiting(text, &out->line);
    return out->text != NULL && strlen(out->text) <= most &&
           (kind != RL_COMMAND_READER ||
            (out->line.waiting >= 1 && out->line.waiting <= READERS_MAX));
}

/* A no to a JOIN, a TAKE or an UPGRADE: a number and a life. */
static bool read_no(enum rl_command_kind kind, const char *at, struct rl_line_answer *line) {
    const bool is_rank = kind == RL_COMMAND_JOIN;
    const uint64_t most = is_rank                   ? UINT32_MAX
                          : kind == RL_COMMAND_TAKE ? REDLOCK_RESOURCES_MAX
                                                    : RL_UPGRADE_NO_READER;
    uint64_t number = 0;
    at = rl_line_number(at, most, false, &number);
    line->rank = is_rank ? (uint32_t)number : 0;
    line->which = is_rank ? 0 : (uint8_t)number;
    return take_life(at, '\0', &line->life_ms) != NULL && (is_rank || number >= 1);
}

static bool read_line(enum rl_command_kind kind, const char *text, struct rl_answer *out) {
    struct rl_line_answer *line = &out->line;
    const bool yes = text[0] == '1';
    uint64_t served = 0;
    out->verdict = yes ? RL_YES : RL_NO;
    out->text = "";
    if (kind == RL_COMMAND_JOIN && yes) {
        return text[1] == '\0' || rl_slots_parse(text + 1, &line->slots);
    }
    if ((text[0] != '0' && !yes) || text[1] != ' ') {
        return false;
    }
    const char *at = text + 2;
    if (rl_command_hands_on(kind)) {
        at = rl_line_number(take_waiting(at, line), 1, false, &served);
        line->served = served == 1;
        at = rl_line_number(at, UINT64_MAX, false, &line->time_us);
        return rl_line_number(at, UINT64_MAX, true, &line->secret) != NULL;
    }
    assert(kind == RL_COMMAND_JOIN || kind == RL_COMMAND_TAKE || kind == RL_COMMAND_UPGRADE);
    return yes ? rl_line_number(take_waiting(at, line), UINT64_MAX, true, &out->counter) != NULL
               : read_no(kind, at, line);
}

static struct rl_answer judge_string(enum rl_command_kind kind, const redisReply *reply) {
    struct rl_answer judged = answer(RL_YES, 0, reply->str);
    struct rl_holder_reply ignored;
    bool is_good = reply->len < RL_REPLY_TEXT_MAX; /* else the text was cut */
    if (kind == RL_COMMAND_HANDSHAKE) {
        return judged;
    }
    if (kind == RL_COMMAND_EXTEND_MANY) {
        is_good = is_good && reply->len > 0 && strspn(reply->str, "01w") == reply->len;
    } else if (kind == RL_COMMAND_READ) {
        is_good = is_good && rl_holder_reply_parse(reply->str, &ignored);
    } else if (kind == RL_COMMAND_WAITER || kind == RL_COMMAND_READER || kind == RL_COMMAND_SLOT) {
        is_good = is_good && read_question(kind, reply->str, &judged);
    } else {
        is_good = is_good && read_line(kind, reply->str, &judged);
    }
    return is_good ? judged : rl_reply_unexpected();
}

/* Which types of reply a kind of command may have, besides an error. */
static const uint16_t types[RL_COMMAND_HANDSHAKE + 1] = {
    [RL_COMMAND_SET] = IS(STATUS) | IS(NIL),
    [RL_COMMAND_DELIFEQ] = IS(INTEGER),
    [RL_COMMAND_DELEX] = IS(INTEGER),
    [RL_COMMAND_RAISE] = IS(INTEGER),
    [RL_COMMAND_EXTEND] = IS(INTEGER),
    [RL_COMMAND_EXTEND_MANY] = IS(STRING),
    [RL_COMMAND_RELEASE] = IS(INTEGER),
    [RL_COMMAND_READ] = IS(STRING) | IS(NIL),
    [RL_COMMAND_JOIN] = IS(STRING),
    [RL_COMMAND_TAKE] = IS(STRING),
    [RL_COMMAND_RELEASE_LINE] = IS(STRING),
    [RL_COMMAND_RELEASE_PERMIT] = IS(STRING),
    [RL_COMMAND_LEAVE] = IS(INTEGER),
    [RL_COMMAND_WAITER] = IS(STRING) | IS(NIL),
    [RL_COMMAND_UPGRADE] = IS(STRING),
    [RL_COMMAND_READER] = IS(STRING) | IS(NIL),
    [RL_COMMAND_SET_PERMITS] = IS(INTEGER),
    [RL_COMMAND_SLOT] = IS(STRING) | IS(NIL),
    [RL_COMMAND_HANDSHAKE] = IS(STATUS) | IS(STRING) | IS(NIL),
};

struct rl_answer rl_reply_judge_one(const struct rl_answer *many, uint32_t i) {
    assert(many->verdict != RL_NO);
    if (many->verdict != RL_YES) {
        return *many;
    }
    return many->text[i] == 'w' ? answer(RL_ERROR, REDLOCK_ERR_NODE_WRONGTYPE,
                                         "WRONGTYPE the key does not hold a string")
                                : judge_integer(many->text[i] - '0');
}

struct rl_answer rl_reply_judge(enum rl_command_kind kind, const redisReply *reply) {
    assert(kind <= RL_COMMAND_HANDSHAKE && types[kind] != 0);
    if (reply->type == REDIS_REPLY_ERROR) {
        return judge_error(kind, reply->str);
    }
    if (reply->type < 0 || reply->type > 15 || (types[kind] & 1u << reply->type) == 0) {
        return rl_reply_unexpected();
    }
    switch (reply->type) {
        case REDIS_REPLY_STATUS:
            return judge_status(reply, kind == RL_COMMAND_HANDSHAKE);
        case REDIS_REPLY_INTEGER:
            return judge_integer(reply->integer);
        case REDIS_REPLY_NIL:
            return answer(RL_NO, 0, kind == RL_COMMAND_HANDSHAKE ? "unexpected reply" : "");
        default:
            assert(reply->type == REDIS_REPLY_STRING);
            return judge_string(kind, reply);
    }
}
