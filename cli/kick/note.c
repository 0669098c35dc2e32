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
#include "kick/room.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "say.h"
#include "tool/utf8.h"

#define VERSION "1"
#define NONE "-"
#define DIGITS_MAX 15 /* digits of the time; the year 33658 needs 15 */

size_t rl_kick_key(redlock_bytes name, char out[RL_KICK_KEY_MAX]) {
    const size_t prefix = sizeof RL_KICK_KEY_PREFIX - 1;
    assert(name.length >= 1 && name.length <= REDLOCK_RESOURCE_MAX);
    memcpy(out, RL_KICK_KEY_PREFIX, prefix);
    out[prefix] = '{';
    memcpy(out + prefix + 1, name.data, name.length);
    out[prefix + 1 + name.length] = '}';
    return prefix + 2 + name.length;
}

const char *rl_kick_note_check_reason(const char *reason) {
    const size_t length = strlen(reason);
    if (length >= RL_KICK_REASON_MAX) {
        return "it is longer than 200 bytes; put the details into your own log";
    }
    if (strspn(reason, " ") == length) {
        return "it is empty; say why, for anyone who looks at the lock later";
    }
    for (size_t i = 0; i < length;) {
        const size_t step = tool_utf8_length(reason + i, length - i);
        const unsigned char byte = (unsigned char)reason[i];
        if (step == 0) {
            return "it is not UTF-8";
        }
        if (byte < ' ' || byte == 0x7f) {
            return "it has a control character; a line of text is wanted";
        }
        i += step;
    }
    return NULL;
}

static const char *or_none(const char *text) {
    return text[0] != '\0' ? text : NONE;
}

size_t rl_kick_note_format(const struct rl_kick_note *note, char out[RL_KICK_NOTE_MAX]) {
    assert(rl_kick_note_check_reason(note->reason) == NULL);
    const int length =
        snprintf(out, RL_KICK_NOTE_MAX, VERSION " %" PRId64 " %s %s %s %s %s", note->at_ms,
                 note->by, note->what, or_none(note->token), or_none(note->holder), note->reason);
    assert(length > 0 && length < RL_KICK_NOTE_MAX);
    return (size_t)length;
}

/* Copies one field of printable ASCII to out and skips the space behind it. Returns the rest, or
 * NULL. */
static const char *take_field(const char *text, char *out, size_t size) {
    size_t length = 0;
    while (text[length] > ' ' && text[length] <= '~') {
        length++;
    }
    if (length < 1 || length >= size || text[length] != ' ') {
        return NULL;
    }
    memcpy(out, text, length);
    out[length] = '\0';
    return text + length + 1;
}

static bool take_time(const char *digits, int64_t *at_ms) {
    const size_t length = strspn(digits, "0123456789");
    *at_ms = 0;
    for (size_t i = 0; i < length && length <= DIGITS_MAX; i++) {
        *at_ms = *at_ms * 10 + (digits[i] - '0');
    }
    return length >= 1 && length <= DIGITS_MAX && digits[length] == '\0';
}

static bool is_what(const char *what) {
    static const char *const known[] = {"lock", "reader", "readers", "leftover"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(what, known[i]) == 0) {
            return true;
        }
    }
    const size_t begin = sizeof "slot:" - 1;
    return strncmp(what, "slot:", begin) == 0 && what[begin] != '\0' &&
           what[begin + strspn(what + begin, "0123456789")] == '\0';
}

/* "-" is none. */
static bool take_token(char token[REDLOCK_TOKEN_LENGTH + 1]) {
    if (strcmp(token, NONE) == 0) {
        token[0] = '\0';
        return true;
    }
    return strspn(token, "0123456789abcdef") == REDLOCK_TOKEN_LENGTH;
}

bool rl_kick_note_parse(struct rl_kick_note *note, const char *bytes, size_t length) {
    char text[RL_KICK_NOTE_MAX], version[sizeof VERSION], time[DIGITS_MAX + 1];
    const struct {
        char *out;
        size_t size;
    } fields[] = {{version, sizeof version},         {time, sizeof time},
                  {note->by, sizeof note->by},       {note->what, sizeof note->what},
                  {note->token, sizeof note->token}, {note->holder, sizeof note->holder}};
    const char *at = text;
    if (length >= sizeof text || memchr(bytes, '\0', length) != NULL) {
        return false;
    }
    memcpy(text, bytes, length);
    text[length] = '\0';
    for (size_t i = 0; at != NULL && i < sizeof fields / sizeof fields[0]; i++) {
        at = take_field(at, fields[i].out, fields[i].size);
    }
    if (at == NULL || strcmp(version, VERSION) != 0 || !take_time(time, &note->at_ms) ||
        !is_what(note->what) || !take_token(note->token) || rl_kick_note_check_reason(at) != NULL) {
        return false;
    }
    if (strcmp(note->holder, NONE) == 0) {
        note->holder[0] = '\0';
    }
    memcpy(note->reason, at, strlen(at) + 1);
    return true;
}

const char *rl_kick_note_say(const struct rl_kick_note *note, char out[RL_KICK_SAY_MAX]) {
    char when[RL_WHEN_MAX];
    const bool has_slot = strncmp(note->what, "slot:", 5) == 0;
    const char *whom = note->holder[0] != '\0'              ? note->holder
                       : strcmp(note->what, "readers") == 0 ? "every reader"
                                                            : "a holder without a name";
    snprintf(out, RL_KICK_SAY_MAX, "%s was kicked%s%s by %s at %s: %s", whom,
             has_slot ? " from slot " : "", has_slot ? note->what + 5 : "", note->by,
             rl_when_show(note->at_ms, false, when), note->reason);
    return out;
}
