/* Who waits for a key, to have it alone or to read it, or for permits of it, in which order, as
 * the nodes report it.
 *
 * Happy path: rl_line_ask(); the callback runs when the nodes have answered, and the line is filled
 * in: the clients in it are listed from the next one on.
 *
 * Failure modes: those of redlock_query_waiters() and redlock_query_permit_waiters(). A node that
 * forbids the commands of a line is named by `refused`. A line may have moved on when it is
 * shown. */
#ifndef RL_CLI_LINE_H
#define RL_CLI_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "redlock/token.h"
#include "token.h"

#define RL_LINE_WHO_MAX (RL_HOLDER_TEXT_MAX + 64)
#define RL_LINE_MAX 200 /* clients of each kind that are listed; the others are counted */

/* Whether a client still listens for its turn. */
enum rl_listens { RL_LISTENS_UNKNOWN, RL_LISTENS_NO, RL_LISTENS_YES };

struct rl_line;
typedef void (*rl_line_cb)(struct rl_line *line, void *data);

struct rl_line {
    rl_line_cb on_done;
    void *data;
    size_t n_nodes;
    bool is_known;       /* a quorum answered, or at least the node that has the line */
    int refused;         /* why not: of the first node that did not answer, REDLOCK_ERR_NODE_... */
    uint32_t unanswered; /* bits: the nodes that did not */
    size_t waiting, n;
    size_t writing; /* of the n; the others would read, and are behind them */
    struct rl_line_place {
        char who[RL_LINE_WHO_MAX]; /* the name, fit for a terminal; "" if it has none */
        char client[32];
        const char *node;
        int64_t waited_ms;
        uint32_t take;   /* so many permits it wants; 0: it wants a lock */
        uint8_t listens; /* enum rl_listens, see listeners.h */
    } places[2 * RL_LINE_MAX];
};

/* Who waits for the key, or for permits of it. line lives until on_done. Returns what
 * redlock_query_waiters() does. */
int rl_line_ask(struct rl_line *line, redlock_client *client, size_t n_nodes, redlock_bytes key,
                bool of_permits, rl_line_cb on_done, void *data);

/* How many wait to have it alone, and to read: with those that are not listed. */
void rl_line_count(const struct rl_line *line, size_t *writing, size_t *reading);

/* Who stands there: a name, or "no name (client 0123456789abcdef)". Returns out. */
const char *rl_line_who(const struct rl_line_place *place, char out[RL_LINE_WHO_MAX]);

#endif
