/* What lib/lock keeps in a client and in its locks. No functions. */
#ifndef RL_LOCK_DATA_H
#define RL_LOCK_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "core/pending.h"
#include "redis/node.h"
#include "redlock/redlock.h"
#include "redlock/token.h"

/* -- Calls, see calls.h -- */

enum rl_call_kind {
    RL_CALL_SET,
    RL_CALL_TAKE, /* a SET that may take reserved keys, see core/place.h */
    RL_CALL_RAISE,
    RL_CALL_EXTEND,
    RL_CALL_UPGRADE,
    RL_CALL_RELEASE,
    RL_CALL_KINDS
};

/* A command to one node on behalf of a lock. */
struct rl_lock_call {
    struct rl_request request;         /* while it is outstanding */
    struct rl_pending_release pending; /* of a release that was not answered */
    redlock_lock *lock;                /* a reference */
    struct rl_lock_call *next_free;
    uint32_t round; /* 0: of no round */
    uint8_t kind;   /* enum rl_call_kind */
    bool is_retry;  /* a pending release that was sent again */
};

/* Calls are allocated in blocks, each as large as all before it, and kept while the client is open,
 * so a steady load soon allocates nothing. */
struct rl_lock_call_block {
    struct rl_lock_call_block *next;
    struct rl_lock_call calls[];
};

/* How a release is sent, see line.h. */
struct rl_release_plan {
    rl_mask homes;      /* nodes that keep lines of its resources, for which `mode` is; a mask */
    uint32_t grace_ms;  /* how long other nodes reserve the key; 0: they delete it */
    uint32_t lease_ms;  /* how long the keys that are passed to `successor` live */
    uint32_t intent_ms; /* as in struct rl_request */
    uint64_t counter;   /* the successor's least fence; 0: none */
    enum rl_release_mode mode;
    char successor[RL_VALUE_MAX + 1]; /* "": not known */
};

/* A command as bytes. */
struct rl_written {
    size_t length; /* 0: not yet */
    uint8_t kind;  /* enum rl_command_kind */
    bool whole_script;
};

struct rl_calls {
    struct rl_lock_call *free;
    struct rl_lock_call_block *blocks;
    uint32_t count;               /* in all blocks */
    uint32_t outstanding;         /* sent, not answered */
    struct rl_request request;    /* of a fan-out: the part that is the same for all nodes */
    struct rl_written written[2]; /* its bytes, for other nodes and for home */
    struct rl_release_plan plan;
};

/* -- Operations -- */

#define RL_MESSAGE_NO_FENCE                                                                    \
    "the owner's hold, which would be shared, has no fence: set fencing on the owner's first " \
    "acquire"

/* What a message says after the status. */
enum rl_words {
    RL_WORDS_ROUND, /* the result of the last round; the words below had no round: */
    RL_WORDS_NONE,
    RL_WORDS_SHARES,         /* acquired with a hold of its owner */
    RL_WORDS_NO_FENCE,       /* could not share that hold, which has no fence */
    RL_WORDS_OWNER_LOST,     /* was about to share a hold */
    RL_WORDS_WAS_LOST,       /* released, but lost before, for last.loss */
    RL_WORDS_STILL_HELD,     /* released, but not as often as acquired */
    RL_WORDS_HELD_BY_OTHERS, /* released, but other objects of the owner still hold it */
    RL_WORDS_WAITING,        /* behind another lock of the client */
    RL_WORDS_WAITED_IN_VAIN,
    RL_WORDS_QUEUED, /* behind other clients */
    RL_WORDS_NO_RANDOM,
    RL_WORDS_LINGERS,   /* released, and kept on the nodes for a while */
    RL_WORDS_LINGERED,  /* acquired again meanwhile */
    RL_WORDS_NO_PERMIT, /* none was free */
    RL_WORDS_PERMITS    /* the nodes keep another number of permits */
};

enum rl_op_kind { RL_OP_ACQUIRE, RL_OP_EXTEND, RL_OP_RELEASE, RL_OPS };

/* An operation of the user: submitted, then done, then delivered. */
struct rl_op {
    redlock_lock_cb callback;
    void *data;
    int status;
    uint8_t kind;   /* enum rl_op_kind */
    bool is_active; /* submitted and not delivered */
    bool is_done;   /* status is known */
    uint8_t words;  /* enum rl_words */
};

/* Notifies the holder of the loss of its hold. */
struct rl_loss {
    struct rl_queued queued; /* on_lost is due */
    redlock_lock_cb callback;
    void *data;
};

/* Notifies the holder of the watchdog's extensions. */
struct rl_renewal {
    redlock_lock_cb callback;
    void *data;
    int16_t status; /* of the last extension */
    bool is_due;
};

/* For a hold that lingers when nobody uses it any more, see reentrancy.h. */
struct rl_linger {
    uint64_t until_ns; /* linger_ms after the hold's first release; 0: not released yet */
    uint64_t ends_ns;  /* when lingering ends; 0: it does not linger */
    uint32_t ms;       /* linger_ms; 0: its holds do not linger */
};

/* What few acquires use: an owner, on_renew, linger_ms. */
struct rl_extras {
    redlock_lock *lock; /* whose this is */

    /* Several lock objects of one owner share one hold, see life.h and reentrancy.h. */
    uint64_t owner;           /* 0: none */
    redlock_lock *primary;    /* the lock whose hold this one shares (a reference), or NULL */
    struct rl_list followers; /* the locks that share this one's hold */
    struct rl_link link;      /* in the primary's `followers` */
    redlock_lock *for_extend; /* the object whose extension this core carries out; release */
    redlock_lock *for_release;

    struct rl_renewal renewal;
    struct rl_linger linger;
};

/* The subject of messages. */
struct rl_last {
    const char *refusal;           /* why the last call was refused; NULL: it was accepted */
    bool refusal_is_allocated : 1; /* its text was allocated, not a constant */
    bool has_asked : 1;            /* an attempt of the last acquire has begun */
    uint8_t words;                 /* enum rl_words, of status */
    int16_t status;                /* of the last operation, loss or renewal */
    int16_t attempt;               /* of the last attempt of the last acquire that ended */
    int16_t loss;                  /* why the last hold was lost */
};

#endif
