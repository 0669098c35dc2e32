/* Users on the locally started nodes, for a comparison of two ways to release.
 *
 * Happy path: rl_bench_users_make() makes a user on each node, by ACL SETUSER, with all rights
 * except the node's native release command, or with all rights except FLUSHALL, so that the ACL
 * check costs both the same; a client with the URLs of the first user releases by the script.
 *
 * Failure modes: a node that does not answer, or lacks the command, yields a message: there is
 * nothing to compare.
 *
 * Used by cycle with --release. */
#ifndef RL_BENCH_USERS_H
#define RL_BENCH_USERS_H

#include <stdbool.h>
#include <stddef.h>

#include "tool/local_nodes.h"

struct rl_bench_users;

/* NULL, and a sentence in error. */
struct rl_bench_users *rl_bench_users_make(const struct rl_local_nodes *local, bool by_script,
                                           char *error, size_t error_size);

/* One URL for each node; valid until `users` is freed. */
const char *const *rl_bench_users_urls(const struct rl_bench_users *users);

void rl_bench_users_free(struct rl_bench_users *users);

#endif /* RL_BENCH_USERS_H */
