/* What a line (line.h) sends to its home: JOIN, which also peeks (permit.h), and LEAVE; and how
 * places are named on the wire.
 *
 * A place is a number that the client chooses. On the wire it is a token: first the client's id, by
 * which a node finds the waiter's channel, then the number, which is random, and last the client's
 * tail, so that two clients with the same random id do no harm.
 *
 * Failure modes: if home is down, its connection breaks, or there is no memory, the JOIN is not
 * sent. A LEAVE that was not delivered becomes pending, as a release does, and is sent when the
 * node is connected again. Until then the client may still listen there and be given a turn that it
 * does not want, which costs a grace period for each such place. So does a LEAVE that is dropped
 * because too many are pending, and a JOIN that runs after its LEAVE. Memory is reused, and freed
 * with the client; a call that is outstanding or pending holds a reference to its lock, whose
 * target it formats. */
#ifndef RL_WAIT_LINE_CALL_H
#define RL_WAIT_LINE_CALL_H

#include "base/sha1.h"
#include "client/state.h"

struct rl_line_request {
    struct rl_request request;
    redlock_lock *lock; /* a reference, which also keeps the resource */
    struct rl_resource *resource;
    uint64_t place;
    uint8_t node;
    bool line_only;               /* of a LEAVE: the nodes were already asked with its token */
    struct rl_line_request *next; /* while free or pending */
};

static inline redlock_client *rl_line_client(const struct rl_resource *resource) {
    return RL_CONTAINER(resource->table, redlock_client, resources);
}

enum rl_line_says {
    RL_LINE_SAYS_TURN, /* for a semaphore: with slots */
    RL_LINE_SAYS_SHUT, /* a reader's turn, while writers wait */
    RL_LINE_SAYS_HEIR, /* the place is first in line */
    RL_LINE_SAYS_PASS, /* this node's key has the token: with time_us to counter, and `next` */
    RL_LINE_SAYS_NEXT, /* to the holder or waiter with this token: `next` */
    RL_LINE_SAYS
};

/* A message on the client's channel about one of the client's tokens. */
struct rl_line_message {
    enum rl_line_says kind;
    uint64_t place; /* 0: the token belongs to no place */
    uint64_t time_us;
    uint64_t counter; /* 0: none */
    uint32_t lease_ms;
    struct rl_slots slots;
    char mac[RL_SHA1_LEN + 1]; /* for a pass */
    char token[RL_TOKEN_LEN + 1];
    char next[RL_VALUE_MAX + 1]; /* "": no client */
};

/* Sends JOIN for the place of resource->line to its home. There is no answer if it cannot be
 * sent. */
void rl_line_call_join(redlock_lock *lock, struct rl_resource *resource, bool quiet);
/* Peeks: asks which slots are free, with a place that does not stay in line. Returns whether it was
 * sent. */
bool rl_line_call_peek(redlock_lock *lock, struct rl_resource *resource, uint32_t node,
                       uint64_t place);
void rl_line_call_leave(redlock_lock *lock, struct rl_resource *resource, uint32_t node,
                        uint64_t place, bool line_only);

/* The call was answered, or will not be; a LEAVE that was not delivered becomes pending. */
void rl_line_call_answered(struct rl_line_request *call, enum rl_verdict verdict);
/* The node is up: sends its pending LEAVEs. */
void rl_line_calls_retry(redlock_client *client, uint32_t node);
/* The client closes, or these nodes do: drops their pending LEAVEs, and that they refused. */
void rl_line_calls_drop(redlock_client *client, rl_mask nodes);

/* Frees the memory of all calls, none of which is outstanding. */
void rl_line_calls_free(redlock_client *client);

/* Returns the resource's rl_wait, with room for its deadline; NULL: no memory. */
struct rl_wait *rl_line_wait(struct rl_resource *resource);

/* A number for a place that was never used. Further calls return the same number until a place is
 * made with it. For a semaphore, the first byte is how many permits it takes. rl_line_new_place()
 * also uses up the number. */
uint64_t rl_line_next_place(struct rl_resource *resource);
uint64_t rl_line_new_place(struct rl_resource *resource);

/* Formats a place for the wire, as the token of the attempt that is made with it. */
void rl_line_place(const redlock_client *client, uint64_t place, char text[RL_TOKEN_LEN]);

/* The place that a token of 40 hex digits belongs to; 0: none. */
uint64_t rl_line_place_of(const redlock_client *client, const char *token);

/* Whether a pass of this resource's key was signed by a script on a node with this secret. */
bool rl_line_is_signed(const struct rl_line_message *said, uint64_t secret,
                       const struct rl_resource *resource);

/* The lease of keys that are passed to the lock; 0: no keys may be passed, or the lease is too
 * short. */
uint32_t rl_line_lease_ms(const redlock_lock *lock, uint32_t offered_ms);

/* Returns false if the message is not one of ours. */
bool rl_line_parse(const redlock_client *client, const char *payload, size_t length,
                   struct rl_line_message *out);

/* The number of the client's places; the mask of nodes that do not let it listen; whether JOINs or
 * LEAVEs are outstanding. */
uint64_t rl_line_places(const redlock_client *client);
rl_mask rl_line_refused(const redlock_client *client);
bool rl_line_awaits_answers(const redlock_client *client);

/* The lease of the keys that were passed to the attempt's token; 0: no keys were, and the attempt
 * asks for votes. Call rl_line_asks() when the attempt has its token. */
uint32_t rl_line_lease(const redlock_lock *lock);
void rl_line_asks(redlock_lock *lock);

/* -- Places that were given up -- */

/* A release that is already in transit may still pass a key to the token of a place that a lock has
 * given up. The client remembers the last RL_LINES_LEFT such places, and releases such keys.
 *
 * Can a key in use be released here? No: the token of a place that was given up is never used
 * again. Can such a key be left behind? Yes, if its place is older than the last RL_LINES_LEFT, or
 * the node's message is lost; the key then expires with its lease, after at most a second.
 */

/* The lock will no longer use the token of its place. gone: nodes that will get no further release
 * of it; passed: nodes that have reported passing it a key. */
void rl_left_add(redlock_lock *lock, uint64_t place, rl_mask gone, rl_mask passed);

/* The node reports that it has passed a key to this place; or that the place's release found no
 * key. */
void rl_left_passed(redlock_client *client, uint32_t node, uint64_t place);
void rl_left_gone(redlock_client *client, uint32_t node, uint64_t place);

/* A key to release. */
struct rl_left_key {
    redlock_lock *lock;
    uint64_t place;
    uint32_t node;
};

/* Takes the next key that is both gone and passed. False: there is none. */
bool rl_left_take(redlock_client *client, struct rl_left_key *key);

/* The client closes: no more keys are released. */
void rl_left_drop(redlock_client *client);

#endif
