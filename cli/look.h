/* One look at one key: what every node has under it, and who holds it by the quorum's word.
 *
 * Happy path: rl_look_at(); the callback runs when the nodes have answered, and the look is filled
 * in.
 *
 * Failure modes: those of redlock_query_holder(). What a look shows is over when it is shown. */
#ifndef RL_CLI_LOOK_H
#define RL_CLI_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redlock/redlock.h"
#include "redlock/token.h"
#include "token.h"

#define RL_LOOK_VALUE_MAX 128 /* of a holder's name, or of a value that is not of our kind */
#define RL_LOOK_NAME_MAX (RL_LOOK_VALUE_MAX + 48)
#define RL_LOOK_TEXT_MAX (RL_LOOK_NAME_MAX + 96)
#define RL_LOOK_WHY_MAX 320

struct rl_look;
typedef void (*rl_look_cb)(struct rl_look *look, int status, void *data);

/* The strings of the sights are copied, they end with the query's callback. */
struct rl_look {
    redlock_client *client;
    rl_look_cb on_done;
    void *data;
    redlock_bytes key;
    size_t n;
    size_t answered, holding; /* nodes; that have what the quorum has */
    bool is_held;             /* by a quorum */
    char token[RL_TOKEN_TEXT_MAX];
    char holder[RL_LOOK_VALUE_MAX];
    bool is_foreign; /* held, by a client of another library: then holder is its value */
    bool is_shared;  /* held, by readers: then there is no token and no holder */
    bool reads;      /* set by the caller: who looks would be one more of them */
    int64_t remaining_ms;
    struct rl_look_sight {
        redlock_node_holder s;
        char token[REDLOCK_TOKEN_LENGTH + 1];
        char holder[RL_LOOK_VALUE_MAX];
        char why[RL_LOOK_WHY_MAX]; /* s.status is not 0 */
        bool votes;                /* it may be asked to grant a lock */
        int64_t votes_in_ms;       /* if not, because it may have forgotten some: until it may */
    } node_holders[REDLOCK_NODES_MAX];
};

/* look and key live until on_done, whose status is that of the query. Returns what
 * redlock_query_holder() does. */
int rl_look_at(struct rl_look *look, redlock_client *client, size_t n_nodes, redlock_bytes key,
               rl_look_cb on_done, void *data);

/* Why a node is down or may not vote, with what it or the system said of it. Returns out. */
const char *rl_look_why(const redlock_node_info *info, char out[RL_LOOK_WHY_MAX]);

/* Whether a node has what the quorum has. */
bool rl_look_is_holding(const struct rl_look *look, const struct rl_look_sight *node_holder);

/* Who holds it. Returns out. */
const char *rl_look_name(const struct rl_look *look, char out[RL_LOOK_NAME_MAX]);

/* Why one who would read waits while others read: what follows on "held by readers", or "". */
const char *rl_look_next(const struct rl_look *look);

/* "held by web1:4711 for another 25 s". A lock of another library is named by its value; readers
 * are "readers"; a key that is no lock and in the way is named, too. False: none of these. */
bool rl_look_say(const struct rl_look *look, char out[RL_LOOK_TEXT_MAX]);

/* What stands in the way of `take` of so many permits: neither who holds the slots nor who comes
 * first is asked. True, as there is always something to say. */
bool rl_look_say_permits(int64_t permits, int64_t take, char out[RL_LOOK_TEXT_MAX]);

#endif
