/* What a node may send on a connection that listens to channels.
 *
 * Happy path: a status for each command of the handshake, a confirmation for each SUBSCRIBE and
 * UNSUBSCRIBE of one channel, and in between the messages that other clients publish, each a flat
 * array of three. Each fills one slot of the connection, and nothing is allocated. A message's
 * payload is kept as it came, with any bytes: any client can publish.
 *
 * Failure modes: everything else. The guard refuses an answer to no request, an array of another
 * length or with another first word, nesting, a channel's name or a payload that is longer than
 * ours, and every type of RESP3; hiredis then ends the connection cleanly. The listener, not the
 * guard, checks whether a channel was requested.
 */
#ifndef RL_REDIS_RECEIVED_H
#define RL_REDIS_RECEIVED_H

#include <hiredis/hiredis.h>
#include <stdint.h>

#include "redis/reply.h"
#include "redlock/redlock.h"

#define RL_CHANNEL_PREFIX "redlock:"
#define RL_CHANNEL_MAX (sizeof(RL_CHANNEL_PREFIX) - 1 + REDLOCK_RESOURCE_MAX)
#define RL_PAYLOAD_MAX 256 /* of a message; ours are shorter */

enum rl_received_kind {
    RL_RECEIVED_NOTHING,
    RL_RECEIVED_STATUS, /* reply */
    RL_RECEIVED_ERROR,  /* reply */
    RL_RECEIVED_SUBSCRIBED,
    RL_RECEIVED_UNSUBSCRIBED,
    RL_RECEIVED_MESSAGE
};

/* One per connection. Valid until the next item arrives. */
struct rl_received {
    const uint32_t *waiting; /* unanswered commands; 0: only messages are acceptable */
    enum rl_received_kind kind;
    redisReply reply; /* of a status or an error */
    char text[RL_REPLY_TEXT_MAX];
    uint16_t channel_length;
    uint16_t payload_length; /* of a message */
    char channel[RL_CHANNEL_MAX];
    char payload[RL_PAYLOAD_MAX];
};

/* Puts the guard into a reader, before the first byte is read. heard and *waiting must outlive
 * it. */
void rl_received_guard(redisReader *reader, struct rl_received *heard, const uint32_t *waiting);

#endif
