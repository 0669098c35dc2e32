/* See notes.h. */
#include "kick/notes.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"
#include "wire/wire.h"

#define ANSWER_MS_MIN 1000 /* the same as doctor's: when a kick is needed, nodes may be slow */

/* KEYS: the notes of a name. ARGV: the time, the note, how long it lives in ms, how many are kept.
 * It uses only commands that a client's user may run in any case (cli/doctor/acl.c). */
static const char add_script[] =
    "redis.call('zadd', KEYS[1], ARGV[1], ARGV[2])\n"
    "while redis.call('zcard', KEYS[1]) > tonumber(ARGV[4]) do redis.call('zpopmin', KEYS[1]) end\n"
    "return redis.call('pexpire', KEYS[1], ARGV[3])\n";

/* A request to one node: add a note, remove it, or list the notes. */
struct errand {
    enum { ADD, WITHDRAW, READ } what;
    struct rl_wire *wire;
    const char *key;
    size_t key_length;
    const char *text; /* a note */
    size_t text_length;
    int64_t at_ms;
    struct rl_kick_noted *noted; /* NULL: it is not asked for */
    struct rl_kick_notes found;
};

/* Adds a note unless it is there already, newest first; the oldest drops out. */
static void merge(struct rl_kick_notes *notes, const struct rl_kick_note *note) {
    size_t at = 0;
    for (size_t i = 0; i < notes->n; i++) {
        if (memcmp(&notes->notes[i], note, sizeof *note) == 0) {
            return;
        }
        at += notes->notes[i].at_ms >= note->at_ms;
    }
    if (at < RL_KICK_NOTES_MAX) {
        notes->n += notes->n < RL_KICK_NOTES_MAX;
        memmove(&notes->notes[at + 1], &notes->notes[at],
                (notes->n - at - 1) * sizeof notes->notes[0]);
        notes->notes[at] = *note;
    }
}

static redisReply *ask(struct errand *e) {
    char at[24];
    snprintf(at, sizeof at, "%" PRId64, e->at_ms);
    return e->what == READ ? rl_wire_command(e->wire, "ZRANGE %b -%d -1", e->key, e->key_length,
                                             RL_KICK_NOTES_MAX)
           : e->what == WITHDRAW
               ? rl_wire_command(e->wire, "ZREM %b %b", e->key, e->key_length, e->text,
                                 e->text_length)
               : rl_wire_command(e->wire, "EVAL %s 1 %b %s %b %d %d", add_script, e->key,
                                 e->key_length, at, e->text, e->text_length, RL_KICK_LIFE_MS,
                                 RL_KICK_NOTES_MAX);
}

static void take_notes(struct errand *errand, const redisReply *reply) {
    const int64_t over_ms = rl_when_now_ms() - RL_KICK_LIFE_MS;
    for (size_t i = 0; i < reply->elements; i++) {
        struct rl_kick_note note = {0};
        const redisReply *member = reply->element[i];
        if (member->type == REDIS_REPLY_STRING &&
            rl_kick_note_parse(&note, member->str, member->len) && note.at_ms > over_ms) {
            merge(&errand->found, &note);
        }
    }
}

static void send_one(void *data) {
    struct errand *errand = data;
    struct rl_wire *wire = errand->wire;
    redisReply *reply = NULL;
    if (rl_wire_connect(wire) && rl_wire_hello(wire)) {
        reply = rl_wire_checked(wire, ask(errand));
    }
    if (errand->noted != NULL) {
        errand->noted->is_noted = reply != NULL;
        snprintf(errand->noted->why, sizeof errand->noted->why, "%s", wire->failure);
    }
    if (errand->what == READ && reply != NULL && reply->type == REDIS_REPLY_ARRAY) {
        take_notes(errand, reply);
    }
    freeReplyObject(reply);
    rl_wire_disconnect(wire);
}

/* Sends it to every node, and merges the nodes' notes. merged: NULL if they are not wanted. */
static void send_all(const struct rl_args *args, redlock_bytes name, const struct errand *plan,
                     struct rl_kick_noted *noted, struct rl_kick_notes *merged) {
    char key[RL_KICK_KEY_MAX];
    struct rl_wire *wires = NULL;
    const size_t n = args->nodes.n, length = rl_kick_key(name, key);
    const int64_t patience_ms = 4 * args->node_timeout_ms;
    struct errand *errands = rl_must_alloc(n, sizeof *errands);
    struct sigaction pipe_action; /* rl_wires_open() changes it; a command may be started next */
    sigaction(SIGPIPE, NULL, &pipe_action);
    if (rl_wires_open(&wires, args, patience_ms > ANSWER_MS_MIN ? patience_ms : ANSWER_MS_MIN) ==
        0) {
        for (size_t i = 0; i < n; i++) {
            errands[i] = *plan;
            errands[i].wire = &wires[i];
            errands[i].key = key;
            errands[i].key_length = length;
            errands[i].noted = noted != NULL ? &noted[i] : NULL;
        }
        rl_wires_each(errands, sizeof *errands, n, send_one);
        for (size_t i = 0; merged != NULL && i < n; i++) {
            for (size_t j = 0; j < errands[i].found.n; j++) {
                merge(merged, &errands[i].found.notes[j]);
            }
        }
    }
    rl_wires_free(wires, n);
    free(errands);
    sigaction(SIGPIPE, &pipe_action, NULL);
}

static void write_all(const struct rl_args *args, redlock_bytes name,
                      const struct rl_kick_note *note, bool withdraws,
                      struct rl_kick_noted *noted) {
    char text[RL_KICK_NOTE_MAX];
    const struct errand plan = {.what = withdraws ? WITHDRAW : ADD,
                                .text = text,
                                .text_length = rl_kick_note_format(note, text),
                                .at_ms = note->at_ms};
    send_all(args, name, &plan, noted, NULL);
}

void rl_kick_notes_write(const struct rl_args *args, redlock_bytes name,
                         const struct rl_kick_note *note, struct rl_kick_noted *noted) {
    for (size_t i = 0; i < args->nodes.n; i++) {
        noted[i] = (struct rl_kick_noted){.why = "out of memory"};
    }
    write_all(args, name, note, false, noted);
}

void rl_kick_notes_withdraw(const struct rl_args *args, redlock_bytes name,
                            const struct rl_kick_note *note) {
    write_all(args, name, note, true, NULL);
}

void rl_kick_notes_read(const struct rl_args *args, redlock_bytes name,
                        struct rl_kick_notes *notes) {
    const struct errand plan = {.what = READ};
    memset(notes, 0, sizeof *notes);
    send_all(args, name, &plan, NULL, notes);
}
