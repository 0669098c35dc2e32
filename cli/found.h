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

/* The clients that wait for a key, exclusively or to read it, or for permits of it, as the nodes
 * report them, the next one first.
 *
 * Failure modes: those of redlock_query_waiters() and redlock_query_permit_waiters(). A node that
 * forbids the commands of a line is named by `refused`. The line may have moved on by the time it
 * is shown. */

#define RL_LINE_WHO_MAX (RL_HOLDER_TEXT_MAX + 64)
#define RL_LINE_MAX 200 /* clients of each kind that are listed; the others are counted */

/* Whether a client still listens for its turn. */
enum rl_listens { RL_LISTENS_UNKNOWN, RL_LISTENS_NO, RL_LISTENS_YES };

struct rl_found;

struct rl_line {
    struct rl_found *found; /* the owner of this part */
    bool is_known;          /* a quorum answered, or at least the node that has the line */
    int refused;            /* if not, why: REDLOCK_ERR_NODE_... of the first node that did not
                               answer */
    bool unanswered[REDLOCK_NODES_MAX]; /* which nodes did not */
    size_t n_unanswered;
    size_t waiting, n;
    size_t writing; /* of the n; the others would read, and are behind them */
    struct rl_line_place {
        char who[RL_LINE_WHO_MAX]; /* the name, fit for a terminal; "" if it has none */
        char client[32];
        const char *node;
        int64_t waited_ms;
        uint32_t take;   /* so many permits it wants; 0: it wants a lock */
        uint8_t listens; /* enum rl_listens, see queue.c */
    } places[2 * RL_LINE_MAX];
};

/* How many wait for it exclusively, and to read it, including those that are not listed. */
void rl_line_count(const struct rl_line *line, size_t *writing, size_t *reading);

/* Who stands there: a name, or "no name (client 0123456789abcdef)". Returns out. */
const char *rl_line_who(const struct rl_line_place *place, char out[RL_LINE_WHO_MAX]);

/* Who reads a key, as the nodes report it: first the readers that a quorum has.
 *
 * Failure modes: those of redlock_query_readers(). A node that forbids the commands for it is named
 * by `refused`. A reader that renews while it is asked for may be missing. */

#define RL_READERS_MAX 200 /* that are listed; the others are counted */

struct rl_readers {
    bool is_known; /* a quorum answered */
    int refused;   /* if not, why: REDLOCK_ERR_NODE_... of the first node that did not answer */
    size_t reading, n;
    size_t holding; /* those that a quorum has */
    struct rl_reader {
        char who[RL_HOLDER_TEXT_MAX + 64]; /* the name, fit for a terminal; "" if it has none */
        char token[RL_TOKEN_TEXT_MAX];     /* as release wants it; "" if it is not of our kind */
        size_t votes;
        int64_t remaining_ms; /* 0: fewer than a quorum have it */
    } readers[RL_READERS_MAX];
};

/* The permits of a key, as the nodes report them: how many there are, who has which slot.
 *
 * Failure modes: those of redlock_query_slots(). A node that forbids the commands for it is named
 * by `refused`. A permit that changes hands while it is asked for may be missing. Nodes may
 * disagree on how many there are: then the number is that of most of them. */

struct rl_permits {
    bool is_known;   /* a quorum answered */
    size_t answered; /* so many nodes did, of all their slots */
    int refused;     /* if not, why: REDLOCK_ERR_NODE_... of the first node that did not answer */
    int32_t permits; /* how many there are; 0: no node says */
    int32_t kept[REDLOCK_NODES_MAX]; /* what each node says; 0: nothing */
    size_t held, reserved, n;        /* slots that a quorum has; of the n in use */
    size_t free;                     /* of the slots below `permits` */
    struct rl_permit {
        int32_t number;
        char who[RL_HOLDER_TEXT_MAX + 64]; /* the name, fit for a terminal; "" if it has none */
        char token[RL_TOKEN_TEXT_MAX];     /* as release wants it; "" if it is not of our kind */
        size_t votes;
        int64_t remaining_ms; /* 0: fewer than a quorum have it */
        uint64_t fence;       /* 0: none */
        bool is_reserved, is_held;
    } slots[REDLOCK_PERMITS_MAX];
};

typedef void (*rl_found_cb)(struct rl_found *found, void *data);

struct rl_found {
    redlock_client *client;
    rl_found_cb on_done;
    void *data;
    size_t out; /* parts that are asked for */
    int status; /* 0, REDLOCK_ERR_NO_QUORUM, or why the nodes could not be asked */
    struct rl_look look;
    struct rl_readers readers; /* if the look found some: zero if not */
    struct rl_line line;
    struct rl_permits permits;
    struct rl_line permits_line;
    int64_t kicks_left_ms; /* until the notes of kicks end; 0: there are none, or it is not known */
};

/* What is asked for besides who holds and who reads it. */
struct rl_found_parts {
    bool line;    /* who waits for the lock */
    bool permits; /* who has permits, and who waits for them */
    bool kicks;   /* whether there are notes of kicks: by a script on each node */
};

/* found and key live until on_done, which runs once, and never inside of this. */
int rl_found_ask(struct rl_found *found, redlock_client *client, redlock_bytes key,
                 struct rl_found_parts parts, rl_found_cb on_done, void *data);

/* Whether the nodes know anything of a lock, or of a semaphore, with this key. */
bool rl_found_has_lock(const struct rl_found *found);
bool rl_found_has_permits(const struct rl_found *found);

#endif
