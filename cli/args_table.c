/* Every option of redlock(1), in the order in which --help shows them. See args.h. */
#include <stddef.h>

#include "args.h"

#define AT(field) offsetof(struct rl_args, field)
#define TTL_MAX REDLOCK_TTL_MS_MAX
#define LONG_MAX_MS (INT64_C(1000) * 86400 * 1000)

#define HOLDS (RL_FOR(RL_CMD_RUN) | RL_FOR(RL_CMD_ACQUIRE))
#define FENCES (HOLDS | RL_FOR(RL_CMD_ELECT))
#define RUNS (RL_FOR(RL_CMD_RUN) | RL_FOR(RL_CMD_ELECT))

const struct rl_option rl_options_table[] = {
    {"nodes", 'n', RL_OPTION_NODES, 0, 0, 0, RL_FOR_ALL, true, "URL,...",
     "redis://[[user]:password@]host[:port][/db] or\n"
     "unix:///path[?db=n]. Others can see a password that\n"
     "is given here; better write it into a file",
     NULL},
    {"config", 'c', RL_OPTION_CONFIG, 0, 0, 0, RL_FOR_ALL, false, "FILE",
     "instead of the usual configuration file, see below", NULL},
    {"ttl", 't', RL_OPTION_DURATION, AT(ttl_ms), 1, TTL_MAX,
     HOLDS | RL_FOR(RL_CMD_EXTEND) | RL_FOR(RL_CMD_ELECT) | RL_FOR(RL_CMD_DOCTOR), true, "TIME",
     "how long it lives unless it is renewed; default 30s", NULL},
    {"wait", 'w', RL_OPTION_DURATION, AT(wait_ms), 0, LONG_MAX_MS, HOLDS, true, "TIME",
     "give up after so long; default: wait for ever", NULL},
    {"no-wait", 0, RL_OPTION_FLAG, AT(no_wait), 0, 0, HOLDS, false, NULL,
     "try once; end if another has the lock", NULL},
    {"conflict-exit-code", 'E', RL_OPTION_STATUS, AT(conflict_status), 0, 255, HOLDS, false, "N",
     "the exit status if another has the lock; default 1", NULL},
    {"on-lost", 0, RL_OPTION_TEXT, AT(on_lost), 0, 0, RL_FOR(RL_CMD_RUN), true, "WHAT",
     "kill: end the command when the lock is lost (default)\n"
     "ignore: say so, and let it go on without the lock",
     "kill|ignore"},
    {"grace", 'g', RL_OPTION_DURATION, AT(grace_ms), 0, TTL_MAX, RUNS, true, "TIME",
     "between SIGTERM and SIGKILL when it is lost; both come\n"
     "before the lock ends. Default: ttl / 6, at most 5s",
     NULL},
    {"repeat", 'r', RL_OPTION_REPEAT, AT(repeat_ms), 0, LONG_MAX_MS, RUNS, false, "[=TIME]",
     "when the command has ended, for whatever reason, or the\n"
     "lock was lost, wait TIME (1s) and begin again, until\n"
     "SIGINT or SIGTERM comes",
     NULL},
    {"fence", 0, RL_OPTION_FLAG, AT(fence), 0, 0, FENCES | RL_FOR(RL_CMD_DOCTOR), false, NULL,
     "with a fence: a number that is larger than those of all\n"
     "holders before, so that what is written to can refuse\n"
     "a late one. Not by default: the nodes keep a key more,\n"
     "libredlock:fence:KEY, for each KEY",
     NULL},
    {"fence-retention", 0, RL_OPTION_DURATION, AT(fence_retention_ms), 1000,
     REDLOCK_RETENTION_MS_MAX, FENCES, true, "TIME",
     "how long the nodes remember the last fence; the same\n"
     "for all who use the lock; default 1d",
     NULL},
    {"holder", 0, RL_OPTION_TEXT, AT(holder), 0, 0, HOLDS, false, "NAME",
     "who has it, for status; default: host name:process id", NULL},
    {"id", 'i', RL_OPTION_TEXT, AT(id), 0, 0, RL_FOR(RL_CMD_ELECT), false, "ID",
     "the candidate's name; default: host name:process id", NULL},
    {"key-prefix", 0, RL_OPTION_TEXT, AT(key_prefix), 0, 0, RL_FOR(RL_CMD_DOCTOR), true, "TEXT",
     "the key that is tried begins with it, for an ACL that\n"
     "allows some keys only; default redlock-doctor:",
     NULL},
    {"acl", 0, RL_OPTION_TEXT, AT(acl), 0, 0, RL_FOR(RL_CMD_DOCTOR), false, "NAME",
     "ask nobody; print the line that makes a user NAME, who\n"
     "may do what redlock and the library do, and no more;\n"
     "with --key-prefix: on keys that begin with it",
     NULL},
    {"node-timeout", 0, RL_OPTION_DURATION, AT(node_timeout_ms), 1, 3600000, RL_FOR_ALL, true,
     "TIME", "how long a node may take to answer; default 250ms", NULL},
    {"connect-timeout", 0, RL_OPTION_DURATION, AT(connect_timeout_ms), 1, 3600000, RL_FOR_ALL, true,
     "TIME", "how long connecting may take; default 1s", NULL},
    {"guard", 0, RL_OPTION_TEXT, AT(guard), 0, 0, RL_FOR_ALL, true, "WHAT",
     "a node that restarted may have forgotten locks:\n"
     "strict: it votes when it is up for --max-ttl (default)\n"
     "observed: the same, if redlock saw it restart\n"
     "off: it votes at once, and nodes need not allow INFO",
     "strict|observed|off"},
    {"max-ttl", 0, RL_OPTION_DURATION, AT(max_ttl_ms), 1, TTL_MAX, RL_FOR_ALL, true, "TIME",
     "the longest --ttl that anybody uses on these nodes, for\n"
     "the guard; the same for all; default 30s",
     NULL},
    {"keep-passwords", 0, RL_OPTION_FLAG, AT(keeps_passwords), 0, 0, RUNS, false, NULL,
     "COMMAND finds REDLOCK_NODES as it is; without this,\n"
     "without users and passwords",
     NULL},
    {"json", 'j', RL_OPTION_FLAG, AT(json), 0, 0, RL_FOR_ALL, false, NULL,
     "JSON, one object a line", NULL},
    {"quiet", 'q', RL_OPTION_FLAG, AT(quiet), 0, 0, FENCES, false, NULL,
     "say nothing about waiting", NULL},
    {"verbose", 'v', RL_OPTION_FLAG, AT(verbose), 0, 0, RL_FOR_ALL, false, NULL,
     "say on stderr what happens", NULL},
    {"help", 'h', RL_OPTION_HELP, 0, 0, 0, RL_FOR_ALL, false, NULL, "this text", NULL},
};
const size_t rl_options_count = sizeof rl_options_table / sizeof rl_options_table[0];
