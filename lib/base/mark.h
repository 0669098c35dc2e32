/* Marks tie a rare branch to the test that must reach it: RL_MARK() in the branch, MARK_FROM() and
 * MARK_TO() (test/marks.h) around the test's steps. A branch that can no longer be reached, or that
 * its test no longer reaches, fails a test instead of rotting. test/tidy checks that every name has
 * its branch and its test.
 *
 * Without assertions there are no marks: a shipped library has none. */
#ifndef RL_MARK_H
#define RL_MARK_H

#define RL_MARKS(X)                                                                       \
    X(CONNECT_TIMEOUT)    /* node.c: connecting ends by our deadline */                   \
    X(CREDENTIALS_AGAIN)  /* credentials.c: refused, and the old ones are invalid */      \
    X(CREDENTIALS_LATER)  /* credentials.c: newer ones while AUTH is out */               \
    X(PASSWORD_REPEATED)  /* credentials.c: a node's words have a part of a password */   \
    X(PENDING_NOT_SENT)   /* pending.c: not all pending releases of a node can be sent */ \
    X(PENDING_OLDEST)     /* pending.c: more are pending than are kept */                 \
    X(PENDING_OUTLIVED)   /* pending.c: refused for as long as the key can live */        \
    X(FENCE_RAISED)       /* lock_acquire.c: the nodes' counters differ */                \
    X(GRANT_TOO_LATE)     /* lock.c: over before the grant could be reported */           \
    X(LATE_REPAIR)        /* lock.c: a node says "gone" after the round was won */        \
    X(LOST_BEFORE_TOLD)   /* life.c: a hold that was just joined is lost */               \
    X(MORE_TO_READ)       /* uv/world.c: more answers than one poll reads */              \
    X(PARTIAL_WRITE)      /* conn.c: the socket takes only a part */                      \
    X(SEND_NO_MEMORY)     /* calls.c: no memory for a command */                          \
    X(PEEK_AGAIN)         /* permit.c: home was asked before a release had run */         \
    X(PUT_OFF)            /* turn.c: sent long after it was submitted */                  \
    X(REPLY_WITHOUT_END)  /* conn.c: the reader's buffer is at its cap */                 \
    X(SCRIPT_FORGOTTEN)   /* node.c: NOSCRIPT, the request goes out again, whole */       \
    X(RELEASES_NATIVELY)  /* native.c: the server has a command for releases */           \
    X(NATIVE_REFUSED)     /* native.c: it refuses that; the script goes instead */        \
    X(TRIAL_LOST)         /* native.c: the connection ended before its answer */          \
    X(SET_NOT_AGAIN)      /* calls.c: NOSCRIPT came after the attempt was over */         \
    X(SILENCE_BROKEN)     /* lock_hold.c: a sign of life when the watchdog had stopped */ \
    X(SILENT_NOT_TOLD)    /* step.c: a release that a silent node does not need */        \
    X(SILENT_LEFT_OUT)    /* step.c: a node with an overdue answer is not asked */        \
    X(STALLED)            /* node.c: nothing answered for four times the timeout */       \
    X(TWIN_NOT_COUNTED)   /* lock.c: a second vote of one server */                       \
    X(TOO_LATE)           /* node.c: the oldest request is too old, though it answers */  \
    X(TURN_TAKEN_BACK)    /* line_event.c: it left after its turn had come */             \
    X(UPGRADE_RAISED)     /* lock_hold.c: the counters of an upgrade's nodes differ */    \
    X(UNSURE_NOT_COUNTED) /* mode.c: a yes of a node that may still convert */            \
    X(TLS_PARTIAL)        /* tls/bio.c: the stream below takes only a part of a record */ \
    X(TLS_RESUMED)        /* tls/stream.c: a handshake without certificates */            \
    X(YES_NOT_COUNTED)    /* lock.c: a yes of a node that may not vote */

#define RL_MARK_ENUM_(name) RL_MARK_##name,
enum rl_mark { RL_MARKS(RL_MARK_ENUM_) RL_MARK_COUNT };
#undef RL_MARK_ENUM_

#ifdef NDEBUG
#define RL_MARK(name) ((void)0)
#else
#define RL_MARK(name) rl_mark_hit(RL_MARK_##name)
#endif

/* Counts. Any thread. */
void rl_mark_hit(enum rl_mark mark);
unsigned rl_mark_hits(enum rl_mark mark);

#endif
