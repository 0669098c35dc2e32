/* What a query is made of. Data alone: how it lives is in query.h, how it is read in
 * query_result.h. */
#ifndef RL_QUERY_DATA_H
#define RL_QUERY_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "client/state.h"
#include "redis/holder_reply.h"
#include "redlock/token.h"

/* What one node said, or why it did not. */
struct rl_query_look {
    struct rl_request request;
    redlock_query *query;
    uint64_t answered_ns;
    uint32_t latency_us;
    int16_t status;
    uint8_t node;
    bool is_held;
    struct rl_holder_reply seen; /* of a READ that found a key */
    bool is_waiter;              /* of a WAITER that found one: the rest */
    uint32_t waiting;
    uint64_t waited_ms;
    char client[RL_CLIENT_ID_LEN + 1];
    char holder[RL_REPLY_TEXT_MAX];
};

struct redlock_query {
    redlock_client *client;
    struct rl_link link;     /* all queries of the client */
    struct rl_queued queued; /* its callback is due */
    redlock_query_cb callback;
    void *data;
    struct rl_deadline deadline;
    struct rl_target target;
    struct rl_bytes name;
    uint64_t sent_ns;  /* to each node once */
    uint64_t asked_ns; /* the last that was sent */
    uint64_t told_ns;
    int status;
    uint32_t out; /* requests without an answer */
    uint8_t kind; /* RL_COMMAND_READ or RL_COMMAND_WAITER */
    bool is_finished;
    bool is_told;
    uint32_t max;     /* of the waiters that are asked for */
    uint32_t n_looks; /* in use: one for each node, then the waiters behind the first of a line */
    uint32_t room;
    uint32_t n_waiters;
    uint16_t *waiters;            /* their looks, in the order of the line */
    struct rl_query_look looks[]; /* then the array of waiters, then the resource's bytes */
};

#endif
