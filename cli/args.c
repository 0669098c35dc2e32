/* See args.h. */
#include "args.h"

#include <stdlib.h>

#define AT(field) offsetof(struct rl_args, field)
#define TTL_MAX REDLOCK_TTL_MS_MAX
#define LONG_MAX_MS (INT64_C(1000) * 86400 * 1000)

#define FOR(command) (1u << (command))
#define HOLDS (FOR(RL_CMD_RUN) | FOR(RL_CMD_ACQUIRE))
#define FENCES (HOLDS | FOR(RL_CMD_ELECT))
#define RUNS (FOR(RL_CMD_RUN) | FOR(RL_CMD_ELECT))
#define LISTS (FOR(RL_CMD_LS) | FOR(RL_CMD_TOP))

const struct tool_option rl_args_table[] = {
    {"nodes", 'n', TOOL_LIST, .at = AT(nodes), .in_config = true, .is_secret = true,
     .variable = "REDLOCK_NODES", .value = "URL,...",
     .help = "redis://[[user]:password@]host[:port][/db], rediss://\n"
             "for TLS, or unix:///path[?db=n]. Others can see a\n"
             "password that is given here; put it into a file"},
    {"password-file", 0, TOOL_TEXT, .at = AT(password_file), .in_config = true,
     .variable = "REDLOCK_PASSWORD_FILE", .value = "FILE",
     .help = "the nodes' password, instead of those in the URLs: the\n"
             "one line of FILE, which is read again when it changes"},
    {"password-fd", 0, TOOL_WHOLE, .at = AT(password_fd), .min = 0, .max = 65535, .value = "N",
     .help = "the same from descriptor N, which is read once: 0 is\n"
             "standard input"},
    {"user", 'u', TOOL_TEXT, .at = AT(user), .in_config = true, .variable = "REDLOCK_USER",
     .value = "NAME", .help = "whose password that is; default: the default user's"},
    {"config", 'c', TOOL_TEXT, .at = AT(config), .variable = "REDLOCK_CONFIG", .value = "FILE",
     .help = "instead of the usual configuration file, see below"},
    {"ttl", 't', TOOL_DURATION, .at = AT(ttl_ms), .min = 1, .max = TTL_MAX, .in_config = true,
     .uses = HOLDS | FOR(RL_CMD_EXTEND) | FOR(RL_CMD_ELECT) | FOR(RL_CMD_DOCTOR), .value = "TIME",
     .help = "how long the lock lives unless renewed; default 30s"},
    {"wait", 'w', TOOL_DURATION, .at = AT(wait_ms), .min = 0, .max = LONG_MAX_MS, .in_config = true,
     .uses = HOLDS, .value = "TIME", .help = "give up after this long; default: no limit"},
    {"no-wait", 0, TOOL_FLAG, .at = AT(no_wait), .uses = HOLDS,
     .help = "try once; exit if another client has the lock"},
    {"conflict-exit-code", 'E', TOOL_WHOLE, .at = AT(conflict_status), .min = 0, .max = 255,
     .uses = HOLDS, .value = "N", .help = "the exit status if another client has it; default 1"},
    {"on-lost", 0, TOOL_CHOICE, .at = AT(on_lost), .choices = "kill|ignore", .in_config = true,
     .uses = FOR(RL_CMD_RUN), .value = "WHAT",
     .help = "kill (default) ends the command, ignore lets it continue"},
    {"grace", 'g', TOOL_DURATION, .at = AT(grace_ms), .min = 0, .max = TTL_MAX, .in_config = true,
     .uses = RUNS, .value = "TIME",
     .help = "from SIGTERM to SIGKILL on loss; default ttl / 6, <= 5s"},
    {"any", 0, TOOL_FLAG, .at = AT(any), .uses = FOR(RL_CMD_RUN),
     .help = "hold one of the KEYs, whichever is free, not all of them"},
    {"at-least", 0, TOOL_DURATION, .at = AT(at_least_ms), .min = 0, .max = LONG_MAX_MS,
     .uses = FOR(RL_CMD_RUN), .value = "TIME",
     .help = "keep the lock so long, though the command ends sooner"},
    {"health", 0, TOOL_TEXT, .at = AT(health), .uses = RUNS, .value = "CHECK",
     .help = "end COMMAND when this shell command has failed 3 times"},
    {"health-interval", 0, TOOL_DURATION, .at = AT(health_interval_ms), .min = 10, .max = 86400000,
     .uses = RUNS, .value = "TIME", .help = "how often it runs, and how long at most; default 10s"},
    {"repeat", 'r', TOOL_DURATION, .at = AT(repeat_ms), .min = 0, .max = LONG_MAX_MS,
     .is_optional = true, .uses = RUNS, .value = "[=TIME]",
     .help = "when it has ended or was lost, wait TIME (1s) and go on"},
    {"fence", 0, TOOL_FLAG, .at = AT(fence), .uses = FENCES | FOR(RL_CMD_DOCTOR),
     .help = "with a fence: a number, larger each time, see the manual"},
    {"fence-retention", 0, TOOL_DURATION, .at = AT(client.fence_retention_ms), .min = 1000,
     .max = REDLOCK_RETENTION_MS_MAX, .in_config = true, .uses = FENCES, .value = "TIME",
     .help = "how long nodes remember it, for all users; default 1d"},
    {"shared", 0, TOOL_FLAG, .at = AT(shared),
     .uses = HOLDS | FOR(RL_CMD_EXTEND) | FOR(RL_CMD_RELEASE),
     .help = "as one of any number of readers, who hold it together"},
    {"permits", 0, TOOL_WHOLE, .at = AT(permits), .min = 1, .max = REDLOCK_PERMITS_MAX,
     .uses = HOLDS | FOR(RL_CMD_EXTEND) | FOR(RL_CMD_RELEASE), .value = "K",
     .help = "as one of up to K holders, with a slot from 0 to K - 1"},
    {"take", 0, TOOL_WHOLE, .at = AT(take), .min = 1, .max = REDLOCK_TAKE_MAX, .uses = HOLDS,
     .value = "M", .help = "M of the K permits, or none; default 1"},
    {"holder", 0, TOOL_TEXT, .at = AT(holder), .uses = HOLDS, .value = "NAME",
     .help = "the holder's name, for status; default: host:process id"},
    {"id", 'i', TOOL_TEXT, .at = AT(id), .uses = FOR(RL_CMD_ELECT), .value = "ID",
     .help = "the candidate's name; default: host:process id"},
    {"key-prefix", 0, TOOL_TEXT, .at = AT(key_prefix), .in_config = true,
     .uses = FOR(RL_CMD_DOCTOR), .value = "TEXT",
     .help = "prefix of the key that is tried, for an ACL that allows\n"
             "some keys only; default redlock-doctor:"},
    {"acl", 0, TOOL_TEXT, .at = AT(acl), .uses = FOR(RL_CMD_DOCTOR), .value = "NAME",
     .help = "ask no node; print the command that creates user NAME,\n"
             "who may do what redlock and the library do, and no\n"
             "more; with --key-prefix: on keys with this prefix"},
    {"read-only", 0, TOOL_FLAG, .at = AT(read_only), .uses = FOR(RL_CMD_DOCTOR),
     .help = "with --acl: a user for redlock ls and top alone"},
    {"prefix", 'p', TOOL_TEXT, .at = AT(prefix), .uses = LISTS, .value = "TEXT",
     .help = "only locks whose names begin with it"},
    {"waiting", 0, TOOL_FLAG, .at = AT(waiting), .uses = LISTS,
     .help = "only locks that clients wait for"},
    {"sort", 's', TOOL_CHOICE, .at = AT(sort), .choices = RL_ARGS_ORDERS, .uses = LISTS,
     .value = "COLUMN",
     .help = "by name, holder, votes (the fewest first), fence (the\n"
             "latest), age (the longest), left (the shortest), waiting\n"
             "(the most) or longest (the longest wait)"},
    {"interval", 0, TOOL_DURATION, .at = AT(interval_ms), .min = 200, .max = 3600000,
     .uses = FOR(RL_CMD_TOP) | FOR(RL_CMD_STATUS), .value = "TIME",
     .help = "how often to look; default: top 2s, status 500ms"},
    {"max-keys", 0, TOOL_WHOLE, .at = AT(keys_max), .min = 1000, .max = 100000000,
     .uses = LISTS | FOR(RL_CMD_METRICS), .value = "N",
     .help = "read at most about N keys of each node; default 100000"},
    {"watch", 0, TOOL_FLAG, .at = AT(watch), .uses = FOR(RL_CMD_STATUS),
     .help = "a line for each event, until SIGINT or SIGTERM comes"},
    {"reason", 0, TOOL_TEXT, .at = AT(reason), .uses = FOR(RL_CMD_KICK), .value = "TEXT",
     .help = "why; noted on the nodes for a day. At most 200 bytes"},
    {"slot", 0, TOOL_WHOLE, .at = AT(slot), .min = 0, .max = REDLOCK_PERMITS_MAX - 1,
     .uses = FOR(RL_CMD_KICK), .value = "N", .help = "of a semaphore: the holder of slot N"},
    {"token", 0, TOOL_TEXT, .at = AT(token), .uses = FOR(RL_CMD_KICK), .value = "TOKEN",
     .help = "only the holder of this token: one of several readers"},
    {"yes", 'y', TOOL_FLAG, .at = AT(yes), .uses = FOR(RL_CMD_KICK) | FOR(RL_CMD_SET),
     .help = "do not ask, for scripts"},
    {"dry-run", 0, TOOL_FLAG, .at = AT(dry_run), .uses = FOR(RL_CMD_SET),
     .help = "show what would be done, and exit"},
    {"node-timeout", 0, TOOL_DURATION, .at = AT(client.node_timeout_ms), .min = 1, .max = 3600000,
     .in_config = true, .value = "TIME",
     .help = "how long a node may take to answer; default 250ms"},
    {"connect-timeout", 0, TOOL_DURATION, .at = AT(client.connect_timeout_ms), .min = 1,
     .max = 3600000, .in_config = true, .value = "TIME",
     .help = "how long connecting may take; default 1s"},
    {"tls-ca", 0, TOOL_TEXT, .at = AT(client.tls_ca), .in_config = true,
     .variable = "REDLOCK_TLS_CA", .value = "PATH",
     .help = "for rediss://: a file or folder of the authorities that\n"
             "are trusted; default: the system's"},
    {"tls-cert", 0, TOOL_TEXT, .at = AT(client.tls_cert), .in_config = true,
     .variable = "REDLOCK_TLS_CERT", .value = "FILE",
     .help = "... our own certificate, for nodes that want one"},
    {"tls-key", 0, TOOL_TEXT, .at = AT(client.tls_key), .in_config = true,
     .variable = "REDLOCK_TLS_KEY", .value = "FILE", .help = "... and the key to it"},
    {"tls-server-name", 0, TOOL_TEXT, .at = AT(client.tls_server_name), .in_config = true,
     .variable = "REDLOCK_TLS_SERVER_NAME", .value = "NAME",
     .help = "... the name in the certificates of the nodes, if it is\n"
             "not the host of the URL"},
    {"tls-insecure-skip-verify", 0, TOOL_FLAG, .at = AT(tls_insecure),
     .help = "... certificates are not verified: any machine on the way\n"
             "can be the node"},
    {"guard", 0, TOOL_CHOICE, .at = AT(guard), .choices = "off|observed|strict", .in_config = true,
     .value = "WHAT",
     .help = "a node that restarted may have forgotten locks:\n"
             "strict: it votes after --max-ttl of uptime (default)\n"
             "observed: the same, if redlock saw it restart\n"
             "off: it votes at once, and nodes need not allow INFO"},
    {"max-ttl", 0, TOOL_DURATION, .at = AT(client.max_ttl_ms), .min = 1, .max = TTL_MAX,
     .in_config = true, .value = "TIME",
     .help = "the longest --ttl of all clients of these nodes, for\n"
             "the guard; the same for all clients; default 30s"},
    {"keep-passwords", 0, TOOL_FLAG, .at = AT(keeps_passwords), .uses = RUNS,
     .help = "COMMAND gets REDLOCK_NODES with users and passwords"},
    {"json", 'j', TOOL_FLAG, .at = AT(json), .uses = ~(FOR(RL_CMD_TOP) | FOR(RL_CMD_METRICS)),
     .help = "JSON, one object per line"},
    {"quiet", 'q', TOOL_FLAG, .at = AT(quiet), .uses = FENCES, .help = "say nothing about waiting"},
    {"verbose", 'v', TOOL_FLAG, .at = AT(verbose), .help = "report on stderr what happens"},
    {"help", 'h', TOOL_STOP, .help = "this text"},
};
const size_t rl_args_table_size = sizeof rl_args_table / sizeof rl_args_table[0];

#define GRACE_MS_MAX 5000
#define DRIFT_RATIO_INVERSE 100
#define DRIFT_MS 2
#define GRACE_OF_TTL 6

int64_t rl_args_grace_ms(const struct rl_args *args) {
    if (args->on_lost == RL_ON_LOST_IGNORE) {
        return 0;
    }
    if (args->grace_ms != RL_ARGS_UNSET) {
        return args->grace_ms;
    }
    int64_t grace_ms = args->ttl_ms / GRACE_OF_TTL;
    return grace_ms < GRACE_MS_MAX ? grace_ms : GRACE_MS_MAX;
}

int64_t rl_args_drift_ms(int64_t ttl_ms) {
    return (ttl_ms + DRIFT_RATIO_INVERSE - 1) / DRIFT_RATIO_INVERSE + DRIFT_MS;
}

void rl_args_free(struct rl_args *args) {
    tool_list_free(&args->nodes);
    free(args->config_path);
    free(args->config_text);
    rl_password_forget(&args->password);
}
