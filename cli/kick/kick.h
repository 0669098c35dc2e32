/* redlock kick: takes a lock, or a permit, from its holder.
 *
 *     look     who has it, by which token                               (targets.h)
 *     say      what it means; and ask, on a terminal
 *     note     on every node: who kicks whom, when and why               (notes.h)
 *     release  on every node, by the token that was seen                 (targets.h)
 *     report   node by node; the note is withdrawn if nothing was there any more
 *
 *       node             key        note
 *       127.0.0.1:7001   deleted    noted
 *       127.0.0.1:7002   not there  noted
 *       127.0.0.1:7003   node did not answer in time
 *
 * Failure modes: the kick is not confirmed: nothing is done. The holder released the lock
 * meanwhile, or another has it: nothing is deleted (RL_EXIT_LOST). Nodes do not answer: they keep
 * their keys, and if they are a quorum the holder may keep the lock, which is reported
 * (RL_EXIT_NO_QUORUM). A node cannot take the note (no memory left, a user without the right): it
 * is named, and the kick goes on, since it may free the node's memory. redlock is killed between
 * note and release: the note reports a kick that was not done.
 *
 * Can a kick lead to two holders? Yes: the next client is granted the lock at once, and the kicked
 * holder finds out only at its next renewal, up to a third of its ttl later, or, if it reaches no
 * node, when its validity ends. Only a fence that is checked at each write keeps its late writes
 * out: its number is below that of the next holder.
 *
 * Can another holder than the one that was seen lose it? No: nodes compare the token, see
 * targets.h.
 *
 * What stays behind? The other keys of a lock of several keys, until its holder has seen the loss.
 * A repair that was on its way when the kick came puts the token back on a minority of nodes: the
 * holder clears it when it sees the loss, or the ttl does; the next holder needs a quorum of the
 * other nodes, and gets it. Notes, for a day. */
#ifndef RL_CLI_KICK_KICK_H
#define RL_CLI_KICK_KICK_H

#include "args.h"

/* Returns the exit status. */
int rl_cmd_kick(struct rl_args *args);

#endif
