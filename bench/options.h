/* The options of redlock-bench.
 *
 * Happy path: rl_bench_options_parse() fills in the defaults, reads the arguments by one table
 * (tool/options.h) and checks them against each other.
 *
 * Failure modes: an argument that is unknown, out of range, meaningless for the workload or in
 * conflict with another one gets one sentence on stderr that names it and the remedy.
 *
 * Used by main.c. */
#ifndef RL_BENCH_OPTIONS_H
#define RL_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redlock/redlock.h"
#include "tool/list.h"

#define RL_BENCH_SLICES_MAX 1000

enum rl_bench_workload {
    RL_BENCH_CYCLE,
    RL_BENCH_CONTEND,
    RL_BENCH_SHELLS,
    RL_BENCH_KEEP,
    RL_BENCH_WORKLOADS
};

enum rl_bench_baseline {
    RL_BENCH_BASELINE_FORMATTED, /* each command formatted once for all nodes */
    RL_BENCH_BASELINE_ARGV,      /* each command formatted for each node */
};

/* An option of the library that is on, off, or both in turn, for comparison. */
enum rl_bench_switch { RL_BENCH_OFF, RL_BENCH_ON, RL_BENCH_BOTH };

/* How nodes release: natively if they can, or only by the script; or both in turn. */
enum rl_bench_release { RL_BENCH_RELEASE_NATIVE, RL_BENCH_RELEASE_SCRIPT, RL_BENCH_RELEASE_BOTH };

/* The kind of lock. */
enum rl_bench_lock { RL_BENCH_EXCLUSIVE, RL_BENCH_SHARED, RL_BENCH_PERMITS, RL_BENCH_LOCKS };

/* Slots are bits of a number. */
#define RL_BENCH_PERMITS_MAX 64

/* When a client acquires again after a release. */
enum rl_bench_again { RL_BENCH_AGAIN_CALLBACK, RL_BENCH_AGAIN_AT_ONCE };

struct rl_bench_options {
    int workload;      /* enum rl_bench_workload */
    bool has_baseline; /* pairs each slice with one of the bare fan-out */
    int baseline;      /* enum rl_bench_baseline */
    int fencing;       /* enum rl_bench_switch */
    int shared;        /* the same */
    int release;       /* enum rl_bench_release */
    bool blocking;     /* alternates with slices by threads, through the blocking interface */
    int guard;         /* enum redlock_guard */
    int again;         /* enum rl_bench_again */
    bool idle;         /* the first client holds, the others wait */
    bool apart;        /* each client has its own lock */
    bool json;
    struct tool_list nodes; /* from --nodes; n is 0: start local nodes */
    const char *server;     /* NULL: see tool/local_nodes.h */
    const char *waiters;    /* of each client, "M,M..." */
    const char *records;    /* NULL: measure */
    const char *save_records;
    const char *redlock; /* the program of shells */
    const char *beside;  /* the other program; NULL: flock(1) */
    int64_t node_count;
    int64_t in_flight;
    int64_t processes;
    int64_t readers; /* so many of 100 processes read */
    int64_t permits; /* 0: not a semaphore */
    int64_t take;
    int64_t shells;
    int64_t work_ms;
    int64_t spacing_ms;
    int64_t locks;
    int64_t slices;
    int64_t slice_ms;
    int64_t warmup_ms;
    int64_t ttl_ms;
    int64_t linger_ms;
    int64_t hold_ms;
    int64_t think_ms;
    int64_t distance_ms; /* 0: none */
};

enum rl_bench_parsed {
    RL_BENCH_PARSED,
    RL_BENCH_PARSED_DONE, /* --help or --version was answered */
    RL_BENCH_PARSED_BAD   /* reported on stderr */
};

/* Free options in any case. */
enum rl_bench_parsed rl_bench_options_parse(struct rl_bench_options *options, int argc,
                                            char **argv);
void rl_bench_options_free(struct rl_bench_options *options);

/* Whether the library is compared with itself: slices with and without an option, in turn. */
bool rl_bench_options_compare(const struct rl_bench_options *options);

/* Whether side 0 or 1 of the report has the option: the first one has it. */
bool rl_bench_options_has(int which, size_t side);

/* The kind of lock of side 0 or 1. */
enum rl_bench_lock rl_bench_options_lock(const struct rl_bench_options *options, size_t side);

/* How many locks of client number `process` wait; 0: the option is not such a list. */
size_t rl_bench_options_waiters(const struct rl_bench_options *options, size_t process);

/* Whether client number `process` is a reader. Readers are spread evenly. */
bool rl_bench_options_reads(const struct rl_bench_options *options, size_t process);

const char *rl_bench_workload_name(int workload);

#endif /* RL_BENCH_OPTIONS_H */
