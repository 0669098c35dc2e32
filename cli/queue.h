/* redlock queue: the clients that wait for a lock, or for permits of a semaphore, in order.
 *
 *     backup: held by vm:860 for another 27 s
 *       3 clients wait, in line at 127.0.0.1:7003
 *
 *       place  wants      waited   since                who
 *       1      exclusive  12 s     2026-11-23 02:31:07  vm:871
 *       2      exclusive  3.1 s    2026-11-23 02:31:16  web2:4148    gone
 *       -      to read    2.0 s    2026-11-23 02:31:17  web3:12
 *
 * Happy path: the nodes are asked for the line (found.h), and each node that has one is asked which
 * of its clients still listen: a waiting client does, since its turn comes as a message.
 *
 * Failure modes: the home of the line does not answer, or another node keeps it for now, or clients
 * stand in lines of several nodes: each has a sentence. Whether a place's client still listens may
 * not be known (a user without the right, a node that has gone down since): then nothing is shown.
 * Fewer nodes answer than a quorum: RL_EXIT_NO_QUORUM. A client that was stopped still listens. */
#ifndef RL_CLI_QUEUE_H
#define RL_CLI_QUEUE_H

#include "args.h"

/* Returns the exit status. */
int rl_cmd_queue(struct rl_args *args);

#endif
