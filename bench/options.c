/* See options.h. */
#include "options.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/options.h"

/* For users who see redlock-bench for the first time. */
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
    "Exit status: 0; 1 if nodes, library or output failed, with the reason; 2 for a bad\n"
    "argument; 3 if two clients held one lock at the same time, which must never happen.\n";

static void show_help(const struct tool_options *options) {
    fputs(intro, stdout);
    tool_options_help(options, TOOL_EVERY);
    fputs(outro, stdout);
}

#define AT(field) offsetof(struct rl_bench_options, field)
#define FOR(workload) (1u << (workload))
#define BOTH (FOR(RL_BENCH_CYCLE) | FOR(RL_BENCH_CONTEND))
#define RECORDS (FOR(RL_BENCH_CONTEND) | FOR(RL_BENCH_SHELLS))
#define SLICES (BOTH | RECORDS)
#define WAITERS_MAX 10000

static const char *const workload_names[RL_BENCH_WORKLOADS] = {"cycle", "contend", "shells",
                                                               "keep"};

static const struct tool_option rows[] = {
    {.kind = TOOL_HEADING, .help = "What is measured:"},
    {"workload", 0, TOOL_CHOICE, .at = AT(workload), .choices = "cycle|contend|shells|keep",
     .value = "W",
     .help = "cycle    acquire and release, each worker a resource of its own\n"
             "         (default)\n"
             "contend  clients, each a process, that want the same lock\n"
             "shells   commands behind redlock run, beside flock(1)\n"
             "keep     locks that renew themselves; then all nodes stop, and\n"
             "each loss is reported"},
    {"baseline", 0, TOOL_CHOICE, .at = AT(baseline), .choices = "formatted|argv",
     .is_optional = true, .uses = FOR(RL_BENCH_CYCLE), .value = "[=HOW]",
     .help = "cycle: beside each slice one of a bare fan-out: the same SET and\n"
             "EVALSHA to all nodes over hiredis and its libuv adapter, waiting\n"
             "for every node, without lock logic. HOW: formatted (default, the\n"
             "faster one: each command is formatted once and sent to all nodes\n"
             "by redisAsyncFormattedCommand) or argv (redisAsyncCommandArgv for\n"
             "each node)"},
    {"fencing", 0, TOOL_CHOICE, .at = AT(fencing), .choices = "off|on|both", .uses = BOTH,
     .value = "W",
     .help = "cycle, contend: acquires with a fence; on, off (default), or, of\n"
             "cycle, both: slices with and without in turn"},
    {"shared", 0, TOOL_CHOICE, .at = AT(shared), .choices = "off|on|both",
     .uses = FOR(RL_BENCH_CYCLE), .value = "W",
     .help = "cycle: acquires as a reader; on, off (default), or both: slices of\n"
             "readers and of exclusive locks in turn"},
    {"blocking", 0, TOOL_FLAG, .at = AT(blocking), .uses = FOR(RL_BENCH_CYCLE),
     .help = "cycle: slices of as many threads as there are workers, through the\n"
             "blocking interface, and of the workers in turn"},
    {"permits", 0, TOOL_WHOLE, .at = AT(permits), .min = 1, .max = RL_BENCH_PERMITS_MAX,
     .uses = BOTH, .value = "K",
     .help = "the lock is a semaphore of K permits. cycle: slices of permits and of\n"
             "exclusive locks in turn, or beside the bare fan-out; contend: how\n"
             "many of them are in use"},
    {"take", 0, TOOL_WHOLE, .at = AT(take), .min = 1, .max = REDLOCK_TAKE_MAX, .uses = BOTH,
     .value = "M", .help = "--permits: each holder has M of them, or none; default 1"},
    {"release", 0, TOOL_CHOICE, .at = AT(release), .choices = "native|script|both",
     .uses = FOR(RL_BENCH_CYCLE), .value = "HOW",
     .help = "cycle: releases by a command of the node's own where it has one\n"
             "(DELIFEQ, DELEX; it needs a guard, and has observed then), by the\n"
             "script as a user who may not run that command, or both: slices of\n"
             "each in turn. With nodes that are started here"},
    {.kind = TOOL_HEADING, .help = "The nodes:"},
    {"nodes", 0, TOOL_LIST, .at = AT(nodes), .is_secret = true, .value = "URL,...",
     .help = "redis://[[user]:password@]host[:port][/db] or\n"
             "unix:///path[?db=n]; a comma within a URL is written %2C. Keys\n"
             "begin with \"redlock-bench:\" and end with their ttl at the latest"},
    {"node-count", 0, TOOL_WHOLE, .at = AT(node_count), .min = 1, .max = REDLOCK_NAMED_MAX,
     .value = "N", .help = "how many to start without --nodes; default 5"},
    {"redis-server", 0, TOOL_TEXT, .at = AT(server), .value = "P",
     .help = "the program to start; default $REDLOCK_SERVER, or\n"
             "redis-server or valkey-server by PATH"},
    {"distance-ms", 0, TOOL_WHOLE, .at = AT(distance_ms), .min = 0, .max = 1000, .uses = BOTH,
     .value = "D",
     .help = "cycle, contend: each client is 0 to D ms away from each node, in\n"
             "both directions, the same in every run. Without it clients on one\n"
             "machine hardly ever split the votes"},
    {"guard", 0, TOOL_CHOICE, .at = AT(guard), .choices = "off|observed|strict", .value = "G",
     .help = "off, observed or strict; default off: nodes that are started here\n"
             "are new, and nothing depends on these locks (contend with a\n"
             "distance: observed, so that all clients know a node by one name)"},
    {.kind = TOOL_HEADING, .help = "How much:"},
    {"in-flight", 0, TOOL_WHOLE, .at = AT(in_flight), .min = 1, .max = 100000,
     .uses = FOR(RL_BENCH_CYCLE) | FOR(RL_BENCH_KEEP), .value = "K",
     .help = "workers per client; default 64"},
    {"locks", 0, TOOL_WHOLE, .at = AT(locks), .min = 1, .max = 10000000, .uses = FOR(RL_BENCH_KEEP),
     .value = "L", .help = "keep: locks held at the same time; default 10000"},
    {"seconds", 0, TOOL_SECONDS, .at = AT(slice_ms), .min = 50, .max = 3600000,
     .uses = BOTH | FOR(RL_BENCH_KEEP), .value = "S",
     .help = "length of a slice, or of the run; default 2"},
    {"slices", 0, TOOL_WHOLE, .at = AT(slices), .min = 1, .max = RL_BENCH_SLICES_MAX,
     .uses = SLICES, .value = "M", .help = "how many slices, or rounds of shells; default 5"},
    {"warmup", 0, TOOL_SECONDS, .at = AT(warmup_ms), .min = 0, .max = 3600000, .uses = BOTH,
     .value = "S", .help = "before the first slice; default 1"},
    {"ttl-ms", 0, TOOL_WHOLE, .at = AT(ttl_ms), .min = 10, .max = REDLOCK_TTL_MS_MAX, .value = "T",
     .help = "ttl of each lock; default 10000 (keep: 60000)"},
    {"linger-ms", 0, TOOL_WHOLE, .at = AT(linger_ms), .min = 0, .max = REDLOCK_TTL_MS_MAX,
     .uses = BOTH, .value = "T",
     .help = "cycle, contend: released locks linger, up to their ttl; default 0"},
    {.kind = TOOL_HEADING, .help = "Who wants the lock:"},
    {"processes", 0, TOOL_WHOLE, .at = AT(processes), .min = 1, .max = 2000,
     .uses = FOR(RL_BENCH_CONTEND), .value = "N",
     .help = "contend: clients, each a process; default 8"},
    {"readers", 0, TOOL_WHOLE, .at = AT(readers), .min = 0, .max = 100,
     .uses = FOR(RL_BENCH_CONTEND), .value = "PERCENT",
     .help = "contend: so many of 100 clients are readers, beside each other; the\n"
             "figures are those of readers and of writers; default 0"},
    {"waiters-per-process", 0, TOOL_TEXT, .at = AT(waiters), .uses = FOR(RL_BENCH_CONTEND),
     .value = "M,...",
     .help = "contend: locks of each client that wait at the same time; the last\n"
             "number is for all further clients: \"1000,1\"; default 1"},
    {"hold-ms", 0, TOOL_WHOLE, .at = AT(hold_ms), .min = 0, .max = 60000,
     .uses = FOR(RL_BENCH_CONTEND), .value = "H",
     .help = "contend: how long a holder holds; default 1"},
    {"again", 0, TOOL_CHOICE, .at = AT(again), .choices = "callback|at-once",
     .uses = FOR(RL_BENCH_CONTEND), .value = "A",
     .help = "contend: when a client asks again: in the release's callback\n"
             "(default), or without waiting for it, by a second lock object"},
    {"think-ms", 0, TOOL_WHOLE, .at = AT(think_ms), .min = 0, .max = 60000,
     .uses = FOR(RL_BENCH_CONTEND), .value = "T",
     .help = "contend: ... or so long after that; default 0"},
    {"idle", 0, TOOL_FLAG, .at = AT(idle), .uses = FOR(RL_BENCH_CONTEND),
     .help = "contend: the first client holds all the time; what those send who\n"
             "wait"},
    {"apart", 0, TOOL_FLAG, .at = AT(apart), .uses = FOR(RL_BENCH_CONTEND),
     .help = "contend: each client wants a lock of its own: what distance and\n"
             "processes cost without contention"},
    {"shells", 0, TOOL_WHOLE, .at = AT(shells), .min = 1, .max = 1000, .uses = FOR(RL_BENCH_SHELLS),
     .value = "N", .help = "shells: how many; default 8"},
    {"work-ms", 0, TOOL_WHOLE, .at = AT(work_ms), .min = 0, .max = 60000,
     .uses = FOR(RL_BENCH_SHELLS), .value = "W",
     .help = "shells: what each sleeps with the lock; default 200"},
    {"spacing-ms", 0, TOOL_WHOLE, .at = AT(spacing_ms), .min = 0, .max = 60000,
     .uses = FOR(RL_BENCH_SHELLS), .value = "S",
     .help = "shells: from the start of one to the next one's; default 20"},
    {"redlock", 0, TOOL_TEXT, .at = AT(redlock), .uses = FOR(RL_BENCH_SHELLS), .value = "P",
     .help = "shells: the program redlock; default by PATH"},
    {"beside", 0, TOOL_TEXT, .at = AT(beside), .uses = FOR(RL_BENCH_SHELLS), .value = "WORDS",
     .help = "shells: another program that runs a command under a lock, with\n"
             "its arguments; default flock(1)"},
    {.kind = TOOL_HEADING, .help = "Records (bench/records.h):"},
    {"save-records", 0, TOOL_TEXT, .at = AT(save_records), .uses = RECORDS, .value = "FILE",
     .help = "contend, shells: who asked, was granted and released when"},
    {"records", 0, TOOL_TEXT, .at = AT(records), .uses = RECORDS, .value = "FILE",
     .help = "contend, shells: the figures of these, nothing runs"},
    {.kind = TOOL_HEADING, .help = "Output:"},
    {"json", 0, TOOL_FLAG, .at = AT(json),
     .help = "one JSON object on stdout instead of the table"},
    {"version", 0, TOOL_STOP, .help = "which one this is"},
    {"help", 0, TOOL_STOP, .help = "this text"},
};

const char *rl_bench_workload_name(int workload) {
    assert(workload < RL_BENCH_WORKLOADS);
    return workload_names[workload];
}

bool rl_bench_options_compare(const struct rl_bench_options *options) {
    bool has_permits = options->workload == RL_BENCH_CYCLE && options->permits > 0;
    return options->blocking || options->fencing == RL_BENCH_BOTH ||
           options->shared == RL_BENCH_BOTH || options->release == RL_BENCH_RELEASE_BOTH ||
           (has_permits && !options->has_baseline);
}

enum rl_bench_lock rl_bench_options_lock(const struct rl_bench_options *options, size_t side) {
    if (options->permits > 0 && side == 0) {
        return RL_BENCH_PERMITS;
    }
    return rl_bench_options_has(options->shared, side) ? RL_BENCH_SHARED : RL_BENCH_EXCLUSIVE;
}

bool rl_bench_options_reads(const struct rl_bench_options *options, size_t process) {
    size_t readers = (size_t)options->readers;
    return (process + 1) * readers / 100 > process * readers / 100;
}

bool rl_bench_options_has(int which, size_t side) {
    assert(side <= 1);
    return which == RL_BENCH_ON || (which == RL_BENCH_BOTH && side == 0);
}

/* Sets defaults that depend on the workload. */
static void set_defaults(const struct tool_options *parsed, struct rl_bench_options *options) {
    if (tool_options_from(parsed, AT(ttl_ms)) == TOOL_DEFAULT) {
        options->ttl_ms = options->workload == RL_BENCH_KEEP ? 60000 : 10000;
    }
    bool has_relays = options->workload == RL_BENCH_CONTEND && options->distance_ms > 0;
    bool releases = tool_options_from(parsed, AT(release)) != TOOL_DEFAULT;
    if (tool_options_from(parsed, AT(guard)) == TOOL_DEFAULT && (has_relays || releases)) {
        options->guard = REDLOCK_GUARD_OBSERVED; /* see relay.h, users.h */
    }
}

static int check_meaning(struct tool_options *parsed, const struct rl_bench_options *options) {
    char name[40];
    snprintf(name, sizeof name, "--workload %s", workload_names[options->workload]);
    parsed->use = (unsigned)options->workload;
    return tool_options_check(parsed, name);
}

static int check_comparison(struct tool_options *parsed, const struct rl_bench_options *options) {
    const char *both = options->fencing == RL_BENCH_BOTH  ? "--fencing both"
                       : options->shared == RL_BENCH_BOTH ? "--shared both"
                                                          : "--release both";
    const int comparisons = (options->fencing == RL_BENCH_BOTH) +
                            (options->shared == RL_BENCH_BOTH) +
                            (options->release == RL_BENCH_RELEASE_BOTH);
    if (options->blocking && (options->has_baseline || options->fencing == RL_BENCH_BOTH ||
                              options->shared != RL_BENCH_OFF || options->permits > 0 ||
                              options->release != RL_BENCH_RELEASE_NATIVE)) {
        return tool_options_fail(
            parsed,
            "--blocking compares exclusive locks, one comparison at a time: "
            "leave --baseline, --shared, --permits, --release and --fencing both out");
    }
    if (rl_bench_options_compare(options) && options->has_baseline) {
        return tool_options_fail(parsed, "%s and --baseline: one comparison at a time", both);
    }
    if (comparisons > 1) {
        return tool_options_fail(parsed, "%s and another one with both: one comparison at a time",
                                 both);
    }
    if (options->release != RL_BENCH_RELEASE_NATIVE && options->permits > 0) {
        return tool_options_fail(parsed,
                                 "--release script and both are for locks; leave --permits "
                                 "out");
    }
    if (options->readers > 0 && strcmp(options->waiters, "1") != 0) {
        return tool_options_fail(parsed,
                                 "--readers takes one waiter for each process; leave "
                                 "--waiters-per-process out");
    }
    if (options->fencing == RL_BENCH_BOTH && options->workload == RL_BENCH_CONTEND) {
        return tool_options_fail(parsed, "--fencing both is for cycle; here it is on or off");
    }
    if (options->again == RL_BENCH_AGAIN_AT_ONCE && options->think_ms > 0) {
        return tool_options_fail(parsed, "--again at-once and --think-ms exclude each other");
    }
    if (options->idle && options->processes < 2) {
        return tool_options_fail(parsed, "--idle needs --processes 2 or more");
    }
    for (size_t i = 0; i < (size_t)options->processes; i++) {
        if (rl_bench_options_waiters(options, i) == 0) {
            return tool_options_fail(parsed,
                                     "--waiters-per-process \"%s\": it takes numbers from 1 to %d, "
                                     "parted by commas",
                                     options->waiters, WAITERS_MAX);
        }
    }
    return 0;
}

size_t rl_bench_options_waiters(const struct rl_bench_options *options, size_t process) {
    const char *text = options->waiters;
    for (size_t i = 0;; i++) {
        char *end = NULL;
        unsigned long number = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
        if (number < 1 || number > WAITERS_MAX || (*end != '\0' && *end != ',')) {
            return 0;
        }
        if (i == process || *end == '\0') {
            return number;
        }
        text = end + 1;
    }
}

static int check_permits(struct tool_options *parsed, const struct rl_bench_options *options) {
    if (options->permits == 0) {
        return tool_options_from(parsed, AT(take)) == TOOL_DEFAULT
                   ? 0
                   : tool_options_fail(parsed, "--take is of --permits K");
    }
    if (options->take > options->permits) {
        return tool_options_fail(parsed, "--take %" PRId64 ": there are %" PRId64 " permits",
                                 options->take, options->permits);
    }
    if (options->shared != RL_BENCH_OFF || options->readers > 0) {
        return tool_options_fail(parsed, "--permits and readers exclude each other");
    }
    if (options->fencing == RL_BENCH_BOTH) {
        return tool_options_fail(parsed, "--permits and --fencing both: one comparison at a time");
    }
    if (options->idle || strcmp(options->waiters, "1") != 0) {
        return tool_options_fail(parsed,
                                 "--permits takes one waiter for each process, and all of them "
                                 "release; leave --idle and --waiters-per-process out");
    }
    return 0;
}

static int check_nodes(struct tool_options *parsed, struct rl_bench_options *options) {
    if (options->nodes.text == NULL) {
        return 0;
    }
    if (tool_list_split(&options->nodes) != 0) {
        return tool_options_fail(parsed, "--nodes has too many URLs; at most %d", TOOL_LIST_MAX);
    }
    if (tool_options_from(parsed, AT(node_count)) != TOOL_DEFAULT) {
        return tool_options_fail(
            parsed, "--nodes and --node-count exclude each other; leave one of them out");
    }
    if (options->server != NULL) {
        return tool_options_fail(parsed,
                                 "--redis-server and --nodes exclude each other; leave one out");
    }
    if (options->distance_ms > 0) {
        return tool_options_fail(
            parsed, "--distance-ms is for nodes that are started here; leave --nodes out");
    }
    if (options->release != RL_BENCH_RELEASE_NATIVE) {
        return tool_options_fail(parsed,
                                 "--release script and both make users on the nodes; leave "
                                 "--nodes out");
    }
    return 0;
}

static int parse(struct tool_options *parsed, struct rl_bench_options *options, int argc,
                 char **argv) {
    if (tool_options_parse(parsed, argc, argv) != 0 || parsed->stop != NULL) {
        return parsed->stop != NULL ? 0 : -1;
    }
    if (parsed->n_words > 0) {
        return tool_options_fail(parsed, "\"%s\" is no option; nodes are given by --nodes URL,...",
                                 parsed->words[0]);
    }
    options->has_baseline = tool_options_from(parsed, AT(baseline)) != TOOL_DEFAULT;
    set_defaults(parsed, options);
    if (check_meaning(parsed, options) != 0 || check_comparison(parsed, options) != 0 ||
        check_permits(parsed, options) != 0) {
        return -1;
    }
    return check_nodes(parsed, options);
}

enum rl_bench_parsed rl_bench_options_parse(struct rl_bench_options *options, int argc,
                                            char **argv) {
    struct tool_options parsed = {.rows = rows,
                                  .use = TOOL_EVERY,
                                  .count = sizeof rows / sizeof rows[0],
                                  .target = options,
                                  .program = "redlock-bench",
                                  .name = "redlock-bench"};
    *options = (struct rl_bench_options){.node_count = 5,
                                         .in_flight = 64,
                                         .processes = 8,
                                         .waiters = "1",
                                         .take = 1,
                                         .locks = 10000,
                                         .slices = 5,
                                         .slice_ms = 2000,
                                         .warmup_ms = 1000,
                                         .hold_ms = 1,
                                         .shells = 8,
                                         .work_ms = 200,
                                         .spacing_ms = 20,
                                         .redlock = "redlock"};
    if (parse(&parsed, options, argc, argv) != 0) {
        fprintf(stderr, "redlock-bench: %s\n", parsed.error);
        return RL_BENCH_PARSED_BAD;
    }
    if (parsed.stop == NULL) {
        return RL_BENCH_PARSED;
    }
    if (parsed.stop->name[0] == 'h') {
        show_help(&parsed);
    } else {
        printf("redlock-bench %s\n", redlock_version());
    }
    return RL_BENCH_PARSED_DONE;
}

void rl_bench_options_free(struct rl_bench_options *options) {
    tool_list_free(&options->nodes);
}
