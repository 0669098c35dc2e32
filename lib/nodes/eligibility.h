/* Which nodes may be asked for a vote: the client's side of the guard (core/guard.h).
 *
 * Happy path: rl_eligibility_judge() when a node has said which server it is, rl_eligibility_up()
 * when it is up, and if it is in quarantine rl_eligibility_tick() at its end.
 *
 * Failure modes: a node that cannot be used as a lock's node is refused with a reason, and asked
 * again when it is connected again. One that may have forgotten is up and does everything but
 * grant: client->voters lacks it, and client->reasons says why, until the quarantine is over. Two
 * that report to be the same server are duplicates: both are used, and have one vote together,
 * which the core ensures (6 in lock.h).
 *
 * Can duplicates have two votes in one round? Nodes are duplicates by what they reported last,
 * whether they are up or not. One that reports another identity has restarted, and is in
 * quarantine; until that is over it stays a duplicate. Rounds are shorter. So a round in which it
 * voted as the server that it was is over before the other's vote is counted besides.
 *
 * Can a vote of a node in quarantine be counted? No SET of an attempt is sent to a node outside of
 * client->voters. What was sent before the node got there was sent on an earlier connection, whose
 * end has answered it (node.h): the quarantine begins before the node is up again. The core counts
 * no yes of it to an extension either.
 */
#ifndef RL_NODES_ELIGIBILITY_H
#define RL_NODES_ELIGIBILITY_H

#include <stdbool.h>
#include <stdint.h>

#include "client/state.h"

/* 0, or why the node must not be up. */
int16_t rl_eligibility_judge(struct rl_client_node *place, const struct rl_info *info,
                             char detail[RL_DETAIL_MAX]);

/* The node is up, is not up any more. */
void rl_eligibility_up(struct rl_client_node *place);
void rl_eligibility_down(struct rl_client_node *place);

/* When rl_eligibility_tick() is due; RL_NEVER if it is not. */
uint64_t rl_eligibility_deadline_ns(const struct rl_client_node *place);
void rl_eligibility_tick(struct rl_client_node *place, uint64_t now_ns);

/* How many servers may vote: duplicates are one. */
uint32_t rl_eligibility_count(const redlock_client *client);
bool rl_eligibility_are_quorum(const redlock_client *client);

/* Nodes that are up and are the same server as this one, as a mask. */
uint32_t rl_eligibility_duplicates(const struct rl_client_node *place);

/* How long until a node that is in quarantine votes, rounded up; 0: it is not. */
int64_t rl_eligibility_wait_ms(const struct rl_client_node *place, uint64_t now_ns);

/* Whether a vote failed with this reason because the node was in quarantine. */
bool rl_eligibility_is_quarantine(int reason);

/* "127.0.0.1:7003 restarted 4.1 s ago, votes again in 25.9 s"; why: such a reason. */
void rl_eligibility_explain(const struct rl_client_node *place, int why, uint64_t now_ns,
                            char *text, size_t size);

/* A node in its client: when it is to be looked at next. */

/* Something has changed that decides it. */
void rl_place_update(struct rl_client_node *place);

#endif
