/* See arguments.h. */
#include "sim/arguments.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "sim/check.h"
#include "sim/options.h"
#include "sim/trace.h"
#include "tool/number.h"
#include "tool/options.h"

#define AT(field) offsetof(struct sim_arguments, field)
#define CHOICES_MAX 1024
#define FRESH "fresh:"

/* Of enums that know their own names: filled in before the table is read. */
static char presets[CHOICES_MAX], breaks[CHOICES_MAX], violations[CHOICES_MAX],
    troubles[CHOICES_MAX];

static const struct tool_option rows[] = {
    {"seed", 0, TOOL_WHOLE, .at = AT(seed), .min = 0, .max = INT64_MAX, .value = "S",
     .help = "one history, its options printed"},
    {"seeds", 0, TOOL_TEXT, .at = AT(seeds), .value = "A..B|fresh:N",
     .help = "the histories of these seeds (default 1..1000), or of N\nthat begin at one which is "
             "drawn"},
    {"preset", 0, TOOL_CHOICE, .at = AT(preset), .choices = presets, .value = "NAME",
     .help = "what may happen, see options.h (default swarm)"},
    {"steps", 0, TOOL_WHOLE, .at = AT(steps), .min = 1, .max = UINT32_MAX, .value = "N",
     .help = "of the safety phase (default: 500 to 5000, by the seed)"},
    {"requests", 0, TOOL_WHOLE, .at = AT(requests), .min = 2, .max = 65536, .value = "N",
     .help = "without an answer from a node, and half as many pending\nreleases (default: by the "
             "seed)"},
    {"last", 0, TOOL_WHOLE, .at = AT(last), .min = 0, .max = SIM_TRACE_MAX, .value = "N",
     .help = "events to print of a failure (default 60)"},
    {"nodes", 0, TOOL_WHOLE, .at = AT(nodes), .min = 1, .max = SIM_NODES_MAX, .value = "N",
     .help = "1 to 7 (default: by the seed)"},
    {"break", 0, TOOL_CHOICE, .at = AT(broken), .choices = breaks, .value = "NAME",
     .help = "something is built wrongly, see options.h"},
    {"guard", 0, TOOL_CHOICE, .at = AT(guard), .choices = "off|observed|strict", .value = "MODE",
     .help = "off, observed or strict (default: by the seed)"},
    {"trouble", 0, TOOL_CHOICE, .at = AT(trouble), .choices = troubles, .value = "NAME",
     .help = "with the preset lines: what goes wrong (default: by the\nseed)"},
    {"expect", 0, TOOL_CHOICE, .at = AT(expected), .choices = violations, .value = "NAME",
     .help = "a violation of this name (check.h), or any, must be found"},
    {"no-progress", 0, TOOL_FLAG, .at = AT(is_quiet), .help = "no line on stderr"},
    {"help", 0, TOOL_STOP, .help = "this text"},
};

static void add_choice(char choices[CHOICES_MAX], const char *name) {
    size_t used = strlen(choices);
    assert(used + 1 + strlen(name) < CHOICES_MAX);
    snprintf(choices + used, CHOICES_MAX - used, "%s%s", used > 0 ? "|" : "", name);
}

static void name_choices(void) {
    for (enum sim_preset i = 0; i < SIM_PRESETS; i++) {
        add_choice(presets, sim_preset_name(i));
    }
    for (uint32_t i = 0; sim_break_name(i) != NULL; i++) {
        add_choice(breaks, sim_break_name(i));
    }
    for (enum sim_trouble i = 0; i < SIM_TROUBLES; i++) {
        add_choice(troubles, sim_trouble_name(i));
    }
    add_choice(violations, "any");
    for (enum sim_violation i = SIM_FINE + 1; i < SIM_VIOLATIONS; i++) {
        add_choice(violations, sim_violation_name(i));
    }
}

/* "A..B", or "fresh:N": N seeds from one of the system's entropy on. */
static bool read_seeds(const char *text, int64_t *from, int64_t *to) {
    char first[32];
    if (strncmp(text, FRESH, strlen(FRESH)) == 0) {
        uint64_t base;
        int64_t count;
        if (!tool_whole_parse(text + strlen(FRESH), &count) || count < 1 || count > INT32_MAX ||
            getrandom(&base, sizeof base, 0) != (ssize_t)sizeof base) {
            return false;
        }
        *from = (int64_t)(base >> 2);
        *to = *from + count - 1;
        return true;
    }
    const char *dots = strstr(text, "..");
    if (dots == NULL || (size_t)(dots - text) >= sizeof first) {
        return false;
    }
    memcpy(first, text, (size_t)(dots - text));
    first[dots - text] = '\0';
    return tool_whole_parse(first, from) && tool_whole_parse(dots + 2, to) && *from <= *to;
}

static int take_seeds(struct tool_options *options, struct sim_arguments *arguments) {
    int64_t from = 1, to = 1000;
    if (arguments->seeds != NULL && !read_seeds(arguments->seeds, &from, &to)) {
        return tool_options_fail(options, "--seeds \"%s\": it takes A..B or fresh:N",
                                 arguments->seeds);
    }
    if (tool_options_from(options, AT(seed)) != TOOL_DEFAULT) {
        from = to = arguments->seed;
    } else if (arguments->seeds != NULL) {
        arguments->is_fresh = strncmp(arguments->seeds, FRESH, strlen(FRESH)) == 0;
    }
    arguments->first_seed = (uint64_t)from;
    arguments->last_seed = (uint64_t)to;
    return 0;
}

enum sim_parsed sim_arguments_parse(struct sim_arguments *arguments, int argc, char **argv) {
    struct tool_options options = {.rows = rows,
                                   .count = sizeof rows / sizeof rows[0],
                                   .target = arguments,
                                   .program = "redlock-sim",
                                   .name = "redlock-sim"};
    *arguments = (struct sim_arguments){.last = 60, .preset = SIM_SWARM};
    name_choices();
    int result = tool_options_parse(&options, argc, argv);
    if (result == 0 && options.stop != NULL) {
        printf("redlock-sim [options]\n\n");
        tool_options_help(&options, TOOL_EVERY);
        printf("\npresets: %s\nbreaks: %s\nviolations: %s\n", presets, breaks, violations);
        return SIM_PARSED_DONE;
    }
    if (result == 0 && options.n_words > 0) {
        result = tool_options_fail(&options, "%s is no option", options.words[0]);
    }
    if (result != 0 || take_seeds(&options, arguments) != 0) {
        fprintf(stderr, "redlock-sim: %s\n", options.error);
        return SIM_PARSED_BAD;
    }
    arguments->is_guard_given = tool_options_from(&options, AT(guard)) != TOOL_DEFAULT;
    arguments->is_trouble_given = tool_options_from(&options, AT(trouble)) != TOOL_DEFAULT;
    arguments->is_expected = tool_options_from(&options, AT(expected)) != TOOL_DEFAULT;
    return SIM_PARSED;
}
