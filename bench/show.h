/* Prints the report (report.h), by the figures of figures.h. */
#ifndef RL_BENCH_SHOW_H
#define RL_BENCH_SHOW_H

#include "report.h"

/* One row per figure, one column per series, and the ratio. */
void rl_bench_report_print_table(const struct rl_bench_report *report);

/* One JSON object. */
void rl_bench_report_print_json(const struct rl_bench_report *report);

#endif /* RL_BENCH_SHOW_H */
