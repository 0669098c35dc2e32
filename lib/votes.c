/* Between the core and the nodes: actions become commands, answers become votes, and releases that
 * are not answered become debts.
 *
 * Can a key be orphaned here? A release is one rl_call from the moment that the core asks for it
 * until the node answered it: out (in the node's list), or owed (in the node's debts), and only
 * freed by votes_settle(). The exception is a release for which there is no memory: it is counted
 * as dropped and the key ends by its ttl.
 *
 * No function here calls user code, the trace hook excepted.
 */
#include <assert.h>
#include <string.h>

#include "client.h"
#include "line.h"
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

static void call_fill(struct rl_call *call, enum rl_command_kind kind, uint32_t round) {
    const struct rl_lock *core = &call->lock->core;
    if (kind == RL_COMMAND_SET && call->lock->target.n > 1) {
        kind = RL_COMMAND_SET_ALL;
    }
    call->round = round;
    call->repays = false;
    call->request = (struct rl_request){
        .target = &call->lock->target,
        .ttl_ms = core->ttl_ms,
        .kind = (uint8_t)kind,
        .announces = call->lock->announces,
    };
    memcpy(call->request.token, core->token, RL_TOKEN_LEN);
    if (kind == RL_COMMAND_RELEASE) {
        uint64_t drift_ns = rl_drift_ns(core->rules, core->life_ms);
        rl_owed_item_init(&call->owed, core->life_ms * RL_NS_PER_MS + drift_ns);
    }
}

static size_t format(redlock_client *client, const struct rl_request *request) {
    struct rl_command command = {.kind = (enum rl_command_kind)request->kind,
                                 .announces = request->announces,
                                 .ttl_ms = request->ttl_ms,
                                 .target = request->target,
                                 .token = request->token};
    return rl_command_format(client->io.wire, &command);
}

/* -- Debts -- */

static void owe_changed(struct rl_client_node *node, uint32_t count_before) {
    node->client->owed += node->owed.count;
    node->client->owed -= count_before;
    rl_client_node_deadline(node);
}

static void owe_drop(struct rl_client_node *node, struct rl_owed_item *item) {
    if (item != NULL) {
        struct rl_call *call = RL_CONTAINER(item, struct rl_call, owed);
        node->client->stats.owed_dropped++;
        rl_trace(node->client, REDLOCK_EVENT_OWED_DROPPED, NULL, &node->node, 0, 0);
        call_give_back(call);
    }
}

/* The node may have the key and could not be told, or did not answer. */
static void owe(struct rl_client_node *node, struct rl_call *call) {
    uint32_t before = node->owed.count;
    rl_trace(node->client, REDLOCK_EVENT_OWED, call->lock, &node->node, 0, 0);
    struct rl_owed_item *given_up = rl_owed_unanswered(&node->owed, &call->owed);
    if (rl_node_is_up(&node->node) && node->owed.retry_ns == RL_NEVER) {
        node->owed.retry_ns = redlock_now_ns() + RL_OWED_RETRY_NS; /* it was too busy to be told */
    }
    owe_changed(node, before);
    owe_drop(node, given_up);
}

static void owe_again(struct rl_client_node *node, struct rl_call *call) {
    uint32_t before = node->owed.count;
    struct rl_owed_item *given_up = rl_owed_refused(&node->owed, &call->owed, redlock_now_ns());
    owe_changed(node, before);
    owe_drop(node, given_up);
}

void rl_votes_repay(struct rl_client_node *node) {
    redlock_client *client = node->client;
    uint32_t before = node->owed.count;
    uint64_t now_ns = redlock_now_ns();
    node->owed.retry_ns = RL_NEVER;
    for (uint32_t left = before; left > 0; left--) {
        struct rl_call *call = RL_CONTAINER(rl_owed_take(&node->owed), struct rl_call, owed);
        call->request.whole_script = false;
        call->repays = true;
        call->round = 0;
        size_t length = format(client, &call->request);
        if (rl_node_send(&node->node, &call->request, client->io.wire, length, now_ns) != 0) {
            rl_owed_unanswered(&node->owed, &call->owed);
            node->owed.retry_ns = now_ns + RL_OWED_RETRY_NS;
            break;
        }
        client->calls_out++;
    }
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

static bool call_is_answered(const struct rl_answer *answer) {
    return answer->verdict == RL_YES || answer->verdict == RL_NO;
}

/* What becomes of a call after its answer: done with, or owed. */
static void votes_settle(struct rl_client_node *node, struct rl_call *call,
                         const struct rl_answer *answer) {
    redlock_client *client = node->client;
    if (call->request.kind != RL_COMMAND_RELEASE) {
        call_give_back(call);
    } else if (call_is_answered(answer)) {
        if (call->repays) {
            client->stats.owed_repaid++;
            rl_trace(client, REDLOCK_EVENT_OWED_REPAID, call->lock, &node->node, 0, 0);
        }
        call_give_back(call);
    } else if (answer->verdict == RL_ERROR || answer->verdict == RL_NOSCRIPT) {
        owe_again(node, call);
    } else {
        owe(node, call);
    }
}

static enum rl_vote to_vote(const struct rl_answer *answer) {
    if (answer->verdict == RL_YES) {
        return RL_VOTE_GRANTED;
    }
    return answer->verdict == RL_NO ? RL_VOTE_REFUSED : RL_VOTE_FAILED;
}

void rl_votes_answer(struct rl_node *node, struct rl_request *request,
                     const struct rl_answer *answer) {
    struct rl_client_node *place = RL_CONTAINER(node, struct rl_client_node, node);
    struct rl_call *call = RL_CONTAINER(request, struct rl_call, request);
    redlock_client *client = place->client;
    client->calls_out--;
    if (call->round != 0) {
        struct rl_event event = {.type = RL_EV_VOTE};
        event.u.vote = (struct rl_ballot_in){
            .round = call->round,
            .node = place->index,
            .vote = to_vote(answer),
            .reason = answer->reason,
            .may_have_run = answer->verdict == RL_UNANSWERED || answer->verdict == RL_NOT_REDIS,
        };
        client->stats.late_votes += rl_votes_step(call->lock, &event);
    } else if (call->request.kind <= RL_COMMAND_SET_ALL && answer->verdict == RL_YES) {
        client->stats.repaired++;
    }
    votes_settle(place, call, answer);
}

/* -- Actions -- */

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

/* Sends one command to each node of a mask. Returns the nodes to which it could not be sent, and
 * why. A release that could not is owed where the key may be; what is owed for nothing would push
 * out what is owed for a reason. */
static uint32_t send_to(redlock_lock *lock, uint32_t mask, enum rl_command_kind kind,
                        uint32_t round, uint32_t may_have, int16_t why[RL_NODES_MAX]) {
    redlock_client *client = lock->client;
    uint32_t failed = 0;
    size_t length = 0;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        if (!(mask & UINT32_C(1) << i)) {
            continue;
        }
        struct rl_call *call = call_take(lock);
        if (call == NULL) {
            failed |= UINT32_C(1) << i;
            why[i] = REDLOCK_ERR_NOMEM;
            client->stats.owed_dropped += (kind == RL_COMMAND_RELEASE) && (may_have >> i & 1);
            continue;
        }
        call_fill(call, kind, round);
        if (length == 0) {
            length = format(client, &call->request);
        }
        if (kind == RL_COMMAND_SET && round == 0) {
            rl_trace(client, REDLOCK_EVENT_REPAIR, lock, &client->nodes[i].node, 0, 0);
        }
        why[i] = rl_node_send(&client->nodes[i].node, &call->request, client->io.wire, length,
                              lock->core.now_ns);
        if (why[i] == 0) {
            client->calls_out++;
            continue;
        }
        failed |= UINT32_C(1) << i;
        if (kind == RL_COMMAND_RELEASE && (may_have & UINT32_C(1) << i)) {
            owe(&client->nodes[i], call);
        } else {
            call_give_back(call);
        }
    }
    return failed;
}

static void owe_to(redlock_lock *lock, uint32_t mask) {
    redlock_client *client = lock->client;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        if (mask & UINT32_C(1) << i) {
            struct rl_call *call = call_take(lock);
            if (call == NULL) {
                client->stats.owed_dropped++;
                continue;
            }
            call_fill(call, RL_COMMAND_RELEASE, 0);
            owe(&client->nodes[i], call);
        }
    }
}

static void fail_votes(redlock_lock *lock, uint32_t mask, uint32_t round, const int16_t *why) {
    for (uint32_t i = 0; i < lock->client->n_nodes; i++) {
        if (mask & UINT32_C(1) << i) {
            struct rl_event event = {.type = RL_EV_VOTE};
            event.u.vote = (struct rl_ballot_in){
                .round = round, .node = i, .vote = RL_VOTE_FAILED, .reason = why[i]};
            rl_votes_step(lock, &event);
        }
    }
}

static void send_round(redlock_lock *lock, uint32_t mask, uint32_t may_have) {
    static const struct {
        enum rl_command_kind command;
        enum redlock_event_type event;
    } kinds[] = {
        [RL_ROUND_ACQUIRE] = {RL_COMMAND_SET, REDLOCK_EVENT_ATTEMPT},
        [RL_ROUND_EXTEND] = {RL_COMMAND_EXTEND, REDLOCK_EVENT_EXTEND},
        [RL_ROUND_RELEASE] = {RL_COMMAND_RELEASE, REDLOCK_EVENT_RELEASE},
    };
    const struct rl_round *round = &lock->core.round;
    uint32_t id = round->id;
    rl_trace(lock->client, kinds[round->kind].event, lock, NULL, 0, 0);
    int16_t why[RL_NODES_MAX];
    uint32_t failed = send_to(lock, mask, kinds[round->kind].command, id, may_have, why);
    fail_votes(lock, failed, id, why);
}

static void note_done(redlock_lock *lock, enum rl_op_kind kind, enum rl_result result) {
    if (result != RL_RESULT_NONE) {
        rl_share_end(lock, kind, rl_lock_status(result));
    }
}

static void note_renewed(redlock_lock *lock, enum rl_result result) {
    if (result != RL_RESULT_NONE) {
        lock->client->stats.renewed += result == RL_RESULT_OK;
        lock->client->stats.extend_failed += result != RL_RESULT_OK;
        rl_share_renewed(lock, rl_lock_status(result));
    }
}

/* Draws the token of an attempt. Without randomness there is no lock. */
static void attempt(redlock_lock *lock) {
    unsigned char bytes[RL_TOKEN_LEN / 2];
    char token[RL_TOKEN_LEN];
    if (uv_random(NULL, NULL, bytes, sizeof bytes, 0, NULL) != 0) {
        rl_votes_simple(lock, RL_EV_CANCEL);
        lock->ops[RL_OP_ACQUIRE].status = REDLOCK_ERR_SYSTEM;
        return;
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        token[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        token[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    lock->client->stats.attempts++;
    rl_notice_begin(lock);
    struct rl_event event = {.type = RL_EV_ATTEMPT};
    event.u.token = token;
    rl_votes_step(lock, &event);
}

/* Leaves nodes out of an attempt whose oldest request is out for longer than a vote is waited for:
 * a SET would only queue up behind it, and be one more key to clean up when a stopped node goes on.
 * */
static void leave_out_silent(redlock_client *client, struct rl_event *event,
                             int16_t reasons[RL_NODES_MAX]) {
    memcpy(reasons, client->reasons, sizeof client->reasons);
    event->reasons = reasons;
    for (uint32_t i = 0; i < client->n_nodes; i++) {
        const struct rl_request *oldest = client->nodes[i].node.head;
        if (oldest != NULL && rl_node_is_up(&client->nodes[i].node) &&
            event->now_ns > oldest->sent_ns + client->rules.node_timeout_ns) {
            event->up &= ~(UINT32_C(1) << i);
            reasons[i] = REDLOCK_ERR_NODE_TIMEOUT;
        }
    }
}

static void perform(redlock_lock *lock, const struct rl_actions *actions) {
    int16_t why[RL_NODES_MAX]; /* of no consequence where no round counts the votes */
    if (actions->release != 0) {
        rl_trace(lock->client, REDLOCK_EVENT_RELEASE, lock, NULL, 0, 0);
        send_to(lock, actions->release, RL_COMMAND_RELEASE, 0, actions->may_have, why);
    }
    owe_to(lock, actions->owe);
    note_done(lock, RL_OP_ACQUIRE, actions->acquired);
    note_done(lock, RL_OP_EXTEND, actions->extended);
    note_done(lock, RL_OP_RELEASE, actions->released);
    note_renewed(lock, actions->renewed);
    if (actions->lost != RL_RESULT_NONE) {
        rl_share_lost(lock, rl_lock_status(actions->lost));
    }
    if (actions->tell) {
        lock->tell = true;
        rl_loop_queue_done(lock);
    }
    if (actions->repair != 0) {
        send_to(lock, actions->repair, RL_COMMAND_SET, 0, 0, why);
    }
    if (actions->send != 0) {
        send_round(lock, actions->send, actions->may_have);
    }
    if (actions->draw) {
        attempt(lock);
    }
}

bool rl_votes_step(redlock_lock *lock, struct rl_event *event) {
    redlock_client *client = lock->client;
    struct rl_actions actions;
    rl_lock_ref(lock); /* what ends here may be the last that refers to it */
    event->now_ns = redlock_now_ns();
    event->random = rl_loop_random(client);
    event->up = client->up;
    event->reasons = client->reasons;
    int16_t reasons[RL_NODES_MAX];
    if (event->type == RL_EV_ATTEMPT) {
        leave_out_silent(client, event, reasons);
    }
    bool was_won = lock->core.state == RL_GRANTED || rl_lock_is_holding(&lock->core);
    lock->announces = was_won || event->type == RL_EV_RELEASE;
    rl_lock_step(&lock->core, event, &actions);
    if (event->type == RL_EV_VOTE) {
        trace_vote(lock, &event->u.vote, actions.late);
    }
    perform(lock, &actions);
    rl_line_update(lock);
    rl_notice_follow(lock);
    rl_deadlines_set(&client->deadlines, &lock->deadline, rl_lock_wake_ns(&lock->core));
    rl_lock_unref(lock);
    return actions.late;
}

void rl_votes_simple(redlock_lock *lock, enum rl_event_type type) {
    struct rl_event event = {.type = type};
    rl_votes_step(lock, &event);
}
