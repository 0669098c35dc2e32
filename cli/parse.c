/* Reads the arguments of a command: the command line, the environment, the configuration file. */
#include "commands.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "say.h"
#include "token.h"
#include "tool/config.h"

#define SYSTEM_FILE "/etc/redlock.conf"

static char *user_file(void) {
    const char *base = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    bool has_base = base != NULL && base[0] == '/';
    if (!has_base && (home == NULL || home[0] == '\0')) {
        return NULL;
    }
    return rl_must_print("%s%s/redlock/redlock.conf", has_base ? base : home,
                         has_base ? "" : "/.config");
}

/* Opens the file to read and names it in args->config. NULL with *status 0: there is no file. */
static FILE *open_file(struct rl_args *args, const struct tool_options *options, int *status) {
    if (args->config != NULL) {
        bool is_given = tool_options_from(options, offsetof(struct rl_args, config)) == TOOL_LINE;
        FILE *file = fopen(args->config, "re");
        if (file == NULL) {
            *status =
                rl_fail(RL_EXIT_CONFIG, "%s: %s: %s; name a file that you can read",
                        is_given ? "--config" : "REDLOCK_CONFIG", args->config, strerror(errno));
        }
        return file;
    }
    args->config = args->config_path = user_file();
    FILE *file = args->config != NULL ? fopen(args->config, "re") : NULL;
    if (file == NULL && (args->config == NULL || errno == ENOENT || errno == ENOTDIR)) {
        args->config = SYSTEM_FILE;
        file = fopen(SYSTEM_FILE, "re");
    }
    if (file == NULL && errno != ENOENT) {
        *status = rl_fail(RL_EXIT_CONFIG, "%s: %s; make it readable, or name another by --config",
                          args->config, strerror(errno));
    }
    return file;
}

static void warn_of_password(const struct rl_args *args, FILE *file) {
    struct stat status;
    if (strchr(args->nodes.text, '@') != NULL && fstat(fileno(file), &status) == 0 &&
        (status.st_mode & (S_IRGRP | S_IROTH)) != 0) {
        rl_say("%s: others can read the passwords in it; chmod 600 %s", args->config, args->config);
    }
}

/* Sets the options that the command line and the environment left unset. Returns 0 or an exit
 * status. */
static int read_config(struct rl_args *args, struct tool_options *options) {
    int status = 0;
    FILE *file = open_file(args, options, &status);
    if (file == NULL) {
        args->config = NULL;
        return status;
    }
    if (tool_config_read(options, file, args->config, &args->config_text) != 0) {
        status = rl_fail(RL_EXIT_CONFIG, "%s", options->error);
    } else if (tool_options_from(options, offsetof(struct rl_args, nodes)) == TOOL_FILE) {
        warn_of_password(args, file);
    }
    fclose(file);
    if (args->command != RL_CMD_RUN) {
        args->on_lost = RL_ON_LOST_KILL; /* the file's is for run */
    }
    return status;
}

static void set_defaults(struct rl_args *args, enum rl_command_name command) {
    *args = (struct rl_args){
        .command = command,
        .client = REDLOCK_CLIENT_OPTIONS_INIT,
        .password_fd = RL_PASSWORD_NO_FD,
        .ttl_ms = 30000,
        .wait_ms = REDLOCK_NO_LIMIT,
        .grace_ms = RL_ARGS_UNSET,
        .repeat_ms = 1000,
        .health_interval_ms = 10000,
        .conflict_status = RL_EXIT_HELD,
        .take = 1,
        .keys_max = 100000,
        .interval_ms = command == RL_CMD_TOP ? 2000 : 500,
        .guard = REDLOCK_GUARD_STRICT,
        .on_lost = RL_ON_LOST_KILL,
        .slot = -1,
    };
}

/* Whether it was given on the command line. */
static bool is_given(const struct tool_options *options, size_t at) {
    return tool_options_from(options, at) == TOOL_LINE;
}

#define GIVEN(field) is_given(options, offsetof(struct rl_args, field))

static int check_together(const struct rl_args *args, const struct tool_options *options) {
    const bool has_fd = args->password_fd != RL_PASSWORD_NO_FD;
    const bool has_password = has_fd || args->password_file != NULL;
    const bool watches = args->command != RL_CMD_STATUS || args->watch;
    const struct {
        bool is_wrong;
        const char *why;
    } rules[] = {
        {GIVEN(wait_ms) && args->no_wait, "--wait and --no-wait exclude each other; leave one out"},
        {GIVEN(grace_ms) && args->on_lost == RL_ON_LOST_IGNORE,
         "--grace has no effect with --on-lost=ignore; leave one of them out"},
        {args->health != NULL && args->on_lost == RL_ON_LOST_IGNORE,
         "--health ends the command, --on-lost=ignore does not; leave one of them out"},
        {GIVEN(health_interval_ms) && args->health == NULL,
         "--health-interval has no effect without --health; add that, or leave it out"},
        {args->read_only && args->acl == NULL,
         "--read-only has no effect without --acl; add that, or leave it out"},
        {args->is_repeated && args->no_wait, "--repeat waits for the lock; leave --no-wait out"},
        {GIVEN(interval_ms) && !watches,
         "--interval has no effect without --watch; add that, or leave it out"},
        {args->slot >= 0 && args->token != NULL,
         "--slot and --token exclude each other; leave one out"},
        {has_fd && GIVEN(password_file),
         "--password-file and --password-fd exclude each other; leave one out"},
        {GIVEN(user) && !has_password,
         "--user has no effect without --password-file or --password-fd; add one, or write user "
         "and password into the URLs"},
        {args->permits == 0 && GIVEN(take),
         "--take has no effect without --permits; add that, or leave it out"},
        {args->permits != 0 && args->shared,
         "--permits and --shared exclude each other; leave one out"},
        {!args->fence && GIVEN(client.fence_retention_ms),
         "--fence-retention has no effect without --fence; add that, or leave it out"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].is_wrong) {
            return rl_usage("%s", rules[i].why);
        }
    }
    return 0;
}

static int check_sizes(const struct rl_args *args) {
    if (args->user != NULL && strlen(args->user) > REDLOCK_USER_MAX) {
        return rl_usage("--user is longer than %d bytes", REDLOCK_USER_MAX);
    }
    if (args->holder != NULL && !rl_token_is_holder(args->holder)) {
        return rl_usage("--holder: it must be 1 to %d printable characters without spaces",
                        REDLOCK_HOLDER_MAX);
    }
    if (args->permits != 0 && args->take > args->permits) {
        return rl_usage("--take %" PRId64 " is more than --permits %" PRId64, args->take,
                        args->permits);
    }
    if (args->fence && args->client.fence_retention_ms / 2 < args->ttl_ms) {
        return rl_usage(
            "--fence-retention %s is shorter than twice --ttl %s: the nodes would forget the fence "
            "too soon; give --fence-retention %s or more",
            rl_say_exact(args->client.fence_retention_ms), rl_say_exact(args->ttl_ms),
            rl_say_exact(2 * args->ttl_ms));
    }
    return 0;
}

/* The library would refuse it too, but not in terms of the options. */
static int check_ttl(const struct rl_args *args) {
    const unsigned with_ttl =
        (1u << RL_CMD_RUN) | (1u << RL_CMD_ACQUIRE) | (1u << RL_CMD_EXTEND) | (1u << RL_CMD_ELECT);
    bool has_ttl = (with_ttl & (1u << args->command)) != 0;
    if (!has_ttl || args->guard == REDLOCK_GUARD_OFF || args->ttl_ms <= args->client.max_ttl_ms) {
        return 0;
    }
    const char *ttl = rl_say_exact(args->ttl_ms), *max = rl_say_exact(args->client.max_ttl_ms);
    return rl_usage(
        "--ttl %s is above --max-ttl %s, the time for which the guard keeps a node that restarted "
        "from voting; give --ttl %s or less, or write max-ttl = %s into the configuration file of "
        "every client of these nodes",
        ttl, max, max, ttl);
}

/* TLS options from a file or the environment apply to the nodes that use TLS, if any does. On the
 * command line, they are an error if no node uses TLS. */
static void drop_tls(struct rl_args *args, const struct tool_options *options) {
    const char **texts[] = {&args->client.tls_ca, &args->client.tls_cert, &args->client.tls_key,
                            &args->client.tls_server_name};
    bool has_tls = false;
    for (size_t i = 0; i < args->nodes.n; i++) {
        has_tls |= strncasecmp(args->nodes.items[i], "rediss:", 7) == 0;
    }
    for (size_t i = 0; !has_tls && i < sizeof texts / sizeof texts[0]; i++) {
        if (!is_given(options, (size_t)((const char *)texts[i] - (const char *)args))) {
            *texts[i] = NULL;
        }
    }
}

static int split_nodes(struct rl_args *args, const struct tool_options *options) {
    enum tool_source from = tool_options_from(options, offsetof(struct rl_args, nodes));
    static_assert(TOOL_LIST_MAX == REDLOCK_NAMED_MAX, "the list has room for all nodes");
    args->nodes_from = from == TOOL_LINE          ? "--nodes"
                       : from == TOOL_ENVIRONMENT ? "REDLOCK_NODES"
                                                  : args->config;
    if (args->acl != NULL) {
        return 0;
    }
    if (from == TOOL_DEFAULT) {
        return rl_usage(
            "no nodes are named. Give --nodes redis://host:port,..., or set REDLOCK_NODES, or "
            "write\n"
            "         nodes = redis://host:port ...\n"
            "         into ~/.config/redlock/redlock.conf or /etc/redlock.conf");
    }
    if (tool_list_split(&args->nodes) != 0) {
        return rl_usage("%s: too many nodes; at most %d can be named, and lead to all others",
                        args->nodes_from, REDLOCK_NAMED_MAX);
    }
    drop_tls(args, options);
    return 0;
}

/* Runs last, after all other checks. A descriptor wins over a file named by the environment or the
 * configuration. */
static int read_password(struct rl_args *args) {
    const char *path = args->password_fd == RL_PASSWORD_NO_FD ? args->password_file : NULL;
    return args->acl != NULL
               ? 0
               : rl_password_read(&args->password, path, args->password_fd, args->user);
}

int rl_args_cut(int argc, char **argv, char ***command) {
    int own = 1;
    while (own < argc && strcmp(argv[own], "--") != 0) {
        own++;
    }
    if (own < argc) {
        *command = argv + own + 1;
        argv[own] = NULL;
    }
    return own;
}

/* Parses the command line and the environment. Returns 0 or an exit status. */
static int parse(struct rl_args *args, struct tool_options *options, int argc, char **argv) {
    if (tool_options_parse(options, argc, argv) != 0 ||
        tool_options_check(options, options->name) != 0) {
        return rl_usage("%s", options->error);
    }
    if (options->stop == NULL && tool_options_environment(options) != 0) {
        return rl_usage("%s", options->error);
    }
    args->words = options->words;
    args->n_words = options->n_words;
    args->is_repeated = is_given(options, offsetof(struct rl_args, repeat_ms));
    return 0;
}

bool rl_args_parse(struct rl_args *args, enum rl_command_name command, int argc, char **argv,
                   int *exit_status) {
    char program[32];
    struct tool_options options = {.rows = rl_args_table,
                                   .count = rl_args_table_size,
                                   .target = args,
                                   .program = program,
                                   .use = command,
                                   .name = rl_commands[command].name};
    snprintf(program, sizeof program, "redlock %s", options.name);
    set_defaults(args, command);
    *exit_status = parse(args, &options, rl_args_cut(argc, argv, &args->child), argv);
    if (*exit_status == 0 && options.stop != NULL) {
        rl_help_show(command, &options);
        return false;
    }
    for (int step = 0; *exit_status == 0 && step < 6; step++) {
        *exit_status = step == 0   ? read_config(args, &options)
                       : step == 1 ? split_nodes(args, &options)
                       : step == 2 ? check_together(args, &options)
                       : step == 3 ? check_sizes(args)
                       : step == 4 ? check_ttl(args)
                                   : read_password(args);
    }
    return *exit_status == 0;
}
