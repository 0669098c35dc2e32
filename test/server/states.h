/* The states that a server can be in: the pair's real server is brought into each, and the one in
 * memory simulates it.
 *
 * Failure modes: a state that ends by itself is a `problem` of the pair. A failure of the machine
 * ends the program, as in pair.h. */
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
