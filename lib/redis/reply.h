/* What a node may reply, and what its replies mean.
 *
 * The guard: hiredis builds reply objects through functions that we give it. Ours accept one flat
 * reply (status, error, integer, nil, bulk string) for a request that is waiting, and allocate
 * nothing: the reply is put into one slot of the connection. Anything else (an unsolicited answer,
 * an array, a nested value, a push) is refused by returning NULL, upon which hiredis ends the
 * connection cleanly. Without the guard an unsolicited "+OK" aborts the process and deep nesting
 * overflows its stack. Only the beginning of a text is kept; INFO's, some kilobytes, is parsed in
 * place in hiredis's buffer (info.h), while it is the answer that is due.
 *
 * The judge: yes, no, or an error with its reason. Only the exact answers of our own commands are a
 * yes or a no; an error reply is never a refusal, because the node did not say that another client
 * holds the lock.
 */
#ifndef RL_REDIS_REPLY_H
#define RL_REDIS_REPLY_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redis/command.h"
#include "redis/info.h"
#include "redis/line_reply.h"

#define RL_REPLY_TEXT_MAX 144 /* how much of an error reply is kept */

/* One per connection; at the end of the reader's private data. */
struct rl_reply_slot {
    const uint32_t *waiting; /* unanswered requests; 0: no reply is acceptable */
    struct rl_info *info;    /* not NULL: the next reply is INFO's, and is read into this */
    redisReply reply;
    char text[RL_REPLY_TEXT_MAX];
};

/* Puts the guard into a reader, before the first byte is read. slot and *waiting must outlive it.
 * */
void rl_reply_guard(redisReader *reader, struct rl_reply_slot *slot, const uint32_t *waiting);

/* For guards: keeps the beginning, without bytes that could deceive the reader of a log. */
void rl_reply_keep(char text[RL_REPLY_TEXT_MAX], const char *bytes, size_t length);

/* For guards: functions that refuse a type, or allocate nothing. hiredis 1 has more types. */
#if HIREDIS_MAJOR >= 1
typedef size_t rl_reply_count;
void *rl_reply_no_double(const redisReadTask *task, double number, char *text, size_t length);
void *rl_reply_no_bool(const redisReadTask *task, int value);
#define RL_REPLY_GUARD_REST                                             \
    .createDouble = rl_reply_no_double, .createBool = rl_reply_no_bool, \
    .freeObject = rl_reply_free_nothing
#else
typedef int rl_reply_count;
#define RL_REPLY_GUARD_REST .freeObject = rl_reply_free_nothing
#endif
void rl_reply_free_nothing(void *reply);

enum rl_verdict {
    RL_YES,
    RL_NO,
    RL_ERROR,     /* the node answered that it did not run it; reason says why */
    RL_NOSCRIPT,  /* send the whole script */
    RL_NOT_REDIS, /* an unexpected reply: the connection cannot be trusted */
    RL_UNANSWERED /* no answer will come: it may have run or not; reason says why */
};

struct rl_answer {
    enum rl_verdict verdict;
    int16_t reason;   /* REDLOCK_ERR_NODE_... unless yes or no */
    const char *text; /* the node's own words, "" if none; of a READ the key's content; of a
                         WAITER the member of the line; of a READER its value */
    uint64_t counter; /* of a TAKE or an UPGRADE that is a yes */
    struct rl_line_answer line;
};

struct rl_answer rl_reply_judge(enum rl_command_kind kind, const redisReply *reply);

#define RL_REPLY_TLS "a port that requires TLS"

/* Which kind of server, other than Redis, begins with these bytes: "an HTTP server". NULL: not
 * known. */
const char *rl_reply_stranger(const char *bytes, size_t length);

/* The reason for an error reply's text, e.g. "LOADING Redis is loading the dataset in memory". */
int16_t rl_reply_reason(const char *text);

#endif
