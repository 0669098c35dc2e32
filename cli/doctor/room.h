/* What doctor knows about the nodes, and its findings. */
#ifndef RL_CLI_DOCTOR_ROOM_H
#define RL_CLI_DOCTOR_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redis/config.h"
#include "say.h"
#include "wire/room.h"

/* The facts about a node. */

#define RL_FACT_MAX RL_WIRE_TEXT_MAX

/* The library's commands, which doctor tries on its own key. */
enum rl_trial {
    RL_TRIAL_SET,
    RL_TRIAL_EXTEND,
    RL_TRIAL_RELEASE,
    RL_TRIAL_DELIFEQ, /* replaces that script if the server has one of the two */
    RL_TRIAL_DELEX,
    RL_TRIAL_FLUSH, /* notices that a database was flushed */
    RL_TRIAL_FENCE,
    RL_TRIAL_LINE,       /* the scripts of a line */
    RL_TRIAL_READERS,    /* the scripts of readers */
    RL_TRIAL_PERMITS,    /* the scripts of semaphores */
    RL_TRIAL_NUMSUB,     /* which clients of the line are still there */
    RL_TRIAL_TURN,       /* PUBLISH to a client that waits */
    RL_TRIAL_TURN_HEARD, /* SUBSCRIBE, as a waiting client does */
    RL_TRIAL_PUBLISH,    /* announced releases */
    RL_TRIAL_SUBSCRIBE,
    RL_TRIALS
};

struct rl_facts {
    struct rl_wire *wire; /* the node; and why it cannot be asked, if so */

    bool is_reachable; /* connected, authenticated, database selected, and answering to the end */
    bool wants_tls;
    char other[RL_FACT_MAX]; /* what the server is instead of Redis; "": it is Redis, or sends
                                nothing */

    char no_info[RL_FACT_MAX]; /* why INFO is missing; "": it is not */

    struct rl_wire_info info;

    bool has_config; /* CONFIG GET is allowed */
    char appendfsync[RL_FACT_MAX];
    char save[RL_FACT_MAX];
    char no_fsync[RL_FACT_MAX]; /* no-appendfsync-on-rewrite */

    struct rl_config set;     /* epoch 0: it has no configuration, or an invalid one */
    char no_set[RL_FACT_MAX]; /* why that is unknown; "": it is known */

    struct rl_wire_clock clock;

    char trials[RL_TRIALS][RL_FACT_MAX]; /* "": it works; else the node's error */
};

/* -- trial.c -- */

/* Tries our commands over the wire's connection. False: the connection has ended. */
bool rl_doctor_try(struct rl_facts *facts);

/* -- show.c -- */

/* The result of each check: one finding, good or bad, with a remedy. */

enum rl_level { RL_LEVEL_OK, RL_LEVEL_NOTE, RL_LEVEL_WARNING, RL_LEVEL_ERROR };

#define RL_NODE_NONE (-1) /* a finding about all nodes together */

struct rl_finding {
    const char *check; /* one word; findings of one check are shown together */
    enum rl_level level;
    int node;
    char text[RL_TEXT_MAX];
    char remedy[RL_TEXT_MAX]; /* "" if there is nothing to do */
};

struct rl_findings {
    struct rl_finding *items;
    size_t count, room;
};

void rl_findings_put(struct rl_findings *findings, const char *check, enum rl_level level, int node,
                     const char *remedy, const char *text);
#define rl_findings_add(findings, check, level, node, remedy, ...) \
    rl_findings_put((findings), (check), (level), (node), (remedy), rl_text(__VA_ARGS__))

/* wait_s: the time until a quorum votes for strict clients, or 0. Returns the exit status. */
int rl_doctor_show(const struct rl_findings *findings, const struct rl_facts *facts,
                   const struct rl_wires *wires, int64_t wait_s);

/* -- judge_node.c -- */

void rl_doctor_judge_node(struct rl_findings *findings, const struct rl_facts *facts, int node);

/* -- judge_nodes.c -- */

/* For how long strict clients will not count the node's vote. 0: it may vote, or the guard is not
 * strict. */
int64_t rl_doctor_quarantine_s(const struct rl_facts *facts);

/* Judges whether the certificate of a node with TLS is verified; a bad one makes the node
 * unreachable. */
void rl_doctor_judge_tls(struct rl_findings *findings, const struct rl_facts *facts, int node);

/* Returns the number of seconds until a quorum of each set votes for strict clients: 0 if it
 * already does, or if too few nodes can be used. */
int64_t rl_doctor_judge_nodes(struct rl_findings *findings, const struct rl_facts *facts,
                              const struct rl_wires *wires);

#endif
