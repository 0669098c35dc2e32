/* See trace.h. One sentence for each kind of note; nodes, clients, resources and tokens count from
 * 1. */
#include "sim/trace.h"

#include <inttypes.h>

#include "core/lock.h"
#include "sim/world.h"

static const char *const commands[] = {[SIM_HELLO] = "hello",
                                       [SIM_SET] = "SET",
                                       [SIM_RAISE] = "raise",
                                       [SIM_EXTEND] = "extend",
                                       [SIM_RELEASE] = "release"};
static const char *const verdicts[] = {[SIM_YES] = "done", [SIM_NO] = "no", [SIM_ERROR] = "error"};
static const char *const answers[] = {[RL_OUTCOME_YES] = "yes",
                                      [RL_OUTCOME_NO] = "no",
                                      [RL_OUTCOME_ERROR] = "an error",
                                      [RL_OUTCOME_UNANSWERED] = "no answer"};
static const char *const ops[] =
    {[RL_OP_ACQUIRE] = "acquire", [RL_OP_EXTEND] = "extend", [RL_OP_RELEASE] = "release"};
static const char *const results[] = {
    [RL_RESULT_NONE] = "nothing",       [RL_RESULT_OK] = "ok",
    [RL_RESULT_HELD] = "held",          [RL_RESULT_NO_QUORUM] = "no quorum",
    [RL_RESULT_EXPIRED] = "expired",    [RL_RESULT_DEADLINE] = "deadline",
    [RL_RESULT_CANCELED] = "cancelled", [RL_RESULT_LOST] = "lost",
    [RL_RESULT_UNKNOWN] = "unknown",    [RL_RESULT_MAX_HOLD] = "held long enough"};

static void print_mask(uint32_t mask, FILE *out) {
    for (uint32_t i = 0; mask >> i != 0; i++) {
        if (mask & UINT32_C(1) << i) {
            fprintf(out, " n%u", (unsigned)i + 1);
        }
    }
}

static void print_fence(const struct sim_note *note, const char *before, FILE *out) {
    if (note->fence != 0) {
        fprintf(out, "%s%" PRIu64, before, note->fence);
    }
}

/* c1 is the first lock of a client, c1b its second. */
static void print_who(const struct sim_note *note, FILE *out) {
    static const char *const locks[SIM_LOCKS_MAX] = {"", "b", "c"};
    fprintf(out, "c%u%s", note->client + 1u, note->lock < SIM_LOCKS_MAX ? locks[note->lock] : "");
}

static void print_user(const struct sim_note *note, FILE *out) {
    unsigned resource = note->resource + 1u;
    switch ((enum sim_note_kind)note->kind) {
        case SIM_NOTE_ACQUIRE:
            fprintf(out, " wants r%u for %u ms", resource, (unsigned)note->a);
            break;
        case SIM_NOTE_DONE:
            fprintf(out, " is told: %s of r%u: %s", ops[note->a], resource, results[note->b]);
            print_fence(note, ", fence ", out);
            break;
        case SIM_NOTE_LOST:
            fprintf(out, " is told: r%u is lost (%s)", resource, results[note->b]);
            break;
        case SIM_NOTE_EXTEND:
            fprintf(out, " extends r%u", resource);
            if (note->a != 0) {
                fprintf(out, " by %u ms", (unsigned)note->a);
            }
            break;
        case SIM_NOTE_RELEASE:
            fprintf(out, " releases r%u", resource);
            break;
        case SIM_NOTE_CANCEL:
            fprintf(out, " cancels what it asked of r%u", resource);
            break;
        default:
            fprintf(out, " gives r%u up", resource);
            break;
    }
}

static void print_protocol(const struct sim_note *note, FILE *out) {
    unsigned node = note->node + 1u;
    unsigned token = (unsigned)note->token;
    switch ((enum sim_note_kind)note->kind) {
        case SIM_NOTE_SEND:
            fprintf(out, " sends %s of token %u to", commands[note->a], token);
            print_mask(note->b, out);
            print_fence(note, ", to ", out);
            break;
        case SIM_NOTE_REPAIR:
            fprintf(out, " gives token %u back to", token);
            print_mask(note->b, out);
            break;
        case SIM_NOTE_UNDO:
            fprintf(out, " undoes token %u on", token);
            print_mask(note->b, out);
            break;
        case SIM_NOTE_VOTE:
            fprintf(out, " hears %s from n%u (%s of token %u)", answers[note->b], node,
                    commands[note->a], token);
            break;
        case SIM_NOTE_STATE:
            fprintf(out, " is %s", rl_lock_state_name((enum rl_lock_state)note->a));
            break;
        case SIM_NOTE_OWED:
            fprintf(out, " owes n%u the release of token %u", node, token);
            break;
        case SIM_NOTE_REPAY:
            fprintf(out, " repays n%u the release of token %u", node, token);
            break;
        default:
            fprintf(out, " owes n%u nothing for token %u any more", node, token);
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

static void print_node(const struct sim_note *note, FILE *out) {
    unsigned node = note->node + 1u;
    switch ((enum sim_note_kind)note->kind) {
        case SIM_NOTE_RAN:
            fprintf(out, "     n%u runs %s of token %u", node, commands[note->a],
                    (unsigned)note->token);
            if (note->a == SIM_SET || note->a == SIM_EXTEND) {
                fprintf(out, " for %u ms", (unsigned)note->c);
            } else if (note->a == SIM_RAISE) {
                print_fence(note, " to ", out);
            }
            fprintf(out, ": %s", verdicts[note->b]);
            if (note->a == SIM_SET && note->b == SIM_YES) {
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

static void print(const struct sim_note *note, uint64_t since_ns, FILE *out) {
    int64_t us = ((int64_t)note->at_ns - (int64_t)since_ns) / 1000;
    fprintf(out, "%10.3f  ", (double)us / 1e3);
    switch ((enum sim_note_kind)note->kind) {
        case SIM_NOTE_ACQUIRE:
        case SIM_NOTE_DONE:
        case SIM_NOTE_LOST:
        case SIM_NOTE_EXTEND:
        case SIM_NOTE_RELEASE:
        case SIM_NOTE_CANCEL:
        case SIM_NOTE_ABANDON:
            print_who(note, out);
            print_user(note, out);
            break;
        case SIM_NOTE_SEND:
        case SIM_NOTE_REPAIR:
        case SIM_NOTE_UNDO:
        case SIM_NOTE_VOTE:
        case SIM_NOTE_STATE:
        case SIM_NOTE_OWED:
        case SIM_NOTE_REPAY:
        case SIM_NOTE_REPAID:
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

void sim_trace(struct sim_world *world, struct sim_note note) {
    struct sim_trace *trace = &world->trace;
    note.at_ns = world->now_ns;
    trace->ring[trace->count++ % SIM_TRACE_MAX] = note;
    if (trace->story != NULL) {
        print(&note, trace->since_ns, trace->story);
    }
}

void sim_trace_print(const struct sim_world *world, uint32_t last, FILE *out) {
    const struct sim_trace *trace = &world->trace;
    uint64_t most = trace->count < SIM_TRACE_MAX ? trace->count : SIM_TRACE_MAX;
    uint64_t first = trace->count - (last < most ? last : most);
    for (uint64_t i = first; i < trace->count; i++) {
        print(&trace->ring[i % SIM_TRACE_MAX], 0, out);
    }
}
