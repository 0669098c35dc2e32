/* Whether a holder that has gone was kicked: the notes of its key, when there is a new one.
 *
 * Happy path: rl_watch_kicks_look() asks the nodes, by a look at the key of the notes, whether
 * there are any and since when; only if there is one that is not known are they read
 * (kick/notes.h), on a thread of libuv's, and each new one is an event.
 *
 * Failure modes: the nodes do not answer, or forbid it: no event. What was noted before the watch
 * began is not said. */
#ifndef RL_CLI_WATCH_KICKS_H
#define RL_CLI_WATCH_KICKS_H

#include "kick/notes.h"
#include "session.h"
#include "watch/tell.h"

struct rl_watch_kicks {
    struct rl_session *session;
    const struct rl_watch_tell *tell;
    struct rl_kick_look look;
    struct rl_kick_notes known;
    int64_t end_ms; /* of the notes that are known, by the loop's clock */
    bool has_begun; /* what there was at the beginning is known */
    bool is_busy, is_wanted, is_closed;
};

void rl_watch_kicks_open(struct rl_watch_kicks *kicks, struct rl_session *session,
                         const struct rl_watch_tell *tell);
void rl_watch_kicks_look(struct rl_watch_kicks *kicks);

/* From now on nothing is said. What is being asked ends before the session is closed. */
void rl_watch_kicks_close(struct rl_watch_kicks *kicks);

#endif
