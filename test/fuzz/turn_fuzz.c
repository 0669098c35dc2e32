/* libFuzzer: any bytes as a message on a client's channel.
 *
 * Whatever they are, a turn, an heir or nothing comes of them; and what comes of them is what they
 * say, which is seen by writing it again: the word, the place, and of a semaphore the slots. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/line_call.h"

#define ID "0123456789abcdef"

/* An assertion that NDEBUG does not take away. */
static void demand(bool truth) {
    if (!truth) {
        abort();
    }
}

static void check_slots(const struct rl_slots *slots, bool may_have_some) {
    demand(slots->n <= RL_SLOTS_MAX && (slots->n == 0 || may_have_some));
    for (uint32_t i = 0; i < slots->n; i++) {
        demand(slots->at[i] < RL_PERMITS_MAX);
        for (uint32_t j = 0; j < i; j++) {
            demand(slots->at[i] != slots->at[j]);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const redlock_client client = {.id = ID};
    enum rl_line_event_type type = RL_LINE_EV_WANT;
    struct rl_slots slots;
    uint64_t place = 0;
    bool shuts = false;
    char text[256];
    if (!rl_line_parse(&client, (const char *)data, size, &type, &place, &shuts, &slots)) {
        return 0;
    }
    const bool is_turn = type == RL_LINE_EV_TURN;
    demand(place != 0 && (is_turn || type == RL_LINE_EV_HEIR) && (is_turn || !shuts));
    check_slots(&slots, is_turn && !shuts);
    int length = snprintf(text, sizeof text, "%s " ID "%016llx",
                          shuts     ? "shut"
                          : is_turn ? "turn"
                                    : "heir",
                          (unsigned long long)place);
    for (uint32_t i = 0; i < slots.n; i++) {
        length +=
            snprintf(text + length, sizeof text - (size_t)length, " %u", (unsigned)slots.at[i]);
    }
    demand((size_t)length == size && memcmp(text, data, size) == 0);
    return 0;
}
