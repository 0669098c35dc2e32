/* The client under test: a process that reads requests, a line each, to acquire, extend or release,
 * and writes an answer to each. docs/protocol.md, "redlock conform", describes the lines.
 *
 * Happy path: rl_player_start(); the client writes "ready"; rl_player_ask(), and the loop runs
 * until player->answered.
 *
 * Failure modes: the client cannot be started, ends, or writes a line that is no answer: `problem`
 * says so, and it gets no more requests. It leads a process group of its own, which is killed if it
 * does not end by itself. */
#include "conform/room.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"
#include "tool/utf8.h"

extern char **environ;

/* The last line of its stderr that is not empty. */
static const char *last_line(const struct rl_player *player, size_t *length) {
    size_t end = strlen(player->error_tail);
    while (end > 0 && strchr("\r\n", player->error_tail[end - 1]) != NULL) {
        end--;
    }
    size_t from = end;
    while (from > 0 && player->error_tail[from - 1] != '\n') {
        from--;
    }
    *length = end - from;
    return player->error_tail + from;
}

static void set_problem(struct rl_player *player, const char *what) {
    if (player->problem[0] == '\0') {
        snprintf(player->problem, sizeof player->problem, "%s", what);
    }
}

const char *rl_player_why(const struct rl_player *player) {
    size_t length = 0;
    const char *last = last_line(player, &length);
    return rl_text("%s%s%s", player->problem, length > 0 ? "; the last on its stderr: " : "",
                   rl_text_bytes(last, length, 300));
}

/* -- What the client writes -- */

static bool begins(const char *text, const char *word) {
    size_t length = strlen(word);
    return strncmp(text, word, length) == 0 && (text[length] == '\0' || text[length] == ' ');
}

/* Whether the line answers the request. Words after its last number are ignored. */
static bool read_answer(const char *request, struct rl_answer *answer) {
    int end = 0;
    bool acquires = begins(request, "acquire"), extends = begins(request, "extend");
    answer->is_yes = begins(answer->line, acquires ? "granted" : extends ? "extended" : "released");
    if (!answer->is_yes) {
        return begins(answer->line, acquires ? "refused" : "failed");
    }
    if (acquires) {
        (void)sscanf(answer->line, "granted %599s %lld%n", answer->token, &answer->validity_ms,
                     &end);
    } else if (extends) {
        (void)sscanf(answer->line, "extended %lld%n", &answer->validity_ms, &end);
    } else {
        return true;
    }
    return end > 0 && (answer->line[end] == '\0' || answer->line[end] == ' ');
}

static void take_line(struct rl_player *player) {
    struct rl_answer *answer = &player->answer;
    if (player->used > 0 && player->buffer[player->used - 1] == '\r') {
        player->used--;
    }
    if (player->used == 0 || player->buffer[0] == '#') {
        return;
    }
    memset(answer, 0, sizeof *answer);
    tool_utf8_clean(player->buffer, player->used, answer->line, sizeof answer->line);
    answer->at_ns = uv_hrtime();
    if (!player->is_ready && strcmp(answer->line, "ready") == 0) {
        player->is_ready = true;
    } else if (player->is_ready && player->request[0] != '\0' && !player->answered &&
               read_answer(player->request, answer)) {
        player->answered = true;
    } else {
        bool is_waited_for = player->is_ready && player->request[0] != '\0' && !player->answered;
        set_problem(player, rl_text("the client wrote \"%.200s\", which is no answer to \"%.200s\"",
                                    answer->line,
                                    !player->is_ready ? "(nothing: \"ready\" comes first)"
                                    : is_waited_for   ? player->request
                                                      : "(nothing: it was not asked)"));
    }
}

static void take_bytes(struct rl_player *player, const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '\n') {
            take_line(player);
            player->used = 0;
        } else if (player->used + 1 < sizeof player->buffer) {
            player->buffer[player->used++] = bytes[i];
        }
    }
}

static void allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer) {
    static char bytes[4096]; /* the callback takes them before the next read */
    (void)handle;
    (void)suggested;
    *buffer = uv_buf_init(bytes, sizeof bytes);
}

static void on_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer) {
    struct rl_player *player = stream->data;
    if (n >= 0) {
        take_bytes(player, buffer->base, (size_t)n);
    } else {
        uv_read_stop(stream);
        player->has_ended = true;
        set_problem(player, player->is_ready ? "the client ended, or closed its standard output"
                                             : "the client ended before it wrote \"ready\"");
    }
}

/* Keeps the last bytes of its stderr. */
static void on_errors(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer) {
    struct rl_player *player = stream->data;
    char both[RL_PLAYER_ERRORS_MAX + 4096];
    if (n < 0) {
        uv_read_stop(stream);
        return;
    }
    size_t old = strlen(player->error_tail), length = old + (size_t)n;
    memcpy(both, player->error_tail, old);
    memcpy(both + old, buffer->base, (size_t)n);
    size_t from = length < RL_PLAYER_ERRORS_MAX ? 0 : length - (RL_PLAYER_ERRORS_MAX - 1);
    memcpy(player->error_tail, both + from, length - from);
    player->error_tail[length - from] = '\0';
}

/* -- The client's process -- */

static void on_ended(uv_process_t *process, int64_t status, int signal_number) {
    struct rl_player *player = process->data;
    (void)status;
    (void)signal_number;
    player->has_ended = true;
}

/* Changes this process's environment, which only the story's clients inherit: the user's nodes are
 * not in it. */
static void set_environment(const char *nodes, const char *story) {
    for (size_t i = 0; environ[i] != NULL;) {
        if (strncmp(environ[i], "REDLOCK_", 8) == 0) {
            char *name = rl_must_print("%.*s", (int)strcspn(environ[i], "="), environ[i]);
            unsetenv(name);
            free(name);
        } else {
            i++;
        }
    }
    setenv("REDLOCK_NODES", nodes, 1);
    setenv("REDLOCK_CONFORM_STORY", story, 1);
}

static int spawn(struct rl_player *player, uv_loop_t *loop, char *const *command, bool shows) {
    uv_stdio_container_t stdio[3] = {
        {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&player->in},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&player->out},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&player->errors},
    };
    if (shows) {
        stdio[2].flags = UV_INHERIT_FD;
        stdio[2].data.fd = 2;
    }
    uv_process_options_t options = {.exit_cb = on_ended,
                                    .file = command[0],
                                    .args = (char **)(uintptr_t)command,
                                    .flags = UV_PROCESS_DETACHED,
                                    .stdio_count = 3,
                                    .stdio = stdio};
    int error = uv_spawn(loop, &player->process, &options);
    if (error == 0 && !shows) {
        uv_read_start((uv_stream_t *)&player->errors, allocate, on_errors);
    }
    return error;
}

void rl_player_start(struct rl_player *player, uv_loop_t *loop, char *const *command,
                     const char *nodes, const char *story, bool shows) {
    memset(player, 0, sizeof *player);
    uv_pipe_init(loop, &player->in, 0);
    uv_pipe_init(loop, &player->out, 0);
    uv_pipe_init(loop, &player->errors, 0);
    player->in.data = player->out.data = player->errors.data = player->process.data = player;
    set_environment(nodes, story);
    int error = spawn(player, loop, command, shows);
    player->is_started = true;
    if (error != 0) {
        player->has_ended = player->is_unstarted = true;
        set_problem(player, rl_text("%.60s cannot be started: %s", command[0], uv_strerror(error)));
        return;
    }
    uv_read_start((uv_stream_t *)&player->out, allocate, on_output);
}

struct written {
    uv_write_t request;
    char line[RL_PLAYER_LINE_MAX + 1];
};

static void on_written(uv_write_t *request, int status) {
    (void)status; /* if the client does not read, its answer is missing */
    free(request->data);
}

void rl_player_ask(struct rl_player *player, const char *request) {
    struct written *written = rl_must_alloc(1, sizeof *written);
    snprintf(player->request, sizeof player->request, "%s", request);
    snprintf(written->line, sizeof written->line, "%s\n", request);
    player->answered = false;
    written->request.data = written;
    uv_buf_t buffer = uv_buf_init(written->line, (unsigned)strlen(written->line));
    if (player->problem[0] != '\0' ||
        uv_write(&written->request, (uv_stream_t *)&player->in, &buffer, 1, on_written) != 0) {
        free(written);
        set_problem(player, "the client does not take a request");
    }
}

void rl_player_signal(const struct rl_player *player, int signal_number) {
    if (player->process.pid > 1) {
        kill(-player->process.pid, signal_number);
    }
}

void rl_player_finish(struct rl_player *player) {
    if (player->is_started && !uv_is_closing((uv_handle_t *)&player->in)) {
        uv_close((uv_handle_t *)&player->in, NULL);
    }
}

void rl_player_close(struct rl_player *player) {
    uv_handle_t *handles[] = {(uv_handle_t *)&player->in, (uv_handle_t *)&player->out,
                              (uv_handle_t *)&player->errors, (uv_handle_t *)&player->process};
    if (!player->is_started) {
        return;
    }
    rl_player_signal(player, SIGKILL);
    for (size_t i = 0; i < sizeof handles / sizeof handles[0]; i++) {
        if (handles[i]->type != UV_UNKNOWN_HANDLE && !uv_is_closing(handles[i])) {
            uv_close(handles[i], NULL);
        }
    }
}
