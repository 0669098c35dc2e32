/* The text of --help: what can be measured, how, and what the numbers mean. Nothing can fail here;
 * it is for users who see redlock-bench for the first time. */
#ifndef RL_BENCH_HELP_H
#define RL_BENCH_HELP_H

#include "tool/options.h"

void rl_bench_help_show(const struct tool_options *options);

#endif /* RL_BENCH_HELP_H */
