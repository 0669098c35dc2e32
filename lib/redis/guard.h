/* The guard: limits what a node may send, before anything interprets it.
 *
 * hiredis builds reply objects through functions that we give it. Ours accept one flat reply
 * (status, error, integer, nil, bulk string) for a request that is waiting, and allocate nothing:
 * the reply is put into one slot of the connection. Anything else (an unsolicited answer, an array,
 * a nested value, every other type of RESP3) is refused by returning NULL, upon which hiredis ends
 * the connection cleanly. Without the guard an unsolicited "+OK" aborts the process and deep
 * nesting overflows its stack. Only the beginning of a text is kept. INFO, some kilobytes, and the
 * configuration are parsed in place in hiredis's buffer, if they are the reply that is due.
 *
 * hiredis 1.x reads RESP3, too. The map that answers HELLO 3 becomes an empty status, whatever is
 * in it. After it, a nil and INFO's text may have RESP3's forms, and the push that reports that all
 * keys were deleted may come at any time.
 *
 * A connection that listens to channels takes a status or an error for each command of its
 * handshake, a confirmation for each SUBSCRIBE and UNSUBSCRIBE of one channel, and in between the
 * messages that other clients publish, each a flat array of three. A message's payload is kept as
 * it came, with any bytes: any client can publish. An array of another length or with another first
 * word, and a channel's name or a payload that is longer than ours, are refused. The listener, not
 * the guard, checks whether a channel was requested.
 */
#ifndef RL_REDIS_GUARD_H
#define RL_REDIS_GUARD_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

#include "redis/config.h"
#include "redis/reply.h"
#include "redlock/redlock.h"

#if HIREDIS_MAJOR >= 1
#define RL_HAS_RESP3 1
#else
#define RL_HAS_RESP3 0
#endif

/* The type of a message that answers nothing: the push that reports that all keys were deleted. */
#define RL_REPLY_FLUSHED 100

#define RL_CHANNEL_PREFIX "redlock:"
#define RL_CHANNEL_MAX (sizeof(RL_CHANNEL_PREFIX) - 1 + REDLOCK_RESOURCE_MAX)
#define RL_PAYLOAD_MAX 256 /* of a message; ours are shorter */

/* An array on a connection that listens. Valid until the next item arrives. */
struct rl_received {
    enum rl_received_kind {
        RL_RECEIVED_SUBSCRIBED,
        RL_RECEIVED_UNSUBSCRIBED,
        RL_RECEIVED_MESSAGE
    } kind;
    uint16_t channel_length;
    uint16_t payload_length; /* of a message */
    char channel[RL_CHANNEL_MAX];
    char payload[RL_PAYLOAD_MAX];
};

/* What the next reply answers, if it must be parsed in place. */
struct rl_due {
    struct rl_info *info;          /* INFO: receives it */
    uint64_t *flushes;             /* INFO commandstats: receives the number */
    struct rl_config_read *config; /* GET of the set's configuration: receives it */
    bool hello;                    /* HELLO 3 */
};

/* One per connection; at the end of the reader's private data. */
struct rl_reply_slot {
    const uint32_t *waiting; /* unanswered requests; 0: only messages are acceptable */
    struct rl_due due;
    bool is_resp3;                /* HELLO was answered with a map */
    struct rl_received *received; /* not NULL: the connection listens, and arrays go here */
    redisReply reply;
    char text[RL_REPLY_TEXT_MAX];
};

/* Puts the guard into a reader, before the first byte is read. slot and *waiting must outlive
 * it. */
void rl_reply_guard(redisReader *reader, struct rl_reply_slot *slot, const uint32_t *waiting);

#endif
