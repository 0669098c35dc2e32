/* All that the nodes know of one key: its holder, its readers, the owner of each permit, and the
 * waiting clients.
 *
 * Happy path: rl_found_ask(); all queries go out at once; the one for readers follows if a node
 * reports any. The callback runs when all have been answered.
 *
 * Failure modes: `status` is that of the query for the holder. Every other part has a flag that
 * says whether it is known; it is not if there was no memory for its query. The parts are not a
 * consistent snapshot, and may be outdated when they are shown. */
#ifndef RL_CLI_FOUND_H
#define RL_CLI_FOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redlock/redlock.h"
#include "redlock/token.h"
#include "token.h"

/* What each node has under a key, and who holds it according to a quorum.
 *
 * Happy path: rl_look_at(); the nodes answer, the struct is filled in, and the callback runs.
 *
 * Failure modes: those of redlock_query_holder(). The result may be outdated when it is shown. */

#define RL_LOOK_VALUE_MAX 128 /* of a holder's name, or of a value that is not of our kind */
#define RL_LOOK_NAME_MAX (RL_LOOK_VALUE_MAX + 48)
#define RL_LOOK_TEXT_MAX (RL_LOOK_NAME_MAX + 96)
#define RL_LOOK_WHY_MAX 320

struct rl_look;
typedef void (*rl_look_cb)(struct rl_look *look, int status, void *data);

/* The nodes' strings are copies, since the query frees its own after its callback. */
struct rl_look {
    redlock_client *client;
    rl_look_cb on_done;
    void *data;
    redlock_bytes key;
    size_t n;                 /* nodes that decide about the key, and */
    size_t needed;            /* ... how many of them a quorum has, at least */
    size_t answered, holding; /* nodes; that have what the quorum has */
    size_t having, reserved;  /* nodes where the key is someone's; that keep it for the next one */
    int64_t reserved_ms;      /* ... the longest of these */
    bool is_answered;         /* by a quorum */
    bool is_held;             /* by a quorum */
    bool is_hindered;         /* keys that are none of ours make a quorum impossible */
    char token[RL_TOKEN_TEXT_MAX];
    char holder[RL_LOOK_VALUE_MAX];
    bool is_foreign; /* held by a client of another library: holder is its value */
    bool is_shared;  /* held by readers: there is no token and no holder */
    bool reads;      /* set by the caller, who would be one more reader */
    int64_t remaining_ms;
    struct rl_look_node {
        redlock_node_holder s;
        char token[REDLOCK_TOKEN_LENGTH + 1];
        char holder[RL_LOOK_VALUE_MAX];
        char why[RL_LOOK_WHY_MAX]; /* s.status is not 0 */
        bool votes;                /* it may vote */
        int64_t votes_in_ms;       /* if it may not, since it may have forgotten keys: the time
                                      until it may */
    } node_holders[REDLOCK_NODES_MAX];
};

/* look and key live until on_done, whose status is that of the query. Returns what
 * redlock_query_holder() does. */
int rl_look_at(struct rl_look *look, redlock_client *client, redlock_bytes key, rl_look_cb on_done,
               void *data);

/* Why a node is down or may not vote, with the node's or the system's error. Returns out. */
const char *rl_look_why(const redlock_node_info *info, char out[RL_LOOK_WHY_MAX]);

/* What became of a node: "went away: connection refused", "is up, and votes in 12 s". Of one that
 * votes: voting. Returns out. */
const char *rl_look_state(const redlock_node_info *info, const char *voting,
                          char out[RL_LOOK_WHY_MAX + 32]);

/* Whether a node has what the quorum has. */
bool rl_look_is_holding(const struct rl_look *look, const struct rl_look_node *node_holder);

/* Who holds it. Returns out. */
const char *rl_look_name(const struct rl_look *look, char out[RL_LOOK_NAME_MAX]);

/* Why a reader must wait while others read: text behind "held by readers", or "". */
const char *rl_look_next(const struct rl_look *look);

/* "held by web1:4711 for another 25 s". A lock of another library is named by its value, readers as
 * "readers"; so is a key that blocks the lock and is none. False: there is nothing to name. */
bool rl_look_say(const struct rl_look *look, char out[RL_LOOK_TEXT_MAX]);

/* Why `take` of so many permits are not available. The nodes are not asked for the holders of the
 * slots or the first client in line. Always true. */
bool rl_look_say_permits(int64_t permits, int64_t take, char out[RL_LOOK_TEXT_MAX]);

/* Who has a key, or waits for it, as the nodes report it. */
enum rl_item_kind {
    RL_ITEM_LOCK, /* who holds it alone */
    RL_ITEM_READER,
    RL_ITEM_SLOT,
    RL_ITEM_WAITS,         /* to hold it alone */
    RL_ITEM_WAITS_TO_READ, /* these two: not in a snapshot's order of any kind */
    RL_ITEM_WAITS_FOR_PERMITS
};

/* Whether a client still listens for its turn. */
enum rl_listens { RL_LISTENS_UNKNOWN, RL_LISTENS_NO, RL_LISTENS_YES };

#define RL_ITEM_TEXT_MAX RL_LOOK_NAME_MAX

struct rl_item {
    enum rl_item_kind kind;
    /* The owner: the token's digits, a client's number, or another library's value; "": not
     * known. */
    char id[RL_ITEM_TEXT_MAX];
    char who[RL_ITEM_TEXT_MAX];    /* the name, fit for a terminal; "" if it has none */
    char token[RL_TOKEN_TEXT_MAX]; /* as release wants it; "" if it is not of our kind */
    uint32_t number;               /* a slot's number; how many permits are wanted */
    uint32_t votes;                /* of a holder: nodes that have it */
    int64_t left_ms;  /* of a holder: until it ends unless it is renewed; -1: never; 0: fewer than a
                        quorum have it */
    uint64_t fence;   /* of a slot; 0: none */
    bool is_held;     /* by a quorum */
    bool is_reserved; /* a slot, for the next client */
    int64_t waited_ms; /* these of a waiting client */
    const char *node;
    enum rl_listens listens; /* see queue.c */
};

/* Who it is: a name, "no name", or "no name (client 0123456789abcdef)". Returns out. */
const char *rl_item_who(const struct rl_item *item, char out[RL_ITEM_TEXT_MAX]);

/* One list of what is known of a key, in the nodes' order.
 *
 * Failure modes: those of redlock_query_readers(), redlock_query_slots(), redlock_query_waiters()
 * and redlock_query_permit_waiters(). A node that forbids the commands is named by `refused`. A
 * reader that renews, a permit that changes hands or a client that moves up while it is asked for
 * may be missing. */

#define RL_LINE_MAX 200    /* clients of each kind that are listed; the others are counted */
#define RL_READERS_MAX 200 /* the same */

struct rl_found;

struct rl_part {
    struct rl_found *found; /* the owner of this part */
    bool is_known;          /* a quorum answered; of a line: or at least the node that has it */
    int refused;            /* if not, why: REDLOCK_ERR_NODE_... of the first node that did not
                               answer */
    bool unanswered[REDLOCK_NODES_MAX]; /* which nodes did not */
    size_t n_unanswered;
    size_t total;    /* readers, and clients that wait, including those that are not listed */
    size_t held;     /* of the n: by a quorum */
    size_t reserved; /* of the n */
    size_t writing;  /* of the n: who wait to hold it alone; those who would read are behind them */
    size_t n, room;
    struct rl_item *items;
};

/* How many wait for it exclusively, and to read it, including those that are not listed. */
void rl_line_count(const struct rl_part *line, size_t *writing, size_t *reading);

typedef void (*rl_found_cb)(struct rl_found *found, void *data);

struct rl_found {
    redlock_client *client;
    rl_found_cb on_done;
    void *data;
    size_t out; /* parts that are asked for */
    int status; /* 0, REDLOCK_ERR_NO_QUORUM, or why the nodes could not be asked */
    struct rl_look look;
    struct rl_part readers; /* if the look found some: empty if not. First those of a quorum */
    struct rl_part line;
    struct rl_part slots; /* in use; nodes may disagree on how many there are: */
    struct rl_part permits_line;
    int32_t permits;                 /* ... what most of them say; 0: no node does */
    int32_t kept[REDLOCK_NODES_MAX]; /* ... and each of them; 0: nothing */
    size_t free;                     /* slots below `permits` */
    int64_t kicks_left_ms; /* until the notes of kicks end; 0: there are none, or it is not known */
};

/* What is asked for besides who holds and who reads it. */
struct rl_found_parts {
    bool line;    /* who waits for the lock */
    bool permits; /* who has permits, and who waits for them */
    bool kicks;   /* whether there are notes of kicks: by a script on each node */
};

/* found: zero, or asked before. It and key live until on_done, which runs once, and never inside of
 * this. */
int rl_found_ask(struct rl_found *found, redlock_client *client, redlock_bytes key,
                 struct rl_found_parts parts, rl_found_cb on_done, void *data);

void rl_found_free(struct rl_found *found);

/* Whether the nodes know anything of a lock, or of a semaphore, with this key. */
bool rl_found_has_lock(const struct rl_found *found);
bool rl_found_has_permits(const struct rl_found *found);

#endif
