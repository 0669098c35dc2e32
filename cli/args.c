/* The command line: see args.h.
 *
 * What follows "--" is the command to run, and is never looked at. What precedes it may have
 * options and words in any order. */
#include "args.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "duration.h"
#include "exits.h"
#include "say.h"

#define OPTIONS_MAX 32
#define LONG_BASE 1000 /* a long option's value for getopt_long is this plus its row */
#define GRACE_MS_MAX 5000
#define DRIFT_RATIO_INVERSE 100
#define DRIFT_MS 2
#define GRACE_OF_TTL 6

static const char *const command_texts[RL_CMDS] = {"run",    "acquire", "extend", "release",
                                                   "status", "elect",   "doctor"};

const char *rl_args_command_text(enum rl_command_name command) {
    assert(command < RL_CMDS);
    return command_texts[command];
}

int64_t rl_args_grace_ms(const struct rl_args *args) {
    if (args->grace_ms != RL_ARGS_UNSET) {
        return args->grace_ms;
    }
    int64_t grace_ms = args->ttl_ms / GRACE_OF_TTL;
    return grace_ms < GRACE_MS_MAX ? grace_ms : GRACE_MS_MAX;
}

int64_t rl_args_drift_ms(int64_t ttl_ms) {
    return (ttl_ms + DRIFT_RATIO_INVERSE - 1) / DRIFT_RATIO_INVERSE + DRIFT_MS;
}

enum redlock_guard rl_args_guard(const struct rl_args *args) {
    if (args->guard == NULL || strcmp(args->guard, "strict") == 0) {
        return REDLOCK_GUARD_STRICT;
    }
    return strcmp(args->guard, "off") == 0 ? REDLOCK_GUARD_OFF : REDLOCK_GUARD_OBSERVED;
}

/* -- Single values -- */

static const char *set_duration(int64_t *field, const struct rl_option *option, const char *text) {
    static char why[128];
    char min[RL_DURATION_TEXT_MAX], max[RL_DURATION_TEXT_MAX];
    int64_t ms = 0;
    const char *bad = rl_duration_parse(text, &ms);
    if (bad != NULL) {
        return bad;
    }
    if (ms < option->min || ms > option->max) {
        snprintf(why, sizeof why, "it takes %s to %s",
                 rl_duration_show(option->min, min, sizeof min),
                 rl_duration_show(option->max, max, sizeof max));
        return why;
    }
    *field = ms;
    return NULL;
}

static const char *set_status(int64_t *field, const char *text) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value > 255) {
        return "it takes a number from 0 to 255";
    }
    *field = value;
    return NULL;
}

static bool is_choice(const char *choices, const char *text) {
    size_t length = strlen(text);
    for (const char *at = choices; at != NULL; at = strchr(at, '|')) {
        at += *at == '|';
        if (strcspn(at, "|") == length && strncmp(at, text, length) == 0) {
            return true;
        }
    }
    return false;
}

static const char *set_text(char **field, const struct rl_option *option, const char *text) {
    static char why[128];
    if (option->choice != NULL && !is_choice(option->choice, text)) {
        snprintf(why, sizeof why, "it takes one of %s", option->choice);
        return why;
    }
    if (text[0] == '\0') {
        return "it is empty (a variable that is not set?)";
    }
    free(*field);
    *field = strdup(text);
    return *field == NULL ? "out of memory" : NULL;
}

const char *rl_args_set(struct rl_args *args, const struct rl_option *option, const char *text) {
    void *field = (char *)args + option->offset;
    switch (option->kind) {
        case RL_OPTION_NODES:
            return rl_nodes_add(args, text);
        case RL_OPTION_CONFIG:
            return set_text(&args->config, option, text);
        case RL_OPTION_DURATION:
            return set_duration(field, option, text);
        case RL_OPTION_STATUS:
            return set_status(field, text);
        case RL_OPTION_TEXT:
            return set_text(field, option, text);
        case RL_OPTION_FLAG:
            *(bool *)field = true;
            return NULL;
        case RL_OPTION_REPEAT:
            args->is_repeated = true;
            return text == NULL ? NULL : set_duration(field, option, text);
        case RL_OPTION_HELP:
            break;
    }
    assert(!"--help is no value");
    return NULL;
}

/* -- All of them -- */

static void set_defaults(struct rl_args *args, enum rl_command_name command) {
    *args = (struct rl_args){
        .command = command,
        .ttl_ms = 30000,
        .max_ttl_ms = 30000,
        .wait_ms = REDLOCK_NO_LIMIT,
        .grace_ms = RL_ARGS_UNSET,
        .node_timeout_ms = 250,
        .connect_timeout_ms = 1000,
        .fence_retention_ms = 86400000,
        .repeat_ms = 1000,
        .conflict_status = RL_EXIT_HELD,
    };
}

static int argument_of(const struct rl_option *option) {
    if (option->kind == RL_OPTION_REPEAT) {
        return optional_argument;
    }
    return option->value != NULL ? required_argument : no_argument;
}

/* What getopt_long() wants to know, of all commands: an option of another command gets a sentence
 * of its own. */
static void list_options(struct option *all, char *letters) {
    assert(rl_options_count < OPTIONS_MAX);
    size_t used = 0;
    letters[used++] = ':';
    for (size_t i = 0; i < rl_options_count; i++) {
        const struct rl_option *option = &rl_options_table[i];
        all[i] = (struct option){option->name, argument_of(option), NULL, LONG_BASE + (int)i};
        if (option->letter != 0) {
            letters[used++] = option->letter;
            for (int colons = argument_of(option); colons > 0; colons--) {
                letters[used++] = ':';
            }
        }
    }
    letters[used] = '\0';
    all[rl_options_count] = (struct option){0};
}

static size_t row_of(int found) {
    if (found >= LONG_BASE) {
        return (size_t)(found - LONG_BASE);
    }
    for (size_t i = 0; i < rl_options_count; i++) {
        if (rl_options_table[i].letter == found) {
            return i;
        }
    }
    return rl_options_count;
}

static int set_given(struct rl_args *args, const struct rl_option *option, bool *given) {
    const char *command = rl_args_command_text(args->command);
    if ((option->commands & RL_FOR(args->command)) == 0) {
        return rl_fail(RL_EXIT_USAGE,
                       "--%s has no meaning for %s; leave it out, or see redlock %s --help",
                       option->name, command, command);
    }
    const char *why = rl_args_set(args, option, optarg);
    if (why != NULL) {
        char shown[96];
        bool is_secret = option->kind == RL_OPTION_NODES; /* it may have a password in it */
        rl_say_clean(optarg, strlen(optarg), shown, sizeof shown);
        return rl_fail(RL_EXIT_USAGE, "--%s%s%s%s: %s", option->name, is_secret ? "" : " \"",
                       is_secret ? "" : shown, is_secret ? "" : "\"", why);
    }
    *given = true;
    return 0;
}

static int complain(int found, const struct rl_args *args, char **argv) {
    const char *command = rl_args_command_text(args->command);
    char shown[96], letter[3] = {'-', (char)optopt, '\0'};
    /* A letter may stand in a row of several, a long name may have a value. */
    bool is_long = optopt == 0 || optopt >= LONG_BASE;
    const char *text = is_long ? argv[optind - 1] : letter;
    rl_say_clean(text, is_long ? strcspn(text, "=") : strlen(text), shown, sizeof shown);
    if (found == ':') {
        return rl_fail(RL_EXIT_USAGE, "%s needs a value; see redlock %s --help", shown, command);
    }
    if (is_long && optopt >= LONG_BASE) {
        return rl_fail(RL_EXIT_USAGE, "%s takes no value; leave out what follows the =", shown);
    }
    return rl_fail(RL_EXIT_USAGE, "%s is not an option of %s; see redlock %s --help", shown,
                   command, command);
}

static bool is_given(const bool *given, size_t offset) {
    for (size_t i = 0; i < rl_options_count; i++) {
        bool has_value = rl_options_table[i].kind == RL_OPTION_DURATION;
        if (given[i] && has_value && rl_options_table[i].offset == offset) {
            return true;
        }
    }
    return false;
}

static int check_fence(const struct rl_args *args, const bool *given) {
    char retention[RL_DURATION_TEXT_MAX], ttl[RL_DURATION_TEXT_MAX], least[RL_DURATION_TEXT_MAX];
    if (!args->fence && is_given(given, offsetof(struct rl_args, fence_retention_ms))) {
        return rl_fail(RL_EXIT_USAGE,
                       "--fence-retention has no meaning without --fence; add that, or leave it "
                       "out");
    }
    if (args->fence && args->fence_retention_ms / 2 < args->ttl_ms) {
        return rl_fail(
            RL_EXIT_USAGE,
            "--fence-retention %s is shorter than twice --ttl %s: the nodes would forget "
            "the fence too soon; give --fence-retention %s or more",
            rl_duration_show(args->fence_retention_ms, retention, sizeof retention),
            rl_duration_show(args->ttl_ms, ttl, sizeof ttl),
            rl_duration_show(2 * args->ttl_ms, least, sizeof least));
    }
    return 0;
}

static int check_together(const struct rl_args *args, const bool *given) {
    bool on_lost = args->on_lost != NULL && strcmp(args->on_lost, "ignore") == 0;
    if (is_given(given, offsetof(struct rl_args, wait_ms)) && args->no_wait) {
        return rl_fail(RL_EXIT_USAGE, "--wait and --no-wait exclude each other; leave one out");
    }
    if (is_given(given, offsetof(struct rl_args, grace_ms)) && on_lost) {
        return rl_fail(RL_EXIT_USAGE,
                       "--grace has no meaning with --on-lost=ignore; leave one of them out");
    }
    if (args->is_repeated && args->no_wait) {
        return rl_fail(RL_EXIT_USAGE, "--repeat waits for the lock; leave --no-wait out");
    }
    return check_fence(args, given);
}

/* The library would refuse it, too, but by other names. */
static int check_ttl(const struct rl_args *args) {
    const unsigned with_ttl =
        RL_FOR(RL_CMD_RUN) | RL_FOR(RL_CMD_ACQUIRE) | RL_FOR(RL_CMD_EXTEND) | RL_FOR(RL_CMD_ELECT);
    char ttl[RL_DURATION_TEXT_MAX], max[RL_DURATION_TEXT_MAX];
    bool has_ttl = (with_ttl & RL_FOR(args->command)) != 0;
    if (!has_ttl || rl_args_guard(args) == REDLOCK_GUARD_OFF || args->ttl_ms <= args->max_ttl_ms) {
        return 0;
    }
    rl_duration_show(args->ttl_ms, ttl, sizeof ttl);
    rl_duration_show(args->max_ttl_ms, max, sizeof max);
    return rl_fail(RL_EXIT_USAGE,
                   "--ttl %s is above --max-ttl %s, the time for which the guard keeps a node that "
                   "restarted from voting; give --ttl %s or less, or write max-ttl = %s into the "
                   "configuration file of everybody who uses these nodes",
                   ttl, max, max, ttl);
}

static int read_environment(struct rl_args *args) {
    const char *nodes = getenv("REDLOCK_NODES");
    if (args->nodes_text != NULL || nodes == NULL || nodes[0] == '\0') {
        return 0;
    }
    const char *why = rl_nodes_add(args, nodes);
    args->nodes_from = "REDLOCK_NODES";
    return why == NULL ? 0 : rl_fail(RL_EXIT_USAGE, "REDLOCK_NODES: %s", why);
}

/* The options before "--". Returns 0, an exit status, or -1: help was asked for. */
static int parse_options(struct rl_args *args, int argc, char **argv, bool *given) {
    struct option all[OPTIONS_MAX];
    char letters[3 * OPTIONS_MAX];
    list_options(all, letters);
    opterr = 0;
    optind = 1;
    int status = 0;
    while (status == 0) {
        optopt = 0;
        int found = getopt_long(argc, argv, letters, all, NULL);
        if (found == -1) {
            break;
        }
        if (found == '?' || found == ':') {
            status = complain(found, args, argv);
            continue;
        }
        size_t row = row_of(found);
        assert(row < rl_options_count);
        if (rl_options_table[row].kind == RL_OPTION_HELP) {
            return -1;
        }
        status = set_given(args, &rl_options_table[row], &given[row]);
    }
    args->words = argv + optind;
    args->n_words = argc - optind;
    return status;
}

enum rl_args_result rl_args_parse(struct rl_args *args, enum rl_command_name command, int argc,
                                  char **argv, int *exit_status) {
    bool given[OPTIONS_MAX] = {false};
    set_defaults(args, command);
    int own = 1;
    while (own < argc && strcmp(argv[own], "--") != 0) {
        own++;
    }
    if (own < argc) {
        args->child = argv + own + 1;
        argv[own] = NULL;
    }
    *exit_status = parse_options(args, own, argv, given);
    if (*exit_status == -1) {
        *exit_status = RL_EXIT_OK;
        rl_help_show(command);
        return RL_ARGS_DONE;
    }
    if (args->nodes_text != NULL) {
        args->nodes_from = "--nodes";
    }
    for (int step = 0; *exit_status == 0 && step < 5; step++) {
        *exit_status = step == 0   ? read_environment(args)
                       : step == 1 ? rl_config_read(args, given)
                       : step == 2 ? (args->acl != NULL ? 0 : rl_nodes_split(args))
                       : step == 3 ? check_together(args, given)
                                   : check_ttl(args);
    }
    return *exit_status == 0 ? RL_ARGS_READY : RL_ARGS_BAD;
}

void rl_args_free(struct rl_args *args) {
    free(args->nodes_text);
    free(args->config);
    free(args->holder);
    free(args->id);
    free(args->on_lost);
    free(args->guard);
    free(args->key_prefix);
    free(args->acl);
}
