/* What a node has under a key, as the script of RL_COMMAND_READ reports it.
 *
 * The script answers nil for a key that does not exist, else one flat string, so that the reply
 * guard need not know arrays: the remaining life in ms (-1: it never ends), a space, and either 's'
 * and the beginning of the value, or 't' and the name of a type that is not a string. The value is
 * cut on the node: a foreign one may be as large as the node's memory.
 *
 * A key that is reserved for who is next in line is nobody's: there is no token and no holder in
 * it. Nor is there in one that readers hold.
 *
 * Failure mode: what does not have this form is no answer of Redis. A value that this library
 * cannot have written is no failure: its beginning is shown, as printable text (the
 * guard has replaced other bytes).
 */
#ifndef RL_REDIS_HOLDER_REPLY_H
#define RL_REDIS_HOLDER_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/command.h"

#define RL_HOLDER_NAME_MAX 64                                               /* of a holder's name */
#define RL_HOLDER_VALUE_MAX (RL_COMMAND_TOKEN_LEN + 1 + RL_HOLDER_NAME_MAX) /* of our kind */
#define RL_HOLDER_TEXT_MAX (RL_HOLDER_VALUE_MAX + 1) /* one more byte shows a longer value */

struct rl_holder_reply {
    int64_t remaining_ms;                 /* -1: the key never ends */
    bool is_foreign;                      /* a string that is not of our kind */
    bool is_reserved;                     /* for whoever comes next: nobody holds it */
    bool is_shared;                       /* readers hold it */
    char token[RL_COMMAND_TOKEN_LEN + 1]; /* "" if the value is not of our kind */
    char holder[RL_HOLDER_TEXT_MAX + 1];  /* see redlock_node_holder in redlock/token.h */
};

/* False if text is not what the script answers. */
bool rl_holder_reply_parse(const char *text, struct rl_holder_reply *out);

/* The value alone, at most RL_HOLDER_TEXT_MAX bytes, as a reader has one; remaining_ms is 0. */
void rl_holder_value_parse(const char *value, struct rl_holder_reply *out);

#endif
