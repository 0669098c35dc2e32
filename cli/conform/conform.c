/* redlock conform -- COMMAND: pretends to be five nodes for a client that is not ours, and reports,
 * story by story, what the client does right and wrong. docs/protocol.md has the rules.
 *
 * Happy path: a process for each story of stories_*.c opens nodes on free loopback ports, starts
 * COMMAND, plays the story, and leaves its verdict in memory that it shares with this process.
 * Several stories run at a time. Verdicts are shown in the order of the stories, one line each,
 * with the rule and a sentence unless it is PASS; or as JSON. The exit status is RL_EXIT_OK if none
 * is FAIL, else RL_EXIT_HELD (1).
 *
 * Failure modes: wrong options or no COMMAND: RL_EXIT_USAGE. COMMAND cannot be started: the run
 * ends with RL_EXIT_NOT_FOUND. COMMAND never becomes ready in the first story: the run ends with
 * RL_EXIT_SYSTEM and shows its stderr. A process or a socket is unavailable: RL_EXIT_SYSTEM. A
 * signal ends the stories and kills their clients. A build without Lua cannot run the clients'
 * scripts: main.c says so.
 *
 * Can a story reach one of the user's nodes? No: COMMAND's REDLOCK_NODES names only the nodes of
 * the story, and COMMAND does not see the other REDLOCK_... variables. */
#include "conform/room.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "say.h"
#include "tool/json.h"

#define NAME_WIDTH 16
#define INDENT 6

/* -- Options -- */

struct settings {
    struct tool_list stories; /* names; none: all stories */
    int64_t scale, jobs;
    bool json, verbose, lists;
    char **command; /* ends with NULL */
};

#define AT(field) offsetof(struct settings, field)

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

/* The story that is played as number i; NULL: there are fewer. */
static const struct rl_story *story_of(size_t i) {
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
    return story_of(i) != NULL ? story_of(i)->name : NULL;
}

static bool is_story(const char *name) {
    size_t i = 0;
    while (story_of(i) != NULL && strcmp(story_of(i)->name, name) != 0) {
        i++;
    }
    return story_of(i) != NULL;
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

static int check(struct settings *out, const struct tool_options *options) {
    if (options->n_words > 0) {
        return rl_usage("conform: \"%s\": the client's command stands behind --",
                        options->words[0]);
    }
    if (tool_list_split(&out->stories) != 0) {
        return rl_usage("conform: --story: at most %d of them; without it all run", TOOL_LIST_MAX);
    }
    for (size_t i = 0; i < out->stories.n; i++) {
        if (!is_story(out->stories.items[i])) {
            return rl_usage("conform: there is no story \"%s\"; redlock conform --list names all",
                            out->stories.items[i]);
        }
    }
    if (!out->lists && (out->command == NULL || out->command[0] == NULL)) {
        return rl_usage(
            "conform: no command; give redlock conform -- COMMAND, a program around the client "
            "that is tried; see redlock conform --help");
    }
    return 0;
}

/* True: *out is complete. False: --help or an error was shown; the program ends with
 * *exit_status. */
static bool read_settings(struct settings *out, int argc, char **argv, int *exit_status) {
    struct tool_options options = {.rows = rl_conform_table,
                                   .count = rl_conform_table_size,
                                   .target = out,
                                   .program = "redlock conform",
                                   .name = "conform"};
    *out = (struct settings){.scale = 1, .jobs = 8};
    *exit_status = RL_EXIT_OK;
    if (tool_options_parse(&options, rl_args_cut(argc, argv, &out->command), argv) != 0) {
        *exit_status = rl_usage("%s", options.error);
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

/* -- What is shown -- */

struct run { /* of a story */
    const struct rl_story *story;
    pid_t pid;
    struct rl_result *result; /* in shared memory */
};

struct runs {
    const struct settings *settings;
    struct run *all;
    size_t n;
    int counts[RL_VERDICTS];
};

static const char *const names[RL_VERDICTS] = {"PASS", "FAIL", "NOTE"};

static void list_stories(bool json) {
    for (size_t i = 0; story_of(i) != NULL; i++) {
        if (json) {
            tool_json_line(stdout, JSON_TEXT("story", story_of(i)->name),
                           JSON_TEXT("what", story_of(i)->what));
        } else {
            printf("%-*s %s\n", NAME_WIDTH, story_of(i)->name, story_of(i)->what);
        }
    }
}

static void show_json(const struct rl_story *story, const struct rl_result *result) {
    bool passes = result->verdict == RL_VERDICT_PASS;
    tool_json_line(stdout, JSON_TEXT("story", story->name), JSON_TEXT("what", story->what),
                   JSON_TEXT("verdict", names[result->verdict]),
                   JSON_TEXT("rule", passes ? NULL : result->rule),
                   JSON_TEXT("text", passes ? NULL : result->text), JSON_INT("ms", result->ms));
}

static void show_verdict(struct runs *runs, const struct rl_story *story,
                         const struct rl_result *result) {
    static const enum rl_paint paints[RL_VERDICTS] = {RL_PAINT_GOOD, RL_PAINT_BAD, RL_PAINT_WARN};
    runs->counts[result->verdict]++;
    if (runs->settings->json) {
        show_json(story, result);
        return;
    }
    rl_say_painted(paints[result->verdict], names[result->verdict], INDENT);
    printf("%-*s ", NAME_WIDTH, story->name);
    rl_say_wrapped(story->what, INDENT + NAME_WIDTH + 1);
    if (result->verdict != RL_VERDICT_PASS) {
        printf("%*s", INDENT, "");
        rl_say_wrapped(rl_text("%s: %s", result->rule, result->text), INDENT);
    }
}

static void show_counts(const struct runs *runs) {
    const int *counts = runs->counts;
    if (!runs->settings->json) {
        printf("\n%d stories: %d PASS, %d FAIL, %d NOTE. The rules are in docs/protocol.md.\n",
               counts[0] + counts[1] + counts[2], counts[RL_VERDICT_PASS], counts[RL_VERDICT_FAIL],
               counts[RL_VERDICT_NOTE]);
    }
}

/* -- In the story's process -- */

static bool has_no_errors_to_come(struct rl_stage *stage, void *player) {
    (void)stage;
    return uv_is_active((uv_handle_t *)&((struct rl_player *)player)->errors) == 0;
}

/* A client that does not become ready on five healthy nodes cannot be tested. */
static void look_whether_it_starts(struct rl_stage *stage, const struct rl_story *story) {
    struct rl_player *player = &stage->players[0];
    struct rl_result *result = &stage->result;
    if (player->is_unstarted) {
        result->exit_status = RL_EXIT_NOT_FOUND;
    } else if (!player->is_ready && !story->starts_itself) {
        rl_stage_until(stage, has_no_errors_to_come, player, 500);
        result->exit_status = RL_EXIT_SYSTEM;
        snprintf(result->errors, sizeof result->errors, "%s", player->error_tail);
        if (player->problem[0] != '\0') { /* `errors` has what rl_player_why() would add */
            snprintf(result->text, sizeof result->text, "%.899s", player->problem);
        }
    }
}

static struct rl_stage stage;

/* Ctrl-C does not reach a client, which leads a process group of its own; and one that hangs does
 * not notice the end of its input. */
static void give_up(int signal_number) {
    for (int i = 0; i < RL_PLAYERS; i++) {
        rl_player_signal(&stage.players[i], SIGKILL);
    }
    _exit(RL_EXIT_SIGNAL + signal_number);
}

static void end_by(int signal_number) {
    if (signal(signal_number, give_up) == SIG_IGN) { /* nohup */
        signal(signal_number, SIG_IGN);
    }
}

static void play(const struct settings *settings, const struct rl_story *story,
                 struct rl_result *out) {
    stage = (struct rl_stage){.scale = settings->scale,
                              .command = settings->command,
                              .story = story,
                              .shows_errors = settings->verbose};
    const uint64_t begin_ns = uv_hrtime();
    rl_stage_open(&stage);
    if (!story->starts_itself) {
        rl_stage_enter(&stage, 0);
    }
    if (!stage.is_decided) {
        story->play(&stage);
    }
    look_whether_it_starts(&stage, story);
    stage.result.ms = (int64_t)((uv_hrtime() - begin_ns) / 1000000);
    *out = stage.result;
    rl_stage_close(&stage);
}

/* -- In the process that reports -- */

/* Returns 0 or an exit status. */
static int start(const struct settings *settings, struct run *run) {
    fflush(stdout);
    run->pid = fork();
    if (run->pid == 0) {
        signal(SIGPIPE, SIG_IGN); /* a request to a client that has ended */
        end_by(SIGINT);
        end_by(SIGTERM);
        end_by(SIGHUP);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        play(settings, run->story, run->result);
        run->result->is_whole = true;
        _exit(0);
    }
    return run->pid > 0 ? 0 : rl_fail(RL_EXIT_SYSTEM, "conform: no process: %s", strerror(errno));
}

/* Waits until the story has ended. Returns 0, or an exit status if it left no verdict. */
static int finish(const struct run *run) {
    while (waitpid(run->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    return run->result->is_whole
               ? 0
               : rl_fail(RL_EXIT_SYSTEM, "conform: the process of story %s ended without a verdict",
                         run->story->name);
}

static int cannot_start(struct rl_result *result) {
    char *place = NULL;
    rl_say("conform: %s%s", result->text, result->errors[0] != '\0' ? "; its stderr:" : "");
    for (char *line = strtok_r(result->errors, "\n", &place); line != NULL;
         line = strtok_r(NULL, "\n", &place)) {
        fprintf(stderr, "  %s\n", rl_text_clean(line, RL_TEXT_MAX));
    }
    return result->exit_status;
}

/* Plays the stories, several at a time, and shows their verdicts in order. Returns 0, or an exit
 * status if the client cannot start in the first story. In a later one, that is a FAIL. */
static int run_all(struct runs *runs) {
    int exit_status = 0;
    size_t started = 0, shown = 0;
    while (exit_status == 0 && shown < runs->n) {
        if (started < runs->n && started < shown + (size_t)runs->settings->jobs) {
            exit_status = start(runs->settings, &runs->all[started]);
            started += exit_status == 0;
            continue;
        }
        const struct run *run = &runs->all[shown++];
        exit_status = finish(run);
        if (exit_status == 0 && shown == 1 && run->result->exit_status != 0) {
            exit_status = cannot_start(run->result);
        } else if (exit_status == 0) {
            show_verdict(runs, run->story, run->result);
            fflush(stdout);
        }
    }
    while (shown < started) { /* after an error */
        finish(&runs->all[shown++]);
    }
    return exit_status;
}

static bool is_wanted(const struct settings *settings, const char *name) {
    bool wanted = settings->stories.n == 0;
    for (size_t i = 0; i < settings->stories.n; i++) {
        wanted = wanted || strcmp(settings->stories.items[i], name) == 0;
    }
    return wanted;
}

static int try_client(const struct settings *settings) {
    struct runs runs = {.settings = settings};
    size_t n = 0;
    while (story_of(n) != NULL) {
        n++;
    }
    struct rl_result *results =
        mmap(NULL, n * sizeof *results, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (results == MAP_FAILED) {
        return rl_fail(RL_EXIT_SYSTEM, "conform: no memory: %s", strerror(errno));
    }
    runs.all = rl_must_alloc(n, sizeof *runs.all);
    for (size_t i = 0; i < n; i++) {
        if (is_wanted(settings, story_of(i)->name)) {
            runs.all[runs.n].story = story_of(i);
            runs.all[runs.n].result = &results[runs.n];
            runs.n++;
        }
    }
    int exit_status = run_all(&runs);
    free(runs.all);
    if (exit_status == 0) {
        show_counts(&runs);
        exit_status = runs.counts[RL_VERDICT_FAIL] > 0 ? RL_EXIT_HELD : RL_EXIT_OK;
    }
    return exit_status;
}

int rl_cmd_conform(int argc, char **argv) {
    struct settings settings;
    int exit_status = 0;
    bool runs = read_settings(&settings, argc, argv, &exit_status);
    if (runs && settings.lists) {
        list_stories(settings.json);
    } else if (runs) {
        exit_status = try_client(&settings);
    }
    tool_list_free(&settings.stories);
    return exit_status;
}
