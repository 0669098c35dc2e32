/* redlock doctor: what an operator must know about the nodes before trusting them with locks.
 *
 *     ask (ask.h)              every node at once, a thread each: facts
 *     judge (judge_node.h,     facts become findings: what was checked, how bad it is, and what
 *            judge_nodes.h)    to do about it
 *     show (show.h)            findings, as a screen or as JSON; the worst is the exit status
 *
 * With --acl it asks no node, and prints the ACL line that makes a user.
 *
 * The line covers everything: locks of one and of several keys, watchdog, fences, waiting in turn,
 * releases that are announced, queries, the guard, elections, and doctor itself. docs/nodes.md
 * says what may be left out. test/cli/acl_test.sh checks on nodes that the line is sufficient, and
 * that every part of it is needed.
 *
 * Failure modes: a name or a prefix that does not fit into an ACL is refused with a sentence. A
 * node that does not answer is a finding, not an end; so is a command that the node forbids.
 * Nothing waits longer than the timeouts of the command line, even if an answer never ends; only
 * the system's look-up of a host name may.
 *
 * This folder uses three internal headers of the library: the commands, INFO and the classes of
 * errors (redis/command.h, info.h, reply.h). doctor tries what the library sends, and sees what it
 * sees: a second list of its scripts would one day differ. wire/wire.h says what the neighbouring
 * folders use. */
#ifndef RL_CLI_DOCTOR_DOCTOR_H
#define RL_CLI_DOCTOR_DOCTOR_H

#include "args.h"

/* Returns the exit status. */
int rl_cmd_doctor(struct rl_args *args);

#endif
