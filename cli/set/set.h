/* redlock set: makes nodes a set, which knows its members, and changes them under load.
 *
 *     init                 epoch 1 on all nodes
 *     show                 what each node has, and whether they agree
 *     replace OLD NEW      a change (change.h)
 *     resize [NAME] URL... a change to this list, of the set NAME if there are several
 *     add-set NAME URL...  a change: one more set
 *     remove-set NAME      a change: one set less
 *     resume, abort        a change whose administrator has died; resume also writes the text to
 *                          nodes that lack it
 *
 * Administrators are kept apart by a lock of the set itself, "redlock set ID", which is renewed by
 * a thread of its own while another one works. Safety does not depend on it: a set that grants no
 * lock, because its nodes have lost the text, can still be resumed.
 *
 * Failure modes: the change is not confirmed, another one is pending, nodes differ: RL_EXIT_HELD.
 * New nodes do not answer, or are no independent servers: nothing is done. All others are those of
 * change.h. */
#ifndef RL_CLI_SET_SET_H
#define RL_CLI_SET_SET_H

#include "args.h"

/* Returns the exit status. */
int rl_cmd_set(struct rl_args *args);

#endif
