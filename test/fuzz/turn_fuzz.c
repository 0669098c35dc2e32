/* libFuzzer: any bytes as a message on a client's channel.
 *
 * The result is a message of a known kind or none, and writing that message gives the same
 * bytes. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fence.h"
#include "wait/line_call.h"

#define ID "0123456789abcdef"
#define TAIL "01234567"

/* An assertion that NDEBUG does not remove. */
static void demand(bool truth) {
    if (!truth) {
        abort();
    }
}

static void check_slots(const struct rl_slots *slots) {
    demand(slots->n <= RL_SLOTS_MAX);
    for (uint32_t i = 0; i < slots->n; i++) {
        demand(slots->at[i] < RL_PERMITS_MAX);
        for (uint32_t j = 0; j < i; j++) {
            demand(slots->at[i] != slots->at[j]);
        }
    }
}

/* The token is the place's, if it is one. */
static void check_token(const redlock_client *client, const struct rl_line_message *said) {
    char token[RL_TOKEN_LEN];
    demand(strlen(said->token) == RL_TOKEN_LEN && memcmp(said->token, ID, strlen(ID)) == 0);
    if (said->place != 0 && said->place != RL_LINE_NO_PLACE) {
        rl_line_place(client, said->place, token);
        demand(memcmp(token, said->token, RL_TOKEN_LEN) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const redlock_client client = {.id = ID, .lines.tail = TAIL};
    static const char *const words[RL_LINE_SAYS] = {[RL_LINE_SAYS_TURN] = "turn",
                                                    [RL_LINE_SAYS_SHUT] = "shut",
                                                    [RL_LINE_SAYS_HEIR] = "heir",
                                                    [RL_LINE_SAYS_PASS] = "pass",
                                                    [RL_LINE_SAYS_NEXT] = "next"};
    struct rl_line_message said;
    char text[512];
    if (!rl_line_parse(&client, (const char *)data, size, &said)) {
        return 0;
    }
    demand(said.kind < RL_LINE_SAYS);
    check_token(&client, &said);
    check_slots(&said.slots);
    int length = snprintf(text, sizeof text, "%s %s", words[said.kind], said.token);
    for (uint32_t i = 0; i < said.slots.n; i++) {
        demand(said.kind == RL_LINE_SAYS_TURN);
        length += snprintf(text + length, sizeof text - (size_t)length, " %u",
                           (unsigned)said.slots.at[i]);
    }
    if (said.kind == RL_LINE_SAYS_PASS) {
        demand(said.lease_ms > 0 && said.counter <= RL_FENCE_VOTE_MAX);
        length += snprintf(text + length, sizeof text - (size_t)length, " %llu %u %llu %s",
                           (unsigned long long)said.time_us, (unsigned)said.lease_ms,
                           (unsigned long long)said.counter, said.mac);
    }
    if (said.next[0] != '\0') {
        demand(said.kind == RL_LINE_SAYS_PASS || said.kind == RL_LINE_SAYS_NEXT);
        length += snprintf(text + length, sizeof text - (size_t)length, " %s", said.next);
    }
    demand((size_t)length == size && memcmp(text, data, size) == 0);
    return 0;
}
