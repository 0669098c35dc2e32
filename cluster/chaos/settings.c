/* See settings.h. */
#include "settings.h"
#include "tool/options.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define AT(field) offsetof(struct chaos_settings, field)

static const char usage[] =
    "redlock-chaos-client --nodes URL,URL,... --dir DIR --process P [OPTION...]\n"
    "\n"
    "Clients that lock resources on Redis nodes and write down every step of what they do under\n"
    "the lock, for a checker to judge afterwards. Ends by SIGTERM, or when --seconds are over.\n"
    "\n";

static const struct tool_option rows[] = {
    {"nodes", 0, TOOL_LIST, .at = AT(nodes), .value = "URL,...",
     .help = "the nodes: redis://host:port"},
    {"dir", 0, TOOL_TEXT, .at = AT(dir), .value = "DIR",
     .help = "the folder of the run; it exists"},
    {"process", 0, TOOL_WHOLE, .at = AT(process), .min = 1, .max = 99999, .value = "P",
     .help = "this process's number in the run, 1 to 99999: its\n"
             "clients are cP.1, cP.2 ..."},
    {"clients", 0, TOOL_WHOLE, .at = AT(clients), .min = 1, .max = 999, .value = "K",
     .help = "clients in this process, each with connections of its\n"
             "own (4)"},
    {"resources", 0, TOOL_WHOLE, .at = AT(resources), .min = 1, .max = 999, .value = "R",
     .help = "how many resources they contend for (2)"},
    {"ttl-ms", 0, TOOL_WHOLE, .at = AT(ttl_ms), .min = 50, .max = REDLOCK_TTL_MS_MAX, .value = "T",
     .help = "ttl of a lock (2000)"},
    {"wait-ms", 0, TOOL_WHOLE, .at = AT(wait_ms), .min = 0, .max = REDLOCK_TTL_MS_MAX, .value = "W",
     .help = "the longest wait for one lock (5000)"},
    {"work-ms", 0, TOOL_WHOLE, .at = AT(work_ms), .min = 1, .max = 3600000, .value = "M",
     .help = "average of a usual piece of work under the lock (20)"},
    {"max-hold-ms", 0, TOOL_WHOLE, .at = AT(max_hold_ms), .min = 0, .max = REDLOCK_TTL_MS_MAX,
     .value = "H",
     .help = "the longest hold, however often it is extended; 0: no\n"
             "limit (0)"},
    {"seed", 0, TOOL_WHOLE, .at = AT(seed), .min = 0, .max = INT64_MAX, .value = "S",
     .help = "the same seed chooses the same works and pauses (1)"},
    {"seconds", 0, TOOL_WHOLE, .at = AT(seconds), .min = 0, .max = 1000000, .value = "S",
     .help = "end by itself after S seconds; 0: never (0)"},
    {"workload", 0, TOOL_CHOICE, .at = AT(workload),
     .choices = "register|lock-set|rwlock|permits|edge", .value = "W",
     .help = "register: records only; lock-set: also read, pause,\n"
             "write back; rwlock: readers and writers; permits: up to\n"
             "three of those of a semaphore; edge: as register, but\n"
             "each holder acts until its validity ends (register)"},
    {"permits", 0, TOOL_WHOLE, .at = AT(permits), .min = 5, .max = REDLOCK_PERMITS_MAX,
     .value = "K",
     .help = "of each resource; of all but the first the number is\n"
             "lowered by two and raised again now and then (5)"},
    {"under", 0, TOOL_FLAG, .at = AT(is_under),
     .help = "it is the command of \"redlock run --permits\": one piece of\n"
             "work under the permits that the environment names"},
    {"control", 0, TOOL_CHOICE, .at = AT(control), .choices = CHAOS_CONTROLS, .value = "C",
     .help = "a lock that is wrong on purpose: quorum1,\n"
             "blind-release, ignore-validity, from-reply, kept-slot"},
    {"guard", 0, TOOL_CHOICE, .at = AT(guard), .choices = "off|observed|strict", .value = "G",
     .help = "off, observed or strict, with the ttl as the longest\n"
             "ttl (off: the nodes of a run are new, and what comes of\n"
             "an assumption that breaks is to be seen)"},
    {"help", 0, TOOL_STOP, .help = "this text"},
};

static int require(struct tool_options *options, struct chaos_settings *settings) {
    if (settings->nodes.text == NULL && !settings->is_under) {
        return tool_options_fail(options, "--nodes is missing: redis://host:port,...");
    }
    if (settings->nodes.text != NULL && tool_list_split(&settings->nodes) != 0) {
        return tool_options_fail(options, "--nodes: too many nodes; at most %d", TOOL_LIST_MAX);
    }
    if (settings->dir == NULL) {
        return tool_options_fail(options,
                                 "--dir is missing: the folder that the record of the run goes to");
    }
    if (settings->process == 0) {
        return tool_options_fail(options,
                                 "--process is missing: this process's number, 1 to 99999");
    }
    if (settings->control == CHAOS_KEPT_SLOT && settings->workload != CHAOS_PERMITS) {
        return tool_options_fail(options, "--control kept-slot is of --workload permits");
    }
    if (settings->control == CHAOS_QUORUM1 && settings->nodes.n < 2) {
        return tool_options_fail(
            options, "--control quorum1: with one node a quorum of one is right; name more nodes");
    }
    return 0;
}

int chaos_settings_read(struct chaos_settings *settings, int argc, char **argv) {
    struct tool_options options = {.rows = rows,
                                   .count = sizeof rows / sizeof rows[0],
                                   .target = settings,
                                   .program = "redlock-chaos-client",
                                   .name = "redlock-chaos-client"};
    static_assert((int)REDLOCK_GUARD_OFF == 0 && (int)REDLOCK_GUARD_STRICT == 2, "choices");
    *settings = (struct chaos_settings){.clients = 4,
                                        .resources = 2,
                                        .ttl_ms = 2000,
                                        .wait_ms = 5000,
                                        .work_ms = 20,
                                        .permits = 5,
                                        .seed = 1};
    int result = tool_options_parse(&options, argc, argv);
    if (result == 0 && options.stop != NULL) {
        fputs(usage, stdout);
        tool_options_help(&options, TOOL_EVERY);
        return 1;
    }
    if (result == 0 && options.n_words > 0) {
        result = tool_options_fail(&options, "%s: an argument that no option asks for",
                                   options.words[0]);
    }
    if (result != 0 || require(&options, settings) != 0) {
        fprintf(stderr, "redlock-chaos-client: %s\n", options.error);
        return -1;
    }
    return 0;
}

void chaos_settings_free(struct chaos_settings *settings) {
    tool_list_free(&settings->nodes);
}
