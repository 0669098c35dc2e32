/* A line of waiters, as stored in a key: a ZSET to the library's scripts.
 *
 * Happy path: members are ordered by score, then by their bytes; the first has rank 0. The caller
 * that removes the last member must delete the key. */
#ifndef SERVER_SERVER_LINE_H
#define SERVER_SERVER_LINE_H

#include "server/server.h"

/* The member at byte `at` of the line, which must exist; returns the start of the next one. Valid
 * until the line changes. */
size_t line_read(const struct server_key *key, size_t at, struct server_member *out);

/* The member's name does not lie in this line's memory. */
void line_add(struct server_key *key, const struct server_member *member);
void line_remove(struct server_key *key, uint32_t rank);

#endif
