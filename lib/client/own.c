/* See own.h. */
#include "client/own.h"

#ifndef NDEBUG

#include <stdio.h>
#include <stdlib.h>

#include "client/state.h"

void rl_own_turn(redlock_client *client) {
    client->thread = pthread_self();
    client->has_thread = true;
}

void rl_own(const redlock_client *client, const char *function) {
    if (client->has_thread && !pthread_equal(client->thread, pthread_self()) &&
        !rl_io_is_forked(&client->io)) {
        fprintf(stderr,
                "libredlock: %s() was called in another thread than the one that runs the "
                "client's loop\n",
                function);
        abort();
    }
}

#endif
