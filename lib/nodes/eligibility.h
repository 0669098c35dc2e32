/* Which nodes may vote: the client's side of the guard (core/guard.h).
 *
 * Happy path: rl_eligibility_judge() when a node has reported which server it is,
 * rl_eligibility_up() when it is up, and rl_eligibility_tick() at the end of its quarantine, if
 * any.
 *
 * Failure modes: a node that is unfit for locks is refused with a reason, and judged again at its
 * next connection. A node that may have forgotten keys is up and does everything but grant:
 * client->voters lacks it, and client->reasons says why, until the quarantine is over. Two nodes
 * that report the same server are duplicates: both are used, but share one vote, which the core
 * ensures (6 in lock.h).
 *
 * Can duplicates have two votes in one round? No. Nodes are duplicates by what they reported last,
 * whether they are up or not. A node that reports a new identity has restarted, and is in
 * quarantine; until that is over it stays a duplicate. A round is shorter than a quarantine, so a
 * round in which the node voted under its old identity is over before its vote counts separately
 * from the other's.
 *
 * Can a vote of a node in quarantine be counted? No. No SET of an attempt is sent to a node outside
 * of client->voters. Commands from before the quarantine were sent on an earlier connection, whose
 * end has answered them (node.h): the quarantine begins before the node is up again. The core does
 * not count the node's yes to an extension either.
 */
#ifndef RL_NODES_ELIGIBILITY_H
#define RL_NODES_ELIGIBILITY_H

#include "client/state.h"

/* 0, or why the node must not be up. And: its keys were all deleted, and it is in quarantine when
 * it is up again. As events of a node. */
int16_t rl_eligibility_judge(struct rl_node *node, const struct rl_info *info,
                             char detail[RL_DETAIL_MAX]);
void rl_eligibility_flushed(struct rl_node *node);

/* The node is up, or its configuration counts from now on; is down; its configuration no longer
 * counts. */
void rl_eligibility_suspend(struct rl_client_node *member);
void rl_eligibility_up(struct rl_client_node *member);
void rl_eligibility_down(struct rl_client_node *member);

/* When rl_eligibility_tick() is due; RL_NEVER if it is not. */
uint64_t rl_eligibility_deadline_ns(const struct rl_client_node *member);
void rl_eligibility_tick(struct rl_client_node *member, uint64_t now_ns);

/* The servers that may vote: of duplicates the first. */
rl_mask rl_eligibility_servers(const redlock_client *client);

/* Nodes that are up and are the same server as this one, as a mask. */
rl_mask rl_eligibility_duplicates(const struct rl_client_node *member);

/* The time until a node in quarantine votes, rounded up; 0: it is not in quarantine. */
int64_t rl_eligibility_wait_ms(const struct rl_client_node *member, uint64_t now_ns);

/* Whether a vote failed with this reason because the node was in quarantine. */
bool rl_eligibility_is_quarantine(int reason);

/* "127.0.0.1:7003 restarted 4.1 s ago, votes again in 25.9 s"; why: such a reason. */
void rl_eligibility_explain(const struct rl_client_node *member, int why, uint64_t now_ns,
                            char *text, size_t size);

/* The node at this place of the user's list, which has those of the set; RL_NODES_MAX: none. */
uint32_t rl_member_at(const redlock_client *client, size_t index);

/* A client's node: it is set up, and not started (false: no memory); and when it is due next. */

bool rl_member_init(redlock_client *client, uint32_t i, const struct rl_url *url,
                    const struct rl_node_events *events);

/* To be called when something has changed that decides when the node is due. */
void rl_member_update(struct rl_client_node *member);

#endif
