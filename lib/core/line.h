/* A client's place in the line of one resource: waiting in turn, across processes.
 *
 *     out -> listening -> joining <-> waiting -> turn -> taking -> out
 *              ^             ^           |        ^        |
 *              +-------------+-----------+----- pausing <--+
 *
 * The line of a resource is kept by one of the nodes that vote, its home (home.h); the other nodes
 * have nothing but the key. A client has one place in it, however many of its locks wait: that of
 * its longest waiter. On the wire a place is the token of the attempt that will be made with it.
 *
 * Happy path: WANT, when a lock has met another client's key. The client's channel is subscribed on
 * all nodes; only when home confirms that does JOIN put the place into the line, since a turn that
 * no client hears would be given to the next. Then the holder's release writes the token into the
 * key of every node, if it knows who comes next: PASS, from each node, and a TURN from home. If it
 * does not, home takes the first place out of the line and writes its token: TURN. The lock makes
 * an attempt with the token (lock.h, 7): messages of nodes that passed it are votes, and the others
 * are asked by TAKE.
 *
 * Failure modes:
 *   - messages are lost, or the client that gets them hangs: a turn's key ends after
 *     RL_LINE_GRACE_NS, passed ones after RL_LINE_LEASE_MS. The place that is first then (the heir)
 *     asks, by JOIN again, after RL_LINE_GRACE_NS and then ever later, up to a second. All others
 *     ask once in a ttl. Home says yes to a place whose token is in its key;
 *   - other nodes refuse the attempt: its token is released everywhere and never used again. A new
 *     place joins at once, with what was waited, so that nobody goes by; quietly, as it takes
 *     nothing before a pause is over that doubles, a half of it at random. One that wants other
 *     resources as well stands nowhere meanwhile;
 *   - home's key is somebody's left-over while a quorum is free: who has asked three times for a
 *     key that others hold tries the votes without a turn, at every other time that it asks. So
 *     do those behind it, who ask much more seldom: the first may be places of clients that are
 *     gone and were not heard of. The heir does so four times as seldom where the key ends so soon
 *     that it may be reserved, for one who has its turn, was refused elsewhere and pauses: that one
 *     would be overtaken;
 *   - home does not answer, refuses, cannot be heard or votes no more: the next node is home, with
 *     a new place, and the old one is left. A node that was passed over is home again after
 *     RL_LINE_AVOID_NS, or as soon as it is connected anew, or, if it was silent, answers
 *     something in time: the others stand in line there, and pass the lock on among themselves.
 *     (That only once in such a time: one that is slow now and then would send who waits to and
 *     fro.)
 *     Places carry how long they have waited, so that the order is the same at the new home; no two
 *     clocks are compared;
 *   - no node can be home: the lock does without (`alone`), and tries again after pauses.
 *
 * Can the line make two holders? No: it only says when to make an attempt, and with which token.
 * What counts as a vote is the lock's to say (lock.h, 7). If all of this were lost or disagreed on,
 * only order and delay would suffer.
 *
 * Can a place be left behind? While `stands` is true a JOIN of the place may have run at home.
 * Every way out of waiting goes through line_leave(), which says so to home; if that cannot be
 * reached, its turn will be told to a channel that nobody hears, or ends after the grace. Can LEAVE
 * end a hold? Once the nodes were asked with the token (`used`) it leaves the line alone; the key
 * is ended by the token's release.
 *
 * Can a turn be given twice for one place? Home takes the place out before it tells, and a place is
 * used for one attempt.
 */
#ifndef RL_CORE_LINE_H
#define RL_CORE_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/quorum.h"

#define RL_LINE_GRACE_MS 250u
#define RL_LINE_LEASE_MS 1000u /* so long live keys that are passed on */
#define RL_LINE_GRACE_NS (RL_LINE_GRACE_MS * RL_NS_PER_MS)
#define RL_LINE_ANSWER_NS RL_LINE_GRACE_NS     /* at most, home's answer to a release is awaited */
#define RL_LINE_BUSY_NS (4 * RL_LINE_GRACE_NS) /* a sign that somebody waits is good for */
#define RL_LINE_AVOID_NS (UINT64_C(1000) * RL_NS_PER_MS)
#define RL_LINE_ASK_NS_MAX (UINT64_C(1000) * RL_NS_PER_MS)   /* the heir's pause */
#define RL_LINE_PAUSE_NS_MIN (UINT64_C(5) * RL_NS_PER_MS)    /* after a refused turn */
#define RL_LINE_PAUSE_NS_MAX (UINT64_C(200) * RL_NS_PER_MS)  /* within a release's grace */
#define RL_LINE_IDLE_NS_MAX (UINT64_C(60000) * RL_NS_PER_MS) /* who is not the heir asks */
#define RL_LINE_NO_HOME UINT8_MAX
#define RL_LINE_NO_PLACE UINT64_MAX /* of a TAKE by the turn of another, with a token of its own */

enum rl_line_state {
    RL_LINE_OUT,       /* nobody of ours waits */
    RL_LINE_LISTENING, /* until the client's channel is confirmed at home */
    RL_LINE_JOINING,   /* JOIN is out, the first or another */
    RL_LINE_WAITING,   /* the place stands, as far as is known */
    RL_LINE_TURN,      /* the lock is to ask the nodes */
    RL_LINE_TAKING,    /* ... and does */
    RL_LINE_PAUSING,   /* after a refused turn */
    RL_LINE_STATES
};

enum rl_line_event_type {
    RL_LINE_EV_WANT,    /* a lock of ours waits; with since_ns */
    RL_LINE_EV_UNWANT,  /* none does any more, or it holds by other means */
    RL_LINE_EV_NODES,   /* which nodes can be home, or be heard, may have changed */
    RL_LINE_EV_ANSWER,  /* to a JOIN; with `answer` */
    RL_LINE_EV_TURN,    /* it is the turn of `place`, home says */
    RL_LINE_EV_PASS,    /* another node does: it has the token of `place` in its key */
    RL_LINE_EV_HEIR,    /* `place` is the first in line */
    RL_LINE_EV_TICK,    /* the time that rl_line_wake_ns() named has come, or may have */
    RL_LINE_EV_TAKE,    /* turn: the lock begins to ask the nodes */
    RL_LINE_EV_WON,     /* taking: a quorum granted */
    RL_LINE_EV_REFUSED, /* taking: other clients' keys are in the way; with life_ms */
    RL_LINE_EV_FAILED,  /* taking: no quorum of answers, or too late */
    RL_LINE_EVENT_TYPES
};

enum rl_line_said {
    RL_LINE_SAID_YES,    /* its turn: its token is in the key, or readers are let in */
    RL_LINE_SAID_NO,     /* it stands in line */
    RL_LINE_SAID_NOTHING /* an error, or no answer */
};

struct rl_line_answer_in {
    uint64_t place;
    enum rl_line_said said;
    uint32_t rank;    /* 0: the heir */
    uint64_t life_ms; /* of the key at home; 0: there is none */
};

struct rl_line_event {
    enum rl_line_event_type type;
    uint64_t now_ns;
    uint64_t new_place;  /* a number that was never used, not 0 */
    uint64_t timeout_ns; /* what an answer is waited for */
    uint64_t idle_ns;    /* how often one asks who is not the heir */
    uint64_t random;
    bool is_of_one;    /* who waits wants this resource alone */
    uint64_t resource; /* a hash, the same for all clients */
    const uint64_t *node_hashes;
    uint32_t homes; /* nodes that may be home, as a mask */
    uint32_t heard; /* nodes at which the client's channel is confirmed */
    union {
        uint64_t since_ns;
        uint64_t place;
        uint64_t life_ms; /* the shortest of the keys that refused; 0: not known */
        struct rl_line_answer_in answer;
    } u;
};

/* What the driver has to do, in this order. */
struct rl_line_actions {
    bool leave; /* say LEAVE of leave_place to the node leave_home, if it can be reached */
    uint8_t leave_home;
    uint64_t leave_place;
    bool leave_line; /* ... which is out of the line, and keeps its key */
    bool join;       /* send JOIN of line->place to line->home */
    bool quiet;      /* ... to stand there, and take nothing yet */
    bool turn;       /* the lock is to ask the nodes with line->place, soon: RL_LINE_EV_TAKE then */
    bool alone;      /* the line is of no use: the lock goes on without */
};

/* All zero: out, and nobody is known to wait. */
struct rl_line {
    uint64_t place;            /* 0: none */
    uint64_t since_ns;         /* since when the client's longest waiter waits */
    uint64_t ask_ns;           /* when to ask, or to give home up; RL_NEVER */
    uint64_t pause_ns;         /* the heir's last pause, 0: none yet */
    uint64_t backoff_ns;       /* the last pause after a refused turn, 0: none yet */
    uint64_t avoid_until_ns;   /* ... these nodes are not home: */
    uint64_t busy_until_ns;    /* others are known to wait until then, ... */
    uint64_t likely_until_ns;  /* or likely to: it has waited itself */
    uint64_t release_until_ns; /* home's answer to a release is waited for; 0: it is not */
    uint64_t look_until_ns;    /* ... to one that the next lock of this client did not wait for */
    uint32_t avoid;
    uint32_t firm;        /* ... these to the end of that time, whatever they answer */
    uint32_t asks;        /* as heir, for a key that others hold, since it tried; weighted */
    uint32_t asks_behind; /* ... not near the first in line */
    uint8_t state;        /* enum rl_line_state */
    uint8_t home;         /* a node; of no meaning when out */
    bool stands;          /* a JOIN of the place was sent */
    bool is_heir;
    bool probes; /* turn, taking: without a turn, the place stands in line all the while */
    bool turned; /* ... and has been given its turn meanwhile */
    bool given;  /* home has taken the place out, for its turn */
    bool used;   /* the nodes were asked with its token */
    bool others; /* wait, as the last sign of it said, however long ago that was */
};

/* The step. out is overwritten. */
void rl_line_step(struct rl_line *line, const struct rl_line_event *event,
                  struct rl_line_actions *out);

/* The node has answered in time, just now, and the client is heard there. Returns whether it may be
 * home again by that: RL_LINE_EV_NODES is due then. */
bool rl_line_trust(struct rl_line *line, uint32_t node);

/* When RL_LINE_EV_TICK is due, RL_NEVER if it is not. */
uint64_t rl_line_wake_ns(const struct rl_line *line);

/* The nodes are about to be asked with the token of the place, outside of RL_LINE_EV_TAKE.
 * given: home has taken it out of its line. */
void rl_line_use(struct rl_line *line, bool given);

/* -- What is known of others -- */

/* A sign that somebody waits, or none: home's answer to a release says that nobody does. */
void rl_line_note(struct rl_line *line, bool others_wait, uint64_t now_ns);
bool rl_line_is_busy(const struct rl_line *line, uint64_t now_ns);
/* It has waited itself, so others may want it again: who asks next joins first. No more than that,
 * since keys that are reserved where nobody waits refuse who tries once. */
void rl_line_note_own(struct rl_line *line, uint64_t now_ns);
bool rl_line_is_likely_busy(const struct rl_line *line, uint64_t now_ns);
/* The same, however old the sign is. */
bool rl_line_was_busy(const struct rl_line *line);
/* Whether anything of this is known, however old. */
bool rl_line_has_signs(const struct rl_line *line);

/* Home was sent a release, and will say by until_ns whether somebody waits; it has said so. */
void rl_line_released(struct rl_line *line, uint64_t until_ns);
void rl_line_release_answered(struct rl_line *line);

/* The same of a release that the client handed on behind, without waiting for the answer. It must
 * not do so again before: who waits would be passed by once more. */
void rl_line_looked(struct rl_line *line, uint64_t until_ns);
void rl_line_look_answered(struct rl_line *line);
bool rl_line_looks(const struct rl_line *line, uint64_t now_ns);

const char *rl_line_state_name(enum rl_line_state state);

#endif
