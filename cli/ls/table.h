/* What redlock ls prints for people: tables of locks, of what is left over, of other libraries'
 * keys and of kicks; and how much was seen of which node. */
#ifndef RL_CLI_LS_TABLE_H
#define RL_CLI_LS_TABLE_H

#include "scan/scan.h"

/* waiting: only what clients wait for. The list is sorted. */
void rl_table_print(const struct rl_sweep *sweep, bool waiting);

#endif
