/* What a node says of itself: its server, its clock, and whether it would vote.
 *
 * Whether it votes is what the guard of a client says that has seen the node as often as this
 * program has (core/guard.h): at the first look it is the uptime that counts, with --guard strict.
 *
 * Failure modes: TIME or INFO is forbidden: the clock, or the rest, is not known. */
#ifndef RL_CLI_SCAN_FACTS_H
#define RL_CLI_SCAN_FACTS_H

#include "scan/seen.h"

/* Forgets what the node had said before. samples: of its clock. */
void rl_facts_ask(struct rl_seen_node *node, int samples);

#endif
