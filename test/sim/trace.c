/* See trace.h. Nodes, clients, resources and tokens count from 1. */
#include "sim/trace.h"

#include <assert.h>
#include <inttypes.h>

#include "sim/world.h"

static const char *const commands[SIM_COMMANDS] = {
    [SIM_SET] = "SET",         [SIM_RAISE] = "raise",    [SIM_EXTEND] = "extend",
    [SIM_RELEASE] = "release", [SIM_TAKE] = "TAKE",      [SIM_JOIN] = "JOIN",
    [SIM_LEAVE] = "LEAVE",     [SIM_SHARE] = "SHARE",    [SIM_UPGRADE] = "upgrade",
    [SIM_PEEK] = "peek",       [SIM_RESIZE] = "a change"};
static const char *const verdicts[] = {[SIM_YES] = "done", [SIM_NO] = "no", [SIM_ERROR] = "error"};
static const char *const ops[SIM_OPS] =
    {[SIM_OP_ACQUIRE] = "acquire", [SIM_OP_EXTEND] = "extend", [SIM_OP_RELEASE] = "release"};

static const char *status(uint32_t negated) {
    return redlock_strerror(-(int)negated);
}

static const char *answer(uint32_t negated) {
    return negated == 0 ? "yes" : negated == -REDLOCK_ERR_HELD ? "no" : status(negated);
}

/* "a permit", "2 of 5 permits"; "slot 0", "slots 0+3" */
static void print_slots(const struct sim_note *note, FILE *out) {
    const char *before = note->take > 1 ? "slots " : "slot ";
    if (note->resource == 0 && note->permits > 0) {
        fprintf(out, "%u of %u permits", note->take, note->permits);
    } else if (note->resource == 0) {
        fprintf(out, note->take > 1 ? "%u permits" : "%u permit", note->take);
    }
    for (unsigned i = 0; note->resource >> i != 0; i++) {
        if (note->resource >> i & 1) {
            fprintf(out, "%s%u", before, i);
            before = "+";
        }
    }
}

/* "r1", "r1+r3" */
static void print_resources(const struct sim_note *note, FILE *out) {
    const char *before = "r";
    if (note->take > 0) {
        print_slots(note, out);
        return;
    }
    for (unsigned i = 0; note->resource >> i != 0; i++) {
        if (note->resource >> i & 1) {
            fprintf(out, "%s%u", before, i + 1);
            before = "+r";
        }
    }
}

/* The sentence of a note. In it stand, behind a %:
 *
 *     w   who: c1 is the first lock of a client, c1b its second; c1's lock: of an election, or one
 *         that was freed
 *     c   the client;    n   the node;    t   the token;    r   the resources, or slots
 *     a   the number a, in ms;    p   the number of permits
 *     s   the status;    y   the vote;    v   the verdict
 *     o   the operation;    m   the command */
static const char *const sentences[SIM_NOTE_KINDS] = {
    [SIM_NOTE_ACQUIRE] = "%w wants %r for %a ms",
    [SIM_NOTE_SEND] = "%w sends %m of token %t",
    [SIM_NOTE_REPAIR] = "%w gives token %t back to %n",
    [SIM_NOTE_VOTE] = "%w counts %n: %y",
    [SIM_NOTE_DONE] = "%w is told: %o of %r: %s",
    [SIM_NOTE_LOST] = "%w is told of the loss of %r: %s",
    [SIM_NOTE_OWED] = "%w: the release of token %t to %n is pending",
    [SIM_NOTE_REPAID] = "%w: %n has answered the pending release of token %t",
    [SIM_NOTE_DROPPED] = "%w: the release of token %t to %n is dropped",
    [SIM_NOTE_EXTEND] = "%w extends %r",
    [SIM_NOTE_DOWNGRADE] = "%w from now on only reads %r",
    [SIM_NOTE_UPGRADE] = "%w tries to write %r",
    [SIM_NOTE_RELEASE] = "%w releases %r",
    [SIM_NOTE_RESIZE] = "%w wants the semaphore to have %p permits",
    [SIM_NOTE_CANCEL] = "%w cancels what it asked of %r",
    [SIM_NOTE_ABANDON] = "%w gives up %r",
    [SIM_NOTE_UP] = "%c is connected to %n",
    [SIM_NOTE_DOWN] = "%c has lost its connection to %n",
    [SIM_NOTE_QUARANTINE] = "%c does not ask %n for a vote yet",
    [SIM_NOTE_VOTES_AGAIN] = "%c may ask %n for votes again",
    [SIM_NOTE_EXPIRED] = "     %n: token %t has expired",
    [SIM_NOTE_NODE_ON] = "* %n goes on",
    [SIM_NOTE_HEAL] = "* everything is healed",
};

static const char *sentence_of(const struct sim_note *note) {
    if (note->kind == SIM_NOTE_ACQUIRE && note->b != 0) {
        return "%w wants to read %r for %a ms";
    } else if (note->kind == SIM_NOTE_SEND && note->a == SIM_TAKE) {
        return "%w begins an attempt with token %t"; /* it need not ask for a passed key */
    } else if (note->kind == SIM_NOTE_VOTE && note->a != 0) {
        return "%w hears too late from %n: %y";
    } else if (note->kind == SIM_NOTE_EXTEND && note->a != 0) {
        return "%w extends %r by %a ms";
    }
    return sentences[note->kind];
}

static void print_word(const struct sim_note *note, char word, FILE *out) {
    static const char *const locks[SIM_LOCKS_MAX + 1] = {"", "b", "c", "d", "e", "f", "'s lock"};
    switch (word) {
        case 'w': {
            const uint32_t lock = note->lock < SIM_LOCKS_MAX ? note->lock : SIM_LOCKS_MAX;
            fprintf(out, "c%u%s", note->client + 1u, locks[lock]);
            break;
        }
        case 'c':
        case 'n':
            fprintf(out, "%c%u", word, (word == 'c' ? note->client : note->node) + 1u);
            break;
        case 't':
        case 'a':
        case 'p':
            fprintf(out, "%u", word == 't' ? note->token : word == 'a' ? note->a : note->permits);
            break;
        case 'r':
            print_resources(note, out);
            break;
        case 's':
            fputs(status(note->b), out);
            break;
        case 'y':
            fputs(answer(note->b), out);
            break;
        case 'o':
            fputs(ops[note->a], out);
            break;
        case 'm':
            fputs(commands[note->a], out);
            break;
        default:
            assert(word == 'v');
            fputs(verdicts[note->b], out);
            break;
    }
}

static void print_sentence(const struct sim_note *note, const char *sentence, FILE *out) {
    for (const char *at = sentence; *at != '\0'; at++) {
        if (*at == '%') {
            print_word(note, *++at, out);
        } else {
            fputc(*at, out);
        }
    }
}

static void print_fence(const struct sim_note *note, const char *before, FILE *out) {
    if (note->fence != 0 && before != NULL) {
        fprintf(out, "%s%" PRIu64, before, note->fence);
    }
}

static void print_fault(const struct sim_note *note, FILE *out) {
    fprintf(out, "* %s:", sim_fault_name((enum sim_fault)note->a));
    print_sentence(note, note->client != SIM_NOBODY ? " %c" : "", out);
    print_sentence(note, note->node != SIM_NOBODY ? " %n" : "", out);
    fprintf(out, " (%u ms)", (unsigned)note->c);
}

/* A command that a node has run. */
static void print_ran(const struct sim_note *note, FILE *out) {
    static const char *const by[] = {"", " by DELIFEQ", " by DELEX"}; /* enum server_native */
    struct sim_note wanted = *note;
    if (note->a == SIM_RESIZE) {
        print_sentence(note, "     %n runs %c's change to %p permits: %v", out);
        return;
    }
    if (note->a == SIM_JOIN || note->a == SIM_LEAVE || note->a == SIM_PEEK) {
        wanted.resource = note->take > 0 ? 0 : note->resource;
        print_sentence(&wanted, "     %n runs %m of %c's token %t for %r: %v", out);
        print_sentence(note, note->take > 0 && note->resource != 0 ? ", %r" : "", out);
        return;
    }
    print_sentence(note, "     %n runs %m", out);
    fputs(note->a == SIM_RELEASE ? by[note->c] : "", out);
    print_sentence(note, note->take > 0 ? " of token %t, %r" : " of token %t", out);
    fputs(note->take > 0 && note->a != SIM_RELEASE ? "," : "", out);
    if (note->a == SIM_RAISE) {
        print_fence(note, " to ", out);
    } else if (note->a != SIM_RELEASE) {
        fprintf(out, " for %u ms", (unsigned)note->c);
    }
    print_sentence(note, ": %v", out);
    print_fence(note, note->a != SIM_RAISE && note->b == SIM_YES ? ", counter " : NULL, out);
}

static void print(const struct sim_note *note, FILE *out) {
    fprintf(out, "%10.3f  ", (double)(note->at_ns / 1000) / 1e3);
    if (note->kind == SIM_NOTE_FAULT) {
        print_fault(note, out);
    } else if (note->kind == SIM_NOTE_RAN) {
        print_ran(note, out);
    } else {
        print_sentence(note, sentence_of(note), out);
        print_fence(note, note->kind == SIM_NOTE_DONE ? ", fence " : NULL, out);
    }
    fprintf(out, "\n");
}

static uint64_t mixed(uint64_t hash, uint64_t value) {
    uint64_t product = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return product ^ product >> 29;
}

void sim_trace(struct sim_world *world, struct sim_note note) {
    struct sim_trace *trace = &world->trace;
    note.at_ns = world->now_ns;
    if (note.client < SIM_CLIENTS_MAX && world->clients[note.client].is_inside) {
        note.at_ns = world->clients[note.client].at_ns;
    }
    uint64_t hash = mixed(trace->hash, note.at_ns);
    hash = mixed(hash, (uint64_t)note.token << 32 | note.b);
    hash = mixed(hash, (uint64_t)note.a << 32 | note.c);
    hash = mixed(hash, note.fence);
    trace->hash = mixed(hash, (uint64_t)note.kind << 24 | (uint64_t)note.client << 16 |
                                  (uint64_t)note.lock << 8 | note.node);
    trace->ring[trace->count++ % SIM_TRACE_MAX] = note;
}

void sim_trace_print(const struct sim_world *world, uint32_t last, FILE *out) {
    const struct sim_trace *trace = &world->trace;
    uint64_t most = trace->count < SIM_TRACE_MAX ? trace->count : SIM_TRACE_MAX;
    uint64_t first = trace->count - (last < most ? last : most);
    for (uint64_t i = first; i < trace->count; i++) {
        print(&trace->ring[i % SIM_TRACE_MAX], out);
    }
}
