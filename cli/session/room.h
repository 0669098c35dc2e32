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
    uv_signal_t handles[RL_SIGNALS_MAX];
    size_t count;
    rl_signal_cb callback;
    void *data;
};

/* list ends with 0. */
void rl_signals_open(struct rl_signals *signals, uv_loop_t *loop, const int *list,
                     rl_signal_cb callback, void *data);
void rl_signals_close(struct rl_signals *signals);

/* Whether the signal was ignored when redlock began. */
bool rl_signals_is_ignored(int signal_number);

struct rl_terminal {
    int fd; /* -1: there is none */
    bool is_given;
};

void rl_terminal_open(struct rl_terminal *terminal);
void rl_terminal_close(struct rl_terminal *terminal); /* takes it back */

/* Puts the group into the foreground if we are there. */
bool rl_terminal_give(struct rl_terminal *terminal, pid_t group);
/* ... and us again, if the group is there. */
void rl_terminal_take(struct rl_terminal *terminal, pid_t group);

/* Stops this process as the signal (SIGTSTP, SIGTTIN, SIGTTOU) does by default, and returns once it
 * was continued. False: it was not stopped, because no shell would continue it. */
bool rl_terminal_stop_self(int signal_number);

/* -- found.c -- */

/* What each node has under a key, and who holds it according to a quorum.
 *
 * Happy path: rl_found_ask(); the nodes answer, and the struct is filled in.
 *
 * Failure modes: those of redlock_query_holder(). The result may be outdated when it is shown. */

#define RL_LOOK_KEY_MAX 256
#define RL_LOOK_VALUE_MAX 128 /* of a holder's name, or of a value that is not of our kind */
#define RL_LOOK_NAME_MAX (RL_LOOK_VALUE_MAX + 48)
#define RL_LOOK_TEXT_MAX (RL_LOOK_NAME_MAX + 96)
#define RL_LOOK_WHY_MAX 320

/* The nodes' strings are copies, since the query frees its own after its callback. */
struct rl_look {
    redlock_bytes key;
    char shown[RL_LOOK_KEY_MAX]; /* the key, fit for a terminal */
    size_t n;                    /* nodes that decide about the key, and */
    size_t needed;               /* ... how many of them a quorum has, at least */
    size_t answered, holding;    /* nodes; that have what the quorum has */
    size_t having, reserved; /* nodes where the key is someone's; that keep it for the next one */
    int64_t reserved_ms;     /* ... the longest of these */
    bool is_answered;        /* by a quorum */
    bool is_held;            /* by a quorum */
    bool is_hindered;        /* keys that are none of ours make a quorum impossible: */
    size_t hindering;        /* ... on so many nodes, and */
    const char *hindrance;   /* ... what the first of them has */
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
        int64_t votes_in_ms;       /* if it may not, since it may have forgotten keys: the time
                                      until it may */
    } node_holders[REDLOCK_NODES_MAX];
};

/* The texts that follow are as those of rl_text(). */

/* Why a node is down or may not vote, with the node's or the system's error. */
const char *rl_look_why(const redlock_node_info *info);

/* What became of a node: "went away: connection refused", "is up, and votes in 12 s". Of one that
 * votes: voting. */
const char *rl_look_state(const redlock_node_info *info, const char *voting);

/* Whether a node has what the quorum has. */
bool rl_look_is_holding(const struct rl_look *look, const struct rl_look_node *node_holder);

/* Who holds it. */
const char *rl_look_name(const struct rl_look *look);

/* "for another 25 s", since_ms after the look, or "for ever" of keys without a ttl. */
const char *rl_look_left(const struct rl_look *look, uint64_t since_ms);

/* "held by web1:4711 for another 25 s", since_ms after the look. A lock of another library is named
 * by its value, readers as "readers", and why one more must wait; so is a key that blocks the lock
 * and is none. NULL: there is nothing to name. */
const char *rl_look_say(const struct rl_look *look, uint64_t since_ms);

/* Why `take` of so many permits are not available. The nodes are not asked for the holders of the
 * slots or the first client in line. */
const char *rl_look_say_permits(int64_t permits, int64_t take);

/* Who has a key, or waits for it, as the nodes report it. */
enum rl_item_kind {
    RL_ITEM_LOCK, /* who holds it alone */
    RL_ITEM_READER,
    RL_ITEM_SLOT,
    RL_ITEM_WAITS, /* to hold it alone; this and the following wait */
    RL_ITEM_WAITS_TO_READ,
    RL_ITEM_WAITS_FOR_PERMITS
};

/* Whether a client still listens for its turn. */
enum rl_listens { RL_LISTENS_UNKNOWN, RL_LISTENS_NO, RL_LISTENS_YES };

#define RL_ITEM_TEXT_MAX RL_LOOK_NAME_MAX

struct rl_item {
    enum rl_item_kind kind;
    /* The owner: the token's digits, a client's number, or another library's value; "": not
     * known. */
    char id[RL_ITEM_TEXT_MAX];
    char who[RL_ITEM_TEXT_MAX];    /* the name, fit for a terminal; "" if it has none */
    char token[RL_TOKEN_TEXT_MAX]; /* as release wants it; "" if it is not of our kind */
    uint32_t number;               /* a slot's number; how many permits are wanted */
    uint32_t votes;                /* of a holder: nodes that have it */
    int64_t left_ms;  /* of a holder: until it ends unless it is renewed; -1: never; 0: fewer than a
                        quorum have it */
    uint64_t fence;   /* of a slot; 0: none */
    bool is_held;     /* by a quorum */
    bool is_reserved; /* a slot, for the next client */
    int64_t waited_ms; /* these of a waiting client */
    const char *node;
    enum rl_listens listens; /* see queue.c */
};

/* Who it is: a name, "no name", or "no name (client 0123456789abcdef)". */
const char *rl_item_who(const struct rl_item *item);

/* One list of what is known of a key, in the nodes' order.
 *
 * Failure modes: those of redlock_query_readers(), redlock_query_slots(), redlock_query_waiters()
 * and redlock_query_permit_waiters(). A node that forbids the commands is named by `refused`. A
 * reader that renews, a permit that changes hands or a client that moves up while it is asked for
 * may be missing. */

#define RL_LINE_MAX 200    /* clients of each kind that are listed; the others are counted */
#define RL_READERS_MAX 200 /* the same */

struct rl_found;

struct rl_part {
    struct rl_found *found; /* the owner of this part */
    bool is_known;          /* a quorum answered; of a line: or at least the node that has it */
    int refused;            /* if not, why: REDLOCK_ERR_NODE_... of the first node that did not
                               answer */
    bool unanswered[REDLOCK_NODES_MAX]; /* which nodes did not */
    size_t n_unanswered;
    size_t total;    /* readers, and clients that wait, including those that are not listed */
    size_t held;     /* of the n: by a quorum */
    size_t reserved; /* of the n */
    size_t writing; /* of the n: clients that want it alone; they precede those that want to read */
    size_t n, room;
    struct rl_item *items;
};

/* How many wait for it exclusively, and to read it, including those that are not listed. */
void rl_line_count(const struct rl_part *line, size_t *writing, size_t *reading);

typedef void (*rl_found_cb)(struct rl_found *found, void *data);

struct rl_found {
    redlock_client *client;
    rl_found_cb on_done;
    void *data;
    size_t out; /* parts that are asked for */
    bool asks_readers;
    int status; /* 0, REDLOCK_ERR_NO_QUORUM, or why the nodes could not be asked */
    struct rl_look look;
    struct rl_part readers; /* if the look found some: empty if not. First those of a quorum */
    struct rl_part line;
    struct rl_part slots; /* in use; nodes may disagree on how many there are: */
    struct rl_part permits_line;
    int32_t permits;                 /* ... what most of them say; 0: no node does */
    int32_t kept[REDLOCK_NODES_MAX]; /* ... and each of them; 0: nothing */
    size_t free;                     /* slots below `permits` */
    int64_t kicks_left_ms; /* until the notes of kicks end; 0: there are none, or it is not known */
};

/* What is asked for besides who holds it. */
struct rl_found_parts {
    bool readers; /* who reads it, if anyone does */
    bool line;    /* who waits for the lock */
    bool permits; /* who has permits, and who waits for them */
    bool kicks;   /* whether there are notes of kicks: by a script on each node */
};

/* found: zero, or asked before. It and key live until on_done, which runs once, and never inside of
 * this. */
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
    const char *label; /* of sentences: the keys, or an election */
    struct rl_keys keys;
    size_t at;             /* the key that is looked at */
    struct rl_found found; /* by the last look */
    uv_timer_t timer;      /* the next look, or the next drawing */
    uv_timer_t node_timer;
    uv_signal_t stop; /* Ctrl-Z, while there is a line */
    uint64_t began_ms;
    uint64_t looked_ms; /* when the last look was over */
    char who[RL_LOOK_TEXT_MAX];
    int states[REDLOCK_NODES_MAX]; /* of the nodes, as last reported: 0 down, 1 up, 2 it votes */
    bool is_waiting;
    bool is_looking;
    bool is_said;
    bool is_line; /* on a terminal */
};

/* With a client that is being opened: once. */
void rl_waiting_open(struct rl_waiting *waiting, uv_loop_t *loop, const struct rl_args *args);
void rl_waiting_close(struct rl_waiting *waiting);

/* keys: "KEY[,KEY...]", whose holders are reported, besides nodes; or an election's name, of which
 * only nodes are. It must live on. */
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
    uv_timer_t password_timer;      /* when its file is looked at again, if has_password_timer */
    redlock_lock *const *acquiring; /* what a signal cancels */
    size_t n_acquiring;
    redlock_lock *lock; /* of the last callback */
    bool is_done;
    int status;  /* that the callback brought */
    int outcome; /* of the last acquire */
    char why_not[REDLOCK_MESSAGE_MAX];
    int caught; /* the signal that ended the waiting, 0 */
    bool is_open, has_password_timer;
    bool is_interruptible; /* a signal ends the waiting */
};

/* Returns 0 or an exit status. session->status is how the client opened: 0, or
 * REDLOCK_ERR_NO_QUORUM, which was reported on stderr. Once a quorum is connected, the other nodes
 * have half of the node timeout to connect: a node that is not connected when the command begins
 * takes no part in its lock. */
int rl_session_open(struct rl_session *session, struct rl_args *args);
void rl_session_close(struct rl_session *session);

/* Runs the loop until rl_session_done(). Returns session->status. */
int rl_session_wait(struct rl_session *session);
void rl_session_done(struct rl_session *session, int status);
void rl_session_lock_cb(redlock_lock *lock, int status, void *session);

/* Runs the loop until is_over() holds (NULL: never), which is looked at whenever something has
 * come, or for limit_ms; a signal ends that if it is interruptible. */
typedef bool rl_session_condition(const struct rl_session *session, const void *data);
void rl_session_until(struct rl_session *session, rl_session_condition *is_over, const void *data,
                      int64_t limit_ms, bool is_interruptible);

/* With --repeat, waits for its time. False: a signal came, or there is no --repeat. */
bool rl_session_repeats(struct rl_session *session);

/* Before a command ends: waits until every connected node has answered, at most for the node
 * timeout. An acquire or an extension is over with a majority's answers; a node without the script
 * needs it sent whole, and a node that has lost the key gets it again; both need this process. With
 * a held lock it takes at most half of the remaining validity, and a signal ends it; without a lock
 * (NULL: a release) a signal does not. */
void rl_session_settle(struct rl_session *session, const redlock_lock *lock);

/* The status of a release, after nodes that had not answered it have had two node timeouts to
 * connect and answer: 0 if none still has the key. A change of a set's nodes cuts connections. */
int rl_session_confirm(struct rl_session *session, int status);

/* A lock of "KEY[,KEY...]", or of an election's name, stored with the holder's name. Returns 0 or
 * an exit status. */
int rl_session_lock(struct rl_session *session, const char *keys, const char *holder,
                    redlock_lock **lock);

/* Reports that a call on a lock was refused, or how an operation ended. Returns the exit status. */
int rl_session_refused(redlock_lock *lock, const char *keys, int status);

/* What the library says of the lock, as rl_text(). */
const char *rl_session_message(const redlock_lock *lock);

/* "host:number", the usual name of a holder: as rl_text(). */
const char *rl_session_holder(long number);

/* Shows one key. Returns its exit status; the command's is the largest of all. */
typedef int (*rl_ask_keys_show)(struct rl_session *session, struct rl_found *found, bool is_first);

/* Asks the nodes what they know of one key, and waits. Returns 0, also if too few answer; or an
 * exit status after reporting why. */
int rl_ask_key(struct rl_session *session, struct rl_found *found, redlock_bytes key,
               struct rl_found_parts parts);

/* Returns the exit status. */
int rl_ask_keys(struct rl_args *args, rl_ask_keys_show show);

/* -- acquire.c -- */

/* Acquires one of n locks as --wait, --no-wait and --fence say. options: what differs from the
 * defaults; this fills in ttl, wait and fencing. keys: of all locks. Returns whether session->lock
 * is held; if not, the reason was reported, and *exit_status is set (-E can make it 0). */
bool rl_acquire(struct rl_session *session, redlock_lock *const *locks, size_t n, const char *keys,
                redlock_acquire_options *options, int *exit_status);

/* Releases a lock that was granted although a signal had arrived. Returns the exit status. */
int rl_acquire_give_back(struct rl_session *session, redlock_lock *lock);

#endif
