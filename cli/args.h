/* What redlock(1) was asked to do: the command line, the environment and the configuration file.
 *
 * One table describes every option: its name, what it takes, which commands know it, and
 * whether the configuration file may set it. tool/option.h reads it.
 *
 * The command line wins over the environment, and the environment over the file: the one named by
 * --config or REDLOCK_CONFIG, or the first existing one of $XDG_CONFIG_HOME/redlock/redlock.conf
 * (~/.config) and /etc/redlock.conf. tool/config.h reads it.
 *
 * Failure modes: a sentence on stderr names the option, or file and line, and says what to write
 * instead; the exit status is RL_EXIT_USAGE, or RL_EXIT_CONFIG for a file; nothing was done. A file
 * that was named must exist. A file that contains a password and that other users can read is used,
 * with a warning.
 *
 * Everything after "--" is the command to run, and is not parsed. Before it, options and words may
 * come in any order. */
#ifndef RL_CLI_ARGS_H
#define RL_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "password.h"
#include "redlock/redlock.h"
#include "tool/list.h"
#include "tool/options.h"

/* Every option of redlock(1), one row each, in the order in which --help shows them. */

/* The rows refer to fields of struct rl_args; the bits of `uses` are 1u << enum rl_command_name. */
extern const struct tool_option rl_args_table[];
extern const size_t rl_args_table_size;

enum rl_command_name {
    RL_CMD_RUN,
    RL_CMD_ACQUIRE,
    RL_CMD_EXTEND,
    RL_CMD_RELEASE,
    RL_CMD_STATUS,
    RL_CMD_ELECT,
    RL_CMD_DOCTOR,
    RL_CMD_LS,
    RL_CMD_TOP,
    RL_CMD_QUEUE,
    RL_CMD_KICK,
    RL_CMD_METRICS,
    RL_CMD_SET,
    RL_CMDS
};

/* What happens to the command when its lock is lost. */
enum rl_on_lost { RL_ON_LOST_KILL, RL_ON_LOST_IGNORE };

struct rl_args {
    enum rl_command_name command;
    struct tool_list nodes; /* URLs */
    const char *nodes_from; /* for messages: "--nodes", "REDLOCK_NODES", a file */
    const char *config;     /* the file, NULL if there is none */
    char *config_path;      /* owned: one of the usual places, or NULL */
    char *config_text;      /* owned: what the file's values point into */

    const char *user;          /* of password_file or password_fd; NULL: the default user */
    const char *password_file; /* NULL: none */
    int64_t password_fd;       /* RL_PASSWORD_NO_FD: none */
    struct rl_password password;

    redlock_client_options client; /* its timeouts, TLS, max_ttl_ms and fence_retention_ms */
    int64_t ttl_ms;
    int64_t wait_ms;     /* REDLOCK_NO_LIMIT: no limit */
    int64_t grace_ms;    /* RL_ARGS_UNSET: derived from the ttl, see rl_args_grace_ms() */
    int64_t at_least_ms; /* how long run holds the lock in any case */
    const char *health;  /* NULL: none */
    int64_t health_interval_ms;
    int64_t repeat_ms; /* the pause, if is_repeated */
    int64_t conflict_status;
    int64_t permits; /* of the semaphore; 0: a lock */
    int64_t take;
    const char *holder;     /* NULL: generated */
    const char *id;         /* of a candidate, NULL: generated */
    const char *key_prefix; /* of the key that doctor tries */
    bool tls_insecure;
    bool read_only;      /* the user of --acl may only read */
    const char *acl;     /* doctor prints only this user's ACL line; or NULL */
    const char *prefix;  /* of the listed locks; NULL: all are listed */
    int64_t interval_ms; /* between two looks of top, or of watch */
    int64_t keys_max;    /* read of each node */
    int sort;            /* enum rl_list_order */
    int guard;           /* enum redlock_guard */
    int on_lost;         /* enum rl_on_lost */
    bool fence;
    bool shared; /* as a reader */
    bool any;    /* one of the keys is enough */
    bool no_wait;
    bool waiting; /* list only locks that clients wait for */
    bool is_repeated;
    bool json;
    bool verbose;
    bool quiet;         /* report nothing about waiting */
    const char *reason; /* this and the next three: of kick; NULL: none */
    const char *token;  /* NULL: any holder */
    int64_t slot;       /* negative: a lock */
    bool yes;
    bool dry_run;
    bool watch;
    bool keeps_passwords; /* hand REDLOCK_NODES to the command unchanged */

    char **words; /* arguments other than options and the command to run */
    int n_words;
    char **child; /* the arguments after --, NULL-terminated; NULL if there was no -- */
};

/* The choices of --sort, in the order of enum rl_list_order (scan/room.h). */
#define RL_ARGS_ORDERS "name|holder|votes|fence|age|left|waiting|longest"

#define RL_ARGS_UNSET INT64_C(-2)

void rl_args_free(struct rl_args *args);

/* --grace, or its default: a sixth of the ttl, at most 5 s; 0 if the command is not ended. */
int64_t rl_args_grace_ms(const struct rl_args *args);

/* A ttl's allowance for clock drift with the client's defaults: 1 % and 2 ms, rounded up. */
int64_t rl_args_drift_ms(int64_t ttl_ms);

#endif
