/* The client under test: a process that acquires, extends and releases as requested, a line for
 * each. docs/protocol.md, "redlock conform", has its lines.
 *
 * Happy path: rl_player_start(); it says "ready"; rl_player_ask(), and the loop runs until
 * player->answered.
 *
 * Failure modes: it cannot be started, ends, or writes a line that is no answer: `problem` says so,
 * and it gets no more requests. It leads a process group of its own, which is killed if it does not
 * end by itself. */
#ifndef RL_CLI_CONFORM_PLAYER_H
#define RL_CLI_CONFORM_PLAYER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define RL_PLAYER_LINE_MAX 600
#define RL_PLAYER_ERRORS_MAX 2000

struct rl_answer {
    char line[RL_PLAYER_LINE_MAX]; /* as it came, printable */
    bool is_yes;                   /* granted, extended, released */
    char token[RL_PLAYER_LINE_MAX];
    int64_t validity_ms; /* of granted and extended */
    uint64_t at_ns;      /* uv_hrtime() */
};

struct rl_player {
    uv_process_t process;
    uv_pipe_t in, out, errors;
    bool is_unstarted; /* the program cannot be started */
    bool is_started, has_ended, is_ready, answered;
    char request[RL_PLAYER_LINE_MAX];
    char buffer[RL_PLAYER_LINE_MAX];
    unsigned used;
    char error_tail[RL_PLAYER_ERRORS_MAX];
    struct rl_answer answer; /* once answered */
    char problem[2 * RL_PLAYER_LINE_MAX];
};

/* nodes: for its REDLOCK_NODES; story: for its REDLOCK_CONFORM_STORY. shows: it inherits our
 * stderr. */
void rl_player_start(struct rl_player *player, uv_loop_t *loop, char *const *command,
                     const char *nodes, const char *story, bool shows);

/* The problem, with the last line of its stderr; in out. */
#define RL_PLAYER_WHY_MAX (2 * RL_PLAYER_LINE_MAX + 400)
const char *rl_player_why(const struct rl_player *player, char out[RL_PLAYER_WHY_MAX]);

/* Sends a request, without the line's end. */
void rl_player_ask(struct rl_player *player, const char *request);

/* To its process group. */
void rl_player_signal(const struct rl_player *player, int signal_number);

/* Ends its input. */
void rl_player_finish(struct rl_player *player);

/* Kills what is left of its process group, and closes all handles: the caller runs the loop. */
void rl_player_close(struct rl_player *player);

#endif
