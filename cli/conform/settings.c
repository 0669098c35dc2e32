/* See settings.h. */
#include "conform/settings.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "conform/stories_grant.h"
#include "conform/stories_hold.h"
#include "conform/stories_together.h"
#include "exits.h"
#include "parse.h"
#include "say.h"
#include "tool/options.h"
#include "tool/options_help.h"

#define AT(field) offsetof(struct rl_conform, field)

const struct tool_option rl_conform_table[] = {
    {"story", 's', TOOL_LIST, .at = AT(stories), .value = "NAME,...",
     .help = "only these stories; --list names all"},
    {"list", 'l', TOOL_FLAG, .at = AT(lists), .help = "name the stories, and what is done in each"},
    {"jobs", 0, TOOL_WHOLE, .at = AT(jobs), .min = 1, .max = 64, .value = "N",
     .help = "so many stories at a time; default 8"},
    {"time-scale", 0, TOOL_WHOLE, .at = AT(scale), .min = 1, .max = 100, .value = "N",
     .help = "all ttls and delays N times as long, for a client that\n"
             "takes hundreds of milliseconds for an answer"},
    {"json", 'j', TOOL_FLAG, .at = AT(json), .help = "JSON, one object per line"},
    {"verbose", 'v', TOOL_FLAG, .at = AT(verbose), .help = "show what COMMAND writes to stderr"},
    {"help", 'h', TOOL_STOP, .help = "this text"},
};

const size_t rl_conform_table_size = sizeof rl_conform_table / sizeof rl_conform_table[0];

const struct rl_story *rl_story(size_t i) {
    static const struct rl_story *const parts[] = {rl_stories_grant, rl_stories_hold,
                                                   rl_stories_together};
    for (size_t part = 0; part < sizeof parts / sizeof parts[0]; part++) {
        for (const struct rl_story *story = parts[part]; story->name != NULL; story++) {
            if (i-- == 0) {
                return story;
            }
        }
    }
    return NULL;
}

const char *rl_conform_story(size_t i) {
    return rl_story(i) != NULL ? rl_story(i)->name : NULL;
}

static bool is_story(const char *name) {
    size_t i = 0;
    while (rl_story(i) != NULL && strcmp(rl_story(i)->name, name) != 0) {
        i++;
    }
    return rl_story(i) != NULL;
}

static const char before[] =
    "Usage: redlock conform [options] -- COMMAND [argument...]\n"
    "\n"
    "Tries a Redlock client that is not of this library: plays five nodes to it that\n"
    "are down, slow, full or out of order, and says story by story what it does\n"
    "right and wrong, by the rules of docs/protocol.md. COMMAND is a program of\n"
    "yours around that client. Its nodes are in REDLOCK_NODES, five URLs with commas\n"
    "between. It writes the line \"ready\", then reads one request a line from its\n"
    "standard input, and answers each with a line on its standard output:\n"
    "\n"
    "  acquire KEY TTL_MS TRIES   granted TOKEN VALIDITY_MS   or  refused [WHY]\n"
    "  extend KEY TTL_MS          extended VALIDITY_MS        or  failed [WHY]\n"
    "  release KEY                released                    or  failed [WHY]\n"
    "\n"
    "TRIES: at most so many attempts. TOKEN: what it has set under the key.\n"
    "VALIDITY_MS: for how long, from now on, the holder may act. Lines that begin\n"
    "with # do not count. It ends when its input ends.\n"
    "\n"
    "Options:\n";

static const char behind[] =
    "\n"
    "PASS: right. FAIL: wrong, with what was seen and what comes of it. NOTE: the\n"
    "client leaves out something that is optional, and what that costs.\n"
    "\n"
    "Example:\n"
    "  redlock conform -- python3 examples/client.py\n"
    "  redlock conform --story drift,lost-vote -- ./my-client --trace\n"
    "\n"
    "Exit status: 0 no FAIL; 1 a FAIL; 64 wrong usage; 71 COMMAND never wrote\n"
    "\"ready\", or the system refused; 127 COMMAND cannot be started.\n";

static int check(struct rl_conform *out, const struct tool_options *options) {
    if (options->n_words > 0) {
        return rl_fail(RL_EXIT_USAGE, "conform: \"%s\": the client's command stands behind --",
                       options->words[0]);
    }
    if (tool_list_split(&out->stories) != 0) {
        return rl_fail(RL_EXIT_USAGE, "conform: --story: at most %d of them; without it all run",
                       TOOL_LIST_MAX);
    }
    for (size_t i = 0; i < out->stories.n; i++) {
        if (!is_story(out->stories.items[i])) {
            return rl_fail(RL_EXIT_USAGE,
                           "conform: there is no story \"%s\"; redlock conform --list names all",
                           out->stories.items[i]);
        }
    }
    if (!out->lists && (out->command == NULL || out->command[0] == NULL)) {
        return rl_fail(RL_EXIT_USAGE,
                       "conform: no command; give redlock conform -- COMMAND, a program around the "
                       "client that is tried; see redlock conform --help");
    }
    return 0;
}

bool rl_conform_read(struct rl_conform *out, int argc, char **argv, int *exit_status) {
    struct tool_options options = {.rows = rl_conform_table,
                                   .count = rl_conform_table_size,
                                   .target = out,
                                   .program = "redlock conform",
                                   .name = "conform"};
    *out = (struct rl_conform){.scale = 1, .jobs = 8};
    *exit_status = RL_EXIT_OK;
    if (tool_options_parse(&options, rl_args_cut(argc, argv, &out->command), argv) != 0) {
        *exit_status = rl_fail(RL_EXIT_USAGE, "%s", options.error);
    } else if (options.stop != NULL) {
        fputs(before, stdout);
        tool_options_help(&options, TOOL_EVERY);
        fputs(behind, stdout);
        return false;
    } else {
        *exit_status = check(out, &options);
    }
    return *exit_status == 0;
}
