/* What redlock kick notes on the nodes, for a day: from which holder the lock was taken, by whom,
 * when and why.
 *
 * The last five kicks of a name stand in a sorted set under "libredlock:kicks:{" name "}", with the
 * time as their score; the same bytes on all nodes. A name that begins with "libredlock:" cannot be
 * a lock's, so no lock can have that key. A note is one line, with a space between two fields:
 *
 *     1 AT_MS BY WHAT TOKEN HOLDER REASON
 *
 * the version of this; ms since 1970, by the clock of the machine that kicked; user@host; "lock",
 * "reader", "readers" (all of them), "slot:N" or "leftover" (no quorum had it); the token and the
 * name of the kicked holder, or "-"; and the reason, which may contain spaces.
 *
 * Failure modes: a member may be of another version, or written by any client of the nodes:
 * rl_kick_note_parse() checks every byte, and rejects anything else than a note. A note is no
 * proof. */
#ifndef RL_CLI_KICK_NOTE_H
#define RL_CLI_KICK_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "token.h"
#include "tool/json.h"

#define RL_KICK_KEY_PREFIX "libredlock:kicks:" /* then "{", the name, "}" */
#define RL_KICK_KEY_MAX (sizeof RL_KICK_KEY_PREFIX "{}" + REDLOCK_RESOURCE_MAX)
#define RL_KICK_LIFE_MS 86400000
#define RL_KICK_NOTES_MAX 5
#define RL_KICK_BY_MAX 129 /* these with the terminating zero */
#define RL_KICK_WHAT_MAX 16
#define RL_KICK_REASON_MAX 201
#define RL_KICK_NOTE_MAX 512

struct rl_kick_note {
    int64_t at_ms;
    char by[RL_KICK_BY_MAX];
    char what[RL_KICK_WHAT_MAX];
    char token[REDLOCK_TOKEN_LENGTH + 1]; /* "": several, or not known */
    char holder[RL_HOLDER_TEXT_MAX];      /* "": none, or several */
    char reason[RL_KICK_REASON_MAX];
};

/* The key of a name's notes. Returns its length. */
size_t rl_kick_key(redlock_bytes name, char out[RL_KICK_KEY_MAX]);

/* Returns NULL, or why a text cannot be a reason: a clause. */
const char *rl_kick_note_check_reason(const char *reason);

/* The bytes of a note. Returns their length. */
size_t rl_kick_note_format(const struct rl_kick_note *note, char out[RL_KICK_NOTE_MAX]);

/* The note of these bytes, which need not end with a zero. False: they are none. */
bool rl_kick_note_parse(struct rl_kick_note *note, const char *bytes, size_t length);

/* "vm:860 was kicked by root@ops1 at 2026-11-23 02:31:07: its machine burnt". Returns out. */
#define RL_KICK_SAY_MAX (RL_HOLDER_TEXT_MAX + RL_KICK_BY_MAX + RL_KICK_REASON_MAX + 96)
const char *rl_kick_note_say(const struct rl_kick_note *note, char out[RL_KICK_SAY_MAX]);

/* The members of its object. at: char[RL_WHEN_MAX]. */
#define RL_KICK_NOTE_JSON(note, at)                                                      \
    JSON_TEXT("kicked_at", rl_when_utc((note)->at_ms, at)), JSON_TEXT("by", (note)->by), \
        JSON_TEXT("what", (note)->what), JSON_TEXT_OR_NULL("holder", (note)->holder),    \
        JSON_TEXT_OR_NULL("token", (note)->token), JSON_TEXT("reason", (note)->reason)

#endif
