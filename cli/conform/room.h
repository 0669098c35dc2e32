/* The stories, the stage on which they are played, and the clients that play in them. */
#ifndef RL_CLI_CONFORM_ROOM_H
#define RL_CLI_CONFORM_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "say.h"
#include "tool/server/fake_node.h"

/* -- player.c -- */

#define RL_PLAYER_LINE_MAX 600
#define RL_PLAYER_ERRORS_MAX 2000

struct rl_answer {
    char line[RL_PLAYER_LINE_MAX]; /* unprintable bytes are '?' */
    bool is_yes;                   /* granted, extended, released */
    char token[RL_PLAYER_LINE_MAX];
    long long validity_ms; /* of "granted" and "extended" */
    uint64_t at_ns;        /* when it was read, by uv_hrtime() */
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

/* The client gets nodes as REDLOCK_NODES and story as REDLOCK_CONFORM_STORY. shows: it inherits our
 * stderr. */
void rl_player_start(struct rl_player *player, uv_loop_t *loop, char *const *command,
                     const char *nodes, const char *story, bool shows);

/* The problem, and the last line of its stderr. Valid as long as an rl_text(). */
const char *rl_player_why(const struct rl_player *player);

/* Sends a request; adds the end of the line. */
void rl_player_ask(struct rl_player *player, const char *request);

/* Sends a signal to its process group. */
void rl_player_signal(const struct rl_player *player, int signal_number);

/* Closes its standard input. */
void rl_player_finish(struct rl_player *player);

/* Kills what is left of its process group, and begins to close all handles; the caller runs the
 * loop. */
void rl_player_close(struct rl_player *player);

/* -- stage.c -- */

#define RL_NODES 5
#define RL_QUORUM 3
#define RL_PLAYERS 2
#define RL_EVENTS_MAX 4096
#define RL_SHAPE_MAX 48
#define RL_VALUE_MAX 160

#define KEY "conform:orders"
#define OTHER "0123456789abcdef-of-another-holder"

enum rl_event_kind { /* bits */
                     RL_EVENT_CAME =
                         1, /* a command: its shape, its value, and what was under the key then */
                     RL_EVENT_SET = 2,
                     RL_EVENT_EXPIRY = 4,
                     RL_EVENT_DELETED = 8, /* by a client; not by expiry */
                     RL_EVENT_END =
                         RL_EVENT_SET | RL_EVENT_EXPIRY /* what changes when the key ends */
};

struct rl_event {
    enum rl_event_kind kind;
    int node;
    uint64_t at_ns;           /* uv_hrtime() */
    long long life_ms;        /* of SET and EXPIRY: the key's ttl then; -1: for ever */
    bool by_script;           /* a script made the change; of CAME: the command is a script */
    char shape[RL_SHAPE_MAX]; /* "SET", or a script's SHA-1 */
    char value[RL_VALUE_MAX];
    char held[RL_VALUE_MAX]; /* of CAME */
};

/* The result of a story: its verdict, the rule of docs/protocol.md that was broken, and a sentence.
 * The story's process shares it with the one that reports. */
enum rl_verdict { RL_VERDICT_PASS, RL_VERDICT_FAIL, RL_VERDICT_NOTE, RL_VERDICTS };

#define RL_VERDICT_RULE_MAX 8
#define RL_VERDICT_TEXT_MAX 900
#define RL_VERDICT_ERRORS_MAX 2000

struct rl_result {
    enum rl_verdict verdict;
    int exit_status; /* redlock's, if the client cannot start, and text says why; else 0 */
    bool is_whole;   /* the story's process has filled it in */
    int64_t ms;      /* how long it took */
    char rule[RL_VERDICT_RULE_MAX];     /* "A7"; of a PASS: "" */
    char text[RL_VERDICT_TEXT_MAX];     /* of a PASS: "" */
    char errors[RL_VERDICT_ERRORS_MAX]; /* the end of its stderr, if the client cannot start */
};

struct rl_stage;

/* A story is a function in one of the files stories_*.c, and a row at the end of the file. */
struct rl_story {
    const char *name; /* NULL: this row ends the table */
    const char *what; /* what happens in it, in one line */
    void (*play)(struct rl_stage *s);
    bool starts_itself; /* it starts client 0; else that has entered before */
    const char *text;   /* an error, or a value, for stories that share a function */
    int down;           /* how many nodes are down, for such stories */
};

struct rl_watched { /* the owner of a node's watch */
    struct rl_stage *stage;
    int node;
};

struct rl_stage {
    uv_loop_t loop;
    uv_timer_t tick;
    struct fake_node *nodes[RL_NODES];
    struct rl_watched watched[RL_NODES];
    struct rl_player players[RL_PLAYERS];
    struct rl_event *events;
    size_t n_events; /* a story sets it to 0 to forget what was seen */
    const char *key; /* only its commands and changes become events */
    int64_t scale;
    char *const *command;
    const struct rl_story *story;
    bool shows_errors;
    bool swaps;  /* after a GET of the key outside of a script, another holder gets it */
    int swapped; /* how often that happened */
    struct rl_result result;
    bool is_decided;
};

void rl_stage_open(struct rl_stage *s);
void rl_stage_close(struct rl_stage *s);

/* Sets the verdict, unless there is one. */
void rl_stage_judge(struct rl_stage *s, enum rl_verdict verdict, const char *rule,
                    const char *text);
#define rl_stage_decide(s, verdict, rule, ...) \
    rl_stage_judge((s), (verdict), (rule), rl_text(__VA_ARGS__))

#define VERDICT_UNLESS(s, condition, verdict, ...)        \
    do {                                                  \
        if (!(condition)) {                               \
            rl_stage_decide((s), (verdict), __VA_ARGS__); \
        }                                                 \
        if ((s)->is_decided) {                            \
            return;                                       \
        }                                                 \
    } while (0)
#define MUST(s, condition, ...) VERDICT_UNLESS(s, condition, RL_VERDICT_FAIL, __VA_ARGS__)
/* The same, and adds client 0's last line to the text. */
#define MUST_SAID(s, condition, rule, ...) \
    MUST(s, condition, rule, "%s: \"%s\"", rl_text(__VA_ARGS__), rl_stage_answer(s, 0)->line)
#define NOTE_UNLESS(s, condition, ...) VERDICT_UNLESS(s, condition, RL_VERDICT_NOTE, __VA_ARGS__)

/* -- Time -- */

long long rl_stage_ms(const struct rl_stage *s, long long ms); /* scaled */
void rl_stage_run(struct rl_stage *s, int64_t ms);

typedef bool rl_stage_condition(struct rl_stage *s, void *data);

/* Turns the loop until the condition holds; false: it does not, after so long. */
bool rl_stage_until(struct rl_stage *s, rl_stage_condition *condition, void *data, int64_t ms);

/* -- The clients -- */

/* Starts client number `who`, waits until it is ready, and has it acquire and release another key,
 * so that it is connected and the nodes know its scripts. rl_stage_start() leaves out the latter.
 * */
void rl_stage_enter(struct rl_stage *s, int who);
void rl_stage_start(struct rl_stage *s, int who);

/* Sends a request and waits for the answer: true if it is "granted", "extended" or "released";
 * false if not, or if the story has a verdict. The key is one word. */
bool rl_stage_acquire(struct rl_stage *s, int who, const char *key, int64_t ttl_ms, int tries);
bool rl_stage_extend(struct rl_stage *s, int who, const char *key, int64_t ttl_ms);
bool rl_stage_release(struct rl_stage *s, int who, const char *key);

/* The same in two steps. */
void rl_stage_tell_acquire(struct rl_stage *s, int who, const char *key, int64_t ttl_ms, int tries);
bool rl_stage_hear(struct rl_stage *s, int who);
bool rl_stage_has_heard(const struct rl_stage *s, int who);

const struct rl_answer *rl_stage_answer(const struct rl_stage *s, int who);

/* The longest validity that a client may report this long after it sent the command: the rest of
 * the ttl less the allowance for drift. */
long long rl_stage_validity_ms(long long ttl_ms, long long elapsed_ms);

/* -- The nodes: `count` of them from number `first` on -- */

/* Gives the key to another holder, or to nobody. */
void rl_stage_plant(struct rl_stage *s, int first, int count, const char *value, int64_t life_ms);
void rl_stage_uproot(struct rl_stage *s, int first, int count);

/* Applies the rule to commands with the key. */
void rl_stage_rule(struct rl_stage *s, int first, int count, struct fake_rule rule);
/* Delays the answer to the next command with the key. */
void rl_stage_delay(struct rl_stage *s, int first, int count, long long ms);

void rl_stage_each(struct rl_stage *s, int first, int count, void (*act)(struct fake_node *));

void rl_stage_down(struct rl_stage *s, int first, int count);
void rl_stage_forget_scripts(struct rl_stage *s);

/* How many nodes have a value under the key that begins with this text. */
int rl_stage_count(struct rl_stage *s, int first, int count, const char *value);
/* Waits until no node has a value that a client has set. False: after this time one still has. */
bool rl_stage_cleans(struct rl_stage *s, int first, int count, int64_t ms);

/* -- What the nodes have seen -- */

/* The first event of these kinds on this node (-1: any) from number *at on, which moves past it;
 * NULL: there are no more. */
const struct rl_event *rl_stage_next(const struct rl_stage *s, size_t *at, unsigned kinds,
                                     int node);
int rl_stage_seen(const struct rl_stage *s, unsigned kinds, int node);

/* Returns how many attempts a node has seen, and up to `max` of them in out: commands with the key
 * that have the same shape as the first one there. */
int rl_stage_attempts(const struct rl_stage *s, int node, const struct rl_event **out, int max);

/* -- stories_*.c -- */

extern const struct rl_story rl_stories_grant[];
extern const struct rl_story rl_stories_hold[];
extern const struct rl_story rl_stories_together[];

#endif
