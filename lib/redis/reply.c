/* See reply.h. */
#include "redis/reply.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "redis/holder_reply.h"
#include "redlock/redlock.h"
#include "redlock/status.h"

static_assert(sizeof "9223372036854775807 s" - 1 + RL_HOLDER_TEXT_MAX < RL_REPLY_TEXT_MAX,
              "the answer to READ is kept whole");
static_assert(RL_LINE_REPLY_SIZE == RL_REPLY_TEXT_MAX, "what is kept is what is parsed");

#define IS(type) (1u << REDIS_REPLY_##type)

/* -- The guard -- */

static redisReply *guard_slot(const redisReadTask *task, int type) {
    struct rl_reply_slot *slot = task->privdata;
    if (task->parent != NULL || *slot->waiting == 0) {
        return NULL;
    }
    memset(&slot->reply, 0, sizeof slot->reply);
    slot->text[0] = '\0';
    slot->reply.type = type;
    slot->reply.str = slot->text;
    return &slot->reply;
}

void rl_reply_keep(char text[RL_REPLY_TEXT_MAX], const char *bytes, size_t length) {
    size_t kept = length < RL_REPLY_TEXT_MAX ? length : RL_REPLY_TEXT_MAX - 1;
    for (size_t i = 0; i < kept; i++) {
        unsigned char c = (unsigned char)bytes[i];
        text[i] = (char)(c < 0x20 || c > 0x7e ? '?' : c);
    }
    assert(kept < RL_REPLY_TEXT_MAX);
    text[kept] = '\0';
}

static void *guard_string(const redisReadTask *task, char *bytes, size_t length) {
    redisReply *reply = guard_slot(task, task->type);
    if (reply == NULL) {
        return NULL;
    }
    struct rl_info *info = ((struct rl_reply_slot *)task->privdata)->info;
    if (info != NULL && task->type == REDIS_REPLY_STRING) {
        rl_info_read(info, bytes, length);
    }
    rl_reply_keep(reply->str, bytes, length);
    reply->len = length;
    return reply;
}

static void *guard_array(const redisReadTask *task, rl_reply_count count) {
    (void)task;
    (void)count;
    return NULL; /* no command of ours has such an answer */
}

static void *guard_integer(const redisReadTask *task, long long integer) {
    redisReply *reply = guard_slot(task, REDIS_REPLY_INTEGER);
    if (reply != NULL) {
        reply->integer = integer;
    }
    return reply;
}

static void *guard_nil(const redisReadTask *task) {
    /* only "$-1": "*-1" and RESP3's are nils, too, but no answer to a command of ours */
    return task->type == REDIS_REPLY_STRING ? guard_slot(task, REDIS_REPLY_NIL) : NULL;
}

#if HIREDIS_MAJOR >= 1
void *rl_reply_no_double(const redisReadTask *task, double number, char *text, size_t length) {
    (void)task;
    (void)number;
    (void)text;
    (void)length;
    return NULL;
}

void *rl_reply_no_bool(const redisReadTask *task, int value) {
    (void)task;
    (void)value;
    return NULL;
}
#endif

void rl_reply_free_nothing(void *reply) {
    (void)reply; /* the slot is the connection's */
}

static redisReplyObjectFunctions guard = {
    .createString = guard_string,
    .createArray = guard_array,
    .createInteger = guard_integer,
    .createNil = guard_nil,
    RL_REPLY_GUARD_REST,
};

void rl_reply_guard(redisReader *reader, struct rl_reply_slot *slot, const uint32_t *waiting) {
    assert(reader->len == 0); /* before the first byte */
    slot->waiting = waiting;
    slot->info = NULL;
    reader->fn = &guard;
    reader->privdata = slot;
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

/* -- The judge -- */

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
        return REDLOCK_ERR_NODE_WRONGTYPE; /* DELEX words it so */
    }
    if (is_script_denied(text)) {
        return REDLOCK_ERR_NODE_PERMISSION;
    }
    if (strstr(text, "running script") != NULL || strstr(text, "user_script") != NULL) {
        return wrapped_reason(text);
    }
    return REDLOCK_ERR_NODE_ERROR;
}

static struct rl_answer answer(enum rl_verdict verdict, int reason, const char *text) {
    assert((reason == 0) == (verdict == RL_YES || verdict == RL_NO));
    assert(reason >= INT16_MIN && reason <= 0);
    return (struct rl_answer){.verdict = verdict, .reason = (int16_t)reason, .text = text};
}

static struct rl_answer no_answer(void) {
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
    return no_answer();
}

static struct rl_answer judge_integer(long long integer) {
    return integer == 0 || integer == 1 ? answer(integer == 1 ? RL_YES : RL_NO, 0, "")
                                        : no_answer();
}

static struct rl_answer judge_string(enum rl_command_kind kind, const redisReply *reply) {
    struct rl_holder_reply ignored;
    struct rl_answer judged = answer(RL_YES, 0, reply->str);
    bool yes = false;
    if (kind == RL_COMMAND_HANDSHAKE) {
        return judged;
    }
    if (reply->len >= RL_REPLY_TEXT_MAX) {
        return no_answer(); /* the text was cut */
    }
    if (kind == RL_COMMAND_READ) {
        return rl_holder_reply_parse(reply->str, &ignored) ? judged : no_answer();
    }
    if (!rl_line_reply_parse(kind, reply->str, &yes, &judged.line, &judged.counter, &judged.text)) {
        return no_answer();
    }
    judged.verdict = yes ? RL_YES : RL_NO;
    assert(yes || judged.counter == 0);
    return judged;
}

/* Which types of reply a kind of command may have, besides an error. */
static const uint16_t types[RL_COMMAND_HANDSHAKE + 1] = {
    [RL_COMMAND_SET] = IS(STATUS) | IS(NIL),
    [RL_COMMAND_DELIFEQ] = IS(INTEGER),
    [RL_COMMAND_DELEX] = IS(INTEGER),
    [RL_COMMAND_RAISE] = IS(INTEGER),
    [RL_COMMAND_EXTEND] = IS(INTEGER),
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
    [RL_COMMAND_HANDSHAKE] = IS(STATUS) | IS(STRING),
};

struct rl_answer rl_reply_judge(enum rl_command_kind kind, const redisReply *reply) {
    assert(kind <= RL_COMMAND_HANDSHAKE && types[kind] != 0);
    if (reply->type == REDIS_REPLY_ERROR) {
        return judge_error(kind, reply->str);
    }
    if (reply->type < 0 || reply->type > 15 || (types[kind] & 1u << reply->type) == 0) {
        return no_answer();
    }
    switch (reply->type) {
        case REDIS_REPLY_STATUS:
            return judge_status(reply, kind == RL_COMMAND_HANDSHAKE);
        case REDIS_REPLY_INTEGER:
            return judge_integer(reply->integer);
        case REDIS_REPLY_NIL:
            return answer(RL_NO, 0, "");
        default:
            assert(reply->type == REDIS_REPLY_STRING);
            return judge_string(kind, reply);
    }
}
