/* See permit_command.h. */
#include "redis/permit_command.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "redlock/redlock.h"

#define FRAME_MAX 32
#define DIGITS_MAX 5 /* of a slot */

static_assert(RL_PERMITS_MAX <= RL_NO_SLOT, "no slot has the number of none");
static_assert(RL_PERMITS_MAX == REDLOCK_PERMITS_MAX, "redis and interface agree on the permits");
static_assert(RL_SLOTS_MAX == REDLOCK_TAKE_MAX, "redis and interface agree on what one lock takes");

void rl_permit_put_slot(struct rl_writer *w, const struct rl_command *command, const char *prefix,
                        uint32_t i) {
    const struct rl_bytes *resource = &command->target->resources[0];
    char before[sizeof RL_COMMAND_COUNTER_PREFIX RL_COMMAND_SLOT_PREFIX ":{" + DIGITS_MAX];
    assert(command->slots != NULL && i < command->slots->n);
    assert(command->slots->n <= RL_SLOTS_MAX && command->slots->at[i] < RL_PERMITS_MAX);
    int length = snprintf(before, sizeof before, "%s" RL_COMMAND_SLOT_PREFIX "%u:{", prefix,
                          (unsigned)command->slots->at[i]);
    assert((size_t)length < sizeof before);
    rl_put_count(w, '$', (size_t)length + resource->length + 1);
    rl_put_bytes(w, before, (size_t)length);
    rl_put_bytes(w, resource->data, resource->length);
    rl_put_bytes(w, "}\r\n", 3);
}

static void put_permits_key(struct rl_writer *w, const struct rl_bytes *resource) {
    const size_t prefix = sizeof RL_COMMAND_PERMITS_PREFIX "{" - 1;
    assert(resource->length > 0);
    rl_put_count(w, '$', prefix + resource->length + 1);
    rl_put_bytes(w, RL_COMMAND_PERMITS_PREFIX "{", prefix);
    rl_put_bytes(w, resource->data, resource->length);
    rl_put_bytes(w, "}\r\n", 3);
}

void rl_permit_put_end(struct rl_writer *w, const struct rl_target *target) {
    assert(target->permits > 0 && target->n == 1);
    rl_put_number(w, target->permits);
    rl_put_bulk(w, target->resources[0].data, target->resources[0].length);
}

size_t rl_permit_count_args(enum rl_command_kind kind) {
    assert(kind == RL_COMMAND_JOIN || kind == RL_COMMAND_LEAVE || kind == RL_COMMAND_SET_PERMITS ||
           kind == RL_COMMAND_SLOT);
    return kind == RL_COMMAND_JOIN    ? 8
           : kind == RL_COMMAND_LEAVE ? 5
           : kind == RL_COMMAND_SLOT  ? 2
                                      : 3;
}

/* Of a slot, or nothing for no slot. */
static void put_number_of(struct rl_writer *w, uint32_t slot) {
    assert(slot < RL_PERMITS_MAX || slot == RL_NO_SLOT);
    if (slot == RL_NO_SLOT) {
        rl_put_text(w, "");
    } else {
        rl_put_number(w, slot);
    }
}

/* Behind the place and the holder. */
static void put_join_args(struct rl_writer *w, const struct rl_command *command) {
    const struct rl_target *target = command->target;
    assert(command->kind == RL_COMMAND_JOIN);
    rl_put_number(w, command->waited_ms);
    rl_put_number(w, command->grace_ms);
    rl_put_number(w, target->permits);
    put_number_of(w, command->from);
    rl_put_text(w, command->peeks ? "1" : "");
    rl_put_bulk(w, target->resources[0].data, target->resources[0].length);
}

void rl_permit_put_one(struct rl_writer *w, const struct rl_command *command) {
    const struct rl_target *target = command->target;
    const struct rl_bytes *resource = &target->resources[0];
    assert(command->which == 0 && target->n == 1);
    rl_put_number(w, 1);
    put_permits_key(w, resource);
    if (command->kind == RL_COMMAND_SLOT) {
        put_number_of(w, command->index);
        rl_put_bulk(w, resource->data, resource->length);
        return;
    }
    assert(command->grace_ms > 0); /* PX 0 is an error */
    if (command->kind == RL_COMMAND_SET_PERMITS) {
        rl_put_number(w, target->permits);
        rl_put_number(w, command->grace_ms);
        rl_put_bulk(w, resource->data, resource->length);
        return;
    }
    assert(command->place != NULL);
    rl_put_bulk(w, command->place, RL_PLACE_LEN);
    rl_put_bulk(w, target->holder_length > 0 ? target->holder : "", target->holder_length);
    if (command->kind == RL_COMMAND_LEAVE) {
        rl_put_number(w, command->grace_ms);
        rl_permit_put_end(w, target);
    } else {
        put_join_args(w, command);
    }
}

size_t rl_permit_room(const struct rl_target *target) {
    const size_t names = sizeof RL_COMMAND_COUNTER_PREFIX RL_COMMAND_SLOT_PREFIX "{}";
    assert(target->take >= 1 && target->take <= RL_SLOTS_MAX);
    /* Each slot and its counter; the resource at the end; numbers. */
    return 2 * target->take * (target->resources[0].length + names + DIGITS_MAX + FRAME_MAX) +
           target->resources[0].length + 5 * FRAME_MAX;
}
