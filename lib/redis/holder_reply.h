/* The content of a key on a node, as the script of RL_COMMAND_READ reports it.
 *
 * The script answers nil for a key that does not exist, else one flat string, so that the reply
 * guard need not know arrays: the remaining life in ms (-1: no expiry), a space, and either 's' and
 * the beginning of the value, or 't' and the name of a type that is not a string. The value is cut
 * on the node: a foreign one may be as large as the node's memory.
 *
 * A key that is reserved for the next in line has no token and no holder. Nor has a key that
 * readers hold.
 *
 * Failure mode: a reply of any other form is a protocol error. A value that this library cannot
 * have written is no failure: its beginning is shown, as printable text (the guard has replaced
 * other bytes).
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
    int64_t remaining_ms;                 /* -1: the key has no expiry */
    bool is_foreign;                      /* a string that is not of our kind */
    bool is_reserved;                     /* for the next client: nobody holds it */
    bool is_shared;                       /* readers hold it */
    char token[RL_COMMAND_TOKEN_LEN + 1]; /* "" if the value is not of our kind */
    char holder[RL_HOLDER_TEXT_MAX + 1];  /* see redlock_node_holder in redlock/token.h */
};

/* Returns false if text is not an answer of the script. */
bool rl_holder_reply_parse(const char *text, struct rl_holder_reply *out);

/* Parses a value alone, at most RL_HOLDER_TEXT_MAX bytes, such as a reader's; remaining_ms is 0. */
void rl_holder_value_parse(const char *value, struct rl_holder_reply *out);

#endif
