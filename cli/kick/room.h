/* The notes of kicks. */
#ifndef RL_CLI_KICK_ROOM_H
#define RL_CLI_KICK_ROOM_H

#include <stddef.h>
#include <stdint.h>

#include "args.h"
#include "token.h"
#include "tool/json.h"

/* -- note.c -- */

#define RL_KICK_KEY_PREFIX "libredlock:kicks:" /* then "{", the name, "}" */
#define RL_KICK_KEY_MAX (sizeof RL_KICK_KEY_PREFIX "{}" + REDLOCK_RESOURCE_MAX)
#define RL_KICK_LIFE_MS 86400000
#define RL_KICK_NOTES_MAX 5
#define RL_KICK_BY_MAX 129 /* these include the terminating zero */
#define RL_KICK_WHAT_MAX 16
#define RL_KICK_REASON_MAX 201
#define RL_KICK_NOTE_MAX 512

struct rl_kick_note {
    int64_t at_ms;
    char by[RL_KICK_BY_MAX];
    char what[RL_KICK_WHAT_MAX];
    char token[REDLOCK_TOKEN_LENGTH + 1]; /* "": several, or unknown */
    char holder[RL_HOLDER_ROOM];          /* "": none, or several */
    char reason[RL_KICK_REASON_MAX];
};

/* The key of a name's notes. Returns its length. */
size_t rl_kick_key(redlock_bytes name, char out[RL_KICK_KEY_MAX]);

/* Returns NULL, or why the text cannot be a reason: a clause. */
const char *rl_kick_note_check_reason(const char *reason);

/* The bytes of a note. Returns their length. */
size_t rl_kick_note_format(const struct rl_kick_note *note, char out[RL_KICK_NOTE_MAX]);

/* "vm:860 was kicked by root@ops1 at 2026-11-23 02:31:07: its machine burnt". Valid as long as an
 * rl_text(). */
const char *rl_kick_note_say(const struct rl_kick_note *note);

/* The members of a note's JSON object. */
#define RL_KICK_NOTE_JSON(note)                                                       \
    JSON_TEXT("kicked_at", rl_when_utc((note)->at_ms)), JSON_TEXT("by", (note)->by),  \
        JSON_TEXT("what", (note)->what), JSON_TEXT_OR_NULL("holder", (note)->holder), \
        JSON_TEXT_OR_NULL("token", (note)->token), JSON_TEXT("reason", (note)->reason)

#define RL_KICK_WHY_MAX 128

/* Why a node has not noted the kick; "": it has. */
typedef char rl_kick_why[RL_KICK_WHY_MAX];

struct rl_look;

/* why: for each node of the look. The note's time is also its score. */
void rl_kick_notes_write(const struct rl_args *args, const struct rl_look *look,
                         const struct rl_kick_note *note, rl_kick_why *why);

/* Removes a note again, if nothing was kicked. */
void rl_kick_notes_withdraw(const struct rl_args *args, redlock_bytes name,
                            const struct rl_kick_note *note);

struct rl_kick_notes {
    size_t n;
    struct rl_kick_note notes[RL_KICK_NOTES_MAX]; /* the newest first; none is older than a day */
};

/* Adds the note that these bytes contain, unless they are not a note, or it is there already; the
 * oldest one drops out. */
void rl_kick_notes_add(struct rl_kick_notes *notes, const char *bytes, size_t length);

void rl_kick_notes_read(const struct rl_args *args, redlock_bytes name,
                        struct rl_kick_notes *notes);

#endif
