/* What the programs of this folder share: a figure, and what it is made of. They run on the nodes
 * of the live fixture; see docs/testing.md for how they are run. */
#ifndef COST_COST_H
#define COST_COST_H

#include "live/live.h"

/* User and system time of this process. */
double cost_cpu_us(void);

/* "# hand-overs per second: 8296", a comment of TAP. */
void cost_show(const char *what, double figure);

/* The value that the share q (0 to 1) of all does not exceed; sorts them. */
uint64_t cost_percentile(uint64_t *values, size_t n, double q);

#endif
