/* See help.h. */
#include "help.h"

#include <stdio.h>

#include "tool/options_help.h"

static const char intro[] =
    "redlock-bench: how fast libredlock takes and releases locks on N Redis nodes.\n"
    "\n"
    "Usage: redlock-bench [options]\n"
    "\n"
    "Without options it starts five redis-server processes of its own on free loopback\n"
    "ports (no persistence), takes and releases uncontested locks on them, prints a\n"
    "table and stops the nodes.\n"
    "\n"
    "Try:\n"
    "  redlock-bench --baseline                 the library beside a bare fan-out\n"
    "  redlock-bench --baseline --in-flight 1   latency of one lock at a time\n"
    "  redlock-bench --workload contend --processes 64 --hold-ms 5\n"
    "  redlock-bench --workload contend --processes 64 --distance-ms 10\n"
    "  redlock-bench --workload contend --processes 33 --idle\n"
    "  redlock-bench --workload contend --processes 4 --waiters-per-process 1000,1\n"
    "  redlock-bench --workload shells --shells 32\n"
    "  redlock-bench --fencing both             what a fence costs\n"
    "  redlock-bench --shared both              what a reader's lock costs\n"
    "  redlock-bench --release both             what a script costs in a release\n"
    "  redlock-bench --blocking                 what threads and blocking calls cost\n"
    "  redlock-bench --workload contend --processes 16 --readers 75 --hold-ms 5\n"
    "  redlock-bench --permits 3                what a permit costs\n"
    "  redlock-bench --workload contend --processes 8 --permits 3 --hold-ms 20\n"
    "  redlock-bench --workload keep --locks 100000 --seconds 600\n"
    "  redlock-bench --nodes redis://10.0.0.1,redis://10.0.0.2,redis://10.0.0.3 --json\n"
    "\n";

static const char outro[] =
    "\n"
    "What the numbers mean:\n"
    "  locks/s           cycles of acquire and release, median over the slices\n"
    "  grant             from acquire to the callback that says it is held; for the\n"
    "                    bare fan-out, the wait for the last node's answer to SET.\n"
    "                    p50 and p99: median over the slices; p99.9, max: of all\n"
    "  client CPU        user and system time of this process per lock\n"
    "  CPU of all nodes  the same for the nodes that are started here, all together\n"
    "  allocations       calls of the library's allocator per lock; mallocs: all calls of\n"
    "                    malloc, hiredis and libuv included; neither is counted of threads\n"
    "  ratio             first column / second one, median over the pairs of neighbouring\n"
    "                    slices\n"
    "  client CPU        contend, shells: of all clients' processes per grant\n"
    "  hand-over         a grant whose holder is another one than that of the grant before\n"
    "  gap               from the release to the next one's grant, if one waited\n"
    "  wait max          those who still wait at the end of a slice included\n"
    "  overtaken         another client began to wait later, and was granted earlier; with\n"
    "                    --distance-ms: later by more than the distance\n"
    "  phases of others  --readers: of a reader's wait, writers that were granted in it; of a\n"
    "                    writer's, readers, those between two writers being one phase\n"
    "  permits in use    contend, --permits: on average, from the grant to the release; and of\n"
    "                    all, while more are waited for than there are\n"
    "  tau               Kendall's: 1 first come, first served; -1 last come, first served\n"
    "  commands sent     by the clients to all nodes together, handshakes left out\n"
    "  commands executed what the nodes count (INFO), those inside of scripts too\n"
    "  second rounds     fences whose nodes had different counters\n"
    "  notice of loss    keep: from on_lost to the end of validity, all nodes stopped\n"
    "The nodes share this machine's processors if they are started here: compare ratios\n"
    "rather than rates, and look at several runs.\n"
    "\n"
    "Exit status: 0; 1 if nodes or library failed, with the reason; 2 for a bad argument;\n"
    "3 if two clients held one lock at the same time, which must never happen.\n";

void rl_bench_help_show(const struct tool_options *options) {
    fputs(intro, stdout);
    tool_options_help(options, TOOL_EVERY);
    fputs(outro, stdout);
}
