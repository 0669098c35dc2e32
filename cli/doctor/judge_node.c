/* Judges the facts of one node. Each check is a function that adds one finding, good or bad, with a
 * text that states the fact and a remedy that says what to do. Texts of good findings contain no
 * figures, so that those of several nodes can be shown as one. */
#include "doctor/room.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "redis/command.h"
#include "redis/reply.h"
#include "say.h"

#define CLOCK_MS_MAX 1000 /* NTP keeps clocks closer than this */
#define FULL_PERCENT 90

#define ADD(level, remedy, ...) \
    rl_findings_add(findings, check, RL_LEVEL_##level, node, remedy, __VA_ARGS__)

static bool is(const char *text, const char *word) {
    return strcmp(text, word) == 0;
}

static void judge_reachable(struct rl_findings *findings, const struct rl_facts *facts, int node) {
    const char *check = "reachable";
    if (facts->is_reachable) {
        ADD(OK, NULL, "it answers");
    } else if (facts->wants_tls) {
        ADD(ERROR,
            redlock_has_tls() ? "write rediss:// in its URL, and name its authority by --tls-ca; "
                                "or name its plain port"
                              : "name its plain port: this redlock was built without TLS",
            "its port requires TLS");
    } else if (is(facts->wire->failed_at, "TLS")) {
        ADD(ERROR,
            "see docs/nodes.md, TLS; what clients need is in --tls-ca, --tls-cert, --tls-key and "
            "--tls-server-name, or in the URL",
            "TLS: %s", facts->wire->failure);
    } else if (facts->other[0] != '\0') {
        ADD(ERROR, "name the port of the server, 6379 unless it is set otherwise", "not Redis: %s",
            facts->other);
    } else if (strncmp(facts->wire->failure, "ERR max number of clients", 25) == 0) {
        ADD(ERROR, "raise maxclients, or see CLIENT LIST for connections that nobody needs", "%s",
            facts->wire->failure);
    } else if (strncmp(facts->wire->failure, "DENIED", 6) == 0) {
        ADD(ERROR,
            "give it a password, or rights by ACL: protected-mode lets in this machine alone", "%s",
            facts->wire->failure);
    } else if (facts->wire->is_connected && is(facts->wire->failed_at, "connect")) {
        ADD(ERROR,
            "does it hang (stopped, swapping, a long command, CLIENT PAUSE), or is it not Redis?",
            "it accepts connections, but: %s", facts->wire->failure);
    } else if (is(facts->wire->failed_at, "connect")) {
        ADD(ERROR,
            "is it running, is the address right, does it listen there (bind, protected-mode), "
            "does a firewall drop it?",
            "no connection: %s", facts->wire->failure);
    } else if (is(facts->wire->failed_at, "AUTH") && !facts->wire->url.has_password) {
        ADD(ERROR, "name a file that has its password by --password-file, and its user by --user",
            "AUTH: %s", facts->wire->failure);
    } else if (is(facts->wire->failed_at, "AUTH")) {
        bool is_from_file = facts->wire->args->password.text[0] != '\0';
        ADD(ERROR,
            is_from_file ? "correct --user, or the password in the file of --password-file; or "
                           "give neither if the node requires none"
                         : "correct user and password in its URL (special characters as %XX), or "
                           "give them by --user and --password-file; none if it requires none",
            "AUTH: %s", facts->wire->failure);
    } else {
        ADD(ERROR, "name a database that it has, or none", "%s: %s", facts->wire->failed_at,
            facts->wire->failure);
    }
}

static void judge_version(struct rl_findings *findings, const struct rl_facts *facts, int node) {
    const char *check = "version";
    int major = 0, minor = 0, patch = 0;
    (void)sscanf(facts->info.version, "%d.%d.%d", &major, &minor, &patch);
    long version = major * 10000L + minor * 100L + patch;
    if (version < 20612) {
        ADD(ERROR, "SET NX PX needs Redis 2.6.12 or later: upgrade", "%s %s", facts->info.server,
            facts->info.version);
    } else if (version < 60200) {
        ADD(NOTE, "this version no longer gets fixes: plan an upgrade", "%s %s", facts->info.server,
            facts->info.version);
    } else {
        ADD(OK, NULL, "%s %s", facts->info.server, facts->info.version);
    }
}

static void judge_mode(struct rl_findings *findings, const struct rl_facts *facts, int node) {
    const char *check = "mode";
    if (is(facts->info.mode, "cluster")) {
        ADD(ERROR,
            "Redlock needs independent servers: set cluster-enabled no. A cluster's member has "
            "some keys only, and refuses several at once, as a fence needs (CROSSSLOT)",
            "a member of a cluster");
    } else if (is(facts->info.mode, "sentinel")) {
        ADD(ERROR, "name the servers themselves", "a Sentinel, which stores nothing");
    } else {
        ADD(OK, NULL, "stands alone");
    }
}

static void judge_role(struct rl_findings *findings, const struct rl_facts *facts, int node) {
    const char *check = "role";
    if (is(facts->info.role, "slave")) {
        ADD(ERROR, "name an independent server, or make it one: REPLICAOF NO ONE",
            "a replica of %s:%s: it is read-only", facts->info.master_host,
            facts->info.master_port);
    } else if (!is(facts->info.role, "master")) {
        ADD(WARNING, "is it Redis? a proxy in front of it may leave that out",
            "INFO does not say whether it is a primary");
    } else if (facts->info.replicas > 0) {
        ADD(WARNING,
            "let no failover promote one: it may not have received a lock that is held. Lock nodes "
            "need no replicas: the other nodes are the redundancy",
            "a primary with %s", rl_say_count((uint64_t)facts->info.replicas, "replica"));
    } else {
        ADD(OK, NULL, "a primary, without replicas");
    }
}

/* The longest ttl of any client, as far as the set or the options tell. */
static int64_t longest_ttl_ms(const struct rl_facts *facts) {
    const struct rl_args *args = facts->wire->args;
    return facts->set.key.epoch != 0          ? (int64_t)facts->set.max_ttl_ms
           : args->guard != REDLOCK_GUARD_OFF ? args->client.max_ttl_ms
                                              : args->ttl_ms;
}

/* What to do about a node that forgets its keys in a restart. Clients with a strict guard need
 * nothing: they do not count its vote until everything that it may have forgotten has expired.
 * Clients whose guard only observes do not notice a restart before their own start. */
static const char *remedy_of_restart(const struct rl_facts *facts) {
    if (facts->wire->args->guard == REDLOCK_GUARD_STRICT) {
        return rl_text(
            "none is needed if all clients have a strict guard: a restart costs its vote for %s "
            "(--max-ttl), no lock. For others: appendonly yes and appendfsync always",
            rl_say_exact(facts->wire->args->client.max_ttl_ms));
    }
    return rl_text(
        "set appendonly yes and appendfsync always; or guard = strict in all clients; or, after a "
        "crash, start it only when the longest ttl (%s) has passed",
        rl_say_exact(longest_ttl_ms(facts)));
}

static void judge_persistence(struct rl_findings *findings, const struct rl_facts *facts,
                              int node) {
    const char *check = "persistence";
    const char *remedy = remedy_of_restart(facts);
    bool is_guarded = facts->wire->args->guard == REDLOCK_GUARD_STRICT;
    enum rl_level level = is_guarded ? RL_LEVEL_NOTE : RL_LEVEL_WARNING;
    if (facts->info.aof_enabled == 0 && (!facts->has_config || facts->save[0] == '\0')) {
        rl_findings_add(findings, check, level, node, remedy,
                        "%s: a restart forgets the locks that are held",
                        facts->has_config ? "nothing is saved" : "no AOF");
    } else if (facts->info.aof_enabled == 0) {
        rl_findings_add(findings, check, level, node, remedy,
                        "snapshots only: a restart forgets the locks that are held");
    } else if (!facts->has_config) {
        ADD(NOTE, "allow CONFIG GET, or look at appendfsync yourself",
            "AOF; whether each write is flushed is not known");
    } else if (is(facts->no_fsync, "yes")) {
        rl_findings_add(findings, check, level, node, "set no-appendfsync-on-rewrite no",
                        "AOF, not flushed while it is rewritten or a snapshot is made");
    } else if (is(facts->appendfsync, "always")) {
        ADD(OK, NULL, "AOF, flushed at every write");
    } else if (is(facts->appendfsync, "everysec")) {
        ADD(NOTE, remedy, "AOF, flushed every second: a power failure forgets up to a second");
    } else {
        rl_findings_add(findings, check, level, node, remedy,
                        "AOF, flushed whenever the system decides");
    }
    if (facts->info.aof_enabled != 0 && is(facts->info.aof_write, "err")) {
        ADD(ERROR, "look at its log: is the disk full?", "its AOF cannot be written");
    }
}

static void judge_eviction(struct rl_findings *findings, const struct rl_facts *facts, int node) {
    const char *check = "eviction";
    double percent = facts->info.maxmemory > 0
                         ? 100.0 * (double)facts->info.used_memory / (double)facts->info.maxmemory
                         : 0;
    if (is(facts->info.policy, "noeviction")) {
        if (percent >= FULL_PERCENT) {
            ADD(WARNING, "raise maxmemory, or move other data elsewhere",
                "noeviction, but its memory is %.0f %% full: a full node refuses locks", percent);
            return;
        }
        ADD(OK, NULL, "noeviction");
    } else if (facts->info.maxmemory > 0) {
        ADD(ERROR, "set maxmemory-policy noeviction", "%s with maxmemory set: it may evict locks%s",
            facts->info.policy, facts->info.evicted > 0 ? ", and has evicted keys" : "");
    } else {
        ADD(WARNING, "set maxmemory-policy noeviction, before maxmemory is set",
            "%s, without effect as long as maxmemory is 0", facts->info.policy);
    }
}

static void judge_uptime(struct rl_findings *findings, const struct rl_facts *facts, int node) {
    const char *check = "uptime";
    const char *ttl = rl_say_exact(longest_ttl_ms(facts));
    int64_t left_ms = longest_ttl_ms(facts) - facts->info.uptime_s * 1000;
    bool forgets = facts->info.aof_enabled == 0 || !is(facts->appendfsync, "always") ||
                   is(facts->no_fsync, "yes");
    if (facts->info.loading != 0) {
        ADD(ERROR, "wait until it has loaded", "it is loading its dataset");
    } else if (left_ms > 0 && forgets && facts->wire->args->guard == REDLOCK_GUARD_STRICT) {
        ADD(NOTE, "none is needed if all clients have a strict guard: see guard",
            "up for %s, less than the longest ttl (%s): it may have forgotten locks",
            rl_say_exact(facts->info.uptime_s * 1000), ttl);
    } else if (left_ms > 0 && forgets) {
        ADD(WARNING, rl_text("grant no locks for another %" PRId64 " s", left_ms / 1000 + 1),
            "up for %s, less than the longest ttl (%s): it may have forgotten locks",
            rl_say_exact(facts->info.uptime_s * 1000), ttl);
    } else if (left_ms > 0) {
        ADD(OK, NULL,
            "up for less than the longest ttl, %s; it does not forget, so that is no danger", ttl);
    } else {
        ADD(OK, NULL, "up for longer than the longest ttl, %s", ttl);
    }
}

static void judge_latency(struct rl_findings *findings, const struct rl_facts *facts, int node) {
    const char *check = "latency";
    double limit_ms = (double)facts->wire->args->client.node_timeout_ms;
    if (!facts->clock.is_known) {
        return;
    }
    if (facts->clock.latency_ms > limit_ms) {
        ADD(ERROR, "raise --node-timeout above it, or use a nearer node",
            "%.0f ms at best: its votes come too late (--node-timeout is %.0f ms)",
            facts->clock.latency_ms, limit_ms);
    } else if (facts->clock.latency_max_ms > limit_ms / 2) {
        ADD(WARNING, "look for slow commands (SLOWLOG GET), swapping or a bad link",
            "%.0f ms once of %d times: near --node-timeout (%.0f ms)", facts->clock.latency_max_ms,
            RL_WIRE_SAMPLES, limit_ms);
    } else {
        ADD(OK, NULL, "well below --node-timeout, %.0f ms", limit_ms);
    }
}

static void judge_clock(struct rl_findings *findings, const struct rl_facts *facts, int node) {
    const char *check = "clock";
    double offset_ms = fabs(facts->clock.ahead_ms) - facts->clock.error_ms;
    if (!facts->clock.is_known) {
        ADD(NOTE, "allow TIME to this user",
            "not known: TIME is refused, or its answer is no time");
    } else if (offset_ms > CLOCK_MS_MAX) {
        ADD(WARNING,
            "run NTP on both, with slewing (chrony, without makestep after the start): a clock "
            "that is set forward ends locks early",
            "%s %s this machine's: is one of them not synchronized?",
            rl_say_duration(fabs(facts->clock.ahead_ms)),
            facts->clock.ahead_ms > 0 ? "ahead of" : "behind");
    } else {
        ADD(OK, NULL, "agrees with this machine's");
    }
}

/* Whether a trial of this check would only repeat another finding. */
static bool says_nothing(const struct rl_facts *facts, const char *check) {
    const bool is_released = facts->trials[RL_TRIAL_RELEASE][0] == '\0';
    return !is(check, "commands") &&
           (facts->trials[RL_TRIAL_SET][0] != '\0' || (!is_released && !is(check, "fences")));
}

#define ALLOW "allow it: ACL SETUSER "
#define ALLOW_LINE "allow it, ACL SETUSER "
#define NO_LOCK "no lock works here without it; the node says why"
#define ELECTIONS "without it observers of an election learn later who leads"
#define IN_TURN                                                                                \
    ": without it clients that wait are not served in turn by this node, but ask again after " \
    "a pause; locks work"
#define SAYS_WHY "the node says why"
#define TWICE "; without it releases run a script, which costs the node twice as much"
#define UNHEARD "; without them clients notice a FLUSHALL later"
#define OTHERS " ~" RL_COMMAND_PREFIX "*; --acl prints the whole line. Other locks work"
#define FENCES "if you use fences, " /* left out with --fence */

/* In the order of the checks. Some clients need only SET and its scripts. If a right is missing,
 * the remedy is to allow the command (`allow`, the user, `right`, `then`); else it is `otherwise`,
 * if there is any. */
static const struct trial {
    const char *check, *what;
    const char *allow, *right;
    const char *then; /* NULL: which keys are tried */
    const char *otherwise;
    const char *in_cluster; /* NULL: `otherwise` */
    const char *good;       /* in a check's last trial: the text if all its trials succeed */
    enum rl_trial trial;
    enum rl_level level;
} trials[] = {
    {"commands", "SET", ALLOW, "+set", NULL, NO_LOCK, "see mode", NULL, RL_TRIAL_SET,
     RL_LEVEL_ERROR},
    {"commands", "the script that extends", ALLOW, "+eval +evalsha +get +pttl +pexpire", NULL,
     NO_LOCK, "see mode", NULL, RL_TRIAL_EXTEND, RL_LEVEL_ERROR},
    {"commands", "the script that releases", ALLOW, "+eval +evalsha +get +del", NULL, NO_LOCK,
     "see mode", NULL, RL_TRIAL_RELEASE, RL_LEVEL_ERROR},
    {"commands", "PUBLISH", NULL, NULL, NULL, "allow it (+publish &redlock:*): " ELECTIONS, NULL,
     NULL, RL_TRIAL_PUBLISH, RL_LEVEL_WARNING},
    {"commands", "SUBSCRIBE", NULL, NULL, NULL, "allow it (+subscribe &redlock:*): " ELECTIONS,
     NULL, "SET, the scripts of extend and release, PUBLISH, SUBSCRIBE are allowed",
     RL_TRIAL_SUBSCRIBE, RL_LEVEL_WARNING},
    {"commands", "DELIFEQ", ALLOW, "+delifeq", TWICE, NULL, NULL, NULL, RL_TRIAL_DELIFEQ,
     RL_LEVEL_NOTE},
    {"commands", "DELEX", ALLOW, "+delex", TWICE, NULL, NULL, NULL, RL_TRIAL_DELEX, RL_LEVEL_NOTE},
    {"commands", "HELLO or CLIENT TRACKING", ALLOW, "+hello +client|tracking", UNHEARD,
     "none" UNHEARD, NULL, NULL, RL_TRIAL_FLUSH, RL_LEVEL_NOTE},
    {"line", "the line of waiting clients", ALLOW_LINE,
     "+zadd +zrem +zrange +zrank +zcard +zpopmin +time ~" RL_COMMAND_LINE_PREFIX
     "* ~" RL_COMMAND_SECRET,
     IN_TURN, SAYS_WHY IN_TURN, NULL, NULL, RL_TRIAL_LINE, RL_LEVEL_WARNING},
    {"line", "PUBSUB NUMSUB", ALLOW_LINE, "+pubsub|numsub", IN_TURN, SAYS_WHY IN_TURN, NULL, NULL,
     RL_TRIAL_NUMSUB, RL_LEVEL_WARNING},
    {"line", "PUBLISH to a client's channel", ALLOW_LINE,
     "+publish &" RL_COMMAND_CLIENT_CHANNEL "*", IN_TURN, SAYS_WHY IN_TURN, NULL, NULL,
     RL_TRIAL_TURN, RL_LEVEL_WARNING},
    {"line", "SUBSCRIBE to a client's channel", ALLOW_LINE,
     "+subscribe &" RL_COMMAND_CLIENT_CHANNEL "*", IN_TURN, SAYS_WHY IN_TURN, NULL,
     "clients can wait in turn", RL_TRIAL_TURN_HEARD, RL_LEVEL_WARNING},
    {"fences", "a lock with a fence", FENCES "allow them: ACL SETUSER ",
     "+eval +evalsha +get +set ~" RL_COMMAND_COUNTER_PREFIX "*", "",
     "no lock with a fence works here; " SAYS_WHY,
     "a cluster stores a lock and its counter in different slots, which no command may touch "
     "together: set cluster-enabled no",
     "their scripts and counters are allowed", RL_TRIAL_FENCE, RL_LEVEL_NOTE},
    {"readers", "a shared lock",
     "if you use --shared, which does not work without it: ACL SETUSER ",
     "+exists +zadd +zrem +zrange +zrank +zcard +zscore +zcount +zrangebyscore +zremrangebyscore "
     "+pexpireat +time",
     OTHERS, SAYS_WHY "; other locks work", NULL, "locks can be shared by readers",
     RL_TRIAL_READERS, RL_LEVEL_NOTE},
    {"permits", "a semaphore", "if you use --permits, which does not work without it: ACL SETUSER ",
     "+mget +exists +zadd +zrem +zrange +zrank +zcard +time", OTHERS, SAYS_WHY "; other locks work",
     NULL, "semaphores can be used", RL_TRIAL_PERMITS, RL_LEVEL_NOTE},
};

static const char *remedy_of(const struct rl_facts *facts, const struct trial *trial, int reason) {
    const struct rl_args *args = facts->wire->args;
    const bool is_needed = trial->trial == RL_TRIAL_FENCE && args->fence;
    const char *keys = rl_text(
        ", and the keys of your locks (doctor tries %.40s*; --key-prefix changes that); --acl "
        "prints the whole line",
        args->key_prefix != NULL ? args->key_prefix : "redlock-doctor:");
    if (trial->otherwise == NULL ||
        (trial->allow != NULL && reason == REDLOCK_ERR_NODE_PERMISSION)) {
        const char *user = facts->wire->url.user;
        return rl_text("%s%.40s %s%s", trial->allow + (is_needed ? strlen(FENCES) : 0),
                       user[0] != '\0' ? user : "default", trial->right,
                       trial->then != NULL ? trial->then : keys);
    }
    const bool in_cluster = reason == REDLOCK_ERR_NODE_CLUSTER && trial->in_cluster != NULL;
    return in_cluster ? trial->in_cluster : trial->otherwise;
}

static void judge_trials(struct rl_findings *findings, const struct rl_facts *facts, int node) {
    bool is_good = true;
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
        const struct trial *trial = &trials[i];
        const char *check = trial->check, *said = facts->trials[trial->trial];
        const bool is_needed = trial->trial == RL_TRIAL_FENCE && facts->wire->args->fence;
        is_good = is_good || !is(check, trials[i - 1].check);
        if (said[0] != '\0' && !says_nothing(facts, check)) {
            is_good = false;
            rl_findings_add(findings, check, is_needed ? RL_LEVEL_ERROR : trial->level, node,
                            remedy_of(facts, trial, rl_reply_reason(said)), "%s is refused: %s",
                            trial->what, said);
        } else if (is_good && trial->good != NULL && !says_nothing(facts, check)) {
            ADD(OK, NULL, "%s", trial->good);
        }
    }
}

/* How clients with a guard judge the node. */
static void judge_guard(struct rl_findings *findings, const struct rl_facts *facts, int node) {
    const char *check = "guard";
    const struct rl_args *args = facts->wire->args;
    if (args->guard == REDLOCK_GUARD_OFF) {
        return;
    }
    if (facts->no_info[0] != '\0') {
        ADD(ERROR, "allow it: ACL SETUSER NAME +info; or set guard = off in all clients",
            "clients with a guard do not use it: INFO is refused");
    } else if (facts->info.judged.problem != NULL) {
        ADD(ERROR, "is it Redis? the guard cannot judge a proxy; or set guard = off in all clients",
            "clients with a guard do not use it: in INFO, %s %s", facts->info.judged.field,
            facts->info.judged.problem);
    } else if (facts->info.judged.is_replica) {
        ADD(NOTE, "see role", "clients with a guard do not use it: it is a replica");
    } else if (facts->info.judged.evicts) {
        ADD(NOTE, "see eviction", "clients with a guard do not use it: it may evict locks");
    } else if (facts->info.judged.is_loading) {
        ADD(NOTE, "wait", "clients with a guard do not use it: it is loading its dataset");
    } else if (rl_doctor_quarantine_s(facts) > 0) {
        ADD(NOTE, "wait; or, if no lock was ever held on it, open the first clients with observed",
            "strict clients do not ask it for votes for another %" PRId64
            " s, until it is older than --max-ttl, %s",
            rl_doctor_quarantine_s(facts), rl_say_exact(args->client.max_ttl_ms));
    } else {
        ADD(OK, NULL, "clients with a guard let it vote");
    }
}

void rl_doctor_judge_node(struct rl_findings *findings, const struct rl_facts *facts, int node) {
    assert(node >= 0);
    judge_reachable(findings, facts, node);
    rl_doctor_judge_tls(findings, facts, node);
    if (!facts->is_reachable) {
        return;
    }
    if (facts->no_info[0] != '\0') {
        rl_findings_add(
            findings, "mode", RL_LEVEL_WARNING, node,
            "allow it: ACL SETUSER NAME +info; or run doctor as another user",
            "role, persistence, eviction, uptime and identity are not known, INFO is refused: %s",
            facts->no_info);
    } else {
        judge_version(findings, facts, node);
        judge_mode(findings, facts, node);
        judge_role(findings, facts, node);
        judge_persistence(findings, facts, node);
        judge_eviction(findings, facts, node);
        judge_uptime(findings, facts, node);
    }
    judge_guard(findings, facts, node);
    judge_latency(findings, facts, node);
    judge_clock(findings, facts, node);
    judge_trials(findings, facts, node);
}
