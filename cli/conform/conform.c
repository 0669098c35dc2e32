/* See conform.h. A story's process hands over its verdict through a pipe, in one piece: it is
 * shorter than PIPE_BUF. */
#include "conform/conform.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform/settings.h"
#include "conform/stage.h"
#include "exits.h"
#include "say.h"
#include "tool/json.h"
#include "tool/utf8.h"

#define NAME_WIDTH 16
#define INDENT 6

static_assert(sizeof(struct rl_result) <= PIPE_BUF, "a verdict is written in one piece");

enum state { WAITING, RUNNING, DONE, SHOWN };

struct run { /* of one story */
    const struct rl_story *story;
    enum state state;
    pid_t pid;
    int fd;
    struct rl_result result;
};

struct runs {
    const struct rl_conform *settings;
    struct run *all;
    size_t n, running;
    int counts[RL_VERDICTS];
};

/* -- What is shown -- */

static const char *const names[RL_VERDICTS] = {"PASS", "FAIL", "NOTE"};

static void list_stories(bool json) {
    for (size_t i = 0; rl_story(i) != NULL; i++) {
        if (json) {
            tool_json_line(stdout, JSON_TEXT("story", rl_story(i)->name),
                           JSON_TEXT("what", rl_story(i)->what));
        } else {
            printf("%-*s %s\n", NAME_WIDTH, rl_story(i)->name, rl_story(i)->what);
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
    char text[RL_VERDICT_TEXT_MAX + RL_VERDICT_RULE_MAX + 2];
    runs->counts[result->verdict]++;
    if (runs->settings->json) {
        show_json(story, result);
        return;
    }
    rl_say_painted(paints[result->verdict], names[result->verdict], INDENT);
    printf("%-*s ", NAME_WIDTH, story->name);
    rl_say_wrapped(story->what, INDENT + NAME_WIDTH + 1);
    if (result->verdict != RL_VERDICT_PASS) {
        snprintf(text, sizeof text, "%s: %s", result->rule, result->text);
        printf("%*s", INDENT, "");
        rl_say_wrapped(text, INDENT);
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
        if (player->problem[0] != '\0') { /* without the last line of these errors */
            snprintf(result->text, sizeof result->text, "%.899s", player->problem);
        }
    }
}

static void play(const struct rl_conform *settings, const struct rl_story *story,
                 struct rl_result *out) {
    static struct rl_stage stage; /* large */
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

static void run_child(const struct rl_conform *settings, const struct rl_story *story, int fd) {
    struct rl_result result = {.verdict = RL_VERDICT_PASS};
    signal(SIGPIPE, SIG_IGN); /* a client that has ended does not read */
    play(settings, story, &result);
    bool whole = write(fd, &result, sizeof result) == (ssize_t)sizeof result;
    _exit(whole ? 0 : 1);
}

/* -- In the process that reports -- */

/* Returns 0 or an exit status. */
static int start(struct runs *runs, struct run *run) {
    int fds[2];
    fflush(stdout);
    if (pipe(fds) != 0) {
        return rl_fail(RL_EXIT_SYSTEM, "conform: no pipe: %s", strerror(errno));
    }
    run->pid = fork();
    if (run->pid == 0) {
        close(fds[0]);
        run_child(runs->settings, run->story, fds[1]);
    }
    close(fds[1]);
    if (run->pid < 0) {
        close(fds[0]);
        return rl_fail(RL_EXIT_SYSTEM, "conform: no process: %s", strerror(errno));
    }
    run->fd = fds[0];
    run->state = RUNNING;
    runs->running++;
    return 0;
}

static int finish(struct runs *runs, struct run *run) {
    ssize_t n = read(run->fd, &run->result, sizeof run->result);
    int status = 0;
    close(run->fd);
    while (waitpid(run->pid, &status, 0) < 0 && errno == EINTR) {
    }
    run->state = DONE;
    runs->running--;
    if (n != (ssize_t)sizeof run->result) {
        return rl_fail(RL_EXIT_SYSTEM, "conform: the process of story %s ended without a verdict",
                       run->story->name);
    }
    return 0;
}

/* Waits until one of the running stories has ended. */
static int await(struct runs *runs) {
    struct pollfd *polls = rl_must_alloc(runs->n, sizeof *polls);
    int exit_status = 0;
    for (size_t i = 0; i < runs->n; i++) {
        polls[i] = (struct pollfd){.fd = runs->all[i].state == RUNNING ? runs->all[i].fd : -1,
                                   .events = POLLIN};
    }
    if (poll(polls, (nfds_t)runs->n, -1) > 0) {
        for (size_t i = 0; i < runs->n && exit_status == 0; i++) {
            exit_status = polls[i].revents != 0 ? finish(runs, &runs->all[i]) : 0;
        }
    }
    free(polls);
    return exit_status;
}

static int cannot_start(struct rl_result *result) {
    char shown[RL_VERDICT_ERRORS_MAX], *place = NULL;
    rl_say("conform: %s%s", result->text, result->errors[0] != '\0' ? "; its stderr:" : "");
    for (char *line = strtok_r(result->errors, "\n", &place); line != NULL;
         line = strtok_r(NULL, "\n", &place)) {
        fprintf(stderr, "  %s\n", tool_utf8_clean(line, strlen(line), shown, sizeof shown));
    }
    return result->exit_status;
}

/* In order. Returns 0, or an exit status if the client cannot start. If it started in the first
 * story, a later failure to start is a finding. */
static int show(struct runs *runs) {
    for (size_t i = 0; i < runs->n && runs->all[i].state >= DONE; i++) {
        struct run *run = &runs->all[i];
        if (i == 0 && run->state == DONE && run->result.exit_status != 0) {
            return cannot_start(&run->result);
        }
        if (run->state == DONE) {
            show_verdict(runs, run->story, &run->result);
            run->state = SHOWN;
            fflush(stdout);
        }
    }
    return 0;
}

static int run_all(struct runs *runs) {
    int exit_status = 0;
    size_t next = 0;
    while (exit_status == 0 && (next < runs->n || runs->running > 0)) {
        if (next < runs->n && runs->running < (size_t)runs->settings->jobs) {
            exit_status = start(runs, &runs->all[next++]);
            continue;
        }
        exit_status = await(runs);
        exit_status = exit_status == 0 ? show(runs) : exit_status;
    }
    for (size_t i = 0; i < runs->n; i++) { /* after an error */
        if (runs->all[i].state == RUNNING) {
            finish(runs, &runs->all[i]);
        }
    }
    return exit_status;
}

static bool is_wanted(const struct rl_conform *settings, const char *name) {
    bool wanted = settings->stories.n == 0;
    for (size_t i = 0; i < settings->stories.n; i++) {
        wanted = wanted || strcmp(settings->stories.items[i], name) == 0;
    }
    return wanted;
}

static int try_client(const struct rl_conform *settings) {
    struct runs runs = {.settings = settings};
    size_t n = 0;
    while (rl_story(n) != NULL) {
        n++;
    }
    runs.all = rl_must_alloc(n, sizeof *runs.all);
    for (size_t i = 0; i < n; i++) {
        if (is_wanted(settings, rl_story(i)->name)) {
            runs.all[runs.n++].story = rl_story(i);
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
    struct rl_conform settings;
    int exit_status = 0;
    bool runs = rl_conform_read(&settings, argc, argv, &exit_status);
    if (runs && settings.lists) {
        list_stories(settings.json);
    } else if (runs) {
        exit_status = try_client(&settings);
    }
    tool_list_free(&settings.stories);
    return exit_status;
}
