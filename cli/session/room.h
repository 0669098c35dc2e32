/* One client on one loop, its signals and its terminal; and what the nodes know of a key. */
#ifndef RL_CLI_SESSION_ROOM_H
#define RL_CLI_SESSION_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "args.h"
#include "redlock/redlock.h"
#include "redlock/token.h"
#include "token.h"

/* -- terminal.c -- */

#define RL_SIGNALS_MAX 16

typedef void (*rl_signal_cb)(int signal_number, void *data);

struct rl_signals {
    uv_signal_t *handles[RL_SIGNALS_MAX]; /* one that is being closed may outlive this struct */
    size_t count;
    rl_signal_cb callback;
    void *data;
};

/* list ends with 0. */
void rl_signals_open(struct rl_signals *signals, uv_loop_t *loop, const int *list,
                     rl_signal_cb callback, void *data);
void rl_signals_close(struct rl_signals *signals);

/* Whether the signal was ignored when redlock started. */
bool rl_signals_is_ignored(int signal_number);

struct rl_terminal {
    int fd; /* -1: there is none */
    bool is_given;
};

void rl_terminal_open(struct rl_terminal *terminal);
void rl_terminal_close(struct rl_terminal *terminal); /* after rl_terminal_take() */

/* Puts the group into the foreground if redlock is in it. */
bool rl_terminal_give(struct rl_terminal *terminal, pid_t group);
/* Returns redlock to the foreground if the group is in it. */
void rl_terminal_take(struct rl_terminal *terminal, pid_t group);

/* Stops this process as the signal (SIGTSTP, SIGTTIN, SIGTTOU) does by default, and returns when it
 * is continued. False: it was not stopped, because no shell would continue it. */
bool rl_terminal_stop_self(int signal_number);

/* -- found.c -- */

/* What each node has under a key, and who holds it according to a quorum.
 *
 * Happy path: rl_found_ask(); the nodes answer, and the struct is filled in.
 *
 * Failure modes: those of redlock_query_holder(). The result may be outdated when it is shown. */

#define RL_LOOK_KEY_MAX 256
#define RL_LOOK_VALUE_MAX 128 /* of a holder's name, or of another library's value */
#define RL_LOOK_NAME_MAX (RL_LOOK_VALUE_MAX + 48)
#define RL_LOOK_TEXT_MAX (RL_LOOK_NAME_MAX + 96)
#define RL_LOOK_WHY_MAX 320

/* The nodes' strings are copies, since the query frees its own after its callback. */
struct rl_look {
    redlock_bytes key;
    char shown[RL_LOOK_KEY_MAX]; /* the key, fit for a terminal */
    size_t n;                    /* nodes that decide about the key */
    size_t needed;               /* the fewest of them that make a quorum */
    size_t answered, holding;    /* nodes that answered; nodes that have what the quorum has */
    size_t having, reserved;     /* nodes where the key is held; nodes that reserve it for the next
                                    client */
    int64_t reserved_ms;         /* the longest reservation */
    bool is_answered;            /* by a quorum */
    bool is_held;                /* by a quorum */
    bool is_hindered;            /* keys that are not libredlock's make a quorum impossible */
    size_t hindering;            /* the number of nodes that have such a key */
    const char *hindrance;       /* the value on the first of them */
    char token[RL_TOKEN_TEXT_MAX];
    char holder[RL_LOOK_VALUE_MAX];
    bool is_foreign; /* held by a client of another library: holder is its value */
    bool is_shared;  /* held by readers: there is no token and no holder */
    bool reads;      /* set by the caller, who would be one more reader */
    int64_t remaining_ms;
    struct rl_look_node {
        redlock_node_holder s;
        char token[REDLOCK_TOKEN_LENGTH + 1];
        char holder[RL_LOOK_VALUE_MAX];
        char why[RL_LOOK_WHY_MAX]; /* s.status is not 0 */
        bool votes;                /* it may vote */
        int64_t votes_in_ms;       /* if it may not because it may have forgotten keys: the time
                                      until it may */
    } node_holders[REDLOCK_NODES_MAX];
};

/* The following texts are valid as long as an rl_text(). */

/* Why a node is down or may not vote, with the node's or the system's error. */
const char *rl_look_why(const redlock_node_info *info);

/* A node's new state: "went away: connection refused", "is up, and votes in 12 s"; `voting` if it
 * votes. */
const char *rl_look_state(const redlock_node_info *info, const char *voting);

/* Whether a node has what the quorum has. */
bool rl_look_is_holding(const struct rl_look *look, const struct rl_look_node *node_holder);

/* Who holds it. */
const char *rl_look_name(const struct rl_look *look);

/* "for another 25 s", since_ms after the look, or "for ever" of keys without a ttl. */
const char *rl_look_left(const struct rl_look *look, uint64_t since_ms);

/* "held by web1:4711 for another 25 s", since_ms after the look. A lock of another library is named
 * by its value, as is a key that blocks the lock without being one; readers as "readers", with the
 * reason why one more must wait. NULL: there is nothing to name. */
const char *rl_look_say(const struct rl_look *look, uint64_t since_ms);

/* Why `take` of so many permits are not available. It does not ask the nodes who holds the slots or
 * who is first in line. */
const char *rl_look_say_permits(int64_t permits, int64_t take);

/* A client that holds a key or waits for it, as the nodes report it. */
enum rl_item_kind {
    RL_ITEM_LOCK, /* holds it exclusively */
    RL_ITEM_READER,
    RL_ITEM_SLOT,
    RL_ITEM_WAITS, /* waits to hold it exclusively; the following kinds wait, too */
    RL_ITEM_WAITS_TO_READ,
    RL_ITEM_WAITS_FOR_PERMITS
};

/* Whether a client still listens for its turn. */
enum rl_listens { RL_LISTENS_UNKNOWN, RL_LISTENS_NO, RL_LISTENS_YES };

#define RL_ITEM_TEXT_MAX RL_LOOK_NAME_MAX

struct rl_item {
    enum rl_item_kind kind;
    /* The owner: the token's digits, a client's number, or another library's value; "": unknown. */
    char id[RL_ITEM_TEXT_MAX];
    char who[RL_ITEM_TEXT_MAX];    /* the name, fit for a terminal; "" if it has none */
    char token[RL_TOKEN_TEXT_MAX]; /* as release takes it; "" if it is not libredlock's */
    uint32_t number;               /* the slot's number; or the number of permits it waits for */
    uint32_t votes;                /* of a holder: nodes that have it */
    int64_t left_ms;   /* of a holder: until it expires unless renewed; -1: never; 0: no quorum has
                          it */
    uint64_t fence;    /* of a slot; 0: none */
    bool is_held;      /* by a quorum */
    bool is_reserved;  /* a slot, for the next client */
    int64_t waited_ms; /* this and the following: of a waiting client */
    const char *node;
    enum rl_listens listens; /* see queue.c */
};

/* The client's name, "no name", or "no name (client 0123456789abcdef)". */
const char *rl_item_who(const struct rl_item *item);

/* One list about a key, in the nodes' order.
 *
 * Failure modes: those of redlock_query_readers(), redlock_query_slots(), redlock_query_waiters()
 * and redlock_query_permit_waiters(). `refused` says why a node did not answer, for example because
 * it forbids the commands. A reader that renews, a permit that changes hands or a client that moves
 * up during the query may be missing. */

#define RL_LINE_MAX 200    /* clients of each kind that are listed; the others are counted */
#define RL_READERS_MAX 200 /* the same */

struct rl_found;

struct rl_part {
    struct rl_found *found; /* the owner of this part */
    bool is_known;          /* a quorum answered; for a line, the node that has it is enough */
    int refused;            /* why it is not known: REDLOCK_ERR_NODE_... of the first node that did
                               not answer */
    bool unanswered[REDLOCK_NODES_MAX]; /* which nodes did not */
    size_t n_unanswered;
    size_t total;    /* readers, and clients that wait, including those that are not listed */
    size_t held;     /* of the n: held by a quorum */
    size_t reserved; /* of the n */
    size_t writing;  /* of the n: clients that wait to hold it exclusively; they precede those that
                        wait to read */
    size_t n, room;
    struct rl_item *items;
};

/* How many clients wait to hold it exclusively, and to read it, including those that are not
 * listed. */
void rl_line_count(const struct rl_part *line, size_t *writing, size_t *reading);

typedef void (*rl_found_cb)(struct rl_found *found, void *data);

struct rl_found {
    redlock_client *client;
    rl_found_cb on_done;
    void *data;
    size_t out; /* queries that are pending */
    bool asks_readers;
    int status; /* 0, REDLOCK_ERR_NO_QUORUM, or why the nodes could not be asked */
    struct rl_look look;
    struct rl_part readers; /* those with a quorum first; empty if the look found none */
    struct rl_part line;
    struct rl_part slots; /* in use */
    struct rl_part permits_line;
    int32_t permits;                 /* the number that most nodes keep, as they may differ; 0: no
                                        node keeps one */
    int32_t kept[REDLOCK_NODES_MAX]; /* the number that each node keeps; 0: none */
    size_t free;                     /* slots below `permits` */
    int64_t kicks_left_ms;           /* until the notes of kicks expire; 0: there are none, or it is
                                        unknown */
};

/* What to ask for in addition to the holder. */
struct rl_found_parts {
    bool readers; /* who reads it, if anyone does */
    bool line;    /* who waits for the lock */
    bool permits; /* who has permits, and who waits for them */
    bool kicks;   /* whether there are notes of kicks; runs a script on each node */
};

/* found: zeroed, or used before. It and key must live until on_done, which runs once, and never
 * within this call. */
int rl_found_ask(struct rl_found *found, redlock_client *client, redlock_bytes key,
                 struct rl_found_parts parts, rl_found_cb on_done, void *data);

void rl_found_free(struct rl_found *found);

/* Whether the nodes know anything of a lock, or of a semaphore, with this key. */
bool rl_found_has_lock(const struct rl_found *found);
bool rl_found_has_permits(const struct rl_found *found);

/* -- waiting.c -- */

struct rl_waiting {
    redlock_client *client;
    const struct rl_args *args;
    const char *label; /* for messages: the keys, or an election's name */
    struct rl_keys keys;
    size_t at;             /* index of the key to query */
    struct rl_found found; /* by the last look */
    uv_timer_t timer;      /* the next query, or the next redraw */
    uv_timer_t node_timer;
    uv_signal_t stop; /* Ctrl-Z, while there is a line */
    uint64_t began_ms;
    uint64_t looked_ms; /* when the last query ended */
    char who[RL_LOOK_TEXT_MAX];
    int states[REDLOCK_NODES_MAX]; /* of the nodes, as last reported: 0 down, 1 up, 2 voting */
    bool is_waiting;
    bool is_looking;
    bool is_said;
    bool is_line; /* on a terminal */
};

/* With a client that is being opened: once. */
void rl_waiting_open(struct rl_waiting *waiting, uv_loop_t *loop, const struct rl_args *args);
void rl_waiting_close(struct rl_waiting *waiting);

/* keys: "KEY[,KEY...]", whose holders are reported in addition to changes of nodes; or an
 * election's name, for which only changes of nodes are. It must live until rl_waiting_end(). */
void rl_waiting_begin(struct rl_waiting *waiting, redlock_client *client, const char *keys);
void rl_waiting_end(struct rl_waiting *waiting);

/* From the client's trace hook. */
void rl_waiting_on_event(struct rl_waiting *waiting, const redlock_event *event);
/* The terminal's size has changed. */
void rl_waiting_redraw(struct rl_waiting *waiting);

/* -- session.c -- */

struct rl_session {
    uv_loop_t loop;
    redlock_client *client;
    struct rl_args *args;
    struct rl_signals signals;
    struct rl_waiting waiting;
    uv_timer_t password_timer;      /* when to check its file again, if has_password_timer */
    redlock_lock *const *acquiring; /* a signal cancels these */
    size_t n_acquiring;
    redlock_lock *lock; /* of the last callback */
    bool is_done;
    int status;  /* passed to the callback */
    int outcome; /* of the last acquire */
    char why_not[REDLOCK_MESSAGE_MAX];
    int caught;             /* the signal that was received; 0: none */
    rl_signal_cb on_caught; /* of a running command, which gets each of them; or NULL */
    void *caught_data;
    bool is_open, has_password_timer;
    bool is_interruptible; /* a signal ends the waiting */
};

/* Returns 0, even if too few nodes answer, or an exit status. Once a quorum is connected, the
 * remaining nodes have a grace period of half the node timeout to connect: a node that is not
 * connected when the command begins takes no part in its lock. */
int rl_session_open(struct rl_session *session, struct rl_args *args);

/* A name that is still being resolved keeps a client from being closed, possibly for minutes:
 * RL_CLOSE_MS after the node timeout, for which the client awaits answers to its releases, this
 * ends the program with the exit status. With RL_CLOSE_WAITS it waits. */
#define RL_CLOSE_MS 500
#define RL_CLOSE_WAITS (-1)
void rl_session_close(struct rl_session *session, int exit_status);

/* Runs the loop until rl_session_done(). Returns session->status. */
int rl_session_wait(struct rl_session *session);
void rl_session_done(struct rl_session *session, int status);
void rl_session_lock_cb(redlock_lock *lock, int status, void *session);

/* Runs the loop until is_over() returns true (NULL: never), or for limit_ms. It calls is_over()
 * after each event. A signal ends the wait if it is interruptible. */
typedef bool rl_session_condition(const struct rl_session *session, const void *data);
void rl_session_until(struct rl_session *session, rl_session_condition *is_over, const void *data,
                      int64_t limit_ms, bool is_interruptible);

/* With --repeat, waits for its pause. False: a signal arrived, or there is no --repeat. */
bool rl_session_repeats(struct rl_session *session);

/* Before a command ends: waits until every connected node has answered, at most for the node
 * timeout. An acquire or an extension ends when a majority has answered, but this process is still
 * needed: to send the whole script to a node that lacks it, and to restore a key on a node that has
 * lost it. With a held lock, it waits for at most half of the remaining validity, and a signal ends
 * the wait; without a lock (NULL: a release), a signal does not. */
void rl_session_settle(struct rl_session *session, const redlock_lock *lock);

/* If too few nodes have answered a release, gives the others two node timeouts to connect and
 * answer: a change of a set's nodes cuts connections. Returns 0 if the release is no longer pending
 * on any node, else status. */
int rl_session_confirm(struct rl_session *session, int status);

/* Makes a lock of "KEY[,KEY...]", or of an election's name, with the holder's name. Returns 0 or an
 * exit status. */
int rl_session_lock(struct rl_session *session, const char *keys, const char *holder,
                    redlock_lock **lock);

/* Reports that a call on a lock was refused, or how an operation ended. Returns the exit status. */
int rl_session_refused(redlock_lock *lock, const char *keys, int status);

/* The library's message about the lock; valid as long as an rl_text(). */
const char *rl_session_message(const redlock_lock *lock);

/* "host:number", the usual name of a holder; valid as long as an rl_text(). */
const char *rl_session_holder(long number);

/* Shows one key. Returns its exit status; the command's is the largest of all. */
typedef int (*rl_ask_keys_show)(struct rl_session *session, struct rl_found *found, bool is_first);

/* Asks the nodes about one key, and waits. Returns 0, even if too few answer; or an exit status
 * after reporting the error. */
int rl_ask_key(struct rl_session *session, struct rl_found *found, redlock_bytes key,
               struct rl_found_parts parts);

/* Returns the exit status. */
int rl_ask_keys(struct rl_args *args, rl_ask_keys_show show);

/* -- acquire.c -- */

/* Acquires one of n locks as --wait, --no-wait and --fence say. options: set only where they differ
 * from the defaults; this fills in ttl, wait and fencing. keys: of all locks. Returns whether
 * session->lock is held; if not, the reason was reported, and *exit_status is set (-E can make it
 * 0). */
bool rl_acquire(struct rl_session *session, redlock_lock *const *locks, size_t n, const char *keys,
                redlock_acquire_options *options, int *exit_status);

/* Releases a lock that was granted after a signal had arrived. Returns the exit status. */
int rl_acquire_give_back(struct rl_session *session, redlock_lock *lock);

#endif
