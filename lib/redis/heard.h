/* What a node may say on a connection that listens to channels.
 *
 * Happy path: a status for each command of the handshake, a confirmation for each SUBSCRIBE and
 * UNSUBSCRIBE of one channel, and in between the messages that others publish, each a flat array of
 * three. Each of them fills one slot of the connection, and nothing is allocated.
 *
 * Failure modes: everything else. The guard refuses an answer that nobody waits for, an array of
 * another length or with another first word, nesting, a channel's name or a payload that is longer
 * than ours can be, and every type of RESP3; hiredis then ends the connection in good order.
 * Whether a channel was asked for is the listener's question, not the guard's.
 */
#ifndef RL_REDIS_HEARD_H
#define RL_REDIS_HEARD_H

#include <hiredis/hiredis.h>
#include <stdint.h>

#include "redis/reply.h"
#include "redlock/redlock.h"

#define RL_CHANNEL_PREFIX "redlock:"
#define RL_CHANNEL_MAX (sizeof(RL_CHANNEL_PREFIX) - 1 + REDLOCK_RESOURCE_MAX)
#define RL_PAYLOAD_MAX 256 /* a message's content is not looked at */

enum rl_heard_kind {
    RL_HEARD_NOTHING,
    RL_HEARD_STATUS, /* reply */
    RL_HEARD_ERROR,  /* reply */
    RL_HEARD_SUBSCRIBED,
    RL_HEARD_UNSUBSCRIBED,
    RL_HEARD_MESSAGE
};

/* One per connection. Valid until the next one is heard. */
struct rl_heard {
    const uint32_t *waiting; /* commands without an answer; 0: only messages are acceptable */
    enum rl_heard_kind kind;
    redisReply reply; /* of a status or an error */
    char text[RL_REPLY_TEXT_MAX];
    uint16_t channel_length;
    char channel[RL_CHANNEL_MAX];
};

/* Puts the guard into a reader, before the first byte is read. heard and *waiting outlive it. */
void rl_heard_guard(redisReader *reader, struct rl_heard *heard, const uint32_t *waiting);

#endif
