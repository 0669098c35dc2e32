/* The report as a table: one row per figure, one column per series, and the ratio. See report.h for
 * purpose, use and failure modes. */
#ifndef RL_BENCH_REPORT_TABLE_H
#define RL_BENCH_REPORT_TABLE_H

#include "report.h"

void rl_bench_report_print_table(const struct rl_bench_report *report);

#endif /* RL_BENCH_REPORT_TABLE_H */
