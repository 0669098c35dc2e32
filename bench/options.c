/* The arguments of redlock-bench: see options.h for what it is for, how it is used and how it
 * fails. Numbers come from one table: a new option is one row. */
#include "options.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNSET (-1)
#define FOR(workload) (1u << (workload))
#define FOR_ALL (FOR(RL_BENCH_WORKLOADS) - 1)
#define FOR_LINE_AND_KEEP (FOR(RL_BENCH_LINE) | FOR(RL_BENCH_KEEP))
#define FOR_SLICES (FOR_ALL & ~FOR(RL_BENCH_MEMORY) & ~FOR_LINE_AND_KEEP)

static const char *const workload_names[RL_BENCH_WORKLOADS] = {"cycle",  "contend", "stopped",
                                                               "memory", "keep",    "line"};

/* A number, whole or not; both kinds are written with the same row. */
struct number {
    const char *name;
    size_t offset; /* in struct rl_bench_options */
    bool is_whole;
    double min, max;
    const char *example;
    unsigned workloads; /* bit set of those where it has a meaning */
};

#define WHOLE(name, field, min, max, example, workloads) \
    { name, offsetof(struct rl_bench_options, field), true, min, max, example, workloads }
#define SECONDS(name, field, min, max, example, workloads) \
    { name, offsetof(struct rl_bench_options, field), false, min, max, example, workloads }

static const struct number numbers[] = {
    WHOLE("node-count", node_count, 1, REDLOCK_NODES_MAX, "5", FOR_ALL),
    WHOLE("stop-nodes", stop_nodes, 1, REDLOCK_NODES_MAX, "2", FOR(RL_BENCH_STOPPED)),
    WHOLE("in-flight", in_flight, 1, 100000, "64", FOR_ALL & ~FOR(RL_BENCH_LINE)),
    WHOLE("clients", clients, 1, 1000, "8", FOR(RL_BENCH_CONTEND)),
    WHOLE("locks", locks, 1, 10000000, "10000", FOR(RL_BENCH_MEMORY) | FOR_LINE_AND_KEEP),
    WHOLE("slices", slices, 1, 1000, "5", FOR_SLICES),
    WHOLE("ttl-ms", ttl_ms, 10, REDLOCK_TTL_MS_MAX, "10000", FOR_ALL),
    WHOLE("hold-ms", hold_ms, 0, 60000, "1", FOR(RL_BENCH_CONTEND)),
    WHOLE("delay-ms", delay_ms, 0, 60000, "50", FOR(RL_BENCH_CONTEND)),
    WHOLE("jitter-ms", jitter_ms, 0, 60000, "100", FOR(RL_BENCH_CONTEND)),
    WHOLE("distance-ms", distance_ms, 0, 1000, "10", FOR(RL_BENCH_CYCLE) | FOR(RL_BENCH_CONTEND)),
    SECONDS("seconds", seconds, 0.05, 3600, "2", FOR_SLICES | FOR_LINE_AND_KEEP),
    SECONDS("warmup", warmup, 0, 3600, "1", FOR_SLICES),
};
#define N_NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

enum {
    OPT_NUMBER = 0,
    OPT_WORKLOAD = 1000,
    OPT_BASELINE,
    OPT_TIE_BREAK,
    OPT_FENCING,
    OPT_GUARD,
    OPT_NODES,
    OPT_SERVER,
    OPT_JSON,
    OPT_VERSION,
    OPT_HELP
};

static const struct option words[] = {
    {"workload", required_argument, NULL, OPT_WORKLOAD},
    {"baseline", optional_argument, NULL, OPT_BASELINE},
    {"tie-break", required_argument, NULL, OPT_TIE_BREAK},
    {"fencing", required_argument, NULL, OPT_FENCING},
    {"guard", required_argument, NULL, OPT_GUARD},
    {"nodes", required_argument, NULL, OPT_NODES},
    {"redis-server", required_argument, NULL, OPT_SERVER},
    {"json", no_argument, NULL, OPT_JSON},
    {"version", no_argument, NULL, OPT_VERSION},
    {"help", no_argument, NULL, OPT_HELP},
};
#define N_WORDS (sizeof(words) / sizeof(words[0]))

const char *rl_bench_workload_name(enum rl_bench_workload workload) {
    assert(workload < RL_BENCH_WORKLOADS);
    return workload_names[workload];
}

bool rl_bench_options_compare(const struct rl_bench_options *options) {
    return options->tie_break == RL_BENCH_BOTH || options->fencing == RL_BENCH_BOTH;
}

bool rl_bench_options_has(enum rl_bench_switch which, size_t side) {
    assert(side <= 1);
    return which == RL_BENCH_ON || (which == RL_BENCH_BOTH && side == 0);
}

__attribute__((format(printf, 1, 2))) static int complain(const char *format, ...) {
    va_list args;
    fputs("redlock-bench: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputs("\n", stderr);
    return -1;
}

/* -- Single values -- */

static int parse_number(struct rl_bench_options *options, const struct number *number,
                        const char *text) {
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    bool is_number = end != text && *end == '\0' && errno == 0 && isfinite(value);
    if (!is_number || (number->is_whole && value > floor(value)) || value < number->min ||
        value > number->max) {
        return complain("--%s takes a %snumber from %.10g to %.10g, not \"%s\"; e.g. --%s %s",
                        number->name, number->is_whole ? "whole " : "", number->min, number->max,
                        text, number->name, number->example);
    }
    char *field = (char *)options + number->offset;
    if (number->is_whole) {
        *(long long *)(void *)field = (long long)value;
    } else {
        *(double *)(void *)field = value;
    }
    return 0;
}

static int parse_workload(struct rl_bench_options *options, const char *text) {
    for (int i = 0; i < RL_BENCH_WORKLOADS; i++) {
        if (strcmp(text, workload_names[i]) == 0) {
            options->workload = (enum rl_bench_workload)i;
            return 0;
        }
    }
    return complain(
        "--workload \"%s\" is unknown; give cycle, contend, stopped, memory, keep or line", text);
}

static int parse_baseline(struct rl_bench_options *options, const char *text) {
    if (text == NULL || strcmp(text, "formatted") == 0) {
        options->baseline = RL_BENCH_BASELINE_FORMATTED;
    } else if (strcmp(text, "argv") == 0) {
        options->baseline = RL_BENCH_BASELINE_ARGV;
    } else {
        return complain(
            "--baseline=%s is unknown; give --baseline, --baseline=formatted or "
            "--baseline=argv",
            text);
    }
    return 0;
}

static int parse_switch(enum rl_bench_switch *which, const char *name, const char *text) {
    static const char *const values[] = {"off", "on", "both"};
    for (int i = 0; i <= RL_BENCH_BOTH; i++) {
        if (strcmp(text, values[i]) == 0) {
            *which = (enum rl_bench_switch)i;
            return 0;
        }
    }
    return complain("--%s \"%s\" is unknown; give on, off or both", name, text);
}

static int parse_guard(enum redlock_guard *guard, const char *text) {
    static const char *const values[] = {"off", "observed", "strict"};
    static_assert((int)REDLOCK_GUARD_OFF == 0 && (int)REDLOCK_GUARD_STRICT == 2, "values");
    for (int i = 0; i <= REDLOCK_GUARD_STRICT; i++) {
        if (strcmp(text, values[i]) == 0) {
            *guard = (enum redlock_guard)i;
            return 0;
        }
    }
    return complain("--guard \"%s\" is unknown; give off, observed or strict", text);
}

/* Cuts the argument at its commas, in place. */
static int parse_nodes(struct rl_bench_options *options, char *text) {
    options->n_nodes = 0;
    for (char *url = text; url != NULL;) {
        char *comma = strchr(url, ',');
        if (comma != NULL) {
            *comma++ = '\0';
        }
        if (url[0] == '\0') {
            return complain("--nodes has an empty URL; give --nodes URL,URL,... without spaces");
        }
        if (options->n_nodes == REDLOCK_NODES_MAX) {
            return complain("--nodes has too many URLs; at most %d", REDLOCK_NODES_MAX);
        }
        options->nodes[options->n_nodes++] = url;
        url = comma;
    }
    return 0;
}

static int parse_word(struct rl_bench_options *options, int word, char *text) {
    switch (word) {
        case OPT_WORKLOAD:
            return parse_workload(options, text);
        case OPT_BASELINE:
            return parse_baseline(options, text);
        case OPT_TIE_BREAK:
            return parse_switch(&options->tie_break, "tie-break", text);
        case OPT_FENCING:
            return parse_switch(&options->fencing, "fencing", text);
        case OPT_GUARD:
            return parse_guard(&options->guard, text);
        case OPT_NODES:
            return parse_nodes(options, text);
        case OPT_SERVER:
            options->server = text;
            return 0;
        default:
            assert(word == OPT_JSON);
            options->json = true;
            return 0;
    }
}

/* -- All of them -- */

static void set_defaults(struct rl_bench_options *options) {
    *options = (struct rl_bench_options){
        .tie_break = RL_BENCH_ON,
        .fencing = RL_BENCH_OFF,
        .node_count = UNSET,
        .stop_nodes = UNSET,
        .in_flight = UNSET,
        .clients = 8,
        .locks = UNSET,
        .slices = 5,
        .ttl_ms = UNSET,
        .hold_ms = 1,
        .delay_ms = 50,
        .jitter_ms = 100,
        .seconds = 2,
        .warmup = 1,
    };
}

/* What depends on the workload or the number of nodes. */
static void fill_in(struct rl_bench_options *options) {
    if (options->in_flight == UNSET) {
        options->in_flight = options->workload == RL_BENCH_CONTEND ? 1 : 64;
    }
    if (options->ttl_ms == UNSET) {
        bool many = options->workload == RL_BENCH_MEMORY || options->workload == RL_BENCH_KEEP;
        options->ttl_ms = many ? 60000 : 10000;
    }
    if (options->locks == UNSET) {
        options->locks = options->workload == RL_BENCH_LINE ? 1000 : 10000;
    }
    if (options->node_count == UNSET) {
        options->node_count = 5;
    }
    if (options->stop_nodes == UNSET) {
        options->stop_nodes = (options->node_count - 1) / 2;
    }
}

static int check_meaning(const struct rl_bench_options *options, const bool *given) {
    for (size_t i = 0; i < N_NUMBERS; i++) {
        if (given[i] && (numbers[i].workloads & FOR(options->workload)) == 0) {
            return complain("--%s has no meaning for --workload %s; leave it out, or see --help",
                            numbers[i].name, workload_names[options->workload]);
        }
    }
    if (options->baseline != RL_BENCH_BASELINE_NONE && options->workload != RL_BENCH_CYCLE) {
        return complain("--baseline is for --workload cycle; leave one of them out");
    }
    return 0;
}

static int check_switches(const struct rl_bench_options *options) {
    bool contends = options->workload == RL_BENCH_CONTEND;
    if (options->tie_break != RL_BENCH_ON && !contends) {
        return complain("--tie-break is for --workload contend; leave one of them out");
    }
    if (options->fencing != RL_BENCH_OFF && !contends && options->workload != RL_BENCH_CYCLE) {
        return complain("--fencing is for --workload cycle or contend; leave one of them out");
    }
    if (options->tie_break == RL_BENCH_BOTH && options->fencing == RL_BENCH_BOTH) {
        return complain("--tie-break both and --fencing both: one comparison at a time");
    }
    if (options->fencing == RL_BENCH_BOTH && options->baseline != RL_BENCH_BASELINE_NONE) {
        return complain("--fencing both and --baseline: one comparison at a time");
    }
    return 0;
}

static int check_nodes(const struct rl_bench_options *options) {
    if (options->n_nodes > 0 && options->node_count != UNSET) {
        return complain("--nodes and --node-count exclude each other; leave one of them out");
    }
    if (options->n_nodes > 0 && options->server != NULL) {
        return complain("--redis-server has no meaning with --nodes; leave one of them out");
    }
    if (options->n_nodes > 0 && options->distance_ms > 0) {
        return complain("--distance-ms is for nodes that are started here; leave --nodes out");
    }
    if (options->n_nodes > 0 && options->workload == RL_BENCH_STOPPED) {
        return complain("--workload stopped stops nodes that it has started; leave --nodes out");
    }
    return 0;
}

static int check_minority(const struct rl_bench_options *options) {
    long long most = (options->node_count - 1) / 2;
    if (options->workload != RL_BENCH_STOPPED || (most > 0 && options->stop_nodes <= most)) {
        return 0;
    }
    if (most == 0) {
        return complain(
            "--workload stopped needs a node that can be spared; --node-count 3 or "
            "more");
    }
    return complain("--stop-nodes %lld leaves no quorum of %lld nodes; at most %lld",
                    options->stop_nodes, options->node_count, most);
}

static void list_options(struct option *all) {
    memset(all, 0, (N_NUMBERS + N_WORDS + 1) * sizeof(*all));
    for (size_t i = 0; i < N_NUMBERS; i++) {
        all[i] = (struct option){numbers[i].name, required_argument, NULL, (int)i + OPT_NUMBER};
    }
    memcpy(all + N_NUMBERS, words, sizeof(words));
}

/* --help or --version */
static void answer(bool help) {
    if (!help) {
        printf("redlock-bench %s\n", redlock_version());
    }
    for (size_t i = 0; help && rl_bench_help[i] != NULL; i++) {
        fputs(rl_bench_help[i], stdout);
    }
}

enum rl_bench_parsed rl_bench_options_parse(struct rl_bench_options *options, int argc,
                                            char **argv) {
    struct option all[N_NUMBERS + N_WORDS + 1];
    bool given[N_NUMBERS] = {false};
    int result = 0;
    list_options(all);
    set_defaults(options);
    opterr = 0;
    while (result == 0) {
        int found = getopt_long(argc, argv, "+:", all, NULL);
        if (found == -1) {
            break;
        }
        if (found == OPT_HELP || found == OPT_VERSION) {
            answer(found == OPT_HELP);
            return RL_BENCH_PARSED_DONE;
        }
        if (found == '?') {
            result = complain("%s is unknown; see redlock-bench --help", argv[optind - 1]);
        } else if (found == ':') {
            result = complain("%s needs a value; see redlock-bench --help", argv[optind - 1]);
        } else if (found >= OPT_WORKLOAD) {
            result = parse_word(options, found, optarg);
        } else {
            given[found] = true;
            result = parse_number(options, &numbers[found], optarg);
        }
    }
    if (result == 0 && optind < argc) {
        result =
            complain("\"%s\" is no option; nodes are given by --nodes URL,URL,...", argv[optind]);
    }
    if (result != 0 || check_meaning(options, given) != 0 || check_switches(options) != 0 ||
        check_nodes(options) != 0) {
        return RL_BENCH_PARSED_BAD;
    }
    fill_in(options);
    return check_minority(options) == 0 ? RL_BENCH_PARSED : RL_BENCH_PARSED_BAD;
}
