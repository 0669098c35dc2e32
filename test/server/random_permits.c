/* The library's commands for a semaphore. */
#include "server/random_parts.h"

#include <assert.h>
#include <string.h>

#include "redis/command.h"

/* Tokens of three clients, for one permit and for several. How long each has waited: the
 * differences are much longer than the test, so that neither order depends on the microsecond in
 * which a JOIN runs. */
static const struct {
    const char *token;
    uint32_t waited_ms;
} waiters[] = {
    {"0000000000000001010000000000000100000000", 50000000},
    {"0000000000000001010000000000000200000000", 10000000},
    {"0000000000000001020000000000000300000000", 90000000},
    {"0000000000000002020000000000000100000000", 30000000},
    {"0000000000000002010000000000000200000000", 20000000},
    {"0000000000000003030000000000000100000000", 70000000},
    {"0000000000000003050000000000000100000000", 60000000},
};

static uint32_t ttl(struct random_commands *random) {
    static const uint32_t ttls[] = {1, 2, 3, 8, 5000, 30000, 60000, 86400000};
    return ttls[pick(random, COUNT(ttls))];
}

void random_permits(struct random_commands *random, struct bytes *wire) {
    static const enum rl_command_kind kinds[] = {
        RL_COMMAND_JOIN,    RL_COMMAND_JOIN,  RL_COMMAND_JOIN,           RL_COMMAND_JOIN,
        RL_COMMAND_TAKE,    RL_COMMAND_TAKE,  RL_COMMAND_TAKE,           RL_COMMAND_RELEASE_PERMIT,
        RL_COMMAND_RELEASE, RL_COMMAND_LEAVE, RL_COMMAND_RELEASE_PERMIT, RL_COMMAND_SET_PERMITS,
        RL_COMMAND_EXTEND,  RL_COMMAND_RAISE, RL_COMMAND_TAKE,           RL_COMMAND_TAKE,
        RL_COMMAND_SLOT,    RL_COMMAND_SLOT,  RL_COMMAND_WAITER,         RL_COMMAND_DELIFEQ,
        RL_COMMAND_DELEX,
    };
    static const struct rl_bytes resource = {RANDOM_PERMITS_NAME, sizeof RANDOM_PERMITS_NAME - 1};
    static const uint16_t numbers[] = {3, 3, 3, 3, 3, 3, 3, 3, 5, 2};
    const uint32_t waiter = chance(random, 40) ? 0 : pick(random, COUNT(waiters));
    const uint32_t first = pick(random, 4);
    const bool has_fence = chance(random, 30);
    struct rl_request command = {
        .kind = (uint8_t)kinds[pick(random, COUNT(kinds))],
        .whole_script = chance(random, 10),
        .ttl_ms = ttl(random),
        .waited_ms = waiters[waiter].waited_ms,
        .grace_ms = chance(random, 80) ? 250 : ttl(random),
        .mode = (uint8_t)pick(random, RL_RELEASE_SERVE + 1),
        .lock_mode = RL_PERMIT,
        .join = (uint8_t)(chance(random, 60) ? RL_JOIN : pick(random, RL_JOIN_QUIET + 1)),
        .has_turn = chance(random, 70),
        .from = (uint16_t)(chance(random, 60) ? RL_NO_SLOT : pick(random, 3))};
    memcpy(command.token, waiters[waiter].token, RL_TOKEN_LEN);
    const bool takes_several = command.kind != RL_COMMAND_RELEASE &&
                               !rl_command_is_native_release(command.kind) && chance(random, 30);
    const uint8_t take = takes_several ? 2 : 1;
    struct rl_slots slots = {.at = {(uint16_t)first, (uint16_t)(first + 1)}, .n = take};
    struct rl_target target = {.resources = &resource,
                               .n = 1,
                               .retention_ms = 3600000,
                               .permits = numbers[pick(random, COUNT(numbers))],
                               .take = take};
    char text[16384];
    if (command.kind == RL_COMMAND_SLOT) {
        command.index = chance(random, 30) ? RL_NO_SLOT : pick(random, 6);
    } else if (command.kind == RL_COMMAND_WAITER) {
        command.index = pick(random, 3);
    }
    if (command.kind == RL_COMMAND_RAISE ||
        ((command.kind == RL_COMMAND_TAKE || command.kind == RL_COMMAND_EXTEND) && has_fence)) {
        command.counter = 1 + pick(random, 6);
    }
    command.line_only = command.kind == RL_COMMAND_LEAVE && chance(random, 30);
    if (command.kind == RL_COMMAND_RELEASE_PERMIT && chance(random, 50)) {
        command.grace_ms = 0;
    }
    command.target = &target;
    command.slots = slots;
    assert(rl_command_room(&target) <= sizeof text);
    bytes_append(wire, text, rl_command_format(text, &command));
}
