/* See key.h. */
#include "sim/key.h"

#include <stdio.h>
#include <string.h>

#include "redis/command.h"

#define BEFORE (sizeof RL_COMMAND_SLOT_PREFIX - 1)
#define BEHIND ":{r1}"

uint32_t sim_key_slot(const char *name, size_t length) {
    bool is_one = length == BEFORE + 1 + sizeof BEHIND - 1 &&
                  memcmp(name, RL_COMMAND_SLOT_PREFIX, BEFORE) == 0 &&
                  memcmp(name + BEFORE + 1, BEHIND, sizeof BEHIND - 1) == 0;
    uint32_t slot = is_one ? (uint32_t)(name[BEFORE] - '0') : SIM_RESOURCES_MAX;
    return slot < SIM_RESOURCES_MAX ? slot : SIM_RESOURCES_MAX;
}

uint32_t sim_key_number(const char *name, size_t length) {
    bool is_one = length == 2 && name[0] == 'r';
    uint32_t number = is_one ? (uint32_t)(name[1] - '1') : sim_key_slot(name, length);
    return number < SIM_RESOURCES_MAX ? number : SIM_RESOURCES_MAX;
}

size_t sim_key_name(const struct sim_options *options, uint32_t number, char name[SIM_KEY_SIZE]) {
    int length =
        options->permits > 0
            ? snprintf(name, SIM_KEY_SIZE, RL_COMMAND_SLOT_PREFIX "%u" BEHIND, (unsigned)number)
            : snprintf(name, SIM_KEY_SIZE, "r%u", (unsigned)number + 1);
    return (size_t)length;
}
