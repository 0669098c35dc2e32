/* What the programs of this folder share: measuring and printing figures. They use the nodes of the
 * live fixture; docs/testing.md says how to run them. */
#ifndef COST_COST_H
#define COST_COST_H

#include "live/live.h"

/* User and system time of this process. */
double cost_cpu_us(void);

/* "# hand-overs per second: 8296", a comment of TAP. */
void cost_show(const char *what, double figure);

/* The value that a share q (0 to 1) of all values does not exceed; sorts them. */
uint64_t cost_percentile(uint64_t *values, size_t n, double q);

#endif
