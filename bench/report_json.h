/* The report as one JSON object, machine-readable. See report.h for purpose, use and failure
 * modes. */
#ifndef RL_BENCH_REPORT_JSON_H
#define RL_BENCH_REPORT_JSON_H

#include "report.h"

void rl_bench_report_print_json(const struct rl_bench_report *report);

#endif /* RL_BENCH_REPORT_JSON_H */
