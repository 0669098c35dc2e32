/* Options: see settings.h. Numbers come from one table, so that a new one is one row. */
#include "settings.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPT_NODES 'n'
#define OPT_DIR 'd'
#define OPT_WORKLOAD 'w'
#define OPT_CONTROL 'c'
#define OPT_GUARD 'g'
#define OPT_HELP 'h'
#define OPT_NUMBER 1000 /* and above: a row of number_rows */

static const char *const workload_names[] = {"register", "lock-set", NULL};
static const char *const control_names[] = {"none", "quorum1", "blind-release", "ignore-validity",
                                            NULL};

static const char *const guard_names[] = {"off", "observed", "strict", NULL};

static const char usage[] =
    "redlock-chaos-client --nodes URL,URL,... --dir DIR --process P [OPTION...]\n"
    "\n"
    "Clients that lock resources on Redis nodes and write down every step of what they do under\n"
    "the lock, for a checker to judge afterwards. Ends by SIGTERM, or when --seconds are over.\n"
    "\n"
    "  --nodes URL,...   the nodes: redis://host:port\n"
    "  --dir DIR         the folder of the run; it exists\n"
    "  --process P       this process's number in the run, 1 to 99999: its clients are cP.1, cP.2 "
    "...\n"
    "  --clients K       clients in this process, each with connections of its own (4)\n"
    "  --resources R     how many resources they contend for (2)\n"
    "  --ttl-ms T        ttl of a lock (2000)\n"
    "  --wait-ms W       the longest wait for one lock (5000)\n"
    "  --work-ms M       average of a usual piece of work under the lock (20)\n"
    "  --seed S          the same seed chooses the same works and pauses (1)\n"
    "  --seconds S       end by itself after S seconds; 0: never (0)\n"
    "  --workload W      register: records only; lock-set: also read, pause, write back "
    "(register)\n"
    "  --control C       a lock that is wrong on purpose: quorum1, blind-release, "
    "ignore-validity\n"
    "  --guard G         off, observed or strict, with the ttl as the longest ttl (off: the nodes "
    "of a "
    "run are\n"
    "                    new, and what comes of an assumption that breaks is to be seen)\n";

struct number {
    const char *name;
    int64_t min, max, preset;
};

enum { PROCESS, CLIENTS, RESOURCES, TTL_MS, WAIT_MS, WORK_MS, SEED, SECONDS, N_NUMBERS };

static const struct number number_rows[N_NUMBERS] = {
    [PROCESS] = {"process", 1, 99999, 0},
    [CLIENTS] = {"clients", 1, 999, 4},
    [RESOURCES] = {"resources", 1, 999, 2},
    [TTL_MS] = {"ttl-ms", 50, REDLOCK_TTL_MS_MAX, 2000},
    [WAIT_MS] = {"wait-ms", 0, REDLOCK_TTL_MS_MAX, 5000},
    [WORK_MS] = {"work-ms", 1, 3600000, 20},
    [SEED] = {"seed", 0, INT64_MAX, 1},
    [SECONDS] = {"seconds", 0, 1000000, 0},
};

__attribute__((format(printf, 1, 2))) static int refuse(const char *format, ...) {
    va_list arguments;
    fputs("redlock-chaos-client: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputs("; --help shows the options\n", stderr);
    return -1;
}

static int read_number(const struct number *row, const char *text, int64_t *value) {
    char *end = NULL;
    errno = 0;
    *value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || *value < row->min || *value > row->max) {
        return refuse("--%s %s: a whole number from %lld to %lld is needed", row->name, text,
                      (long long)row->min, (long long)row->max);
    }
    return 0;
}

/* The index of text among names, or -1 after a sentence. */
static int read_name(const char *option, const char *text, const char *const *names) {
    int index = 0;
    while (names[index] != NULL && strcmp(names[index], text) != 0) {
        index++;
    }
    return names[index] != NULL ? index : refuse("--%s %s: no such %s", option, text, option);
}

static int read_nodes(struct chaos_settings *settings, const char *text) {
    char *place = NULL;
    free(settings->text);
    settings->n_nodes = 0;
    settings->text = strdup(text);
    if (settings->text == NULL) {
        return refuse("--nodes: out of memory");
    }
    for (char *url = strtok_r(settings->text, ",", &place); url != NULL;
         url = strtok_r(NULL, ",", &place)) {
        if (settings->n_nodes == REDLOCK_NODES_MAX) {
            return refuse("--nodes: more than %d nodes", REDLOCK_NODES_MAX);
        }
        settings->nodes[settings->n_nodes++] = url;
    }
    return settings->n_nodes > 0 ? 0 : refuse("--nodes: name at least one, redis://host:port");
}

static int read_option(struct chaos_settings *settings, int64_t *numbers, int option) {
    int index;
    if (option >= OPT_NUMBER) {
        assert(option < OPT_NUMBER + N_NUMBERS);
        return read_number(&number_rows[option - OPT_NUMBER], optarg,
                           &numbers[option - OPT_NUMBER]);
    }
    switch (option) {
        case OPT_NODES:
            return read_nodes(settings, optarg);
        case OPT_DIR:
            settings->dir = optarg;
            return 0;
        case OPT_WORKLOAD:
            index = read_name("workload", optarg, workload_names);
            settings->workload = index == 1 ? CHAOS_LOCK_SET : CHAOS_REGISTER;
            return index < 0 ? -1 : 0;
        case OPT_CONTROL:
            index = read_name("control", optarg, control_names);
            settings->control = index < 0 ? CHAOS_CORRECT : (enum chaos_control)index;
            return index < 0 ? -1 : 0;
        case OPT_GUARD:
            index = read_name("guard", optarg, guard_names);
            settings->guard = index < 0 ? REDLOCK_GUARD_OFF : (enum redlock_guard)index;
            return index < 0 ? -1 : 0;
        case OPT_HELP:
            fputs(usage, stdout);
            return 1;
        default: /* getopt has said what is wrong */
            return -1;
    }
}

static void take_numbers(struct chaos_settings *settings, const int64_t *numbers) {
    settings->process = (int)numbers[PROCESS];
    settings->clients = (int)numbers[CLIENTS];
    settings->resources = (int)numbers[RESOURCES];
    settings->ttl_ms = numbers[TTL_MS];
    settings->wait_ms = numbers[WAIT_MS];
    settings->work_ms = numbers[WORK_MS];
    settings->seed = (uint64_t)numbers[SEED];
    settings->seconds = (int)numbers[SECONDS];
}

static int require(const struct chaos_settings *settings) {
    if (settings->n_nodes == 0) {
        return refuse("--nodes is missing: redis://host:port,redis://host:port,...");
    }
    if (settings->dir == NULL) {
        return refuse("--dir is missing: the folder that the record of the run goes to");
    }
    if (settings->process == 0) {
        return refuse("--process is missing: this process's number, 1 to 99999");
    }
    if (settings->control == CHAOS_QUORUM1 && settings->n_nodes < 2) {
        return refuse("--control quorum1: with one node a quorum of one is right; name more nodes");
    }
    return 0;
}

int chaos_settings_read(struct chaos_settings *settings, int argc, char **argv) {
    static const struct option words[] = {
        {"nodes", required_argument, NULL, OPT_NODES},
        {"dir", required_argument, NULL, OPT_DIR},
        {"workload", required_argument, NULL, OPT_WORKLOAD},
        {"control", required_argument, NULL, OPT_CONTROL},
        {"guard", required_argument, NULL, OPT_GUARD},
        {"help", no_argument, NULL, OPT_HELP},
    };
    enum { N_WORDS = sizeof(words) / sizeof(words[0]) };
    struct option options[N_WORDS + N_NUMBERS + 1];
    int64_t numbers[N_NUMBERS];
    int option;

    static_assert((int)REDLOCK_GUARD_OFF == 0 && (int)REDLOCK_GUARD_STRICT == 2, "guard_names");
    memset(settings, 0, sizeof(*settings));
    memset(options, 0, sizeof(options));
    memcpy(options, words, sizeof(words));
    for (int i = 0; i < N_NUMBERS; i++) {
        options[N_WORDS + i].name = number_rows[i].name;
        options[N_WORDS + i].has_arg = required_argument;
        options[N_WORDS + i].val = OPT_NUMBER + i;
        numbers[i] = number_rows[i].preset;
    }
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        int result = read_option(settings, numbers, option);
        if (result != 0) {
            return result;
        }
    }
    if (optind < argc) {
        return refuse("%s: an argument that no option asks for", argv[optind]);
    }
    take_numbers(settings, numbers);
    return require(settings);
}

void chaos_settings_free(struct chaos_settings *settings) {
    free(settings->text);
    settings->text = NULL;
    settings->n_nodes = 0;
}

const char *chaos_control_name(enum chaos_control control) {
    assert(control <= CHAOS_IGNORE_VALIDITY);
    return control_names[control];
}
