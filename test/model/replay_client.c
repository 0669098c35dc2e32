/* See replay_watch.h: what the library sends, counts and relies on. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "client/state.h"
#include "mode/mode.h"
#include "model/replay_state.h"

/* What the replay knows of a lock. Another lock may get the same address. */
struct about {
    const redlock_lock *lock;
    uint64_t sent_ns;
    uint64_t until_ns; /* the latest validity that it was told with told_token */
    uint32_t id;
    uint32_t token;
    uint32_t told_token; /* 0: it relies on nothing */
    uint32_t round;      /* the round's number; STEPS_UNCOUNTED: none */
    uint32_t attempt;    /* the last attempt's round */
    bool writes;         /* or tries to */
};

static struct about *abouts;
static uint32_t about_count;

/* The vote that a core is processing. */
static const struct rl_ballot_in *voted;

static uint64_t true_ns(const struct sim_client *client) {
    uint64_t now_ns = watched.world->now_ns;
    return client->is_inside && client->at_ns > now_ns ? client->at_ns : now_ns;
}

static struct sim_client *process_of(const redlock_client *client) {
    return (struct sim_client *)(void *)client->io.world;
}

/* -- Clients: what is sent -- */

static struct about *about_of(const redlock_lock *lock) {
    for (uint32_t i = about_count; i > 0; i--) {
        if (abouts[i - 1].lock == lock) {
            return &abouts[i - 1];
        }
    }
    abouts = realloc(abouts, (about_count + 1) * sizeof *abouts);
    if (abouts == NULL) {
        abort();
    }
    abouts[about_count] =
        (struct about){.lock = lock, .round = STEPS_UNCOUNTED, .attempt = STEPS_UNCOUNTED, .id = 0};
    return &abouts[about_count++];
}

/* slots: those that are asked for; NULL: not a semaphore. */
static uint32_t wants(const struct rl_target *target, const struct rl_slots *slots) {
    uint32_t mask = 0;
    for (uint32_t i = 0; slots != NULL && i < slots->n; i++) {
        mask |= UINT32_C(1) << slots->at[i];
    }
    if (slots != NULL) {
        return mask;
    }
    for (uint32_t i = 0; i < target->n; i++) {
        mask |= watch_resource(target->resources[i].data, target->resources[i].length);
    }
    return mask;
}

/* Numbers the round that the lock's core has begun when its first command is sent. */
static uint32_t round_of(const redlock_lock *lock, uint32_t token, bool attempt) {
    struct about *about = about_of(lock);
    const struct rl_lock *core = &lock->core;
    if (about->round != STEPS_UNCOUNTED && about->id == core->round.id && about->token == token &&
        about->sent_ns == core->round.sent_ns) {
        return about->round;
    }
    const struct steps_round round = {
        .until_ns = core->round.sent_ns + rl_validity_ns(core->rules, core->ttl_ms),
        .token = token,
        .wants =
            wants(&lock->target, rl_permit_of(lock) != NULL ? &rl_permit_of(lock)->slots : NULL),
        .client = process_of(lock->client)->index,
        .attempt = attempt,
        .reads = lock->holding.mode == RL_SHARED && core->round.kind != RL_ROUND_UPGRADE,
    };
    if (round.reads && !attempt) { /* also after an upgrade that has not won */
        steps_lower(watched.steps, token);
    }
    about->id = core->round.id;
    about->token = token;
    about->sent_ns = core->round.sent_ns;
    about->round = steps_send(watched.steps, &round);
    about->attempt = attempt ? about->round : about->attempt;
    watch_say("c%u sends %s, round %u of token %u", round.client + 1u,
              attempt ? "an attempt" : "an extension", about->round, token);
    return about->round;
}

static const struct sim_conn *conn_of(const struct sim_client *client, const struct rl_node *node) {
    const struct sim_conn *conn = client->conns;
    while (conn != NULL && conn->stream.owner != node->conn) {
        conn = conn->next_open;
    }
    return conn;
}

static int command_of(const struct rl_request *request, bool shared) {
    switch (request->kind) {
        case RL_COMMAND_SET:
            return SIM_SET;
        case RL_COMMAND_TAKE:
            return shared ? SIM_SHARE : request->has_turn ? SIM_TAKE : SIM_SET;
        case RL_COMMAND_UPGRADE:
            return SIM_UPGRADE;
        case RL_COMMAND_EXTEND:
            return SIM_EXTEND;
        case RL_COMMAND_RELEASE:
        case RL_COMMAND_DELIFEQ:
        case RL_COMMAND_DELEX:
        case RL_COMMAND_RELEASE_LINE:
        case RL_COMMAND_RELEASE_PERMIT:
            return SIM_RELEASE;
        case RL_COMMAND_LEAVE:
            return request->line_only ? SIM_COMMANDS : SIM_LEAVE;
        default:
            return SIM_COMMANDS;
    }
}

static void add_sent(struct watch_sent *sent) {
    struct watch_sent **at = &watched.sent;
    while (*at != NULL) {
        at = &(*at)->next;
    }
    sent->next = NULL;
    *at = sent;
}

static void goes_out(struct rl_node *node, struct rl_request *request) {
    const struct rl_client_node *member = RL_CONTAINER(node, struct rl_client_node, node);
    const struct sim_client *client = process_of(member->client);
    const bool shared = request->lock_mode == RL_SHARED;
    int command = command_of(request, shared);
    if (command == SIM_COMMANDS) {
        return;
    }
    uint32_t token = sim_check_token(watched.world, request->token);
    if (command == SIM_RELEASE || command == SIM_LEAVE) {
        steps_give_up(watched.steps, token);
        watch_say("c%u gives up token %u", client->index + 1u, token);
        return;
    }
    const struct rl_lock_call *call = RL_CONTAINER(request, struct rl_lock_call, request);
    const struct sim_conn *conn = conn_of(client, node);
    const bool is_permit = request->lock_mode == RL_PERMIT;
    struct watch_sent *sent = calloc(1, sizeof *sent);
    if (sent == NULL || conn == NULL) {
        abort();
    }
    *sent = (struct watch_sent){.conn = conn->id,
                                .token = token,
                                .round = STEPS_UNCOUNTED,
                                .wants = wants(request->target, is_permit ? &request->slots : NULL),
                                .shared = shared,
                                .command = (uint8_t)command,
                                .kind = request->kind};
    if (call->round != 0) {
        sent->round = round_of(call->lock, token, command != SIM_EXTEND && command != SIM_UPGRADE);
        if (steps_round(watched.steps, sent->round)->wants != sent->wants) {
            steps_refuse(watched.steps,
                         "send: round %u of token %u wants %x, and n%u is asked for %x",
                         sent->round, token, steps_round(watched.steps, sent->round)->wants,
                         member->index + 1u, sent->wants);
        }
    }
    add_sent(sent);
}

WRAP(rl_node_resend);
bool __wrap_rl_node_resend(struct rl_node *node, struct rl_request *request) {
    const struct rl_client_node *member = RL_CONTAINER(node, struct rl_client_node, node);
    const struct sim_conn *conn = conn_of(process_of(member->client), node);
    const uint32_t token = sim_check_token(watched.world, request->token);
    struct watch_sent **at = &watched.sent;
    while (*at != NULL && (conn == NULL || (*at)->conn != conn->id || (*at)->token != token ||
                           (*at)->kind != request->kind || !(*at)->is_refused)) {
        at = &(*at)->next;
    }
    struct watch_sent *sent = *at;
    if (sent != NULL) { /* NULL: such commands are not watched */
        *at = sent->next;
        sent->is_refused = false;
        add_sent(sent);
    }
    return __real_rl_node_resend(node, request);
}

WRAP(rl_node_send);
int16_t __wrap_rl_node_send(struct rl_node *node, struct rl_request *request, const char *wire,
                            size_t length, uint64_t now_ns) {
    int16_t why = __real_rl_node_send(node, request, wire, length, now_ns);
    if (why == 0) {
        goes_out(node, request);
    }
    return why;
}

/* -- Clients: what they count and rely on -- */

WRAP(rl_round_vote);
bool __wrap_rl_round_vote(struct rl_round *round, uint32_t id, uint32_t node, enum rl_vote vote,
                          int16_t reason, uint64_t now_ns) {
    const redlock_lock *lock =
        RL_CONTAINER(RL_CONTAINER(round, struct rl_lock, round), redlock_lock, core);
    bool is_open = round->decision == RL_OPEN;
    bool takes_all = watched.broken == WATCH_BREAKS_VOTES && round->kind == RL_ROUND_EXTEND;
    id = takes_all ? round->id : id;
    bool is_in = __real_rl_round_vote(round, id, node, vote, reason, now_ns);
    bool counts = round->kind == RL_ROUND_ACQUIRE || round->kind == RL_ROUND_EXTEND ||
                  round->kind == RL_ROUND_UPGRADE;
    if (is_in && is_open && counts && vote == RL_VOTE_GRANTED) {
        const struct about *about = about_of(lock);
        const struct sim_client *client = process_of(lock->client);
        const struct rl_lock *core = &lock->core;
        bool is_pass = voted != NULL && voted->node == node && voted->start_ns != 0;
        if (is_pass) { /* the attempt may have sent nothing */
            round_of(lock, sim_check_token(watched.world, core->token), true);
        }
        if (about->round == STEPS_UNCOUNTED || about->id != id) {
            steps_refuse(watched.steps, "count: a vote of a round that was not sent");
            return is_in;
        }
        watch_say("c%u counts n%u for round %u of token %u", client->index + 1u, node + 1,
                  about->round, about->token);
        steps_count(watched.steps, node, about->round,
                    is_pass ? voted->start_ns + rl_validity_ns(core->rules, core->ttl_ms) : 0,
                    true_ns(client));
    }
    return is_in;
}

WRAP(rl_calibration_start_ns);
uint64_t __wrap_rl_calibration_start_ns(const struct rl_calibration *calibration, uint64_t time_us,
                                        uint64_t now_ns, uint64_t subscribed_ns,
                                        uint32_t drift_ppm) {
    return watched.broken == WATCH_BREAKS_START
               ? now_ns
               : __real_rl_calibration_start_ns(calibration, time_us, now_ns, subscribed_ns,
                                                drift_ppm);
}

WRAP(rl_is_quorum);
bool __wrap_rl_is_quorum(const struct rl_electorate *electorate, uint32_t nodes) {
    return watched.broken == WATCH_BREAKS_QUORUM ? (nodes & rl_electors(electorate)) != 0
                                                 : __real_rl_is_quorum(electorate, nodes);
}

/* The lock relies on its core's valid_until_ns. */
static void relies(const redlock_lock *lock) {
    const struct rl_lock *core = &lock->core;
    const struct sim_client *client = process_of(lock->client);
    struct about *about = about_of(lock);
    bool is_new = about->told_token != about->token;
    bool extends = core->round.kind == RL_ROUND_EXTEND || core->round.kind == RL_ROUND_UPGRADE;
    bool extended = extends && core->round.decision == RL_WON && about->id == core->round.id;
    uint32_t round = extended ? about->round : is_new ? about->attempt : STEPS_UNCOUNTED;
    if (round != STEPS_UNCOUNTED && !steps_round(watched.steps, round)->told) {
        const struct steps_round *told = steps_round(watched.steps, round);
        watch_say("c%u is told of token %u", client->index + 1u, told->token);
        steps_tell(watched.steps, round, true_ns(client));
        const uint64_t until_ns = steps_until(watched.steps, round);
        about->until_ns = is_new || until_ns > about->until_ns ? until_ns : about->until_ns;
        about->told_token = about->token;
        if (told->attempt && !told->reads && rl_lock_fence(core) != 0) {
            steps_fence(watched.steps, told->token,
                        rl_lock_fence(core) + (watched.broken == WATCH_BREAKS_FENCE));
        }
    }
    uint64_t until_ns = core->valid_until_ns + (watched.broken == WATCH_BREAKS_VALIDITY);
    if (about->told_token != about->token) {
        steps_refuse(watched.steps, "c%u relies on token %u and was told nothing",
                     client->index + 1u, about->token);
    } else if (until_ns > about->until_ns) {
        steps_refuse(watched.steps,
                     "c%u relies on token %u for %" PRIu64 " ns more than it was told",
                     client->index + 1u, about->token, until_ns - about->until_ns);
    }
}

/* Lowers the token of a lock that wrote, or tried to, and does so no more. */
static void look_at_mode(const redlock_lock *lock) {
    struct about *about = about_of(lock);
    const bool writes = lock->holding.mode == RL_EXCLUSIVE || lock->holding.is_upgrading;
    if (about->writes && lock->holding.mode == RL_SHARED && !writes && about->token != 0) {
        watch_say("c%u only reads with token %u", process_of(lock->client)->index + 1u,
                  about->token);
        steps_lower(watched.steps, about->token);
    }
    about->writes = writes;
}

WRAP(rl_lock_step);
void __wrap_rl_lock_step(struct rl_lock *core, const struct rl_event *event,
                         struct rl_actions *out) {
    const redlock_lock *lock = RL_CONTAINER(core, redlock_lock, core);
    voted = event->type == RL_EV_VOTE ? &event->u.vote : NULL;
    __real_rl_lock_step(core, event, out);
    voted = NULL;
    look_at_mode(lock);
    if (core->state == RL_HELD || core->state == RL_EXTENDING) {
        relies(lock);
    } else if (core->state != RL_GRANTED) {
        about_of(lock)->told_token = 0;
    }
}

void watch_clients_end(void) {
    free(abouts);
    abouts = NULL;
    about_count = 0;
}
