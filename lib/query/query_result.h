/* The data of a query, whose life query.h describes, and how the nodes' answers are combined. The
 * public part is in redlock/token.h and redlock/semaphore.h.
 *
 * The holder is the one that a quorum of servers has; two nodes of one server count once. The
 * waiters are the lines of all nodes: writers' lines before readers', and longer lines first. The
 * readers are those of all nodes, the ones that a quorum has first. A slot's holder is the one that
 * most nodes have.
 *
 * Failure modes: none. Nodes that have not answered contribute nothing. A slot that changes hands
 * meanwhile shows either holder, or none. Nodes with a different number of permits report the slots
 * that they have; redlock_query_permits() reports the numbers.
 */
#ifndef RL_QUERY_QUERY_RESULT_H
#define RL_QUERY_QUERY_RESULT_H

#include "client/state.h"
#include "redis/reply.h"
#include "redlock/token.h"

/* One node's answer, or why there is none. */
struct rl_query_look {
    struct rl_request request;
    redlock_query *query;
    uint64_t answered_ns;
    uint32_t latency_us;
    int16_t status;
    uint8_t node; /* which of the query's */
    bool is_held;
    struct rl_holder_reply seen; /* from a READ, READER or SLOT that found a key */
    bool is_one;                 /* a WAITER, a READER or a slot's SLOT found one */
    /* WAITER, READER, a slot's SLOT: how many there are; SLOT of all: how many were requested */
    uint32_t count;
    uint32_t rest;      /* SLOT of all: the look at which its node's slots begin */
    uint16_t permits;   /* SLOT of all: how many permits the node keeps */
    uint8_t take;       /* WAITER: the number of permits it waits for; 0: none */
    uint64_t fence;     /* SLOT: the counter */
    uint64_t waited_ms; /* from here on: of a WAITER */
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
    struct rl_sides sides; /* the nodes that decide now */
    uint32_t n_nodes;      /* the number of nodes that it asks */
    struct rl_target target;
    struct rl_bytes name;
    uint64_t sent_ns;  /* when each node was first asked */
    uint64_t asked_ns; /* when the last request was sent */
    uint64_t told_ns;
    int status;
    uint32_t out; /* outstanding requests */
    uint8_t kind; /* RL_COMMAND_READ, ..._WAITER, ..._READER, ..._SLOT or ..._SET_PERMITS */
    bool is_finished;
    bool is_told;
    uint8_t first_mode; /* of the queried lines */
    uint8_t n_modes;    /* 1 or 2 */
    uint32_t max;       /* the most waiters per line, or readers or slots per node, to ask for */
    uint32_t n_looks;   /* in use: one for each node, mode by mode, then the rest */
    uint32_t room;
    uint32_t n_listed;
    uint16_t *listed; /* looks: waiters in the order of their line, or readers; or slot numbers */
    struct rl_query_look looks[]; /* then the array, then the resource's bytes */
};

/* The client's node that is number i of the query's. */
uint32_t rl_query_node(const redlock_query *query, uint32_t i);

/* Makes the list, once, when the query is finished. */
void rl_query_list(redlock_query *query);

/* 0 if the node has answered; else why not. A node that has not reported all its slots has not
 * answered. */
int16_t rl_query_node_status(const redlock_query *query, uint32_t node);

#endif
