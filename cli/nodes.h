/* REDLOCK_NODES without its passwords, for the command that redlock runs.
 *
 * Failure modes: a list that cannot be read is not handed on at all, since nobody can tell where a
 * password in it begins. */
#ifndef RL_CLI_NODES_H
#define RL_CLI_NODES_H

/* Takes users and passwords out of REDLOCK_NODES in our own environment, which is what the command
 * inherits; the whole variable if it cannot be read. Returns 0 or an exit status. */
int rl_nodes_hide_passwords(void);

#endif
