/* Who waits for a key, to have it alone or to read it, or for permits of it, in which order, as
 * the nodes report it.
 *
 * Happy path: rl_line_look(), or rl_line_look_permits(); then the line is filled in, and the
 * clients in it are listed from the next one on.
 *
 * Failure modes: those of redlock_query_waiters() and redlock_query_permit_waiters(). A node that
 * forbids the commands of a line is named by `refused`. A line may have moved on when it is
 * shown. */
#ifndef RL_CLI_LINE_H
#define RL_CLI_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "redlock/token.h"
#include "session.h"

#define RL_LINE_WHO_MAX (RL_HOLDER_TEXT_MAX + 64)
#define RL_LINE_MAX 200 /* clients of each kind that are listed; the others are counted */

struct rl_line {
    bool is_known; /* a quorum answered, or at least the node that has the line */
    int refused;   /* why not: of the first node that did not answer, REDLOCK_ERR_NODE_... */
    size_t waiting, n;
    size_t writing; /* of the n; the others would read, and are behind them */
    struct rl_line_place {
        char who[RL_LINE_WHO_MAX]; /* the name, fit for a terminal; "" if it has none */
        char client[32];
        const char *node;
        int64_t waited_ms;
        uint32_t take; /* so many permits it wants; 0: it wants a lock */
    } places[2 * RL_LINE_MAX];
};

/* One look at the line of a key, waited for. Returns the query's status. */
int rl_line_look(struct rl_line *line, struct rl_session *session, redlock_bytes key);
/* The same of its permits. */
int rl_line_look_permits(struct rl_line *line, struct rl_session *session, redlock_bytes key);

/* Who stands there: a name, or "no name (client 0123456789abcdef)". Returns out. */
const char *rl_line_who(const struct rl_line_place *place, char out[RL_LINE_WHO_MAX]);

#endif
