/* Which nodes may vote: the client's side of the guard (core/guard.h).
 *
 * Happy path: rl_eligibility_judge() when a node has reported its identity, rl_eligibility_up()
 * when it is up, and rl_eligibility_tick() at the end of its quarantine, if any.
 *
 * Failure modes: a node that is unfit for locks is refused with a reason, and judged again at its
 * next connection. A node that may have forgotten keys is up and does everything but grant: until
 * its quarantine is over, client->voters lacks it, and client->reasons has the reason. Two nodes
 * that report the same server are duplicates: the client uses both, and the core gives them one
 * vote (6 in core/lock.h).
 *
 * Can duplicates have two votes in one round? No. The nodes' last reports decide, whether the nodes
 * are up or not. A node that reports a new identity has restarted, and is in quarantine; until that
 * is over it stays a duplicate. A round is shorter than a quarantine, so every round in which the
 * node voted under its old identity is over before its vote counts separately.
 *
 * Can a vote of a node in quarantine be counted? No. An attempt sends SETs only to client->voters.
 * Commands from before the quarantine were sent on an earlier connection, whose end has settled
 * them (node.h): the quarantine begins before the node is up again. The core does not count the
 * node's yes to an extension either.
 */
#ifndef RL_NODES_ELIGIBILITY_H
#define RL_NODES_ELIGIBILITY_H

#include "client/state.h"

/* Events of a node. Judge: returns 0, or why the node must not be up. Flushed: all its keys were
 * deleted, so it will be in quarantine when it is up again. */
int16_t rl_eligibility_judge(struct rl_node *node, const struct rl_info *info,
                             char detail[RL_DETAIL_MAX]);
void rl_eligibility_flushed(struct rl_node *node);

/* Suspend: its configuration no longer counts. Up: it is up, or its configuration counts again.
 * Down: it is down. */
void rl_eligibility_suspend(struct rl_client_node *member);
void rl_eligibility_up(struct rl_client_node *member);
void rl_eligibility_down(struct rl_client_node *member);

/* Ends a quarantine that is over. */
void rl_eligibility_tick(struct rl_client_node *member, uint64_t now_ns);

/* The servers that may vote: one node of each, the first among duplicates. */
rl_mask rl_eligibility_servers(const redlock_client *client);

/* The mask of nodes that are up and are the same server as this one. */
rl_mask rl_eligibility_duplicates(const struct rl_client_node *member);

/* The time until a node in quarantine votes, rounded up; 0: it is not in quarantine. */
int64_t rl_eligibility_wait_ms(const struct rl_client_node *member, uint64_t now_ns);

/* Whether a vote failed with this reason because the node was in quarantine. */
bool rl_eligibility_is_quarantine(int reason);

/* Formats "127.0.0.1:7003 restarted 4.1 s ago, votes again in 25.9 s"; why: a reason of
 * quarantine. */
void rl_eligibility_explain(const struct rl_client_node *member, int why, uint64_t now_ns,
                            char *text, size_t size);

/* The node at this index of the user's list, which contains the set's nodes; RL_NODES_MAX: none. */
uint32_t rl_member_at(const redlock_client *client, size_t index);

/* A client's node. rl_member_init() sets it up, and does not start it; false: no memory. */

bool rl_member_init(redlock_client *client, uint32_t i, const struct rl_url *url,
                    const struct rl_node_events *events);

/* Updates the node's deadline. Call this after any change that may affect it. */
void rl_member_update(struct rl_client_node *member);

#endif
