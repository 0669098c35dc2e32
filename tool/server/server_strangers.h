/* Scripts that are not the library's: which are loaded, and who runs them.
 *
 * Happy path: EVAL and SCRIPT LOAD keep the text under its hash, EVALSHA finds it, the server's
 * interpreter runs it. Failure modes: without an interpreter each is answered with an error that no
 * Redis gives; a hash that is not known is left to the caller, who says NOSCRIPT. */
#ifndef SERVER_SERVER_STRANGERS_H
#define SERVER_SERVER_STRANGERS_H

#include <stdbool.h>

#include "server/server.h"

struct call;

void strangers_eval(struct call *call);
void strangers_load(struct call *call);

/* False: it is not loaded, and nothing was answered. */
bool strangers_evalsha(struct call *call);

bool strangers_know(const struct server *server, const struct resp_arg *sha1);
void strangers_forget(struct server *server);

#endif
