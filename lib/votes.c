/* The client's driver: what the core decides (core/driver.h, core/sent.h) is done to real nodes.
 * Commands are sent, outcomes become votes, and releases that are not answered become debts.
 *
 * Can a key be orphaned here? A release is one rl_call from the moment that the core asks for it
 * until the node answered it: out (in the node's list), or owed (in the node's debts), and only
 * freed by settle(), when the core says that it is done, or by owe_drop(), when it says that it is
 * given up. The exception is a release for which there is no memory: it is counted as dropped and
 * the key ends by its ttl.
 *
 * No function here calls user code, the trace hook excepted.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "client.h"
#include "line.h"
#include "mark.h"
#include "share.h"

/* -- Calls: allocated once, used again -- */

#define ROUNDS_AT_FIRST 4 /* the first block has room for so many fan-outs */

static bool call_grow(redlock_client *client) {
    uint32_t count = ROUNDS_AT_FIRST * client->n_nodes;
    if (count < client->call_count) {
        count = client->call_count;
    }
    struct rl_call_block *block =
        rl_alloc(&client->memory, 1, sizeof *block + count * sizeof block->calls[0]);
    if (block == NULL) {
        return false;
    }
    block->next = client->call_blocks;
    client->call_blocks = block;
    client->call_count += count;
    for (uint32_t i = 0; i < count; i++) {
        block->calls[i].next_free = client->free_calls;
        client->free_calls = &block->calls[i];
    }
    return true;
}

static struct rl_call *call_take(redlock_lock *lock) {
    redlock_client *client = lock->client;
    if (client->free_calls == NULL && !call_grow(client)) {
        return NULL;
    }
    struct rl_call *call = client->free_calls;
    client->free_calls = call->next_free;
    call->lock = lock;
    rl_lock_ref(lock);
    return call;
}

static void call_give_back(struct rl_call *call) {
    redlock_lock *lock = call->lock;
    redlock_client *client = lock->client;
    call->lock = NULL;
    call->next_free = client->free_calls;
    client->free_calls = call;
    rl_lock_unref(lock);
}

void rl_votes_free_calls(redlock_client *client) {
    while (client->call_blocks != NULL) {
        struct rl_call_block *block = client->call_blocks;
        client->call_blocks = block->next;
        rl_free(&client->memory, block);
    }
    client->free_calls = NULL;
}

static redlock_lock *lock_of(struct rl_lock *core) {
    return RL_CONTAINER(core, redlock_lock, core);
}

static enum rl_command_kind command_kind(const redlock_lock *lock, enum rl_sent_kind kind) {
    static const enum rl_command_kind kinds[RL_SENT_KINDS] = {
        [RL_SENT_SET] = RL_COMMAND_SET,
        [RL_SENT_RAISE] = RL_COMMAND_RAISE,
        [RL_SENT_EXTEND] = RL_COMMAND_EXTEND,
        [RL_SENT_RELEASE] = RL_COMMAND_RELEASE,
    };
    if (kind == RL_SENT_SET && lock->core.fence.floor != 0) {
        return RL_COMMAND_FENCE;
    }
    bool several = kind == RL_SENT_SET && lock->target.n > 1;
    return several ? RL_COMMAND_SET_ALL : kinds[kind];
}

static void call_fill(struct rl_call *call, enum rl_sent_kind kind, uint32_t round) {
    const struct rl_lock *core = &call->lock->core;
    rl_sent_init(&call->sent, core, kind, round);
    call->request = (struct rl_request){
        .target = &call->lock->target,
        .ttl_ms = core->ttl_ms,
        .counter = core->fence.floor,
        .kind = (uint8_t)command_kind(call->lock, kind),
        .announces = call->lock->announces,
    };
    memcpy(call->request.token, core->token, RL_TOKEN_LEN);
}

/* -- Debts -- */

static void owe_changed(struct rl_client_node *node, uint32_t count_before) {
    node->client->owed += node->owed.count;
    node->client->owed -= count_before;
    rl_client_node_deadline(node);
}

static void owe_drop(struct rl_client_node *node, struct rl_owed_item *item) {
    if (item != NULL) {
        struct rl_call *call = RL_CONTAINER(item, struct rl_call, sent.owed);
        node->client->stats.owed_dropped++;
        rl_trace(node->client, REDLOCK_EVENT_OWED_DROPPED, NULL, &node->node, 0, 0);
        call_give_back(call);
    }
}

static void owe(struct rl_client_node *node, struct rl_call *call, enum rl_debt debt) {
    uint32_t before = node->owed.count;
    struct rl_owed_item *given_up = rl_owed_add(&node->owed, &call->sent.owed, debt,
                                                rl_node_is_up(&node->node), redlock_now_ns());
    if (debt == RL_DEBT_UNANSWERED) {
        rl_trace(node->client, REDLOCK_EVENT_OWED, call->lock, &node->node, 0, 0);
    }
    owe_changed(node, before);
    owe_drop(node, given_up);
}

static bool repay_one(struct rl_owed_item *item, void *data) {
    struct rl_client_node *node = data;
    redlock_client *client = node->client;
    struct rl_call *call = RL_CONTAINER(item, struct rl_call, sent.owed);
    struct rl_request *request = &call->request;
    struct rl_command command = {.kind = RL_COMMAND_RELEASE,
                                 .announces = request->announces,
                                 .target = request->target,
                                 .token = request->token};
    request->whole_script = false;
    rl_sent_again(&call->sent);
    client->wire_length = rl_command_format(client->io.wire, &command);
    bool sent = rl_node_send(&node->node, request, client->io.wire, client->wire_length,
                             redlock_now_ns()) == 0;
    client->calls_out += sent;
    return sent;
}

void rl_votes_repay(struct rl_client_node *node) {
    uint32_t before = node->owed.count;
    rl_owed_repay(&node->owed, redlock_now_ns(), repay_one, node);
    owe_changed(node, before);
}

void rl_votes_forgive(struct rl_client_node *node) {
    uint32_t before = node->owed.count;
    struct rl_owed_item *item;
    while ((item = rl_owed_take(&node->owed)) != NULL) {
        owe_drop(node, item);
    }
    owe_changed(node, before);
}

/* -- Answers -- */

static void settle(struct rl_client_node *node, struct rl_call *call, enum rl_outcome outcome) {
    redlock_client *client = node->client;
    switch (rl_sent_end(&call->sent, outcome)) {
        case RL_END_OWED:
            owe(node, call, RL_DEBT_UNANSWERED);
            return;
        case RL_END_OWED_AGAIN:
            owe(node, call, RL_DEBT_REFUSED);
            return;
        case RL_END_REPAID:
            client->stats.owed_repaid++;
            rl_trace(client, REDLOCK_EVENT_OWED_REPAID, call->lock, &node->node, 0, 0);
            break;
        case RL_END_REPAIRED:
            client->stats.repaired++;
            break;
        case RL_END_DONE:
            break;
    }
    call_give_back(call);
}

bool rl_votes_again(struct rl_node *node, struct rl_request *request) {
    struct rl_call *call = RL_CONTAINER(request, struct rl_call, request);
    (void)node;
    if (!rl_lock_has_token(&call->lock->core, request->token)) {
        RL_MARK(SET_NOT_AGAIN);
        return false;
    }
    return true;
}

/* What the core is to make of an answer. */
static enum rl_outcome outcome_of(const struct rl_request *request,
                                  const struct rl_answer *answer) {
    static const enum rl_outcome outcomes[] = {
        [RL_YES] = RL_OUTCOME_YES,
        [RL_NO] = RL_OUTCOME_NO,
        [RL_ERROR] = RL_OUTCOME_ERROR,
        [RL_NOSCRIPT] = RL_OUTCOME_NOSCRIPT,
        [RL_NOT_REDIS] = RL_OUTCOME_NONSENSE,
        [RL_UNANSWERED] = RL_OUTCOME_UNANSWERED,
    };
    bool sets_by_script = request->kind == RL_COMMAND_SET_ALL || request->kind == RL_COMMAND_FENCE;
    if (answer->verdict == RL_ERROR && sets_by_script) {
        return RL_OUTCOME_NONSENSE; /* it may have stopped half-way, with a key set */
    }
    if (answer->counter > RL_FENCE_VOTE_MAX) {
        return RL_OUTCOME_NONSENSE; /* its key is set */
    }
    return outcomes[answer->verdict];
}

void rl_votes_answer(struct rl_node *node, struct rl_request *request,
                     const struct rl_answer *answer) {
    struct rl_client_node *place = RL_CONTAINER(node, struct rl_client_node, node);
    struct rl_call *call = RL_CONTAINER(request, struct rl_call, request);
    enum rl_outcome outcome = outcome_of(request, answer);
    int16_t reason = answer->reason;
    struct rl_event event;
    place->client->calls_out--;
    if (answer->verdict == RL_ERROR) {
        place->error = reason;
        snprintf(place->words, sizeof place->words, "%s", answer->text);
    } else if (answer->counter > RL_FENCE_VOTE_MAX) {
        reason = REDLOCK_ERR_NODE_PROTOCOL;
    }
    if (rl_sent_vote(&call->sent, place->index, outcome, reason, answer->counter, &event)) {
        place->client->stats.late_votes += rl_votes_step(call->lock, &event);
    }
    settle(place, call, outcome);
}

/* -- The driver: what each is to do is said in core/driver.h -- */

static int vote_status(const struct rl_ballot_in *vote) {
    if (vote->vote == RL_VOTE_GRANTED) {
        return 0;
    }
    return vote->vote == RL_VOTE_REFUSED ? REDLOCK_ERR_HELD : vote->reason;
}

static void trace_vote(redlock_lock *lock, const struct rl_ballot_in *vote, bool late) {
    redlock_client *client = lock->client;
    if (client->trace != NULL) {
        bool same_round = vote->round == lock->core.round.id;
        rl_trace(client, late ? REDLOCK_EVENT_LATE_VOTE : REDLOCK_EVENT_VOTE, lock,
                 &client->nodes[vote->node].node, vote_status(vote),
                 same_round ? lock->core.round.ballots[vote->node].latency_us : 0);
    }
}

static uint64_t oldest_ns(struct rl_lock *core, uint32_t node) {
    const struct rl_node *asked = &lock_of(core)->client->nodes[node].node;
    if (rl_node_is_clogged(asked)) {
        return 0;
    }
    if (asked->head == NULL) {
        return RL_NEVER;
    }
    const redlock_client *client = lock_of(core)->client; /* its answer may not have been read */
    return asked->head->sent_ns + (client->step_ns - client->heard_ns);
}

static void stepped(struct rl_lock *core, const struct rl_event *event,
                    const struct rl_actions *actions) {
    if (event->type == RL_EV_VOTE) {
        trace_vote(lock_of(core), &event->u.vote, actions->late);
    }
}

static void trace_fan_out(redlock_lock *lock, enum rl_sent_kind kind, uint32_t round,
                          uint32_t nodes) {
    static const enum redlock_event_type types[] = {[RL_SENT_SET] = REDLOCK_EVENT_ATTEMPT,
                                                    [RL_SENT_RAISE] = REDLOCK_EVENT_FENCE,
                                                    [RL_SENT_EXTEND] = REDLOCK_EVENT_EXTEND,
                                                    [RL_SENT_RELEASE] = REDLOCK_EVENT_RELEASE};
    redlock_client *client = lock->client;
    if (kind != RL_SENT_SET || round != 0) {
        rl_trace(client, types[kind], lock, NULL, 0, 0);
        return;
    }
    for (uint32_t i = 0; nodes >> i != 0; i++) {
        if (nodes >> i & 1) {
            rl_trace(client, REDLOCK_EVENT_REPAIR, lock, &client->nodes[i].node, 0, 0);
        }
    }
}

/* Formats the command once for all nodes. */
static void fan_out(struct rl_lock *core, enum rl_sent_kind kind, uint32_t round, uint32_t nodes) {
    redlock_lock *lock = lock_of(core);
    struct rl_command command = {.kind = command_kind(lock, kind),
                                 .announces = lock->announces,
                                 .ttl_ms = core->ttl_ms,
                                 .counter = core->fence.floor,
                                 .target = &lock->target,
                                 .token = core->token};
    if (lock->client->trace != NULL) {
        trace_fan_out(lock, kind, round, nodes);
    }
    lock->client->stats.raised += kind == RL_SENT_RAISE;
    lock->client->wire_length = rl_command_format(lock->client->io.wire, &command);
}

static int16_t send_one(struct rl_lock *core, enum rl_sent_kind kind, uint32_t round,
                        uint32_t node) {
    redlock_lock *lock = lock_of(core);
    redlock_client *client = lock->client;
    struct rl_call *call = call_take(lock);
    if (call == NULL) {
        RL_MARK(SEND_NO_MEMORY);
        return REDLOCK_ERR_NOMEM;
    }
    call_fill(call, kind, round);
    int16_t why = rl_node_send(&client->nodes[node].node, &call->request, client->io.wire,
                               client->wire_length, core->now_ns);
    if (why == 0) {
        client->calls_out++;
    } else {
        call_give_back(call);
    }
    return why;
}

static void owe_release(struct rl_lock *core, uint32_t node) {
    redlock_lock *lock = lock_of(core);
    struct rl_call *call = call_take(lock);
    if (call == NULL) {
        lock->client->stats.owed_dropped++;
        rl_trace(lock->client, REDLOCK_EVENT_OWED_DROPPED, lock, &lock->client->nodes[node].node,
                 REDLOCK_ERR_NOMEM, 0);
        return;
    }
    call_fill(call, RL_SENT_RELEASE, 0);
    owe(&lock->client->nodes[node], call, RL_DEBT_UNANSWERED);
}

static void ended(struct rl_lock *core, enum rl_op_kind op, enum rl_result result) {
    redlock_lock *lock = lock_of(core);
    if (op == RL_OP_ACQUIRE && core->acquire.attempt != RL_RESULT_NONE) {
        lock->attempt_status = (int16_t)rl_lock_status(core->acquire.attempt);
    } else if (op == RL_OP_ACQUIRE && result == RL_RESULT_DEADLINE) {
        lock->attempt_status = (int16_t)rl_line_status(lock); /* it has not come to an attempt */
    }
    if (op == RL_OP_ACQUIRE && !lock->has_asked) {
        bool is_told = result == RL_RESULT_DEADLINE || result == RL_RESULT_HELD;
        lock->ops[op].words =
            (uint8_t)(is_told ? rl_line_words(lock->attempt_status) : RL_WORDS_NONE);
    }
    rl_share_end(lock, op, rl_lock_status(result));
}

static void renewed(struct rl_lock *core, enum rl_result result) {
    redlock_lock *lock = lock_of(core);
    lock->client->stats.renewed += result == RL_RESULT_OK;
    lock->client->stats.extend_failed += result != RL_RESULT_OK;
    rl_share_renewed(lock, rl_lock_status(result));
}

static void lost(struct rl_lock *core, enum rl_result why) {
    rl_share_lost(lock_of(core), rl_lock_status(why));
}

static void tell(struct rl_lock *core) {
    redlock_lock *lock = lock_of(core);
    lock->tell = true;
    rl_loop_queue_done(lock);
}

/* Not 0, which is for locks without a fence. */
static uint64_t wall_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec > 0 ? (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000 : 1;
}

static bool draw(struct rl_lock *core, char token[RL_TOKEN_LEN], uint64_t *floor) {
    unsigned char bytes[RL_TOKEN_LEN / 2];
    if (uv_random(NULL, NULL, bytes, sizeof bytes, 0, NULL) != 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        token[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        token[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    *floor = core->acquire.fences ? wall_us() : 0;
    redlock_lock *lock = lock_of(core);
    lock->has_asked = true;
    lock->client->stats.attempts++;
    rl_notice_begin(lock);
    return true;
}

static void undrawn(struct rl_lock *core) {
    struct rl_op *op = &lock_of(core)->ops[RL_OP_ACQUIRE];
    op->status = REDLOCK_ERR_SYSTEM;
    op->words = RL_WORDS_NO_RANDOM;
}

static void feed(struct rl_lock *core, struct rl_event *event) {
    rl_votes_step(lock_of(core), event);
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

bool rl_votes_step(redlock_lock *lock, struct rl_event *event) {
    redlock_client *client = lock->client;
    rl_lock_ref(lock); /* what ends here may be the last that refers to it */
    event->now_ns = client->step_ns = redlock_now_ns();
    event->random = rl_loop_random(client);
    event->up = client->up;
    event->voters = client->voters;
    event->reasons = client->reasons;
    event->twins = client->twins;
    bool was_won = lock->core.state == RL_GRANTED || rl_lock_is_holding(&lock->core);
    lock->announces = was_won || event->type == RL_EV_RELEASE;
    bool late = rl_drive(&lock->core, event, &driver);
    rl_line_update(lock);
    rl_notice_follow(lock);
    rl_deadlines_set(&client->deadlines, &lock->deadline, rl_lock_wake_ns(&lock->core));
    rl_deadlines_set(&client->ends, &lock->end, rl_lock_lost_ns(&lock->core));
    rl_lock_unref(lock);
    return late;
}

void rl_votes_simple(redlock_lock *lock, enum rl_event_type type) {
    struct rl_event event = {.type = type};
    rl_votes_step(lock, &event);
}
