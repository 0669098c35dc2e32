/* A relay between a client and a port: passes bytes on, with faults on request. On the test's own
 * loop.
 *
 *     relay_begin() -> its port goes into a URL -> ... -> relay_end(), before live_end() */
#ifndef LIVE_RELAY_H
#define LIVE_RELAY_H

#include "live/live.h"

enum relay_mode {
    RELAY_WHOLE, /* passes everything on */
    RELAY_DRIPS, /* what comes from the server, one byte in each turn of the loop */
    RELAY_STOPS, /* after this many bytes from the server nothing more is passed on */
    RELAY_CUTS   /* ... both are closed */
};

struct relay_pair;

struct relay {
    uv_tcp_t listener;
    uv_idle_t idle;
    int port;   /* its own */
    int target; /* of the server */
    enum relay_mode mode;
    size_t after;       /* bytes from the server, for STOPS and CUTS */
    size_t from_server; /* on the last connection */
    size_t connections; /* that were made */
    size_t handles;     /* that are open */
    struct relay_pair *pairs;
};

void relay_begin(struct live *live, struct relay *relay, int target);

/* Closes what it has, and waits until libuv has let go of it. */
void relay_end(struct live *live, struct relay *relay);

#endif
