/* redlock doctor: what an operator must know about the nodes before trusting them with locks.
 *
 *     ask (doctor_ask.c)       every node at once, a thread each: facts
 *     judge (doctor_node.c,    facts become findings: what was looked at, how bad it is, and what
 *            doctor_nodes.c)   to do about it
 *     show (doctor_show.c)     findings, as a screen or as JSON; the worst is the exit status
 *
 * With --acl it asks nobody, and prints the line that makes a user (doctor_acl.c).
 *
 * Failure modes: a node that does not answer is a finding, not an end; so is a command that the
 * node forbids. Nothing waits longer than the timeouts of the command line, not for an answer
 * without end either, but for the system's own look-up of a host name. */
#ifndef RL_CLI_DOCTOR_H
#define RL_CLI_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "args.h"
#include "redis/info.h"
#include "redis/url.h"

#define RL_FACT_MAX 128
#define RL_DOCTOR_SAMPLES 5

/* Our commands, as they are tried on a key of the doctor's own. */
enum rl_trial {
    RL_TRIAL_SET,
    RL_TRIAL_EXTEND,
    RL_TRIAL_RELEASE,
    RL_TRIAL_FENCE,
    RL_TRIAL_RAISE,
    RL_TRIAL_PUBLISH,
    RL_TRIAL_SUBSCRIBE,
    RL_TRIALS
};

struct rl_facts {
    const char *text; /* the URL */
    struct rl_url url;
    const struct rl_args *args;

    bool is_reachable;         /* connected, authenticated, database selected, it answers */
    const char *failed_at;     /* "connect", "AUTH" or "SELECT", if not */
    char failure[RL_FACT_MAX]; /* why */
    bool is_connected;         /* the port takes connections */
    bool wants_tls;
    char other[RL_FACT_MAX]; /* what is there if it is not Redis; "": it is, or says nothing */

    char no_info[RL_FACT_MAX]; /* why INFO told nothing; "": it told all of this */

    struct rl_info judged; /* what a client's guard takes from it */

    char version[RL_FACT_MAX];
    char server[RL_FACT_MAX]; /* "Redis" or "Valkey" */
    char mode[RL_FACT_MAX];   /* standalone, cluster, sentinel */
    char run_id[RL_FACT_MAX];
    char replid[RL_FACT_MAX];
    char role[RL_FACT_MAX];
    char master[2 * RL_FACT_MAX]; /* host:port, of a replica */
    char policy[RL_FACT_MAX];
    char aof_write[RL_FACT_MAX]; /* aof_last_write_status */
    char bgsave[RL_FACT_MAX];    /* rdb_last_bgsave_status */
    int64_t replicas, uptime_s, maxmemory, used_memory, aof_enabled, loading, evicted;

    bool has_config; /* CONFIG GET is allowed */
    char appendfsync[RL_FACT_MAX];
    char save[RL_FACT_MAX];

    bool has_clock;
    double latency_ms, latency_max_ms; /* of the samples */
    double clock_ms;                   /* ahead of this machine's, from the fastest sample */
    double clock_error_ms;             /* half of its round trip */

    char trials[RL_TRIALS][RL_FACT_MAX]; /* "": it works; else what the node said */
};

enum rl_level { RL_LEVEL_OK, RL_LEVEL_NOTE, RL_LEVEL_WARNING, RL_LEVEL_ERROR };

#define RL_NODE_NONE (-1) /* a finding about all of them together */

struct rl_finding {
    const char *check; /* one word; findings of one check stand together */
    enum rl_level level;
    int node;
    char text[256];
    char remedy[320]; /* "" if there is nothing to do */
};

struct rl_findings {
    struct rl_finding *items;
    size_t count, capacity;
    bool is_short; /* out of memory: some are missing */
};

/* doctor_ask.c: fills in facts[i] for each node. Returns 0 or an exit status (a URL is bad). */
int rl_doctor_ask(struct rl_facts *facts, struct rl_args *args);

struct redisContext;
struct redisReply;

/* doctor_command.c: as redisCommand(), but the whole answer has to be there in time, and of a
 * reasonable length. */
struct redisReply *rl_doctor_command(const struct rl_facts *facts, struct redisContext *context,
                                     const char *format, ...);
/* The same for what has been appended to the context. */
struct redisReply *rl_doctor_reply(const struct rl_facts *facts, struct redisContext *context);
/* How long that may take. */
int64_t rl_doctor_answer_ms(const struct rl_args *args);

/* Why the context has failed. */
const char *rl_doctor_error(const struct redisContext *context);

/* As redisConnectWithTimeout(), to what the URL names. */
struct redisContext *rl_doctor_connect(const struct rl_facts *facts);

/* doctor_probe.c: what is there that takes connections and does not speak Redis. */
void rl_doctor_probe(struct rl_facts *facts);

/* doctor_info.c: what INFO said. */
void rl_doctor_read_info(struct rl_facts *facts, const char *info);

/* doctor_trial.c: tries our commands over context, a redisContext. */
void rl_doctor_try(struct rl_facts *facts, struct redisContext *context);

/* doctor_node.c */
void rl_doctor_judge_node(struct rl_findings *findings, const struct rl_facts *facts, int node);
/* doctor_nodes.c */
void rl_doctor_judge_nodes(struct rl_findings *findings, const struct rl_facts *facts, size_t n);

void rl_findings_add(struct rl_findings *findings, const char *check, enum rl_level level, int node,
                     const char *remedy, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* doctor_acl.c: prints what a user of the nodes needs. Returns the exit status. */
int rl_doctor_acl(const struct rl_args *args);

/* doctor_show.c: returns the exit status. */
int rl_doctor_show(const struct rl_findings *findings, const struct rl_facts *facts,
                   const struct rl_args *args);

#endif
