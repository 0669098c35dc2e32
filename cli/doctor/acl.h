/* doctor --acl: the line that makes a user who may do all that clients of the library send, and
 * nothing else.
 *
 * It is the whole: locks of one and of several keys, watchdog, fences, waiting in turn, releases
 * that are announced, queries, the guard, elections, and doctor itself. What may be left out is in
 * docs/operations.md. That it is enough, and that nothing in it is idle, is tried on nodes by
 * test/cli/acl_test.sh.
 *
 * Failure modes: a name or a prefix that does not fit into an ACL is refused with a sentence. */
#ifndef RL_CLI_DOCTOR_ACL_H
#define RL_CLI_DOCTOR_ACL_H

#include "args.h"

/* Prints what a user of the nodes needs. Returns the exit status. */
int rl_doctor_acl(const struct rl_args *args);

#endif
