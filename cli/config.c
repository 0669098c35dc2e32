/* See config.h. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "exits.h"
#include "say.h"
#include "tool/config.h"

#define SYSTEM_FILE "/etc/redlock.conf"

static char *user_file(void) {
    const char *base = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    bool has_base = base != NULL && base[0] == '/';
    char *path = NULL;
    if (!has_base && (home == NULL || home[0] == '\0')) {
        return NULL;
    }
    if (asprintf(&path, "%s%s/redlock/redlock.conf", has_base ? base : home,
                 has_base ? "" : "/.config") < 0) {
        return NULL;
    }
    return path;
}

/* Opens the file to read and names it in args->config. NULL with *status 0: there is none. */
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

int rl_config_read(struct rl_args *args, struct tool_options *options) {
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
    return status;
}
