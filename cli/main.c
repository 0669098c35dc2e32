/* redlock(1): looks up the command's name, parses its arguments, and runs it.
 *
 * Failure modes: no command or an unknown one: an error message, and RL_EXIT_USAGE. Output that
 * cannot be written (a full disk, a closed pipe) ends with RL_EXIT_SYSTEM: a script must not take
 * an empty token for a lock. */
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "commands.h"
#include "say.h"

static int (*const commands[RL_CMDS])(struct rl_args *) = {
    [RL_CMD_RUN] = rl_cmd_run,       [RL_CMD_ACQUIRE] = rl_cmd_acquire,
    [RL_CMD_EXTEND] = rl_cmd_extend, [RL_CMD_RELEASE] = rl_cmd_release,
    [RL_CMD_STATUS] = rl_cmd_status, [RL_CMD_ELECT] = rl_cmd_elect,
    [RL_CMD_DOCTOR] = rl_cmd_doctor, [RL_CMD_LS] = rl_cmd_ls,
    [RL_CMD_TOP] = rl_cmd_top,       [RL_CMD_QUEUE] = rl_cmd_queue,
    [RL_CMD_KICK] = rl_cmd_kick,     [RL_CMD_METRICS] = rl_cmd_metrics,
    [RL_CMD_SET] = rl_cmd_set,
};

static int run_command(enum rl_command_name command, int argc, char **argv) {
    struct rl_args args;
    int exit_status = RL_EXIT_OK;
    if (rl_args_parse(&args, command, argc, argv, &exit_status)) {
        exit_status = rl_help_check_words(&args);
        exit_status = exit_status == 0 ? commands[command](&args) : exit_status;
    }
    rl_args_free(&args);
    return exit_status;
}

/* The command that the user most likely meant, or NULL. */
static const char *nearest(const char *typed) {
    const char *nearest = NULL;
    int fewest = TOOL_UNLIKE;
    for (int i = 0; i <= RL_CMDS; i++) {
        const char *name = i < RL_CMDS ? rl_commands[i].name : "conform";
        int mistakes = tool_typing_mistakes(typed, name);
        if (mistakes < fewest) {
            fewest = mistakes;
            nearest = name;
        }
    }
    return nearest;
}

static int unknown(const char *name) {
    const char *shown = rl_text_clean(name, 64);
    if (name[0] == '-') {
        return rl_usage("%s: options follow the command; see redlock --help", shown);
    }
    const char *near = nearest(name);
    if (near != NULL) {
        return rl_usage("\"%s\" is not a command; did you mean \"%s\"?", shown, near);
    }
    return rl_usage(
        "\"%s\" is not a command; there are run, status, queue, kick, ls, top, metrics, doctor, "
        "set, acquire, extend, release, elect and conform",
        shown);
}

static int conform(int argc, char **argv) {
#ifdef REDLOCK_HAS_CONFORM
    return rl_cmd_conform(argc, argv);
#else
    static const char why[] =
        "conform: this redlock was built without Lua 5.1, which runs the scripts of the\n"
        "client that is tried; install liblua5.1-0-dev, and build it again with\n"
        "-Dconform=enabled";
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        printf("Usage: redlock conform [options] -- COMMAND [argument...]\n\n%s\n", why);
        return RL_EXIT_OK;
    }
    return rl_usage("%s", why);
#endif
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) {
        return rl_usage("no command; try redlock --help");
    }
    bool helps = strcmp(argv[1], "help") == 0;
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || (helps && argc == 2)) {
        rl_help_overview();
        return RL_EXIT_OK;
    }
    if (helps && strcmp(argv[2], "options") == 0) {
        rl_help_options(&(struct tool_options){.rows = rl_args_table, .count = rl_args_table_size});
        return RL_EXIT_OK;
    }
    if (helps) { /* redlock help COMMAND: redlock COMMAND --help */
        static char help[] = "--help";
        char *line[] = {argv[0], argv[2], help, NULL};
        return strcmp(argv[2], "help") == 0 ? dispatch(2, argv) : dispatch(3, line);
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("redlock %s%s\n", redlock_version(), redlock_has_tls() ? "" : " (without TLS)");
        return RL_EXIT_OK;
    }
    if (strcmp(argv[1], "conform") == 0) { /* contacts no nodes: has its own options */
        return conform(argc - 1, argv + 1);
    }
    if (strcmp(argv[1], "complete") == 0) { /* for the shells */
        return rl_cmd_complete(argc - 1, argv + 1);
    }
    for (int i = 0; i < RL_CMDS; i++) {
        if (strcmp(argv[1], rl_commands[i].name) == 0) {
            return run_command((enum rl_command_name)i, argc - 1, argv + 1);
        }
    }
    return unknown(argv[1]);
}

int main(int argc, char **argv) {
    argv = uv_setup_args(argc, argv); /* the guard process overwrites the strings: run/guard.c */
    int error = rl_output_open();
    if (error != 0) {
        return rl_fail(RL_EXIT_SYSTEM, "/dev/null: %s", strerror(error));
    }
    return rl_output_close(dispatch(argc, argv));
}
