/* Where stories are played, by whom, and which there are. */
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
    char line[RL_PLAYER_LINE_MAX]; /* as it came, printable */
    bool is_yes;                   /* granted, extended, released */
    char token[RL_PLAYER_LINE_MAX];
    long long validity_ms; /* of granted and extended */
    uint64_t at_ns;        /* uv_hrtime() */
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

/* The problem, with the last line of its stderr: as rl_text(). */
const char *rl_player_why(const struct rl_player *player);

/* Sends a request, without the line's end. */
void rl_player_ask(struct rl_player *player, const char *request);

/* To its process group. */
void rl_player_signal(const struct rl_player *player, int signal_number);

/* Ends its input. */
void rl_player_finish(struct rl_player *player);

/* Kills what is left of its process group, and closes all handles: the caller runs the loop. */
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
    long long life_ms;        /* of SET and EXPIRY: from now on; -1: for ever */
    bool by_script;           /* a script did it, or CAME is one */
    char shape[RL_SHAPE_MAX]; /* "SET", or a script's SHA-1 */
    char key[RL_VALUE_MAX];
    char value[RL_VALUE_MAX];
    char held[RL_VALUE_MAX]; /* of CAME */
};

/* The result of a story: its verdict, the rule of docs/protocol.md that it tests, and a sentence.
 * The story's process and the one that reports share its memory. */
enum rl_verdict { RL_VERDICT_PASS, RL_VERDICT_FAIL, RL_VERDICT_NOTE, RL_VERDICTS };

#define RL_VERDICT_RULE_MAX 8
#define RL_VERDICT_TEXT_MAX 900
#define RL_VERDICT_ERRORS_MAX 2000

struct rl_result {
    enum rl_verdict verdict;
    int exit_status; /* of redlock, if the client cannot start: text says why; else 0 */
    bool is_whole;   /* all of this is there */
    int64_t ms;      /* how long it took */
    char rule[RL_VERDICT_RULE_MAX];     /* "A7"; of a PASS: "" */
    char text[RL_VERDICT_TEXT_MAX];     /* of a PASS: "" */
    char errors[RL_VERDICT_ERRORS_MAX]; /* if it cannot start: the end of its stderr */
};

struct rl_stage;

/* Each is a function in one of the files stories_*.c, with a row at the end of it. */
struct rl_story {
    const char *name; /* NULL behind the last one */
    const char *what; /* what it does, in one line */
    void (*play)(struct rl_stage *s);
    bool starts_itself; /* else client 0 has entered when it begins */
    const char *text;   /* of stories that share a function: an error, or a value */
    int down;           /* ... how many nodes are */
};

struct rl_watched { /* what a node's watch knows */
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
    size_t n_events; /* set to 0 to forget what was seen */
    const char *key; /* whose commands and changes are events */
    int64_t scale;
    char *const *command;
    const struct rl_story *story;
    bool shows_errors;
    bool swaps;  /* after a GET of the key outside of a script, another holder gets it */
    int swapped; /* how often that was */
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
/* What client 0 said last stands behind the text. */
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

/* Starts client number `who`, waits until it is ready, and has it acquire and release another key:
 * it is connected then, and the nodes know its scripts. (start: without that.) */
void rl_stage_enter(struct rl_stage *s, int who);
void rl_stage_start(struct rl_stage *s, int who);

/* Sends a request and waits for the answer: true if granted, extended or released. Also false if
 * the story is decided. The key is one word. */
bool rl_stage_acquire(struct rl_stage *s, int who, const char *key, int64_t ttl_ms, int tries);
bool rl_stage_extend(struct rl_stage *s, int who, const char *key, int64_t ttl_ms);
bool rl_stage_release(struct rl_stage *s, int who, const char *key);

/* The same in two steps. */
void rl_stage_tell_acquire(struct rl_stage *s, int who, const char *key, int64_t ttl_ms, int tries);
bool rl_stage_hear(struct rl_stage *s, int who);
bool rl_stage_has_heard(const struct rl_stage *s, int who);

const struct rl_answer *rl_stage_answer(const struct rl_stage *s, int who);

/* The most that may be reported of a ttl after that much time: the rest less the allowance for
 * drift. */
long long rl_stage_validity_ms(long long ttl_ms, long long elapsed_ms);

/* -- The nodes: `count` of them from number `first` on -- */

/* Gives the key to another holder, or to nobody. */
void rl_stage_plant(struct rl_stage *s, int first, int count, const char *value, int64_t life_ms);
void rl_stage_uproot(struct rl_stage *s, int first, int count);

/* The fault that a command with the key meets there, `times` times (0: always). */
void rl_stage_rule(struct rl_stage *s, int first, int count, struct fake_rule rule);
/* Answers come so late there, once. */
void rl_stage_delay(struct rl_stage *s, int first, int count, long long ms);

void rl_stage_each(struct rl_stage *s, int first, int count, void (*act)(struct fake_node *));

void rl_stage_down(struct rl_stage *s, int first, int count);
void rl_stage_forget_scripts(struct rl_stage *s);

/* On how many nodes the key has a value that begins with this text; "": any value. */
int rl_stage_count(struct rl_stage *s, int first, int count, const char *value);
/* Waits until only the other holder's values are left. False: others still are after this time. */
bool rl_stage_cleans(struct rl_stage *s, int first, int count, int64_t ms);

/* -- What they have seen -- */

/* Event number *at or later of these kinds on this node (-1: any), *at moves behind it; NULL. */
const struct rl_event *rl_stage_next(const struct rl_stage *s, size_t *at, unsigned kinds,
                                     int node);
int rl_stage_seen(const struct rl_stage *s, unsigned kinds, int node);

/* The attempts that a node has seen: commands with the key, of the shape that came first there.
 * Their number, and up to `max` of them. */
int rl_stage_attempts(const struct rl_stage *s, int node, const struct rl_event **out, int max);

/* -- stories_*.c; they end with a row without a name -- */

extern const struct rl_story rl_stories_grant[];
extern const struct rl_story rl_stories_hold[];
extern const struct rl_story rl_stories_together[];

#endif
