/* See line_reply.h. */
#include "redis/line_reply.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "redis/holder_reply.h"
#include "redlock/redlock.h"

#define DIGITS_MAX 18 /* enough for all of our numbers, and 2^53 */
#define MEMBER_MAX (RL_PLACE_LEN + 1 + RL_HOLDER_NAME_MAX)
#define READERS_MAX 999999999 /* the limit of the READER script, so that a value still fits */

static_assert(MEMBER_MAX == RL_VALUE_MAX && MEMBER_MAX == 105, "the script of WAITER cuts there");
static_assert(sizeof "999999999 4294967295 " - 1 + RL_HOLDER_TEXT_MAX < RL_LINE_REPLY_SIZE,
              "the answer to READER is kept whole");
static_assert(sizeof "4294967295 9999999999999999 " - 1 + RL_HOLDER_TEXT_MAX < RL_LINE_REPLY_SIZE,
              "the answer to SLOT is kept whole");
static_assert(REDLOCK_RESOURCES_MAX <= UINT8_MAX, "which of them fits");

const char *rl_line_number(const char *at, uint64_t max, bool is_last, uint64_t *out) {
    size_t digits = at != NULL ? strspn(at, "0123456789") : 0;
    if (digits < 1 || digits > DIGITS_MAX || (at[0] == '0' && digits > 1) ||
        at[digits] != (is_last ? '\0' : ' ')) {
        return NULL;
    }
    uint64_t sum = 0;
    for (size_t i = 0; i < digits; i++) {
        sum = sum * 10 + (uint64_t)(at[i] - '0');
    }
    *out = sum;
    assert(sum < UINT64_C(1000000000000000000)); /* DIGITS_MAX */
    return sum <= max ? at + digits + !is_last : NULL;
}

/* Parses the last part of an answer: "-1" or a number. */
static const char *take_life(const char *at, int64_t *out) {
    uint64_t life = 0;
    if (at != NULL && strcmp(at, "-1") == 0) {
        *out = -1;
        return at;
    }
    at = rl_line_number(at, INT64_MAX, true, &life);
    *out = (int64_t)life;
    return at;
}

/* Parses "0 NUMBER LIFE" after its first two bytes. */
static bool parse_no(const char *at, uint64_t least, uint64_t most, uint64_t *number,
                     struct rl_line_answer *out) {
    assert(least <= most);
    at = rl_line_number(at, most, false, number);
    return take_life(at, &out->life_ms) != NULL && *number >= least;
}

static const char *take_waiting(const char *at, struct rl_line_answer *out) {
    uint64_t waiting = 0;
    at = rl_line_number(at, UINT32_MAX, false, &waiting);
    out->waiting = (uint32_t)waiting;
    return rl_line_number(at, UINT64_MAX, false, &out->first_waited_ms);
}

static bool has_slot(const struct rl_slots *slots, uint64_t slot) {
    bool has = false;
    assert(slots->n <= RL_SLOTS_MAX);
    for (uint32_t i = 0; i < slots->n; i++) {
        has = has || slots->at[i] == slot;
    }
    return has;
}

bool rl_slots_parse(const char *text, struct rl_slots *out) {
    assert(text != NULL);
    out->n = 0;
    while (text[0] == ' ' && out->n < RL_SLOTS_MAX) {
        uint64_t slot = 0;
        const bool is_last = strchr(text + 1, ' ') == NULL;
        const char *behind = rl_line_number(text + 1, RL_PERMITS_MAX - 1, is_last, &slot);
        if (behind == NULL || has_slot(out, slot)) {
            return false;
        }
        out->at[out->n++] = (uint16_t)slot;
        text = behind - !is_last; /* the space belongs to the next */
    }
    return out->n > 0 && text[0] == '\0';
}

bool rl_line_reply_parse(enum rl_command_kind kind, const char *text, bool *yes,
                         struct rl_line_answer *out, uint64_t *counter, const char **member) {
    uint64_t number = 0;
    bool good = false;
    assert(text != NULL && strlen(text) < RL_LINE_REPLY_SIZE);
    memset(out, 0, sizeof *out);
    *counter = 0;
    *member = "";
    *yes = text[0] == '1';
    if (kind == RL_COMMAND_WAITER) {
        *yes = true;
        *member = take_waiting(text, out);
        return *member != NULL && strlen(*member) <= MEMBER_MAX;
    }
    if (kind == RL_COMMAND_SLOT) {
        *yes = true;
        *member = take_waiting(text, out);
        return *member != NULL && strlen(*member) <= RL_HOLDER_TEXT_MAX;
    }
    if (kind == RL_COMMAND_READER) {
        *yes = true;
        *member = take_waiting(text, out);
        return *member != NULL && out->waiting >= 1 && out->waiting <= READERS_MAX &&
               strlen(*member) <= RL_HOLDER_TEXT_MAX;
    }
    if (kind == RL_COMMAND_JOIN && *yes) {
        return text[1] == '\0' || rl_slots_parse(text + 1, &out->slots);
    }
    if ((text[0] != '0' && text[0] != '1') || text[1] != ' ') {
        return false;
    }
    const char *at = text + 2;
    if (kind == RL_COMMAND_JOIN) {
        good = parse_no(at, 0, UINT32_MAX, &number, out);
        out->rank = (uint32_t)number;
    } else if (kind == RL_COMMAND_TAKE && !*yes) {
        good = parse_no(at, 1, REDLOCK_RESOURCES_MAX, &number, out);
        out->which = (uint8_t)number;
    } else if (kind == RL_COMMAND_UPGRADE && !*yes) {
        good = parse_no(at, RL_UPGRADE_OTHERS, RL_UPGRADE_NO_READER, &number, out);
        out->which = (uint8_t)number;
    } else if (kind == RL_COMMAND_TAKE || kind == RL_COMMAND_UPGRADE) {
        good = rl_line_number(take_waiting(at, out), UINT64_MAX, true, counter) != NULL;
    } else {
        assert(rl_command_hands_on(kind));
        at = rl_line_number(take_waiting(at, out), 1, false, &number);
        out->served = number == 1;
        at = rl_line_number(at, UINT64_MAX, false, &out->time_us);
        good = rl_line_number(at, UINT64_MAX, true, &out->secret) != NULL;
    }
    return good;
}
