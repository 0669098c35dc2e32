/* See trace.h. One sentence for each kind of note; nodes, clients, resources and tokens count from
 * 1. */
#include "sim/trace.h"

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

static void print_fence(const struct sim_note *note, const char *before, FILE *out) {
    if (note->fence != 0) {
        fprintf(out, "%s%" PRIu64, before, note->fence);
    }
}

/* c1 is the first lock of a client, c1b its second; c1's lock: of an election, or one that was
 * freed. */
static void print_who(const struct sim_note *note, FILE *out) {
    static const char *const locks[SIM_LOCKS_MAX] = {"", "b", "c", "d", "e", "f"};
    fprintf(out, "c%u%s", note->client + 1u,
            note->lock < SIM_LOCKS_MAX ? locks[note->lock] : "'s lock");
}

static void print_user(const struct sim_note *note, FILE *out) {
    static const char *const texts[SIM_NOTE_KINDS] = {
        [SIM_NOTE_ACQUIRE] = "wants ",
        [SIM_NOTE_EXTEND] = "extends ",
        [SIM_NOTE_DOWNGRADE] = "from now on only reads ",
        [SIM_NOTE_UPGRADE] = "tries to write ",
        [SIM_NOTE_RELEASE] = "releases ",
        [SIM_NOTE_CANCEL] = "cancels what it asked of ",
        [SIM_NOTE_ABANDON] = "gives up "};
    if (note->kind == SIM_NOTE_DONE) {
        fprintf(out, " is told: %s of ", ops[note->a]);
        print_resources(note, out);
        fprintf(out, ": %s", status(note->b));
        print_fence(note, ", fence ", out);
        return;
    }
    if (note->kind == SIM_NOTE_LOST) {
        fprintf(out, " is told of the loss of ");
        print_resources(note, out);
        fprintf(out, ": %s", status(note->b));
        return;
    }
    if (note->kind == SIM_NOTE_RESIZE) {
        fprintf(out, " wants the semaphore to have %u permits", note->permits);
        return;
    }
    fprintf(out, " %s%s", texts[note->kind],
            note->kind == SIM_NOTE_ACQUIRE && note->b != 0 ? "to read " : "");
    print_resources(note, out);
    if (note->a != 0) {
        fprintf(out, note->kind == SIM_NOTE_EXTEND ? " by %u ms" : " for %u ms", (unsigned)note->a);
    }
}

static void print_protocol(const struct sim_note *note, FILE *out) {
    unsigned node = note->node + 1u;
    unsigned token = (unsigned)note->token;
    switch ((enum sim_note_kind)note->kind) {
        case SIM_NOTE_SEND:
            if (note->a == SIM_TAKE) { /* it need not ask for a key that is passed to it */
                fprintf(out, " begins an attempt with token %u", token);
            } else {
                fprintf(out, " sends %s of token %u", commands[note->a], token);
            }
            break;
        case SIM_NOTE_REPAIR:
            fprintf(out, " gives token %u back to n%u", token, node);
            break;
        case SIM_NOTE_VOTE:
            fprintf(out, " %s n%u: %s", note->a ? "hears too late from" : "counts", node,
                    answer(note->b));
            break;
        case SIM_NOTE_OWED:
            fprintf(out, ": the release of token %u to n%u is pending", token, node);
            break;
        case SIM_NOTE_REPAID:
            fprintf(out, ": n%u has answered the pending release of token %u", node, token);
            break;
        default:
            fprintf(out, ": the release of token %u to n%u is dropped", token, node);
            break;
    }
}

static void print_fault(const struct sim_note *note, FILE *out) {
    fprintf(out, "* %s:", sim_fault_name((enum sim_fault)note->a));
    if (note->client != SIM_NOBODY) {
        fprintf(out, " c%u", note->client + 1u);
    }
    if (note->node != SIM_NOBODY) {
        fprintf(out, " n%u", note->node + 1u);
    }
    fprintf(out, " (%u ms)", (unsigned)note->c);
}

/* A command that a node has run for a waiter, which may have got slots. */
static void print_place(const struct sim_note *note, FILE *out) {
    struct sim_note wanted = *note;
    wanted.resource = note->take > 0 ? 0 : note->resource;
    fprintf(out, "     n%u runs %s of c%u's token %u for ", note->node + 1u, commands[note->a],
            note->client + 1u, (unsigned)note->token);
    print_resources(&wanted, out);
    fprintf(out, ": %s", verdicts[note->b]);
    if (note->take > 0 && note->resource != 0) {
        fprintf(out, ", ");
        print_resources(note, out);
    }
}

static void print_node(const struct sim_note *note, FILE *out) {
    static const char *const by[] = {"", " by DELIFEQ", " by DELEX"}; /* enum server_native */
    unsigned node = note->node + 1u;
    switch ((enum sim_note_kind)note->kind) {
        case SIM_NOTE_RAN:
            if (note->a == SIM_RESIZE) {
                fprintf(out, "     n%u runs c%u's change to %u permits: %s", node,
                        note->client + 1u, note->permits, verdicts[note->b]);
                break;
            }
            if (note->a == SIM_JOIN || note->a == SIM_LEAVE || note->a == SIM_PEEK) {
                print_place(note, out);
                break;
            }
            fprintf(out, "     n%u runs %s%s of token %u", node, commands[note->a],
                    note->a == SIM_RELEASE ? by[note->c] : "", (unsigned)note->token);
            if (note->take > 0) {
                fprintf(out, ", ");
                print_resources(note, out);
                fprintf(out, "%s", note->a != SIM_RELEASE ? "," : "");
            }
            if (note->a != SIM_RAISE && note->a != SIM_RELEASE) {
                fprintf(out, " for %u ms", (unsigned)note->c);
            } else if (note->a == SIM_RAISE) {
                print_fence(note, " to ", out);
            }
            fprintf(out, ": %s", verdicts[note->b]);
            if (note->a != SIM_RAISE && note->b == SIM_YES) {
                print_fence(note, ", counter ", out);
            }
            break;
        case SIM_NOTE_EXPIRED:
            fprintf(out, "     n%u: token %u has expired", node, (unsigned)note->token);
            break;
        case SIM_NOTE_UP:
            fprintf(out, "c%u is connected to n%u", note->client + 1u, node);
            break;
        case SIM_NOTE_DOWN:
            fprintf(out, "c%u has lost its connection to n%u", note->client + 1u, node);
            break;
        case SIM_NOTE_QUARANTINE:
            fprintf(out, "c%u does not ask n%u for a vote yet", note->client + 1u, node);
            break;
        case SIM_NOTE_VOTES_AGAIN:
            fprintf(out, "c%u may ask n%u for votes again", note->client + 1u, node);
            break;
        case SIM_NOTE_NODE_ON:
            fprintf(out, "* n%u goes on", node);
            break;
        default:
            fprintf(out, "* everything is healed");
            break;
    }
}

static void print(const struct sim_note *note, FILE *out) {
    fprintf(out, "%10.3f  ", (double)(note->at_ns / 1000) / 1e3);
    switch ((enum sim_note_kind)note->kind) {
        case SIM_NOTE_ACQUIRE:
        case SIM_NOTE_DONE:
        case SIM_NOTE_LOST:
        case SIM_NOTE_EXTEND:
        case SIM_NOTE_DOWNGRADE:
        case SIM_NOTE_UPGRADE:
        case SIM_NOTE_RELEASE:
        case SIM_NOTE_RESIZE:
        case SIM_NOTE_CANCEL:
        case SIM_NOTE_ABANDON:
            print_who(note, out);
            print_user(note, out);
            break;
        case SIM_NOTE_SEND:
        case SIM_NOTE_REPAIR:
        case SIM_NOTE_VOTE:
        case SIM_NOTE_OWED:
        case SIM_NOTE_REPAID:
        case SIM_NOTE_DROPPED:
            print_who(note, out);
            print_protocol(note, out);
            break;
        case SIM_NOTE_FAULT:
            print_fault(note, out);
            break;
        default:
            print_node(note, out);
            break;
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
