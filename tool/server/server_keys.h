/* The keys of a server: see server.h for what they are. These functions are for the server itself.
 * Failure mode: out of memory ends the program. */
#ifndef SERVER_SERVER_KEYS_H
#define SERVER_SERVER_KEYS_H

#include "server/server.h"

/* As server_keys_find(), to be changed. */
struct server_key *keys_find(const struct server_keys *keys, uint32_t db,
                             const struct resp_arg *name);

/* The key with this name; a new one, with an empty value, if there is none. Other keys may move:
 * pointers to keys are invalid afterwards. */
struct server_key *keys_put(struct server_keys *keys, uint32_t db, const struct resp_arg *name);

void keys_remove(struct server_keys *keys, struct server_key *key);

#endif
