/* Marks tie a rare branch to the test that must reach it: RL_MARK() in the branch, MARK_FROM() and
 * MARK_TO() (test/marks.h) around what the test does. A branch that can be reached no more, or that
 * its test no longer reaches, fails a test instead of rotting. test/tidy looks that every name has
 * its branch and its test.
 *
 * Without assertions there are no marks: a shipped library has none. */
#ifndef RL_MARK_H
#define RL_MARK_H

#define RL_MARKS(X)                                                                     \
    X(CONNECT_TIMEOUT)   /* node.c: connecting ends by our deadline */                  \
    X(DEBT_NOT_SENT)     /* owed.c: a node cannot be sent all that it is owed */        \
    X(DEBT_OLDEST)       /* owed.c: more is owed than is kept */                        \
    X(DEBT_OUTLIVED)     /* owed.c: refused for as long as the key can live */          \
    X(FENCE_RAISED)      /* lock_acquire.c: the nodes' counters differ */               \
    X(GRANT_TOO_LATE)    /* lock.c: granted, and over before it could be told */        \
    X(LATE_REPAIR)       /* lock.c: a node says "gone" after the round was won */       \
    X(LOST_BEFORE_TOLD)  /* share.c: a hold is lost that somebody has just joined */    \
    X(MORE_TO_READ)      /* loop.c: more answers than one poll reads */                 \
    X(PARTIAL_WRITE)     /* conn.c: the socket takes only a part */                     \
    X(PASSED_OVER)       /* lock_acquire.c: may not vote any more */                    \
    X(REFUSED_ALONE)     /* lock_acquire.c: by the node that was asked first */         \
    X(SEND_NO_MEMORY)    /* votes.c: no memory for a command */                         \
    X(PUT_OFF)           /* loop.c: sent long after it was submitted */                 \
    X(REPLY_WITHOUT_END) /* conn.c: the reader's buffer is at its cap */                \
    X(SCRIPT_FORGOTTEN)  /* node.c: NOSCRIPT, the request goes out again, whole */      \
    X(SET_NOT_AGAIN)     /* votes.c: NOSCRIPT came after the attempt was over */        \
    X(SILENT_ALONE)      /* lock_acquire.c: the node that was asked first */            \
    X(SILENT_NOT_TOLD)   /* driver.c: a release that a node behind cannot need */       \
    X(SILENT_LEFT_OUT)   /* driver.c: a node that owes an answer is not asked */        \
    X(STALLED)           /* node.c: nothing answered for four times the timeout */      \
    X(TWIN_NOT_COUNTED)  /* lock.c: of a server that has voted already */               \
    X(TOO_LATE)          /* node.c: the oldest request is too old, though it answers */ \
    X(TURN_TAKEN_BACK)   /* line.c: it left the line after its turn had come */         \
    X(YES_NOT_COUNTED)   /* lock.c: of a node that may not vote */

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
