/* See line_call.h. */
#include "client/line_call.h"

#include <assert.h>
#include <string.h>

#include "base/require.h"
#include "client/env.h"
#include "client/lock_life.h"
#include "redis/line_reply.h"
#include "redis/request.h"

#define OWED_MAX 1024           /* LEAVEs; one that is dropped costs the others a grace */
#define ID_LEN RL_CLIENT_ID_LEN /* and of a number: both in hex */

static_assert(RL_PLACE_LEN == 2 * ID_LEN, "a place is the client's id and a number");

/* -- Places -- */

void rl_line_place(const redlock_client *client, uint64_t place, char text[RL_PLACE_LEN]) {
    assert(place != 0);
    assert(strlen(client->id) == ID_LEN);
    memcpy(text, client->id, ID_LEN);
    for (int i = 0; i < ID_LEN; i++) {
        text[ID_LEN + i] = "0123456789abcdef"[place >> (60 - 4 * i) & 15];
    }
}

static bool parse_number(const char *text, uint64_t *number) {
    *number = 0;
    for (int i = 0; i < ID_LEN; i++) {
        const char *digits = "0123456789abcdef";
        const char *digit = text[i] != '\0' ? strchr(digits, text[i]) : NULL;
        if (digit == NULL) {
            return false;
        }
        *number = *number << 4 | (uint64_t)(digit - digits);
    }
    return *number != 0;
}

/* Behind a place: none, or those of a semaphore. */
static bool parse_slots(const char *at, size_t length, struct rl_slots *slots) {
    char text[RL_SLOTS_MAX * sizeof " 1023"];
    assert(slots->n == 0);
    if (length >= sizeof text) {
        return false;
    }
    memcpy(text, at, length);
    text[length] = '\0';
    return length == 0 || (memchr(text, '\0', length) == NULL && rl_slots_parse(text, slots));
}

bool rl_line_parse(const redlock_client *client, const char *payload, size_t length,
                   enum rl_line_event_type *type, uint64_t *place, bool *shuts,
                   struct rl_slots *slots) {
    const size_t word = 5; /* "turn ", "shut " and "heir " */
    assert(payload != NULL);
    slots->n = 0;
    if (length < word + RL_PLACE_LEN || memcmp(payload + word, client->id, ID_LEN) != 0 ||
        !parse_slots(payload + word + RL_PLACE_LEN, length - word - RL_PLACE_LEN, slots)) {
        return false;
    }
    *shuts = memcmp(payload, "shut ", word) == 0;
    bool is_turn = *shuts || memcmp(payload, "turn ", word) == 0;
    *type = is_turn ? RL_LINE_EV_TURN : RL_LINE_EV_HEIR;
    const bool may_have_slots = is_turn && !*shuts;
    return (is_turn || memcmp(payload, "heir ", word) == 0) && (may_have_slots || slots->n == 0) &&
           parse_number(payload + word + ID_LEN, place);
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

/* Only a LEAVE is worth it: a place that stands joins again. */
static void call_owe(struct rl_line_request *call, enum rl_command_kind kind) {
    redlock_client *client = call->lock->client;
    assert(client->lines.owed_count <= OWED_MAX);
    if (kind != RL_COMMAND_LEAVE || client->phase != RL_CLIENT_OPEN ||
        client->lines.owed_count == OWED_MAX) {
        call_end(call);
        return;
    }
    call->next = client->lines.owed;
    client->lines.owed = call;
    client->lines.owed_count++;
}

void rl_line_call_answered(struct rl_line_request *call, enum rl_verdict verdict) {
    redlock_client *client = call->lock->client;
    assert(client->lines.outstanding > 0);
    client->lines.outstanding--;
    if (verdict == RL_UNANSWERED) {
        call_owe(call, (enum rl_command_kind)call->request.kind);
    } else {
        call_end(call);
    }
}

static uint8_t which_of(const redlock_lock *lock, const struct rl_resource *resource) {
    uint8_t i = 0;
    while (lock->resources[i] != resource) {
        i++;
        assert(i < lock->resource_count);
    }
    return i;
}

/* Returns whether it is out; if not, it is owed, or has ended. */
static bool call_send(struct rl_line_request *call, enum rl_command_kind kind, uint32_t waited_ms,
                      bool peeks) {
    redlock_client *client = call->lock->client;
    const struct rl_permit *permit = call->lock->permit;
    const uint64_t now_ns = rl_client_now_ns(client);
    call->request = (struct rl_request){.target = &call->lock->target,
                                        .kind = (uint8_t)kind,
                                        .lock_mode = (uint8_t)call->resource->kind,
                                        .which = which_of(call->lock, call->resource),
                                        .waited_ms = waited_ms,
                                        .grace_ms = RL_LINE_GRACE_MS,
                                        .peeks = peeks,
                                        .from = permit != NULL ? permit->from : RL_NO_SLOT};
    rl_line_place(client, call->place, call->request.place);
    struct rl_node *node = &client->nodes[call->node].node;
    rl_node_put_script(node, &call->request);
    size_t length = rl_request_format(&call->request, client->io.wire);
    RL_REQUIRE(length < client->io.wire_room); /* the lock's target needs more */
    if (rl_node_send(node, &call->request, client->io.wire, length, now_ns) == 0) {
        client->lines.outstanding++;
        return true;
    }
    call_owe(call, kind);
    return false;
}

bool rl_line_call_peek(redlock_lock *lock, struct rl_resource *resource, uint32_t node,
                       uint64_t place) {
    struct rl_line_request *call = call_take(lock, resource, node, place);
    assert(lock->permit != NULL && node < lock->client->n_nodes);
    return call != NULL && call_send(call, RL_COMMAND_JOIN, 0, true);
}

void rl_line_call_join(redlock_lock *lock, struct rl_resource *resource) {
    redlock_client *client = lock->client;
    const struct rl_line *line = &resource->line;
    struct rl_line_request *call = call_take(lock, resource, line->home, line->place);
    uint64_t now_ns = rl_client_now_ns(client);
    uint64_t waited_ms = now_ns > line->since_ns ? (now_ns - line->since_ns) / RL_NS_PER_MS : 0;
    assert(line->home < client->n_nodes);
    if (call == NULL) {
        return;
    }
    rl_trace(client, REDLOCK_EVENT_JOIN, lock, &client->nodes[line->home].node, 0, 0);
    call_send(call, RL_COMMAND_JOIN, waited_ms < UINT32_MAX ? (uint32_t)waited_ms : UINT32_MAX,
              false);
}

static void leave(struct rl_line_request *call) {
    redlock_client *client = call->lock->client;
    assert(call->node < client->n_nodes);
    if (client->up >> call->node & 1) {
        rl_trace(client, REDLOCK_EVENT_LEAVE, call->lock, &client->nodes[call->node].node, 0, 0);
        call_send(call, RL_COMMAND_LEAVE, 0, false);
    } else {
        call_owe(call, RL_COMMAND_LEAVE);
    }
}

void rl_line_call_leave(redlock_lock *lock, struct rl_resource *resource, uint32_t node,
                        uint64_t place) {
    struct rl_line_request *call = call_take(lock, resource, node, place);
    assert(node < lock->client->n_nodes);
    if (call != NULL) {
        leave(call);
    }
}

/* Takes all that are owed to these nodes; for each of them `act`. */
static void owed_take(redlock_client *client, uint32_t nodes,
                      void (*act)(struct rl_line_request *call)) {
    struct rl_line_request *owed = client->lines.owed;
    client->lines.owed = NULL;
    client->lines.owed_count = 0;
    while (owed != NULL) {
        struct rl_line_request *call = owed;
        owed = owed->next;
        if (nodes >> call->node & 1) {
            act(call); /* which may owe it again */
        } else {
            call_owe(call, RL_COMMAND_LEAVE);
        }
    }
}

void rl_line_calls_retry(redlock_client *client, uint32_t node) {
    assert(client->up >> node & 1);
    owed_take(client, UINT32_C(1) << node, leave);
}

void rl_line_calls_drop(redlock_client *client) {
    owed_take(client, rl_all_nodes(client->n_nodes), call_end);
    assert(client->lines.owed_count == 0);
}

void rl_line_calls_free(redlock_client *client) {
    RL_REQUIRE(client->lines.outstanding == 0); /* or an answer would be written to what is gone */
    while (client->lines.free != NULL) {
        struct rl_line_request *call = client->lines.free;
        client->lines.free = call->next;
        rl_free(&client->memory, call);
    }
}
