/* A lock as text, cell by cell: what ls and top show in their columns. All of it is fit for a
 * terminal: bytes from a node that cannot be printed are shown as '?'. */
#ifndef RL_CLI_LS_CELLS_H
#define RL_CLI_LS_CELLS_H

#include "scan/room.h"

#define RL_CELL_MAX 192
#define RL_CELL_NAME_MAX 1025

enum rl_cell {
    RL_CELL_SET,
    RL_CELL_MODE,
    RL_CELL_HOLDER,
    RL_CELL_VOTES,
    RL_CELL_FENCE,
    RL_CELL_AGE,
    RL_CELL_LEFT,
    RL_CELL_WAITING,
    RL_CELL_LONGEST,
    RL_CELLS
};

struct rl_cells {
    char name[RL_CELL_NAME_MAX];
    char text[RL_CELLS][RL_CELL_MAX];
};

/* The heads of the columns. */
extern const char *const rl_cell_heads[RL_CELLS];

void rl_cells_fill(struct rl_cells *cells, const struct rl_lock *lock);

/* "exclusive", "shared" or "permits". */
const char *rl_cells_mode(enum rl_lock_mode mode);

#endif
