/* What a line (line.h) sends to its home: JOIN, also to peek (permit.h), and LEAVE; and the names
 * of places.
 *
 * A place is a number of the client's. On the wire it has the client's id in front, by which a node
 * finds the channel of who waits.
 *
 * Failure modes: a home that is down, whose connection breaks, or no memory: a JOIN is not sent. A
 * LEAVE that did not arrive is owed, as a release is, and sent when the node is connected again:
 * this client still listens there, perhaps, and would be told a turn that it does not want, for a
 * grace, for each place that it has left so. Where more are owed than are kept, and where a JOIN
 * runs late, behind the LEAVE, that is what it costs. Memory is used again, and given back when the
 * client is gone; as long as one is out or owed it has a reference to its lock, whose target it
 * writes.
 */
#ifndef RL_CLIENT_LINE_CALL_H
#define RL_CLIENT_LINE_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/state.h"

struct rl_line_request {
    struct rl_request request;
    redlock_lock *lock; /* a reference, which keeps the resource, too */
    struct rl_resource *resource;
    uint64_t place;
    uint8_t node;
    struct rl_line_request *next; /* that is free, or owed */
};

/* The place of resource->line, to its home. If it cannot be sent, no answer comes. */
void rl_line_call_join(redlock_lock *lock, struct rl_resource *resource);
/* Asks which slots are free, by a place that does not stay in line. Whether it was sent. */
bool rl_line_call_peek(redlock_lock *lock, struct rl_resource *resource, uint32_t node,
                       uint64_t place);
void rl_line_call_leave(redlock_lock *lock, struct rl_resource *resource, uint32_t node,
                        uint64_t place);
/* It was answered, or will not be: a LEAVE that did not arrive is owed. */
void rl_line_call_answered(struct rl_line_request *call, enum rl_verdict verdict);
/* The node is up: LEAVEs that are owed are sent. */
void rl_line_calls_retry(redlock_client *client, uint32_t node);
/* The client goes, and its places with it. */
void rl_line_calls_drop(redlock_client *client);

/* The memory of all of them, none of which is out. */
void rl_line_calls_free(redlock_client *client);

/* A place as it is on the wire. */
void rl_line_place(const redlock_client *client, uint64_t place, char text[RL_PLACE_LEN]);

/* A message on the client's channel: a turn or an heir's, of which place. *shuts: the turn is a
 * reader's, and writers wait; slots: those that a turn is of, none if it is a lock's. */
bool rl_line_parse(const redlock_client *client, const char *payload, size_t length,
                   enum rl_line_event_type *type, uint64_t *place, bool *shuts,
                   struct rl_slots *slots);

#endif
