/* A change of the nodes, under load: from the old nodes to the new ones, of one set or of several.
 * Where there are several, a majority is one of each old set, or of each new one.
 *
 *     meet     the joint text, which needs a majority of the old and one of the new nodes, is
 *              written to all of them, and the connections of each node are cut, until a majority
 *              of the old ones and one of the new ones have it
 *     carry    counters of fences and numbers of permits go to the new nodes (carry.h)
 *     wait     the longest ttl and its drift, since the cut of the last node of an old majority
 *     decide   the old nodes vote whether the change is done, or goes back
 *     finish   the stable text, of the new nodes or of the old ones, is written to its members
 *
 * Going back needs neither carry nor wait: all who hold have an old majority. Each step may be
 * repeated, by any administrator, at any time.
 *
 * Why it is safe (test/model/proof/sets.py proves it, for any number of nodes):
 *   - meet: a vote counts if its connection has read exactly the text that the client has. From
 *     the last cut on nobody wins by a majority of the old nodes alone, since each has a node
 *     which the joint text has met. It must be a majority: of two rival changes from one epoch
 *     only one is met.
 *   - wait: a lock that was won by the old nodes alone has ended, unless its holder has renewed
 *     it with the joint text. A node that restarts meanwhile counts as cut anew, and the wait is
 *     counted by node; nodes must keep the text (and the vote) once a majority has it.
 *   - decide: each old node votes once for a change, for "done" only when its administrator has
 *     waited. Done: a majority says so. Back: there can be no such majority any more. Votes do not
 *     change, so all administrators come to the same end. One who wished the other joins it, which
 *     makes ties rare; a tie is "back". A node that has lost its text has no vote again (nodes.c).
 *   - finish: a stable text exists only after the decision, so it may be written over any earlier
 *     one. Joint and new holders share the new majority, joint and old ones the old majority.
 *
 * With several sets, for each resource its old set is the old nodes, and its new set the new ones,
 * whatever becomes of other resources (nodes/sets.h). A change of one set therefore needs
 *   - the joint text on a majority of each old set, also of those that stay as they are: a rival
 *     change, of another set, needs the same, and shares a node with it in each. It is written to
 *     the first set first, so that two rivals do not stop each other, with a set each;
 *   - the cut of all nodes, and the wait since the last cut of the last of these majorities: a
 *     resource that moves to an added set was locked by any of them;
 *   - a majority of each old set for "done". One set that cannot give it any more means "back";
 *   - the stable text on a majority of each new set, so that all who have joint majorities meet it.
 * Nobody may use an added node before: its vote counts only for clients that have read the joint
 * text, and those ask the old set as well. The nodes of a set that is removed are asked until the
 * stable text is read.
 *
 * Failure modes: too few nodes can be reached for a while: RL_EXIT_NO_QUORUM, with the nodes that
 * must come back; the joint text stays, and locks need both majorities until an administrator
 * resumes or aborts. The administrator dies: the same. Another one has made a later change: it
 * says so. */
#ifndef RL_CLI_SET_CHANGE_H
#define RL_CLI_SET_CHANGE_H

#include "set/goal.h"
#include "set/nodes.h"
#include "set/steps.h"

enum rl_change_end { RL_CHANGE_DONE, RL_CHANGE_BACK };

/* From the sets as they are to the goal; `change` is drawn by the caller. */
void rl_change_joint(struct rl_config *joint, const struct rl_config *now,
                     const struct rl_set_goal *goal, const char *change);

/* Whether it changes nothing. */
bool rl_change_is_none(const struct rl_config *joint);

/* How long it waits, in ms. */
int64_t rl_change_wait_ms(const struct rl_config *joint);

/* All steps, towards *end, which becomes the one that was decided. Returns 0 or an exit status. */
int rl_change_run(struct rl_set *set, struct rl_steps *steps, const struct rl_config *joint,
                  enum rl_change_end *end);

/* Writes a stable text to those of its members that lack it, until a majority has it. Returns 0 or
 * an exit status. */
int rl_change_spread(struct rl_set *set, struct rl_steps *steps, const struct rl_config *stable);

#endif
