/* See own.h. */
#include "own.h"

#ifndef NDEBUG

#include <stdio.h>
#include <stdlib.h>

#include "client.h"

void rl_own_turn(redlock_client *client) {
    client->thread = uv_thread_self();
    client->has_thread = true;
}

void rl_own(const redlock_client *client, const char *function) {
    uv_thread_t self = uv_thread_self();
    if (client->has_thread && !uv_thread_equal(&client->thread, &self) &&
        !rl_io_is_forked(&client->io)) {
        fprintf(stderr,
                "libredlock: %s() was called in another thread than the one that runs the "
                "client's loop\n",
                function);
        abort();
    }
}

#endif
