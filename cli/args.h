/* What redlock(1) was asked to do: the command line, the environment and the configuration file.
 *
 * One table (args_table.c) describes every option: its name, what it takes, which commands know it,
 * and whether the configuration file may set it. The parser, the file and --help read that table.
 *
 * What is given on the command line wins over the environment, and that over the file.
 *
 * Failure modes: a sentence on stderr that names the option, or file and line, and says what to
 * write instead; exit status RL_EXIT_USAGE, of a file RL_EXIT_CONFIG. Nothing was done then. */
#ifndef RL_CLI_ARGS_H
#define RL_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redlock/redlock.h"

enum rl_command_name {
    RL_CMD_RUN,
    RL_CMD_ACQUIRE,
    RL_CMD_EXTEND,
    RL_CMD_RELEASE,
    RL_CMD_STATUS,
    RL_CMD_ELECT,
    RL_CMD_DOCTOR,
    RL_CMDS
};

struct rl_args {
    enum rl_command_name command;
    const char *nodes[REDLOCK_NODES_MAX]; /* URLs */
    size_t n_nodes;
    const char *nodes_from; /* for messages: "--nodes", "REDLOCK_NODES", a file */
    char *nodes_text;       /* what nodes[] points into */
    char *config;           /* the file, NULL if there is none */

    int64_t ttl_ms;
    int64_t max_ttl_ms;
    int64_t wait_ms;  /* REDLOCK_NO_LIMIT: for ever */
    int64_t grace_ms; /* RL_ARGS_UNSET: derived from the ttl, see rl_args_grace_ms() */
    int64_t node_timeout_ms;
    int64_t connect_timeout_ms;
    int64_t fence_retention_ms;
    int64_t repeat_ms; /* the pause, if is_repeated */
    int64_t conflict_status;
    char *holder; /* NULL: made up */
    char *id;     /* of a candidate, NULL: made up */
    char *on_lost;
    char *guard;      /* NULL: strict */
    char *key_prefix; /* of the key that doctor tries */
    char *acl;        /* of doctor: the user whose line is printed, and no more; or NULL */
    bool fence;
    bool no_wait;
    bool is_repeated;
    bool json;
    bool verbose;
    bool quiet;           /* nothing about waiting */
    bool keeps_passwords; /* REDLOCK_NODES is for the command as it is */

    char **words; /* what is neither an option nor the command to run */
    int n_words;
    char **child; /* what follows --, NULL if there was none; ends with NULL */
};

#define RL_ARGS_UNSET INT64_C(-2)

enum rl_args_result { RL_ARGS_READY, RL_ARGS_DONE, RL_ARGS_BAD };

/* Reads argv, where argv[0] is the command's name. READY: args are complete; DONE: --help was
 * shown, *exit_status is 0; BAD: a sentence was written, *exit_status is what to end with. */
enum rl_args_result rl_args_parse(struct rl_args *args, enum rl_command_name command, int argc,
                                  char **argv, int *exit_status);
void rl_args_free(struct rl_args *args);

const char *rl_args_command_text(enum rl_command_name command);

enum redlock_guard rl_args_guard(const struct rl_args *args);

/* --grace, or what it is by default: a sixth of the ttl, at most 5 s. */
int64_t rl_args_grace_ms(const struct rl_args *args);

/* The allowance for drift of a ttl, by the client's defaults: 1 % and 2 ms, rounded up. */
int64_t rl_args_drift_ms(int64_t ttl_ms);

/* -- The table -- */

#define RL_FOR(command) (1u << (command))
#define RL_FOR_ALL (RL_FOR(RL_CMDS) - 1)

enum rl_option_kind {
    RL_OPTION_NODES,
    RL_OPTION_CONFIG,
    RL_OPTION_DURATION, /* int64_t, in ms */
    RL_OPTION_STATUS,   /* int64_t, 0 to 255 */
    RL_OPTION_TEXT,     /* char * */
    RL_OPTION_FLAG,     /* bool */
    RL_OPTION_REPEAT,   /* a flag with an optional duration */
    RL_OPTION_HELP
};

struct rl_option {
    const char *name;
    char letter; /* 0: none */
    enum rl_option_kind kind;
    size_t offset;      /* in struct rl_args */
    int64_t min, max;   /* of a duration */
    unsigned commands;  /* bit set of those that know it */
    bool in_config;     /* the file may set it */
    const char *value;  /* its name in --help, NULL if it takes none */
    const char *help;   /* lines, parted by \n */
    const char *choice; /* of a text: "a|b", NULL: anything */
};

extern const struct rl_option rl_options_table[];
extern const size_t rl_options_count;

/* Sets an option from its text. Returns NULL, or why not: a clause. */
const char *rl_args_set(struct rl_args *args, const struct rl_option *option, const char *text);

/* -- config.c -- */

/* Reads the configuration file that --config, REDLOCK_CONFIG or the usual places name, and sets
 * what is not in given (one flag for each row of the table). Returns 0 or an exit status. */
int rl_config_read(struct rl_args *args, const bool *given);

/* -- nodes.c -- */

/* Adds the URLs of a list, parted by commas or spaces. Returns NULL or why not. */
const char *rl_nodes_add(struct rl_args *args, const char *list);
/* The URLs of args->nodes_text into args->nodes. Returns 0 or an exit status. */
int rl_nodes_split(struct rl_args *args);

/* Takes users and passwords out of REDLOCK_NODES in our own environment, which is what the command
 * inherits; the whole variable if it cannot be read. Returns 0 or an exit status. */
int rl_nodes_hide_passwords(void);

/* -- help.c -- */

void rl_help_show(enum rl_command_name command);
void rl_help_overview(void);

#endif
