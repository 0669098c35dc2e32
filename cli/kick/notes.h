/* The notes of a name on all nodes: written, withdrawn and read over connections of their own, a
 * thread for each node. What a note is: note.h.
 *
 * Happy path: a script adds the note, drops all but the last five, and gives the key a day to live.
 * Reading merges the nodes' notes, the newest first.
 *
 * Failure modes: a node that does not take the note says why; the others take it. A node that does
 * not answer costs the timeouts of the command line, and delays no other node. */
#ifndef RL_CLI_KICK_NOTES_H
#define RL_CLI_KICK_NOTES_H

#include "args.h"
#include "kick/note.h"

#define RL_KICK_WHY_MAX 128

/* Why a node has not noted it; "": it has. */
typedef char rl_kick_why[RL_KICK_WHY_MAX];

/* why: one for each of these nodes, by their names. The note's time is that of its score. */
void rl_kick_notes_write(const struct rl_args *args, redlock_bytes name,
                         const struct rl_kick_note *note, const char *const *nodes, size_t n_nodes,
                         rl_kick_why *why);

/* Removes a note again, if nothing was kicked. */
void rl_kick_notes_withdraw(const struct rl_args *args, redlock_bytes name,
                            const struct rl_kick_note *note);

struct rl_kick_notes {
    size_t n;
    struct rl_kick_note notes[RL_KICK_NOTES_MAX]; /* the newest first; none is over a day old */
};

void rl_kick_notes_read(const struct rl_args *args, redlock_bytes name,
                        struct rl_kick_notes *notes);

#endif
