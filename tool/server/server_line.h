/* A line of waiters, as a key has it: what a ZSET is to the library's scripts.
 *
 * Happy path: members stand by their score, those of the same score by their bytes; the first has
 * rank 0. A key whose last member is removed has none, and is to be deleted by who removed it. */
#ifndef SERVER_SERVER_LINE_H
#define SERVER_SERVER_LINE_H

#include "server/server.h"

/* The member that begins at byte `at` of the line, which is there; returns where the next one does.
 * Valid until the line changes. */
size_t line_read(const struct server_key *key, size_t at, struct server_member *out);

/* The member's name does not lie in this line's memory. */
void line_add(struct server_key *key, const struct server_member *member);
void line_remove(struct server_key *key, uint32_t rank);

#endif
