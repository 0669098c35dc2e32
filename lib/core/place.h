/* A client's place in the line of one resource: waiting in turn, across processes.
 *
 *     out -> listening -> joining <-> waiting -> turn -> taking -> out
 *              ^             ^           |        ^        |
 *              +-------------+-----------+----- pausing <--+
 *
 * One of the nodes that vote keeps the line of a resource: its home (home.h). The other nodes have
 * only the key. A client has one place in the line, however many of its locks wait: the place of
 * its longest waiter. On the wire a place is the token of the attempt that the client will make
 * with it.
 *
 * Happy path: WANT, when a lock has met another client's key. The client subscribes to its channel
 * on all nodes. When home has confirmed the subscription, JOIN puts the place into the line; not
 * before, since a turn that its client does not hear would go to the next place. If the holder
 * knows who comes next, its release writes that token into the key of every node: the client
 * receives a PASS from each node, and a TURN from home. Otherwise home takes the first place out of
 * the line and writes its token: TURN. The lock makes an attempt with the token (lock.h, 7):
 * messages of nodes that passed the key are votes, and the lock asks the others by TAKE.
 *
 * Failure modes:
 *   - messages are lost, or their receiver hangs: a turn's key ends after RL_LINE_GRACE_NS, passed
 *     keys after RL_LINE_LEASE_MS. The place that is first by then (the heir) asks by another JOIN,
 *     after RL_LINE_GRACE_NS and then at growing intervals of up to a second. All others ask once
 *     per ttl. Home says yes to a place whose token is in its key;
 *   - other nodes refuse the attempt: its token is released everywhere and never used again. A new
 *     place joins at once, with the time waited so far, so that nobody overtakes. It joins quietly:
 *     it takes no turn until a pause is over. The pause doubles each time, and half of it is
 *     random. A lock that wants other resources as well has no place meanwhile;
 *   - home's key is a left-over while a quorum is free: a place that has asked three times about a
 *     key that others hold asks for votes without a turn (it probes), from then on every second
 *     time. So do the places behind it, though much more rarely, since the first places may belong
 *     to clients that died unnoticed. If the key ends soon, the heir probes four times more rarely:
 *     the key may be reserved for a client that has its turn, was refused elsewhere and pauses, and
 *     that the probe would overtake;
 *   - home does not answer, refuses, cannot be heard or may no longer vote: the client leaves the
 *     old place and takes a new one at the next node. The avoided node is home again after
 *     RL_LINE_AVOID_NS, when it reconnects or, if it was silent, when it answers anything in time,
 *     since other clients may still stand in line there and pass the lock among themselves. (The
 *     last applies once in RL_LINE_AVOID_NS: a node that is slow now and then would send waiters
 *     back and forth.) Places carry how long they have waited, so that the order is the same at the
 *     new home without comparing two clocks;
 *   - no node can be home: the lock goes on without a line (`alone`), and retries after pauses.
 *
 * Can the line make two holders? No: it only says when to make an attempt, and with which token.
 * The lock decides what counts as a vote (lock.h, 7). If the whole line were lost or inconsistent,
 * only order and delay would suffer.
 *
 * Can a place be left behind? While `stands` is true, a JOIN of the place may have run at home.
 * Every way out of waiting goes through place_leave(), which notifies home. If home cannot be
 * reached, it publishes the turn to a channel without subscribers, or the turn ends after the
 * grace. Can LEAVE end a hold? No: once the nodes were asked with the token (`used`), LEAVE only
 * takes the place out of line; the token's release ends the key.
 *
 * Can a turn be given twice for one place? No: home takes the place out before it publishes the
 * turn, and a place is used for one attempt.
 */
#ifndef RL_CORE_PLACE_H
#define RL_CORE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/quorum.h"

#define RL_LINE_GRACE_MS 250u
#define RL_LINE_LEASE_MS 1000u /* how long passed keys live */
#define RL_LINE_GRACE_NS (RL_LINE_GRACE_MS * RL_NS_PER_MS)
#define RL_LINE_BUSY_NS (4 * RL_LINE_GRACE_NS) /* how long a sign of waiters counts */
#define RL_LINE_AVOID_NS (UINT64_C(1000) * RL_NS_PER_MS)
#define RL_LINE_ASK_NS_MAX (UINT64_C(1000) * RL_NS_PER_MS)   /* the heir's pause */
#define RL_LINE_PAUSE_NS_MIN (UINT64_C(5) * RL_NS_PER_MS)    /* after a refused turn */
#define RL_LINE_PAUSE_NS_MAX (UINT64_C(200) * RL_NS_PER_MS)  /* within a release's grace */
#define RL_LINE_IDLE_NS_MAX (UINT64_C(60000) * RL_NS_PER_MS) /* the longest pause of other places */
#define RL_LINE_NO_HOME UINT8_MAX
#define RL_LINE_NO_PLACE UINT64_MAX /* TAKE with another token than that of the turn */

enum rl_place_state {
    RL_PLACE_OUT,       /* no lock of ours waits */
    RL_PLACE_LISTENING, /* until the client's channel is confirmed at home */
    RL_PLACE_JOINING,   /* a JOIN is outstanding, the first or another */
    RL_PLACE_WAITING,   /* the place stands, as far as is known */
    RL_PLACE_TURN,      /* the lock must ask the nodes */
    RL_PLACE_TAKING,    /* the lock is asking them */
    RL_PLACE_PAUSING,   /* after a refused turn */
    RL_PLACE_STATES
};

enum rl_place_event_type {
    RL_PLACE_EV_WANT,    /* a lock of ours waits; with since_ns */
    RL_PLACE_EV_UNWANT,  /* no lock of ours waits any more, or it was granted without the line */
    RL_PLACE_EV_NODES,   /* the set of nodes that can be home, or be heard, may have changed */
    RL_PLACE_EV_ANSWER,  /* to a JOIN; with `answer` */
    RL_PLACE_EV_TURN,    /* home reports the turn of `place` */
    RL_PLACE_EV_PASS,    /* another node reports the token of `place` in its key */
    RL_PLACE_EV_HEIR,    /* `place` is the first in line */
    RL_PLACE_EV_TICK,    /* the time that rl_place_wake_ns() named has come, or may have */
    RL_PLACE_EV_TAKE,    /* turn: the lock begins to ask the nodes */
    RL_PLACE_EV_WON,     /* taking: a quorum granted */
    RL_PLACE_EV_REFUSED, /* taking: other clients' keys are in the way; with life_ms */
    RL_PLACE_EVENT_TYPES
};

enum rl_place_said {
    RL_PLACE_SAID_YES,    /* its turn: its token is in the key, or readers are let in */
    RL_PLACE_SAID_NO,     /* no: the place stands in line */
    RL_PLACE_SAID_NOTHING /* an error, or no answer */
};

struct rl_place_answer_in {
    uint64_t place;
    enum rl_place_said said;
    uint32_t rank;    /* 0: the heir */
    uint64_t life_ms; /* of the key at home; 0: no key */
};

struct rl_place_event {
    enum rl_place_event_type type;
    uint64_t now_ns;
    uint64_t new_place;  /* a number that was never used, not 0 */
    uint64_t timeout_ns; /* how long to wait for an answer */
    uint64_t idle_ns;    /* the pause of a place that is not the heir */
    uint64_t random;
    bool is_of_one;    /* the waiter wants only this resource */
    uint64_t resource; /* a hash, the same for all clients */
    const uint64_t *node_hashes;
    rl_mask homes; /* nodes that may be home, as a mask */
    rl_mask heard; /* nodes at which the client's channel is confirmed */
    union {
        uint64_t since_ns;
        uint64_t place;
        uint64_t life_ms; /* the shortest of the keys that refused; 0: not known */
        struct rl_place_answer_in answer;
    } u;
};

/* What the driver must do, in this order. */
struct rl_place_actions {
    bool leave; /* send LEAVE of leave_place to the node leave_home, if it is up */
    uint8_t leave_home;
    uint64_t leave_place;
    bool leave_line; /* leave_place is out of the line, and keeps its key */
    bool join;       /* send JOIN of place->id to place->home */
    bool quiet;      /* join without taking a turn yet */
    bool turn;       /* the lock must soon ask the nodes with place->id: RL_PLACE_EV_TAKE then */
    bool alone;      /* no line can be used: the lock goes on without one */
};

/* All zero: out, and no other client is known to wait. */
struct rl_place {
    uint64_t id;             /* 0: none */
    uint64_t since_ns;       /* when the client's longest waiter began to wait */
    uint64_t ask_ns;         /* when to ask, or to give up on home; RL_NEVER: not at all */
    uint64_t pause_ns;       /* the heir's last pause, 0: none yet */
    uint64_t backoff_ns;     /* the last pause after a refused turn, 0: none yet */
    uint64_t avoid_until_ns; /* until when the nodes of `avoid` are not home */
    uint64_t busy_until_ns;  /* until when others are known to wait */
    /* until when others are likely to wait, since this client has waited itself */
    uint64_t likely_until_ns;
    rl_mask avoid;
    rl_mask firm;  /* nodes that stay avoided until then, whatever they answer */
    uint32_t asks; /* JOINs near the front that met others' key since the last probe; weighted */
    uint32_t asks_behind; /* the same, while not near the front of the line */
    uint8_t state;        /* enum rl_place_state */
    uint8_t home;         /* a node; meaningless when out */
    bool stands;          /* a JOIN of the place was sent */
    bool is_heir;
    bool probes; /* turn, taking: it asks the nodes without a turn, and still stands in line */
    bool turned; /* while it probed, it was given its turn */
    bool given;  /* home has taken the place out of line, for its turn */
    bool used;   /* the nodes were asked with its token */
    bool others; /* the last sign, however old, says that others wait */
};

/* The step. out is overwritten. */
void rl_place_step(struct rl_place *place, const struct rl_place_event *event,
                   struct rl_place_actions *out);

/* The node has just answered in time, and the client's channel is confirmed there. Returns whether
 * the node may therefore be home again; then RL_PLACE_EV_NODES is due. */
bool rl_place_trust(struct rl_place *place, uint32_t node);

/* When RL_PLACE_EV_TICK is due, RL_NEVER if it is not. */
uint64_t rl_place_wake_ns(const struct rl_place *place);

/* The nodes are about to be asked with the token of the place, outside of RL_PLACE_EV_TAKE.
 * given: home has taken it out of its line. */
void rl_place_use(struct rl_place *place, bool given);

/* -- Signs of other clients -- */

/* Notes a sign that another client waits; or that none does, as home's answer to a release says. */
void rl_place_note(struct rl_place *place, bool others_wait, uint64_t now_ns);
bool rl_place_is_busy(const struct rl_place *place, uint64_t now_ns);
/* This client has waited itself, so others may want the resource again: its next acquire joins the
 * line first. It reserves no keys, which would refuse a client that tries only once even though
 * nobody waits. */
void rl_place_note_own(struct rl_place *place, uint64_t now_ns);
bool rl_place_is_likely_busy(const struct rl_place *place, uint64_t now_ns);
/* Whether the last sign says that others wait, however old it is. */
bool rl_place_was_busy(const struct rl_place *place);
/* Whether there was any sign, however old. */
bool rl_place_has_signs(const struct rl_place *place);

#endif
