/* See line_call.h. */
#include "wait/line_call.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "base/require.h"
#include "client/env.h"
#include "lock/life.h"
#include "mode/mode.h"
#include "redis/reply.h"

#define PENDING_MAX 1024        /* LEAVEs; each dropped one costs the others a grace period */
#define ID_LEN RL_CLIENT_ID_LEN /* and of a number: both in hex */

static_assert(RL_TOKEN_LEN == 2 * ID_LEN + RL_TAIL_LEN, "the client's id, a number, its tail");

/* -- Places -- */

struct rl_wait *rl_line_wait(struct rl_resource *resource) {
    const bool has_room = resource->wait != NULL || rl_reserve_deadline(rl_line_client(resource));
    return has_room ? rl_resource_wait(resource) : NULL;
}

uint64_t rl_line_next_place(struct rl_resource *resource) {
    redlock_client *client = rl_line_client(resource);
    struct rl_world *world = client->io.world;
    uint64_t number;
    if (client->lines.number == 0) {
        number =
            world->ops->random(world, &number, sizeof number) ? number : rl_client_random(client);
        client->lines.number = number >> 8 != 0 ? number >> 8 : 1;
    }
    return (uint64_t)rl_resource_take(resource) << 56 | client->lines.number;
}

uint64_t rl_line_new_place(struct rl_resource *resource) {
    const uint64_t place = rl_line_next_place(resource);
    rl_line_client(resource)->lines.number = 0;
    assert(place != 0 && place != RL_LINE_NO_PLACE);
    return place;
}

void rl_line_place(const redlock_client *client, uint64_t place, char text[RL_TOKEN_LEN]) {
    assert(place != 0 && place != RL_LINE_NO_PLACE);
    assert(strlen(client->id) == ID_LEN && strlen(client->lines.tail) == RL_TAIL_LEN);
    memcpy(text, client->id, ID_LEN);
    for (int i = 0; i < ID_LEN; i++) {
        text[ID_LEN + i] = "0123456789abcdef"[place >> (60 - 4 * i) & 15];
    }
    memcpy(text + 2 * (size_t)ID_LEN, client->lines.tail, RL_TAIL_LEN);
}

static uint64_t parse_hex(const char *text) {
    uint64_t number = 0;
    for (int i = 0; i < ID_LEN; i++) {
        const char *digits = "0123456789abcdef";
        number = number << 4 | (uint64_t)(strchr(digits, text[i]) - digits);
    }
    return number;
}

uint64_t rl_line_place_of(const redlock_client *client, const char *token) {
    const bool is_one = memcmp(token, client->id, ID_LEN) == 0 &&
                        memcmp(token + 2 * (size_t)ID_LEN, client->lines.tail, RL_TAIL_LEN) == 0;
    return is_one ? parse_hex(token + ID_LEN) : 0;
}

/* Parses a token that begins with the client's id. out->place: its number, 0 if it belongs to no
 * place. */
static const char *take_token(const redlock_client *client, const char *at,
                              struct rl_line_message *out) {
    if (strspn(at, "0123456789abcdef") < RL_TOKEN_LEN || memcmp(at, client->id, ID_LEN) != 0) {
        return NULL;
    }
    memcpy(out->token, at, RL_TOKEN_LEN);
    out->token[RL_TOKEN_LEN] = '\0';
    out->place = rl_line_place_of(client, at);
    return at + RL_TOKEN_LEN;
}

/* Parses a space and a value in our format. */
static bool take_next(const char *at, struct rl_line_message *out) {
    struct rl_holder_reply value;
    if (at[0] != ' ' || strlen(at + 1) > RL_VALUE_MAX) {
        return false;
    }
    rl_holder_value_parse(at + 1, &value);
    memcpy(out->next, at + 1, strlen(at + 1) + 1);
    return value.token[0] != '\0';
}

/* Parses what follows the token of a pass: the node's time, the lease, the counter, perhaps the
 * successor. */
static bool take_pass(const char *at, struct rl_line_message *out) {
    uint64_t lease_ms = 0;
    at = at[0] == ' ' ? rl_line_number(at + 1, UINT64_MAX, false, &out->time_us) : NULL;
    at = rl_line_number(at, UINT32_MAX, false, &lease_ms);
    at = rl_line_number(at, RL_FENCE_VOTE_MAX, false, &out->counter);
    out->lease_ms = (uint32_t)lease_ms;
    if (at == NULL || lease_ms == 0 || strspn(at, "0123456789abcdef") != RL_SHA1_LEN) {
        return false;
    }
    memcpy(out->mac, at, RL_SHA1_LEN);
    at += RL_SHA1_LEN;
    return at[0] == '\0' || take_next(at, out);
}

bool rl_line_is_signed(const struct rl_line_message *said, uint64_t secret,
                       const struct rl_resource *resource) {
    char text[160], mac[RL_SHA1_LEN + 1];
    struct rl_sha1 sha1;
    int length = snprintf(text, sizeof text, "%llu %s %llu %u %llu ", (unsigned long long)secret,
                          said->token, (unsigned long long)said->time_us, (unsigned)said->lease_ms,
                          (unsigned long long)said->counter);
    assert(length > 0 && (size_t)length < sizeof text);
    rl_sha1_begin(&sha1);
    rl_sha1_add(&sha1, text, (size_t)length);
    rl_sha1_add(&sha1, resource->bytes, resource->length);
    rl_sha1_end(&sha1, mac);
    return secret != 0 && strcmp(mac, said->mac) == 0;
}

bool rl_line_parse(const redlock_client *client, const char *payload, size_t length,
                   struct rl_line_message *out) {
    static const char words[RL_LINE_SAYS][6] = {[RL_LINE_SAYS_TURN] = "turn ",
                                                [RL_LINE_SAYS_SHUT] = "shut ",
                                                [RL_LINE_SAYS_HEIR] = "heir ",
                                                [RL_LINE_SAYS_PASS] = "pass ",
                                                [RL_LINE_SAYS_NEXT] = "next "};
    char text[RL_PAYLOAD_MAX + 1];
    int kind = 0;
    *out = (struct rl_line_message){.slots.n = 0};
    if (length > RL_PAYLOAD_MAX || memchr(payload, '\0', length) != NULL) {
        return false;
    }
    memcpy(text, payload, length);
    text[length] = '\0';
    while (kind < RL_LINE_SAYS && strncmp(text, words[kind], 5) != 0) {
        kind++;
    }
    const char *at = kind < RL_LINE_SAYS ? take_token(client, text + 5, out) : NULL;
    out->kind = (enum rl_line_says)kind;
    if (at == NULL) {
        return false;
    }
    switch (out->kind) {
        case RL_LINE_SAYS_PASS:
            return take_pass(at, out);
        case RL_LINE_SAYS_NEXT:
            return at[0] == '\0' || take_next(at, out);
        case RL_LINE_SAYS_TURN:
            return at[0] == '\0' || rl_slots_parse(at, &out->slots);
        case RL_LINE_SAYS_SHUT:
        case RL_LINE_SAYS_HEIR:
        case RL_LINE_SAYS:
            break;
    }
    return at[0] == '\0';
}

uint32_t rl_line_lease_ms(const redlock_lock *lock, uint32_t offered_ms) {
    const struct rl_acquire *acquire = &lock->core.acquire;
    const uint32_t lease_ms = offered_ms < acquire->ttl_ms ? offered_ms : acquire->ttl_ms;
    const uint64_t least_ns = acquire->min_validity_ms * RL_NS_PER_MS;
    const bool may_be_passed = lock->mode->is_passed_on && lock->resource_count == 1;
    return may_be_passed && rl_validity_ns(&lock->client->rules, lease_ms) / 2 > least_ns
               ? offered_ms
               : 0;
}

/* -- Calls -- */

static struct rl_line_request *call_take(redlock_lock *lock, struct rl_resource *resource,
                                         uint32_t node, uint64_t place) {
    redlock_client *client = lock->client;
    struct rl_line_request *call = client->lines.free;
    if (call != NULL) {
        client->lines.free = call->next;
    } else {
        call = rl_alloc(&client->memory, 1, sizeof *call);
    }
    if (call == NULL) {
        return NULL;
    }
    *call = (struct rl_line_request){
        .lock = lock, .resource = resource, .place = place, .node = (uint8_t)node};
    rl_lock_ref(lock);
    return call;
}

static void call_end(struct rl_line_request *call) {
    redlock_lock *lock = call->lock;
    RL_REQUIRE(lock != NULL); /* once */
    redlock_client *client = lock->client;
    call->lock = NULL;
    call->next = client->lines.free;
    client->lines.free = call;
    rl_lock_unref(lock);
}

/* Only a LEAVE is kept for later: a place that stands joins again anyway. */
static void call_keep(struct rl_line_request *call, enum rl_command_kind kind) {
    redlock_client *client = call->lock->client;
    assert(client->lines.pending_count <= PENDING_MAX);
    if (kind != RL_COMMAND_LEAVE || client->phase != RL_CLIENT_OPEN ||
        client->lines.pending_count == PENDING_MAX ||
        client->nodes[call->node]->node.state == RL_NODE_CLOSED) { /* the node has left the set */
        call_end(call);
        return;
    }
    call->next = client->lines.pending;
    client->lines.pending = call;
    client->lines.pending_count++;
}

void rl_line_call_answered(struct rl_line_request *call, enum rl_verdict verdict) {
    redlock_client *client = call->lock->client;
    assert(client->lines.outstanding > 0);
    client->lines.outstanding--;
    if (verdict == RL_UNANSWERED) {
        call_keep(call, (enum rl_command_kind)call->request.kind);
    } else {
        call_end(call);
    }
}

static uint8_t which_of(const redlock_lock *lock, const struct rl_resource *resource) {
    uint8_t i = 0;
    while (rl_ticket_resource(&lock->tickets[i]) != resource) {
        i++;
        assert(i < lock->resource_count);
    }
    return i;
}

/* Returns whether the call is outstanding; otherwise it is pending, or has ended. */
static bool call_send(struct rl_line_request *call, enum rl_command_kind kind, uint32_t waited_ms,
                      enum rl_join_mode join) {
    redlock_client *client = call->lock->client;
    const uint64_t now_ns = rl_client_now_ns(client);
    call->request = (struct rl_request){.target = &call->lock->target,
                                        .kind = (uint8_t)kind,
                                        .lock_mode = (uint8_t)call->resource->kind,
                                        .which = which_of(call->lock, call->resource),
                                        .waited_ms = waited_ms,
                                        .grace_ms = RL_LINE_GRACE_MS,
                                        .join = (uint8_t)join,
                                        .line_only = call->line_only,
                                        .from = RL_NO_SLOT};
    call->lock->mode->fill(call->lock, &call->request);
    rl_line_place(client, call->place, call->request.token);
    struct rl_node *node = &client->nodes[call->node]->node;
    rl_node_put_script(node, &call->request);
    size_t length = rl_command_format(client->io.wire, &call->request);
    RL_REQUIRE(length < client->io.wire_room); /* the lock's target needs more */
    if (rl_node_send(node, &call->request, client->io.wire, length, now_ns) == 0) {
        client->lines.outstanding++;
        return true;
    }
    call_keep(call, kind);
    return false;
}

bool rl_line_call_peek(redlock_lock *lock, struct rl_resource *resource, uint32_t node,
                       uint64_t place) {
    struct rl_line_request *call = call_take(lock, resource, node, place);
    assert(lock->mode->learn_peek != NULL && node < lock->client->n_nodes);
    return call != NULL && call_send(call, RL_COMMAND_JOIN, 0, RL_JOIN_PEEK);
}

void rl_line_call_join(redlock_lock *lock, struct rl_resource *resource, bool quiet) {
    redlock_client *client = lock->client;
    const struct rl_place *place = rl_resource_place(resource);
    struct rl_line_request *call = call_take(lock, resource, place->home, place->id);
    uint64_t now_ns = rl_client_now_ns(client);
    uint64_t waited_ms = now_ns > place->since_ns ? (now_ns - place->since_ns) / RL_NS_PER_MS : 0;
    assert(place->home < client->n_nodes);
    if (call == NULL) {
        return;
    }
    rl_trace(client, REDLOCK_EVENT_JOIN, lock, &client->nodes[place->home]->node, 0, 0);
    call_send(call, RL_COMMAND_JOIN, waited_ms < UINT32_MAX ? (uint32_t)waited_ms : UINT32_MAX,
              quiet ? RL_JOIN_QUIET : RL_JOIN);
}

static void leave(struct rl_line_request *call) {
    redlock_client *client = call->lock->client;
    assert(call->node < client->n_nodes);
    if (client->up >> call->node & 1) {
        rl_trace(client, REDLOCK_EVENT_LEAVE, call->lock, &client->nodes[call->node]->node, 0, 0);
        call_send(call, RL_COMMAND_LEAVE, 0, RL_JOIN);
    } else {
        call_keep(call, RL_COMMAND_LEAVE);
    }
}

void rl_line_call_leave(redlock_lock *lock, struct rl_resource *resource, uint32_t node,
                        uint64_t place, bool line_only) {
    struct rl_line_request *call = call_take(lock, resource, node, place);
    assert(node < lock->client->n_nodes);
    if (call != NULL) {
        call->line_only = line_only;
        leave(call);
    }
}

/* Removes all calls that are pending for these nodes, and runs `act` on each. */
static void pending_take(redlock_client *client, rl_mask nodes,
                         void (*act)(struct rl_line_request *call)) {
    struct rl_line_request *pending = client->lines.pending;
    client->lines.pending = NULL;
    client->lines.pending_count = 0;
    while (pending != NULL) {
        struct rl_line_request *call = pending;
        pending = pending->next;
        if (nodes >> call->node & 1) {
            act(call); /* which may make it pending again */
        } else {
            call_keep(call, RL_COMMAND_LEAVE);
        }
    }
}

void rl_line_calls_retry(redlock_client *client, uint32_t node) {
    assert(client->up >> node & 1);
    pending_take(client, rl_bit(node), leave);
}

void rl_line_calls_drop(redlock_client *client, rl_mask nodes) {
    pending_take(client, nodes, call_end);
    client->lines.refused &= ~nodes; /* others may have their places */
}

void rl_line_calls_free(redlock_client *client) {
    RL_REQUIRE(client->lines.outstanding == 0); /* else an answer would go to freed memory */
    while (client->lines.free != NULL) {
        struct rl_line_request *call = client->lines.free;
        client->lines.free = call->next;
        rl_free(&client->memory, call);
    }
}

/* -- All places -- */

uint64_t rl_line_places(const redlock_client *client) {
    uint64_t places = 0;
    RL_EACH(const struct rl_wait, wait, &client->lines.waiting, waits) {
        places += wait->place.id != 0;
    }
    return places;
}

rl_mask rl_line_refused(const redlock_client *client) {
    return client->lines.refused;
}

bool rl_line_awaits_answers(const redlock_client *client) {
    return client->lines.outstanding != 0;
}

uint32_t rl_line_lease(const redlock_lock *lock) {
    return lock->waiting.lease_ms;
}

void rl_line_asks(redlock_lock *lock) {
    lock->waiting.lease_ms = 0;
    lock->waiting.refused_at_home = false;
}

/* -- Places that were given up -- */

static void drop(struct rl_left *left) {
    redlock_lock *lock = left->lock;
    left->lock = NULL;
    if (lock != NULL) {
        rl_lock_unref(lock);
    }
}

void rl_left_drop(redlock_client *client) {
    for (uint32_t i = 0; i < RL_LINES_LEFT; i++) {
        drop(&client->lines.left[i]);
    }
}

static struct rl_left *find(redlock_client *client, uint64_t place) {
    struct rl_left *found = NULL;
    for (uint32_t i = 0; i < RL_LINES_LEFT; i++) {
        struct rl_left *left = &client->lines.left[i];
        found = left->lock != NULL && left->place == place ? left : found;
    }
    return found;
}

/* Notes for rl_left_take() that a node has passed this place a key which no release will delete. */
static void look(redlock_client *client, const struct rl_left *left) {
    client->lines.refuses = client->lines.refuses || (left->gone & left->passed) != 0;
}

void rl_left_add(redlock_lock *lock, uint64_t place, rl_mask gone, rl_mask passed) {
    struct rl_lines *lines = &lock->client->lines;
    struct rl_left *left = &lines->left[lines->left_next];
    if (lock->client->phase == RL_CLIENT_OPEN) {
        lines->left_next = (lines->left_next + 1) % RL_LINES_LEFT;
        rl_lock_ref(lock);
        drop(left);
        *left = (struct rl_left){.lock = lock, .place = place, .gone = gone, .passed = passed};
        look(lock->client, left);
    }
}

void rl_left_passed(redlock_client *client, uint32_t node, uint64_t place) {
    struct rl_left *left = find(client, place);
    if (left != NULL) {
        left->passed |= rl_bit(node);
        look(client, left);
    }
}

void rl_left_gone(redlock_client *client, uint32_t node, uint64_t place) {
    struct rl_left *left = place != 0 ? find(client, place) : NULL;
    if (left != NULL) {
        left->gone |= rl_bit(node);
        look(client, left);
    }
}

bool rl_left_take(redlock_client *client, struct rl_left_key *key) {
    for (uint32_t i = 0; client->lines.refuses && i < RL_LINES_LEFT; i++) {
        struct rl_left *left = &client->lines.left[i];
        const rl_mask due = left->lock != NULL ? left->gone & left->passed : 0;
        if (due != 0 && left->lock->mode->is_passed_on) {
            *key = (struct rl_left_key){left->lock, left->place, rl_bits_count((due - 1) & ~due)};
            left->passed &= ~rl_bit(key->node);
            return true;
        }
    }
    client->lines.refuses = false;
    return false;
}
