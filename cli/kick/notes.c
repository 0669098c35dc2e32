/* The notes of a name on all nodes: written, withdrawn and read over connections of their own, a
 * thread for each node. What a note is: note.c.
 *
 * Happy path: a script adds the note, drops all but the last five, and gives the key a day to live.
 * Reading merges the nodes' notes, the newest first.
 *
 * Failure modes: a node that does not take the note says why; the others take it. A node that does
 * not answer costs the timeouts of the command line, and delays no other node. */
#include "kick/room.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "say.h"
#include "wire/room.h"

#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number

/* KEYS: the notes of a name. ARGV: the time, the note. It uses only commands that a client's user
 * may run in any case (cli/doctor/doctor.c). */
static const char add_script[] =
    "redis.call('zadd', KEYS[1], ARGV[1], ARGV[2])\n"
    "while redis.call('zcard', KEYS[1]) > " TEXT(RL_KICK_NOTES_MAX) " do "
    "redis.call('zpopmin', KEYS[1]) end\n"
    "return redis.call('pexpire', KEYS[1], " TEXT(RL_KICK_LIFE_MS) ")\n";

/* Asks all nodes, of all sets: the notes need not be found by who decides about the name. argv[at]
 * is the key of the notes. Returns how many there are. */
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

void rl_kick_notes_write(const struct rl_args *args, redlock_bytes name,
                         const struct rl_kick_note *note, const char *const *nodes, size_t n_nodes,
                         rl_kick_why *why) {
    struct rl_wire_answer answers[REDLOCK_NODES_MAX];
    char text[RL_KICK_NOTE_MAX], score[24];
    const char *argv[] = {"EVAL", add_script, "1", NULL, score, text};
    snprintf(score, sizeof score, "%" PRId64, note->at_ms);
    rl_kick_note_format(note, text);
    const size_t n = ask(args, name, sizeof argv / sizeof argv[0], argv, 3, answers);
    for (size_t i = 0; i < n_nodes; i++) {
        snprintf(why[i], sizeof why[i], "it could not be asked");
        for (size_t j = 0; j < n; j++) {
            if (strcmp(answers[j].node, nodes[i]) == 0) {
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
    struct rl_kick_note note = {0};
    size_t at = 0;
    if (!rl_kick_note_parse(&note, bytes, length) ||
        note.at_ms <= rl_when_now_ms() - RL_KICK_LIFE_MS) {
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
