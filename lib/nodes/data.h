/* What lib/nodes keeps in a client and in its locks. No functions. */
#ifndef RL_NODES_DATA_H
#define RL_NODES_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "core/calibration.h"
#include "core/deadline.h"
#include "core/guard.h"
#include "core/lock_data.h"
#include "core/pending.h"
#include "redis/config.h"
#include "redis/listener.h"
#include "redis/node.h"
#include "redlock/redlock.h"

/* -- Nodes, see nodes/eligibility.h -- */

struct rl_client_node {
    struct rl_node node;
    struct rl_pending pending_releases;
    struct rl_guard guard;
    struct rl_deadline deadline; /* of the node, of its pending releases, or of its quarantine */
    struct rl_calibration calibration;
    uint64_t secret; /* verifies its messages; 0: unknown */
    redlock_client *client;
    struct rl_client_listener *listener; /* NULL: listening.has_listeners is not set */
    int16_t error;                       /* the last error reply while it was up, 0: none */
    char words[RL_DETAIL_MAX];           /* the text of that reply */
    uint8_t index;
    bool is_settled;  /* has been up once, or has failed once */
    uint64_t left_ns; /* it has left the set, and is closed then; RL_NEVER: it has not left */
};

struct rl_client_listener {
    struct rl_listener listener;
    uint8_t index; /* of its node */
};

/* -- The set, see nodes/membership.h -- */

/* The nodes that have a seat, see seats.h. */
struct rl_seats {
    uint32_t n;
    uint8_t nodes[RL_SEATS_MAX];
};

/* Locks of one electorate share these, see sets.h. */
struct rl_group {
    struct rl_rules rules; /* the client's, except the electorate; the first member */
    struct rl_group *next;
    struct rl_seats seats;
    bool is_split; /* it would need more than two sides, so it gets no votes */
};

/* Several sets, old ones and new ones; in a stable configuration both are the same. */
struct rl_sets {
    struct rl_group *groups;
    uint32_t n[2];
    uint64_t hashes[2][RL_CONFIG_SETS_MAX]; /* of their names */
    rl_mask nodes[2][RL_CONFIG_SETS_MAX];   /* masks */
    uint32_t most;                          /* nodes of any set, once it is the client's */
    struct rl_config_sets names;            /* of the new ones */
};

struct rl_membership {
    struct rl_sides sides;                /* the nodes of all sets */
    struct rl_config_key key;             /* of the client's; epoch 0: no node has one */
    uint32_t max_ttl_ms;                  /* the client's */
    struct rl_sets *sets;                 /* NULL: one, or none */
    struct rl_config *next;               /* to be adopted; NULL: none */
    char wanted_id[RL_CONFIG_ID_LEN + 1]; /* "": any */
    bool is_divided;                      /* nodes of two sets are named */
};

/* -- TLS, see tls.h -- */

/* Shared by nodes with the same settings. */
struct rl_client_tls {
    struct rl_client_tls *next;
    struct rl_tls *tls;
    const char *ca, *cert, *key; /* behind the struct, or NULL */
    const char *server_name;     /* the client's option, the same */
    bool insecure;
};

/* -- Listening, see listening.h -- */

#define RL_CLIENT_ID_LEN 16
#define RL_TAIL_LEN (RL_TOKEN_LEN - 2 * RL_CLIENT_ID_LEN) /* a number of 64 bits between the two */

/* One channel on all nodes; masks have a bit for each. */
struct rl_channel {
    rl_mask asked;     /* may send messages: SUBSCRIBE is outstanding or confirmed */
    rl_mask confirmed; /* of them */
    rl_mask leaving;   /* of them: UNSUBSCRIBE is outstanding */
};

struct rl_listening {
    const struct rl_listening_events *events; /* NULL: no receiver */
    const struct rl_listening_topics *topics;
    bool has_listeners;              /* all nodes have one, since the first was needed */
    bool everywhere;                 /* subscriptions want all nodes */
    rl_mask wanted;                  /* nodes whose own channel of the client is wanted */
    rl_mask kept;                    /* wanted now, or until recently */
    struct rl_channel own;           /* the client's own */
    rl_mask reported;                /* nodes whose refusal was reported */
    rl_mask dirty;                   /* listeners to flush */
    uint64_t until_ns[RL_NODES_MAX]; /* when a kept node that is not wanted is dropped */
    uint64_t failures[RL_NODES_MAX]; /* the listener's, when last confirmed or closed */
    uint64_t since_ns[RL_NODES_MAX]; /* when the channel was confirmed */
    struct rl_deadline deadline;
};

/* -- Release notifications, see nodes/notification.h -- */

/* A watcher of a resource, which is notified of releases. */
struct rl_watcher {
    struct rl_link link;                      /* in the subscription's */
    struct rl_subscription *subscription;     /* NULL: does not listen */
    rl_mask heard;                            /* nodes, since it was notified last */
    void (*told)(struct rl_watcher *watcher); /* must not run the user's code */
};

struct rl_subscription {
    struct rl_link link;          /* all subscriptions of the client */
    struct rl_resource *resource; /* a reference */
    struct rl_list watchers;
    uint64_t until_ns; /* when it ends, if it has no watchers */
    struct rl_channel channel;
    bool has_quorum; /* of confirmations */
    bool is_ending;
};

struct rl_notifications {
    struct rl_list subscriptions;
    uint32_t count;
    uint32_t ending;   /* of them */
    uint32_t kind;     /* of their resources: recipes only watch locks of one mode */
    uint64_t sweep_ns; /* when to search for idle subscriptions; RL_NEVER: none are idle */
    struct rl_deadline deadline;
};

#endif
