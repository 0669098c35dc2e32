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
 * Failure modes: not confirmed, and nothing was done. Its holder released it meanwhile, or another
 * has it: nothing is deleted (RL_EXIT_LOST). Nodes do not answer: what they have stays, and if they
 * are a quorum the holder may keep the lock, which is said (RL_EXIT_NO_QUORUM). A node cannot take
 * the note (no memory left, a user who may not): it is named, and the kick goes on: it may be what
 * frees the nodes. redlock is killed between note and release: the note says more than was done.
 *
 * Can two hold the lock by a kick? Yes, that is what it does: the next one is granted it at once,
 * and the one that was kicked does not know before it renews, up to a third of its ttl later, or
 * before its validity ends, if it reaches no node. Only a fence that is checked where it writes
 * keeps its late writes out: its number is below that of the next holder.
 *
 * Can another than the one that was seen lose it? No: nodes compare the token, see targets.h.
 *
 * What stays behind? Of a lock of several keys the others, until its holder has seen the loss. A
 * repair that was on its way when the kick came puts the token back on a minority of nodes: the
 * holder clears it when it sees the loss, or the ttl does; the next one needs a quorum of the
 * others, and has it. Notes, for a day. */
#ifndef RL_CLI_KICK_KICK_H
#define RL_CLI_KICK_KICK_H

#include "args.h"

/* Returns the exit status. */
int rl_cmd_kick(struct rl_args *args);

#endif
