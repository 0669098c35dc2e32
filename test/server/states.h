/* The states that a server can be in: a pair's real one is brought into each, and the one in memory
 * is told that it is.
 *
 * Failure modes: a state that ended by itself is a `problem` of the pair. What only this machine
 * can cause ends the program, as in pair.h. */
#ifndef SERVER_STATES_H
#define SERVER_STATES_H

#include "server/pair.h"

#define SERVER_STATES 7

struct server_state {
    const char *name;
    void (*become)(struct pair *pair, bool is);
    bool is_quick; /* it may come and go */
};

extern const struct server_state server_states[SERVER_STATES];

#endif
