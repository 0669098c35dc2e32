/* What a line (line.h) sends to its home: JOIN, also to peek (permit.h), and LEAVE; and the names
 * of places.
 *
 * A place is a number of the client's. On the wire it is a token: the client's id in front, by
 * which a node finds the channel of who waits, then the number, which is drawn at random, and
 * behind it the client's tail, so that ids which are drawn twice do no harm.
 *
 * Failure modes: a home that is down, whose connection breaks, or no memory: a JOIN is not sent. A
 * LEAVE that did not arrive is owed, as a release is, and sent when the node is connected again:
 * this client still listens there, perhaps, and would be told a turn that it does not want, for a
 * grace, for each place that it has left so. Where more are owed than are kept, and where a JOIN
 * runs late, behind the LEAVE, that is what it costs. Memory is used again, and given back when the
 * client is gone; as long as one is out or owed it has a reference to its lock, whose target it
 * writes.
 * */
#ifndef RL_WAIT_LINE_CALL_H
#define RL_WAIT_LINE_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha1.h"
#include "client/state.h"

struct rl_line_request {
    struct rl_request request;
    redlock_lock *lock; /* a reference, which keeps the resource, too */
    struct rl_resource *resource;
    uint64_t place;
    uint8_t node;
    bool line_only;               /* a LEAVE: the nodes were asked with its token */
    struct rl_line_request *next; /* that is free, or owed */
};

enum rl_line_says {
    RL_LINE_SAYS_TURN, /* of a semaphore with slots */
    RL_LINE_SAYS_SHUT, /* the same of a reader, and writers wait */
    RL_LINE_SAYS_HEIR, /* it is first in line */
    RL_LINE_SAYS_PASS, /* this node has the token in its key: with time_us to counter, and `next` */
    RL_LINE_SAYS_NEXT, /* to who holds by the token, or waits with it: `next` */
    RL_LINE_SAYS
};

/* A message on the client's channel, of a token of its own. */
struct rl_line_message {
    enum rl_line_says kind;
    uint64_t place; /* 0: the token is no place's */
    uint64_t time_us;
    uint64_t counter; /* 0: none */
    uint32_t lease_ms;
    struct rl_slots slots;
    char mac[RL_SHA1_LEN + 1]; /* of a pass */
    char token[RL_TOKEN_LEN + 1];
    char next[RL_VALUE_MAX + 1]; /* "": nobody */
};

/* The place of resource->line, to its home. If it cannot be sent, no answer comes. */
void rl_line_call_join(redlock_lock *lock, struct rl_resource *resource, bool quiet);
/* Asks which slots are free, by a place that does not stay in line. Whether it was sent. */
bool rl_line_call_peek(redlock_lock *lock, struct rl_resource *resource, uint32_t node,
                       uint64_t place);
void rl_line_call_leave(redlock_lock *lock, struct rl_resource *resource, uint32_t node,
                        uint64_t place, bool line_only);

/* It was answered, or will not be: a LEAVE that did not arrive is owed. */
void rl_line_call_answered(struct rl_line_request *call, enum rl_verdict verdict);
/* The node is up: LEAVEs that are owed are sent. */
void rl_line_calls_retry(redlock_client *client, uint32_t node);
/* The client goes, and its places with it. */
void rl_line_calls_drop(redlock_client *client);

/* The memory of all of them, none of which is out. */
void rl_line_calls_free(redlock_client *client);

/* A place as it is on the wire: the token of the attempt that is made with it. */
void rl_line_place(const redlock_client *client, uint64_t place, char text[RL_PLACE_LEN]);

/* The place whose token it is, 40 hex digits; 0: no place's. */
uint64_t rl_line_place_of(const redlock_client *client, const char *token);

/* Whether a pass of this resource's key is of a script on a node with this secret. */
bool rl_line_is_signed(const struct rl_line_message *said, uint64_t secret,
                       const struct rl_resource *resource);

/* For how long the keys live that the lock may be passed; 0: it may not, or that is not enough. */
uint32_t rl_line_lease_ms(const struct rl_resource *resource, const redlock_lock *lock,
                          uint32_t offered_ms);

/* False if it is none of ours. */
bool rl_line_parse(const redlock_client *client, const char *payload, size_t length,
                   struct rl_line_message *out);

/* Places in lines that are the client's; nodes that do not let it listen, as a mask; whether JOINs
 * or LEAVEs are out. */
uint64_t rl_line_places(const redlock_client *client);
uint32_t rl_line_refused(const redlock_client *client);
bool rl_line_awaits_answers(const redlock_client *client);

/* Whether it has a call, enum rl_line_call. */
bool rl_line_has_call(const redlock_lock *lock);

/* For how long the keys live that the attempt's token is passed, which has its turn; 0: it asks for
 * them. And: the attempt has its token. */
uint32_t rl_line_lease(const redlock_lock *lock);
void rl_line_asks(redlock_lock *lock);

#endif
