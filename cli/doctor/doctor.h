/* redlock doctor: what an operator must know about the nodes before trusting them with locks.
 *
 *     ask (ask.h)              every node at once, a thread each: facts
 *     judge (judge_node.h,     facts become findings: what was looked at, how bad it is, and what
 *            judge_nodes.h)    to do about it
 *     show (show.h)            findings, as a screen or as JSON; the worst is the exit status
 *
 * With --acl it asks no node, and prints the line that makes a user.
 *
 * That is the whole: locks of one and of several keys, watchdog, fences, waiting in turn, releases
 * that are announced, queries, the guard, elections, and doctor itself. What may be left out is in
 * docs/operations.md. That it is enough, and that nothing in it is idle, is tried on nodes by
 * test/cli/acl_test.sh.
 *
 * Failure modes: a name or a prefix that does not fit into an ACL is refused with a sentence. A
 * node that does not answer is a finding, not an end; so is a command that the node forbids.
 * Nothing waits longer than the timeouts of the command line, not for an answer without end either,
 * but for the system's own look-up of a host name.
 *
 * Of the library's inside this folder knows three headers: the commands, INFO and the classes of
 * errors (redis/command.h, info.h, reply.h). doctor tries what the library sends, and sees what it
 * sees: a second list of its scripts would one day be another one. wire/wire.h says what the rooms
 * beside it know. */
#ifndef RL_CLI_DOCTOR_DOCTOR_H
#define RL_CLI_DOCTOR_DOCTOR_H

#include "args.h"

/* Returns the exit status. */
int rl_cmd_doctor(struct rl_args *args);

#endif
