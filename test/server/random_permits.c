/* What the library sends for a semaphore: see random_permits.h. */
#include "server/random_permits.h"

#include <assert.h>

#include "redis/command.h"
#include "server/random_parts.h"

/* For one permit and for several; of three clients. How long each has waited: much more apart than
 * this takes, so that neither order depends on the microsecond in which a JOIN runs. */
static const struct {
    const char *place;
    uint32_t waited_ms;
} places[] = {
    {"00000000000000010100000000000001", 50000000}, {"00000000000000010100000000000002", 10000000},
    {"00000000000000010200000000000003", 90000000}, {"00000000000000020200000000000001", 30000000},
    {"00000000000000020100000000000002", 20000000}, {"00000000000000030300000000000001", 70000000},
    {"00000000000000030500000000000001", 60000000},
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
    const uint32_t place = pick(random, COUNT(places)), first = pick(random, 4);
    const bool has_fence = chance(random, 30);
    struct rl_command command = {
        .kind = kinds[pick(random, COUNT(kinds))],
        .whole_script = chance(random, 10),
        .ttl_ms = ttl(random),
        .token = random_tokens[chance(random, 75) ? 0 : pick(random, RANDOM_TOKENS)],
        .place = chance(random, 95) ? places[place].place : RL_PLACE_ANY,
        .waited_ms = places[place].waited_ms,
        .grace_ms = chance(random, 80) ? 250 : ttl(random),
        .mode = (uint8_t)pick(random, RL_RELEASE_KEEP + 1),
        .lock_mode = RL_PERMIT,
        .peeks = chance(random, 30),
        .from = (uint16_t)(chance(random, 60) ? RL_NO_SLOT : pick(random, 3))};
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
    if (command.kind == RL_COMMAND_TAKE && chance(random, 30)) {
        command.place = NULL;
    }
    if (command.kind == RL_COMMAND_JOIN || command.kind == RL_COMMAND_LEAVE ||
        (command.kind == RL_COMMAND_RELEASE_PERMIT && command.mode == RL_RELEASE_KEEP)) {
        command.place = places[place].place;
    }
    bool may_delete = command.kind == RL_COMMAND_RELEASE_PERMIT && command.mode != RL_RELEASE_KEEP;
    command.grace_ms = may_delete && chance(random, 50) ? 0 : command.grace_ms;
    command.target = &target;
    command.slots = &slots;
    assert(rl_command_room(&target) <= sizeof text);
    bytes_append(wire, text, rl_command_format(text, &command));
}
