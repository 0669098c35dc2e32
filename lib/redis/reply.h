/* Interprets the replies of a node.
 *
 * The judge: yes, no, or an error with its reason. Only the exact answers to our own commands are a
 * yes or a no; an error reply is never a refusal, because it does not say that another client holds
 * the lock. A reply of any other form is a protocol error.
 *
 * The answers to commands on a line are decimal numbers, one space between them, in one bulk
 * string: one integer would not suffice, and the guard accepts no arrays. A number that is missing,
 * too large, begins with a zero or ends in something else is a protocol error.
 *
 * READ reports the content of a key: nil if it does not exist, else the remaining life in ms (-1:
 * no expiry), a space, and either 's' and the beginning of the value, or 't' and the name of a type
 * that is not a string. The node cuts the value, since a foreign one may be as large as its memory.
 * A value that this library cannot have written is not an error: its beginning is shown, as
 * printable text (the guard has replaced other bytes).
 */
#ifndef RL_REDIS_REPLY_H
#define RL_REDIS_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redis/command.h"
#include "redis/info.h"

struct redisReply;

#define RL_REPLY_TEXT_MAX 144 /* how much of a text is kept */

/* For guards: keeps the beginning, without bytes that could deceive the reader of a log. */
void rl_reply_keep(char text[RL_REPLY_TEXT_MAX], const char *bytes, size_t length);

enum rl_verdict {
    RL_YES,
    RL_NO,
    RL_ERROR,     /* the node answered that it did not run it; reason says why */
    RL_NOSCRIPT,  /* send the whole script */
    RL_NOT_REDIS, /* an unexpected reply: the connection cannot be trusted */
    RL_UNANSWERED /* no answer will come: it may have run or not; reason says why */
};

/* All zero where the answer has no value. */
struct rl_line_answer {
    uint32_t rank;            /* JOIN that is a no: how many are ahead; 0: it is the heir */
    uint32_t waiting;         /* TAKE that is a yes, RELEASE_LINE, WAITER: how many wait; READER:
                                  how many read; SLOT: how many permits there are, or how long the
                                  slot lives in ms, 0 for ever */
    uint64_t first_waited_ms; /* the same: how long the first has waited; WAITER: this one; READER:
                                  how long its lease lasts; SLOT: how many slots to look at, or
                                  the slot's counter */
    int64_t life_ms;  /* JOIN, TAKE, UPGRADE that are a no: of the key; -1: for ever; JOIN, 0: there
                         is none */
    uint8_t which;    /* TAKE that is a no: which resource refuses, from 1; 0: not known;
                              UPGRADE that is a no: enum rl_upgrade_no */
    bool served;      /* RELEASE_LINE: a waiter was served */
    uint64_t time_us; /* RELEASE_LINE: the node's TIME when it ran; 0: not known */
    uint64_t secret;  /* RELEASE_LINE: the node's secret; 0: it has none */
    struct rl_slots slots; /* JOIN that is a yes, for a semaphore: the reserved slots */
};

struct rl_answer {
    enum rl_verdict verdict;
    int16_t reason;   /* REDLOCK_ERR_NODE_... unless yes or no */
    const char *text; /* the node's own words, "" if none; of a READ the key's content; of a
                         WAITER the member of the line; of a READER its value */
    uint64_t counter; /* of a TAKE or an UPGRADE that is a yes */
    struct rl_line_answer line;
};

struct rl_answer rl_reply_judge(enum rl_command_kind kind, const struct redisReply *reply);

/* The answer for a reply that does not match the requests: RL_NOT_REDIS. */
struct rl_answer rl_reply_unexpected(void);

/* The answer to request i of an EXTEND_MANY, whose yes has a character for each. */
struct rl_answer rl_reply_judge_one(const struct rl_answer *many, uint32_t i);

#define RL_REPLY_TLS "a port that requires TLS"

/* The kind of server, other than Redis, that sends these first bytes: "an HTTP server". NULL:
 * unknown. */
const char *rl_reply_stranger(const char *bytes, size_t length);

/* The reason for an error reply's text, e.g. "LOADING Redis is loading the dataset in memory". */
int16_t rl_reply_reason(const char *text);

/* -- Parts of answers, and of messages -- */

/* Parses one number and what follows: a space, or the end if it is the last. Returns where the next
 * begins, or NULL; NULL for NULL. */
const char *rl_line_number(const char *at, uint64_t max, bool is_last, uint64_t *out);

/* Parses numbers of slots, one space before each; at least one, none twice. */
bool rl_slots_parse(const char *text, struct rl_slots *out);

/* -- What is in a key -- */

#define RL_HOLDER_NAME_MAX 64                                       /* of a holder's name */
#define RL_HOLDER_VALUE_MAX (RL_TOKEN_LEN + 1 + RL_HOLDER_NAME_MAX) /* of our kind */
#define RL_HOLDER_TEXT_MAX (RL_HOLDER_VALUE_MAX + 1) /* one more byte shows a longer value */

struct rl_holder_reply {
    int64_t remaining_ms;                /* -1: the key has no expiry */
    bool is_foreign;                     /* a string that is not of our kind */
    bool is_reserved;                    /* for the next client: nobody holds it */
    bool is_shared;                      /* readers hold it */
    char token[RL_TOKEN_LEN + 1];        /* "" if the value is not of our kind */
    char holder[RL_HOLDER_TEXT_MAX + 1]; /* see redlock_node_holder in redlock/token.h */
};

/* Returns false if text is not an answer to READ. */
bool rl_holder_reply_parse(const char *text, struct rl_holder_reply *out);

/* Parses a value alone, at most RL_HOLDER_TEXT_MAX bytes, such as a reader's; remaining_ms is 0. */
void rl_holder_value_parse(const char *value, struct rl_holder_reply *out);

#endif
