/* The note that redlock kick stores on the nodes for a day: from which holder the lock was taken,
 * by whom, when and why.
 *
 * The last five kicks of a name are in a sorted set under "libredlock:kicks:{" name "}", with the
 * time as their score; the bytes are the same on all nodes. No lock's name begins with
 * "libredlock:", so no lock can have that key. A note is one line of fields, separated by spaces:
 *
 *     1 AT_MS BY WHAT TOKEN HOLDER REASON
 *
 * the version of this; ms since 1970, by the clock of the machine that kicked; user@host; "lock",
 * "reader", "readers" (all of them), "slot:N" or "leftover" (no quorum had it); the token and the
 * name of the kicked holder, or "-"; and the reason, which may contain spaces.
 *
 * Failure modes: a member may be of another version, or written by any client of the nodes: parse()
 * checks every byte, and accepts only notes. A note is not a proof. */
#include "kick/room.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "say.h"
#include "session/room.h"
#include "tool/utf8.h"
#include "wire/room.h"

#define VERSION "1"
#define NONE "-"

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

/* "-" means none. */
static void take_none(char *text) {
    text[0] = strcmp(text, NONE) == 0 ? '\0' : text[0];
}

/* Accepts the bytes only if formatting the parsed note gives the same bytes. */
static bool parse(struct rl_kick_note *note, const char *bytes, size_t length) {
    char text[RL_KICK_NOTE_MAX], again[RL_KICK_NOTE_MAX];
    int at = 0;
    if (length >= sizeof text) {
        return false;
    }
    memcpy(text, bytes, length);
    text[length] = '\0';
    const int found = sscanf(text, VERSION " %15" SCNd64 " %128[!-~] %15[!-~] %40[!-~] %64[!-~]%n",
                             &note->at_ms, note->by, note->what, note->token, note->holder, &at);
    if (found != 5 || text[at] != ' ' || rl_kick_note_check_reason(text + at + 1) != NULL) {
        return false;
    }
    snprintf(note->reason, sizeof note->reason, "%s", text + at + 1);
    take_none(note->token);
    take_none(note->holder);
    const bool has_token = strspn(note->token, "0123456789abcdef") == REDLOCK_TOKEN_LENGTH;
    return note->at_ms >= 0 && is_what(note->what) && (has_token || note->token[0] == '\0') &&
           rl_kick_note_format(note, again) == length && memcmp(again, bytes, length) == 0;
}
static_assert(RL_KICK_BY_MAX == 129 && RL_KICK_WHAT_MAX == 16 && RL_HOLDER_ROOM == 65 &&
                  REDLOCK_TOKEN_LENGTH == 40,
              "as they are read");

const char *rl_kick_note_say(const struct rl_kick_note *note) {
    const bool has_slot = strncmp(note->what, "slot:", 5) == 0;
    const char *whom = note->holder[0] != '\0'              ? note->holder
                       : strcmp(note->what, "readers") == 0 ? "every reader"
                                                            : "a holder without a name";
    return rl_text("%s was kicked%s%s by %s at %s: %s", whom, has_slot ? " from slot " : "",
                   has_slot ? note->what + 5 : "", note->by, rl_when_show(note->at_ms, false),
                   note->reason);
}

/* -- All notes of a name -- */

/* Writes, withdraws and reads the notes of a name on all nodes, over separate connections, in a
 * thread for each node.
 *
 * Happy path: a script adds the note, drops all but the last five, and sets the key's ttl to a day.
 * Reading merges the nodes' notes, the newest first.
 *
 * Failure modes: a node cannot store the note: the reason is kept, and the others store it. A node
 * does not answer: it takes the timeouts of the command line, and delays no other node. */

#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number

/* KEYS: the notes of a name. ARGV: the time, the note. It uses only commands that every client's
 * user may run (cli/doctor/doctor.c). */
static const char add_script[] =
    "redis.call('zadd', KEYS[1], ARGV[1], ARGV[2])\n"
    "while redis.call('zcard', KEYS[1]) > " TEXT(RL_KICK_NOTES_MAX) " do "
    "redis.call('zpopmin', KEYS[1]) end\n"
    "return redis.call('pexpire', KEYS[1], " TEXT(RL_KICK_LIFE_MS) ")\n";

/* Asks all nodes of all sets: the notes need not depend on which nodes decide about the name.
 * argv[at] is the key of the notes. Returns how many nodes there are. */
static size_t ask(const struct rl_args *args, redlock_bytes name, size_t n, const char **argv,
                  size_t at, struct rl_wire_answer answers[REDLOCK_NODES_MAX]) {
    char key[RL_KICK_KEY_MAX];
    size_t lengths[8];
    argv[at] = key;
    for (size_t i = 0; i < n; i++) {
        lengths[i] = i == at ? rl_kick_key(name, key) : strlen(argv[i]);
    }
    return rl_wires_ask(args, rl_wires_answer_ms(args), n, argv, lengths, answers);
}

void rl_kick_notes_write(const struct rl_args *args, const struct rl_look *look,
                         const struct rl_kick_note *note, rl_kick_why *why) {
    struct rl_wire_answer answers[REDLOCK_NODES_MAX];
    char text[RL_KICK_NOTE_MAX], score[24];
    const char *argv[] = {"EVAL", add_script, "1", NULL, score, text};
    snprintf(score, sizeof score, "%" PRId64, note->at_ms);
    rl_kick_note_format(note, text);
    const size_t n = ask(args, look->key, sizeof argv / sizeof argv[0], argv, 3, answers);
    for (size_t i = 0; i < look->n; i++) {
        snprintf(why[i], sizeof why[i], "it could not be asked");
        for (size_t j = 0; j < n; j++) {
            if (strcmp(answers[j].node, look->node_holders[i].s.node) == 0) {
                snprintf(why[i], sizeof why[i], "%s", answers[j].why);
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        freeReplyObject(answers[i].reply);
    }
}

void rl_kick_notes_withdraw(const struct rl_args *args, redlock_bytes name,
                            const struct rl_kick_note *note) {
    struct rl_wire_answer answers[REDLOCK_NODES_MAX];
    char text[RL_KICK_NOTE_MAX];
    const char *argv[] = {"ZREM", NULL, text};
    rl_kick_note_format(note, text);
    const size_t n = ask(args, name, sizeof argv / sizeof argv[0], argv, 1, answers);
    for (size_t i = 0; i < n; i++) {
        freeReplyObject(answers[i].reply);
    }
}

void rl_kick_notes_add(struct rl_kick_notes *notes, const char *bytes, size_t length) {
    struct rl_kick_note note = {0}; /* zeroed beyond its texts, too, for the comparison */
    size_t at = 0;
    if (!parse(&note, bytes, length) || note.at_ms <= rl_when_now_ms() - RL_KICK_LIFE_MS) {
        return;
    }
    for (size_t i = 0; i < notes->n; i++) {
        if (memcmp(&notes->notes[i], &note, sizeof note) == 0) {
            return;
        }
        at += notes->notes[i].at_ms >= note.at_ms;
    }
    if (at < RL_KICK_NOTES_MAX) {
        notes->n += notes->n < RL_KICK_NOTES_MAX;
        memmove(&notes->notes[at + 1], &notes->notes[at],
                (notes->n - at - 1) * sizeof notes->notes[0]);
        notes->notes[at] = note;
    }
}

void rl_kick_notes_read(const struct rl_args *args, redlock_bytes name,
                        struct rl_kick_notes *notes) {
    struct rl_wire_answer answers[REDLOCK_NODES_MAX];
    const char *argv[] = {"ZRANGE", NULL, "-" TEXT(RL_KICK_NOTES_MAX), "-1"};
    memset(notes, 0, sizeof *notes);
    const size_t n = ask(args, name, sizeof argv / sizeof argv[0], argv, 1, answers);
    for (size_t i = 0; i < n; i++) {
        const redisReply *reply = answers[i].reply;
        for (size_t j = 0; reply != NULL && reply->type == REDIS_REPLY_ARRAY && j < reply->elements;
             j++) {
            const redisReply *member = reply->element[j];
            if (member->type == REDIS_REPLY_STRING) {
                rl_kick_notes_add(notes, member->str, member->len);
            }
        }
        freeReplyObject(answers[i].reply);
    }
}
