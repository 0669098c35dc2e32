/* The simulator's driver: what the core decides (core/driver.h, core/sent.h, core/owed.h) is done
 * to simulated links, as lib/votes.c does it to real nodes. Nothing is decided here.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/client.h"
#include "sim/fault.h"
#include "sim/world.h"

#define CALL_OF(item) \
    ((struct sim_call *)(void *)((char *)(item)-offsetof(struct sim_call, sent.owed)))

static struct sim_lock *lock_of(struct rl_lock *core) {
    return (struct sim_lock *)(void *)((char *)core - offsetof(struct sim_lock, core));
}

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

static const enum sim_command commands[RL_SENT_KINDS] = {[RL_SENT_SET] = SIM_SET,
                                                         [RL_SENT_RAISE] = SIM_RAISE,
                                                         [RL_SENT_EXTEND] = SIM_EXTEND,
                                                         [RL_SENT_RELEASE] = SIM_RELEASE};

static struct sim_call *call_take(struct sim_lock *lock, enum rl_sent_kind kind, uint32_t round) {
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
                              .token = token_of(core),
                              .fence = core->fence.floor,
                              .ttl_ms = core->ttl_ms,
                              .command = (uint8_t)commands[kind]};
    rl_sent_init(&call->sent, core, kind, round);
    return call;
}

static void call_give_back(struct sim_call *call) {
    struct sim_client *client = call->lock->client;
    call->next = client->free_calls;
    client->free_calls = call;
}

/* -- Debts -- */

/* Too busy to be told: whatever it has to be told may come that much later. */
static void excuse(const struct sim_link *link) {
    struct sim_world *world = link->client->world;
    sim_check_trouble(world, link->client->index, link->node, world->now_ns);
}

static void owe(struct sim_link *link, struct sim_call *call, enum rl_debt debt) {
    struct sim_world *world = link->client->world;
    struct rl_owed_item *given_up = rl_owed_add(&link->owed, &call->sent.owed, debt,
                                                sim_link_is_up(link), sim_client_now(link->client));
    if (debt == RL_DEBT_UNANSWERED) {
        world->stats.owed++;
        note(call->lock,
             (struct sim_note){.kind = SIM_NOTE_OWED, .node = link->node, .token = call->token});
    }
    if (given_up != NULL) {
        if (given_up != &call->sent.owed) { /* not because its key must be gone */
            world->stats.dropped++;
            sim_check_dropped(world, link->node, CALL_OF(given_up)->token);
        }
        call_give_back(CALL_OF(given_up));
    }
    sim_link_deadline(link);
}

static bool repay_one(struct rl_owed_item *item, void *data) {
    struct sim_link *link = data;
    struct sim_call *call = CALL_OF(item);
    rl_sent_again(&call->sent);
    if (sim_link_send(link, call) != 0) {
        excuse(link);
        return false;
    }
    note(call->lock,
         (struct sim_note){.kind = SIM_NOTE_REPAY, .node = link->node, .token = call->token});
    return true;
}

void sim_votes_repay(struct sim_link *link) {
    rl_owed_repay(&link->owed, sim_client_now(link->client), repay_one, link);
    sim_link_deadline(link);
}

void sim_votes_forgive(struct sim_link *link) {
    struct rl_owed_item *item;
    while ((item = rl_owed_take(&link->owed)) != NULL) {
        call_give_back(CALL_OF(item));
    }
}

/* -- Answers -- */

static void settle(struct sim_link *link, struct sim_call *call, enum rl_outcome outcome) {
    struct sim_stats *stats = &link->client->world->stats;
    switch (rl_sent_end(&call->sent, outcome)) {
        case RL_END_OWED:
            owe(link, call, RL_DEBT_UNANSWERED);
            return;
        case RL_END_OWED_AGAIN:
            owe(link, call, RL_DEBT_REFUSED);
            return;
        case RL_END_REPAID:
            stats->repaid++;
            note(call->lock,
                 (struct sim_note){
                     .kind = SIM_NOTE_REPAID, .node = link->node, .token = call->token});
            break;
        case RL_END_REPAIRED:
            stats->repairs++;
            break;
        case RL_END_DONE:
            break;
    }
    call_give_back(call);
}

void sim_votes_answer(struct sim_link *link, struct sim_call *call, enum rl_outcome outcome,
                      uint64_t counter) {
    int16_t reason = outcome == RL_OUTCOME_ERROR ? SIM_REASON_ERROR : SIM_REASON_DOWN;
    struct rl_event event;
    if (rl_sent_vote(&call->sent, link->node, outcome, reason, counter, &event)) {
        note(call->lock, (struct sim_note){.kind = SIM_NOTE_VOTE,
                                           .node = link->node,
                                           .token = call->token,
                                           .a = call->command,
                                           .b = outcome});
        sim_votes_step(call->lock, &event);
    }
    settle(link, call, outcome);
}

/* -- The driver: what each is to do is said in core/driver.h -- */

static uint64_t oldest_ns(struct rl_lock *core, uint32_t node) {
    const struct sim_call *oldest = lock_of(core)->client->links[node].head;
    return oldest != NULL ? oldest->sent_ns : RL_NEVER;
}

static uint32_t count(uint32_t nodes) {
    uint32_t many = 0;
    for (; nodes != 0; nodes &= nodes - 1) {
        many++;
    }
    return many;
}

static void stepped(struct rl_lock *core, const struct rl_event *event,
                    const struct rl_actions *actions) {
    struct sim_lock *lock = lock_of(core);
    struct sim_stats *stats = &lock->client->world->stats;
    stats->late_votes += actions->late;
    stats->left_out += count(lock->client->up & ~event->up);
    if (event->type == RL_EV_ATTEMPT) {
        stats->withheld += count(event->up & ~event->voters);
    }
    if (lock->state_told != core->state) {
        note(lock, (struct sim_note){.kind = SIM_NOTE_STATE,
                                     .node = SIM_NOBODY,
                                     .token = token_of(core),
                                     .a = core->state,
                                     .c = lock->state_told});
        lock->state_told = core->state;
    }
    sim_check_lock(lock);
}

static void fan_out(struct rl_lock *core, enum rl_sent_kind kind, uint32_t round, uint32_t nodes) {
    struct sim_stats *stats = &lock_of(core)->client->world->stats;
    struct sim_note what = {.kind = SIM_NOTE_SEND,
                            .node = SIM_NOBODY,
                            .token = token_of(core),
                            .a = commands[kind],
                            .b = nodes};
    if (round == 0) {
        what.kind = kind == RL_SENT_SET ? SIM_NOTE_REPAIR : SIM_NOTE_UNDO;
    }
    if (kind == RL_SENT_EXTEND) {
        lock_of(core)->extend_ns = lock_of(core)->client->world->now_ns;
    }
    if (kind == RL_SENT_RAISE) {
        stats->raised++;
        what.fence = core->fence.floor;
    }
    stats->alone += kind == RL_SENT_SET && core->unasked != 0;
    note(lock_of(core), what);
}

static int16_t send_one(struct rl_lock *core, enum rl_sent_kind kind, uint32_t round,
                        uint32_t node) {
    struct sim_lock *lock = lock_of(core);
    struct sim_link *link = &lock->client->links[node];
    struct sim_call *call = call_take(lock, kind, round);
    int16_t why = sim_link_send(link, call);
    if (why != 0) {
        excuse(link);
        call_give_back(call);
    } else if (kind != RL_SENT_RELEASE) {
        sim_check_asked(call);
    }
    return why;
}

static void owe_release(struct rl_lock *core, uint32_t node) {
    struct sim_lock *lock = lock_of(core);
    owe(&lock->client->links[node], call_take(lock, RL_SENT_RELEASE, 0), RL_DEBT_UNANSWERED);
}

static void ended(struct rl_lock *core, enum rl_op_kind kind, enum rl_result result) {
    struct sim_lock *lock = lock_of(core);
    struct sim_op *op = &lock->ops[kind];
    if (!op->is_active || op->is_done) {
        sim_check_fail(lock->client->world, SIM_ONCE, "operation %d of c%d ended, but was not open",
                       (int)kind, lock->client->index + 1);
        return;
    }
    op->is_done = true;
    op->result = result;
    if (kind == RL_OP_EXTEND && result == RL_RESULT_OK) {
        sim_check_fence_kept(lock);
    }
    sim_loop_queue_done(lock);
}

static void renewed(struct rl_lock *core, enum rl_result result) {
    struct sim_lock *lock = lock_of(core); /* the user is told by a callback that does nothing */
    if (result == RL_RESULT_OK) {
        lock->client->world->stats.watched++;
        sim_check_fence_kept(lock);
    }
}

static void lost(struct rl_lock *core, enum rl_result why) {
    struct sim_lock *lock = lock_of(core);
    lock->lost_result = why;
    sim_loop_queue_lost(lock);
}

static void tell(struct rl_lock *core) {
    struct sim_lock *lock = lock_of(core);
    lock->tell = true;
    sim_loop_queue_done(lock);
    sim_fault_at_grant(lock->client->world, lock->client->index);
}

static bool draw(struct rl_lock *core, char token[RL_TOKEN_LEN], uint64_t *wall_us) {
    struct sim_lock *lock = lock_of(core);
    struct sim_world *world = lock->client->world;
    *wall_us = sim_fault_wall_us(lock->client);
    if (sim_fault_no_token(world)) {
        return false;
    }
    bool again = world->options.broken == SIM_BREAK_ONE_TOKEN && lock->first_token != 0;
    uint32_t number = again ? lock->first_token : sim_check_token(world, lock);
    char digits[RL_TOKEN_LEN + 1];
    snprintf(digits, sizeof digits, "%08x%032x", (unsigned)number, 0u);
    memcpy(token, digits, RL_TOKEN_LEN);
    if (lock->first_token == 0) {
        lock->first_token = number;
    }
    return true;
}

static void undrawn(struct rl_lock *core) {
    (void)core; /* cancelled is how it is told here */
}

static void feed(struct rl_lock *core, struct rl_event *event) {
    sim_votes_step(lock_of(core), event);
}

static const struct rl_driver driver = {
    .oldest_ns = oldest_ns,
    .stepped = stepped,
    .fan_out = fan_out,
    .send = send_one,
    .owe = owe_release,
    .ended = ended,
    .renewed = renewed,
    .lost = lost,
    .tell = tell,
    .draw = draw,
    .undrawn = undrawn,
    .feed = feed,
};

void sim_votes_step(struct sim_lock *lock, struct rl_event *event) {
    struct sim_client *client = lock->client;
    event->now_ns = sim_client_now(client);
    event->random = sim_random(&client->world->core_random);
    event->up = client->up;
    event->voters = client->voters;
    event->reasons = client->reasons;
    event->twins = NULL; /* each node is a server of its own */
    rl_drive(&lock->core, event, &driver);
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
