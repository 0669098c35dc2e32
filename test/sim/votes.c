/* Between a client's cores and its nodes, as lib/votes.c: actions become commands, answers become
 * votes, and releases that are not answered become debts. The order of what perform() does is the
 * order of struct rl_actions, and is the same in both.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/client.h"
#include "sim/fault.h"
#include "sim/world.h"

#define CALL_OF(item) ((struct sim_call *)(void *)((char *)(item)-offsetof(struct sim_call, owed)))

static void note(const struct sim_lock *lock, struct sim_note note) {
    note.client = lock->client->index;
    note.lock = lock->index;
    note.resource = lock->resource;
    sim_trace(lock->client->world, note);
}

/* -- Calls -- */

static uint32_t token_of(const struct rl_lock *core) {
    char digits[9];
    memcpy(digits, core->token, 8);
    digits[8] = '\0';
    return (uint32_t)strtoul(digits, NULL, 16);
}

static struct sim_call *call_take(struct sim_lock *lock, enum sim_command command, uint32_t round) {
    struct sim_client *client = lock->client;
    struct sim_call *call = client->free_calls;
    if (call != NULL) {
        client->free_calls = call->next;
    } else {
        call = malloc(sizeof *call);
        if (call == NULL) {
            abort();
        }
    }
    const struct rl_lock *core = &lock->core;
    *call = (struct sim_call){.lock = lock,
                              .round = round,
                              .token = token_of(core),
                              .ttl_ms = core->ttl_ms,
                              .command = (uint8_t)command};
    if (command == SIM_RELEASE) {
        uint64_t drift_ns = rl_drift_ns(core->rules, core->life_ms);
        rl_owed_item_init(&call->owed, core->life_ms * RL_NS_PER_MS + drift_ns);
    }
    return call;
}

static void call_give_back(struct sim_call *call) {
    struct sim_client *client = call->lock->client;
    call->next = client->free_calls;
    client->free_calls = call;
}

/* -- Debts -- */

static void owe(struct sim_link *link, struct sim_call *call) {
    link->client->world->stats.owed++;
    note(call->lock,
         (struct sim_note){.kind = SIM_NOTE_OWED, .node = link->node, .token = call->token});
    struct rl_owed_item *given_up = rl_owed_unanswered(&link->owed, &call->owed);
    assert(given_up == NULL); /* the simulated world is too small for that */
    (void)given_up;
    sim_link_deadline(link);
}

static void owe_again(struct sim_link *link, struct sim_call *call) {
    struct rl_owed_item *given_up =
        rl_owed_refused(&link->owed, &call->owed, sim_client_now(link->client));
    sim_link_deadline(link);
    if (given_up != NULL) {
        call_give_back(CALL_OF(given_up));
    }
}

void sim_votes_repay(struct sim_link *link) {
    uint32_t left = link->owed.count;
    link->owed.retry_ns = RL_NEVER;
    for (; left > 0; left--) {
        struct sim_call *call = CALL_OF(rl_owed_take(&link->owed));
        call->repays = true;
        call->round = 0;
        note(call->lock,
             (struct sim_note){.kind = SIM_NOTE_REPAY, .node = link->node, .token = call->token});
        sim_link_send(link, call);
    }
    sim_link_deadline(link);
}

void sim_votes_forgive(struct sim_link *link) {
    struct rl_owed_item *item;
    while ((item = rl_owed_take(&link->owed)) != NULL) {
        call_give_back(CALL_OF(item));
    }
}

/* -- Answers -- */

static void settle(struct sim_link *link, struct sim_call *call, enum sim_answer answer) {
    if (call->command != SIM_RELEASE) {
        call_give_back(call);
    } else if (answer == SIM_ANSWER_YES || answer == SIM_ANSWER_NO) {
        if (call->repays) {
            link->client->world->stats.repaid++;
            note(call->lock,
                 (struct sim_note){
                     .kind = SIM_NOTE_REPAID, .node = link->node, .token = call->token});
        }
        call_give_back(call);
    } else if (answer == SIM_ANSWER_ERROR) {
        owe_again(link, call);
    } else {
        owe(link, call);
    }
}

static struct rl_ballot_in ballot_of(const struct sim_link *link, const struct sim_call *call,
                                     enum sim_answer answer) {
    static const enum rl_vote votes[] = {[SIM_ANSWER_YES] = RL_VOTE_GRANTED,
                                         [SIM_ANSWER_NO] = RL_VOTE_REFUSED,
                                         [SIM_ANSWER_ERROR] = RL_VOTE_FAILED,
                                         [SIM_ANSWER_NONE] = RL_VOTE_FAILED};
    return (struct rl_ballot_in){
        .round = call->round,
        .node = link->node,
        .vote = votes[answer],
        .reason = answer == SIM_ANSWER_ERROR ? SIM_REASON_ERROR : SIM_REASON_DOWN,
        .may_have_run = answer == SIM_ANSWER_NONE};
}

void sim_votes_answer(struct sim_link *link, struct sim_call *call, enum sim_answer answer) {
    if (call->round != 0) {
        struct rl_event event = {.type = RL_EV_VOTE};
        event.u.vote = ballot_of(link, call, answer);
        note(call->lock, (struct sim_note){.kind = SIM_NOTE_VOTE,
                                           .node = link->node,
                                           .token = call->token,
                                           .a = call->command,
                                           .b = answer});
        sim_votes_step(call->lock, &event);
    } else if (call->command == SIM_SET && answer == SIM_ANSWER_YES) {
        link->client->world->stats.repairs++;
    }
    settle(link, call, answer);
}

/* -- Actions -- */

/* All nodes of the mask are up: the core was told which are. */
static void send_to(struct sim_lock *lock, uint32_t mask, enum sim_command command,
                    uint32_t round) {
    struct sim_client *client = lock->client;
    for (uint32_t i = 0; i < client->rules.n; i++) {
        if (mask & UINT32_C(1) << i) {
            struct sim_call *call = call_take(lock, command, round);
            if (command != SIM_RELEASE) {
                sim_check_asked(call);
            }
            sim_link_send(&client->links[i], call);
        }
    }
}

static void owe_to(struct sim_lock *lock, uint32_t mask) {
    for (uint32_t i = 0; i < lock->client->rules.n; i++) {
        if (mask & UINT32_C(1) << i) {
            owe(&lock->client->links[i], call_take(lock, SIM_RELEASE, 0));
        }
    }
}

static void send_round(struct sim_lock *lock, uint32_t mask) {
    static const enum sim_command commands[] = {[RL_ROUND_ACQUIRE] = SIM_SET,
                                                [RL_ROUND_EXTEND] = SIM_EXTEND,
                                                [RL_ROUND_RELEASE] = SIM_RELEASE};
    const struct rl_round *round = &lock->core.round;
    note(lock, (struct sim_note){.kind = SIM_NOTE_SEND,
                                 .node = SIM_NOBODY,
                                 .token = token_of(&lock->core),
                                 .a = commands[round->kind],
                                 .b = mask});
    send_to(lock, mask, commands[round->kind], round->id);
}

static void note_done(struct sim_lock *lock, enum sim_op_kind kind, enum rl_result result) {
    if (result == RL_RESULT_NONE) {
        return;
    }
    struct sim_op *op = &lock->ops[kind];
    if (!op->is_active || op->is_done) {
        sim_check_fail(lock->client->world, SIM_ONCE, "operation %d of c%d ended, but was not open",
                       (int)kind, lock->client->index + 1);
        return;
    }
    op->is_done = true;
    op->result = result;
    sim_loop_queue_done(lock);
}

static void draw(struct sim_lock *lock) {
    struct sim_world *world = lock->client->world;
    if (sim_fault_no_token(world)) {
        sim_votes_simple(lock, RL_EV_CANCEL);
        return;
    }
    bool again = world->options.broken == SIM_BREAK_ONE_TOKEN && lock->first_token != 0;
    uint32_t number = again ? lock->first_token : sim_check_token(world, lock);
    char token[RL_TOKEN_LEN + 1];
    snprintf(token, sizeof token, "%08x%032x", (unsigned)number, 0u);
    if (lock->first_token == 0) {
        lock->first_token = number;
    }
    struct rl_event event = {.type = RL_EV_ATTEMPT};
    event.u.token = token;
    sim_votes_step(lock, &event);
}

static void perform(struct sim_lock *lock, const struct rl_actions *actions) {
    if (actions->release != 0) {
        note(lock, (struct sim_note){.kind = SIM_NOTE_UNDO,
                                     .node = SIM_NOBODY,
                                     .token = token_of(&lock->core),
                                     .b = actions->release});
        send_to(lock, actions->release, SIM_RELEASE, 0);
    }
    owe_to(lock, actions->owe);
    if (actions->lost != RL_RESULT_NONE) {
        lock->lost_result = actions->lost;
        sim_loop_queue_lost(lock);
    }
    note_done(lock, SIM_OP_ACQUIRE, actions->acquired);
    note_done(lock, SIM_OP_EXTEND, actions->extended);
    note_done(lock, SIM_OP_RELEASE, actions->released);
    if (actions->tell) {
        lock->tell = true;
        sim_loop_queue_done(lock);
        sim_fault_at_grant(lock->client->world, lock->client->index);
    }
    if (actions->repair != 0) {
        note(lock, (struct sim_note){.kind = SIM_NOTE_REPAIR,
                                     .node = SIM_NOBODY,
                                     .token = token_of(&lock->core),
                                     .b = actions->repair});
        send_to(lock, actions->repair, SIM_SET, 0);
    }
    if (actions->send != 0) {
        send_round(lock, actions->send);
    }
    if (actions->draw) {
        draw(lock);
    }
}

void sim_votes_step(struct sim_lock *lock, struct rl_event *event) {
    struct sim_client *client = lock->client;
    struct rl_actions actions;
    event->now_ns = sim_client_now(client);
    event->random = sim_random(&client->world->core_random);
    event->up = client->up;
    event->reasons = client->reasons;
    uint8_t before = lock->core.state;
    rl_lock_step(&lock->core, event, &actions);
    client->world->stats.late_votes += actions.late;
    if (lock->core.state != before) {
        note(lock, (struct sim_note){.kind = SIM_NOTE_STATE,
                                     .node = SIM_NOBODY,
                                     .token = token_of(&lock->core),
                                     .a = lock->core.state,
                                     .c = before});
    }
    sim_check_lock(lock);
    perform(lock, &actions);
    rl_deadlines_set(&client->deadlines, &lock->deadline, rl_lock_wake_ns(&lock->core));
}

void sim_votes_simple(struct sim_lock *lock, enum rl_event_type type) {
    struct rl_event event = {.type = type};
    sim_votes_step(lock, &event);
}

void sim_votes_free(struct sim_client *client) {
    for (uint32_t i = 0; i < client->rules.n; i++) {
        sim_votes_forgive(&client->links[i]);
        while (client->links[i].head != NULL) {
            struct sim_call *call = client->links[i].head;
            client->links[i].head = call->next;
            call_give_back(call);
        }
    }
    while (client->free_calls != NULL) {
        struct sim_call *call = client->free_calls;
        client->free_calls = call->next;
        free(call);
    }
}
