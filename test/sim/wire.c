/* See wire.h. */
#include "sim/wire.h"

#include <stdlib.h>
#include <string.h>

#include "sim/key.h"

#define TOKEN_LENGTH 40

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static uint64_t number(const struct resp_command *command, size_t at) {
    long long value = 0;
    if (at < command->count) {
        resp_number(&command->args[at], &value);
    }
    return value > 0 ? (uint64_t)value : 0;
}

static size_t keys_of(const struct resp_command *command) {
    return (size_t)number(command, 2);
}

/* "+OK", ":1" and larger, "1 0 0"; "$-1", ":0" and smaller, "0 2 750"; "-..." */
static bool read_reply(const struct server_ran *ran, struct sim_ran *out) {
    const char *reply = ran->reply;
    if (ran->reply_length < 2 || memcmp(reply, "-NO", 3) == 0) {
        return false; /* NOSCRIPT: nothing has run */
    }
    out->verdict = SIM_YES;
    const char *text = reply[0] == '$' ? memchr(reply, '\n', ran->reply_length) : NULL;
    if (reply[0] == '-') {
        out->verdict = SIM_ERROR;
    } else if (memcmp(reply, "$-", 2) == 0 || memcmp(reply, ":0", 2) == 0 ||
               memcmp(reply, ":-", 2) == 0) {
        out->verdict = SIM_NO;
    } else if (text != NULL && text + 1 < reply + ran->reply_length && text[1] == '0') {
        out->verdict = SIM_NO; /* "0 2 750" */
    }
    return true;
}

/* Slots, from the keys of a command. */
static void read_slots(const struct resp_command *command, size_t first, size_t count,
                       struct sim_ran *out) {
    for (size_t i = first; i < first + count && i < command->count; i++) {
        uint32_t slot = sim_key_slot(command->args[i].data, command->args[i].length);
        if (slot < SIM_RESOURCES_MAX) {
            out->resource |= (uint8_t)(1u << slot);
            out->take++;
        }
    }
}

static bool read_set(const struct server_ran *ran, struct sim_ran *out) {
    const struct resp_command *command = ran->command;
    if (command->count != 6 || command->args[2].length < TOKEN_LENGTH) {
        return false;
    }
    read_slots(command, 1, 1, out);
    out->command = SIM_SET;
    out->token = command->args[2].data;
    out->ttl_ms = (uint32_t)number(command, 5);
    return read_reply(ran, out);
}

/* DELIFEQ key value, DELEX key IFEQ value. After an error nothing has run. */
static bool read_native(const struct server_ran *ran, struct sim_ran *out) {
    const struct resp_arg *value = &ran->command->args[ran->command->count - 1];
    if (value->length < TOKEN_LENGTH || ran->reply[0] == '-') {
        return false;
    }
    out->command = SIM_RELEASE;
    out->native = resp_is(&ran->command->args[0], "delex") ? SERVER_DELEX : SERVER_DELIFEQ;
    out->token = value->data;
    return read_reply(ran, out);
}

static const char *place_at(const struct resp_command *command, size_t at) {
    bool is_one = at < command->count && command->args[at].length >= SIM_PLACE_LENGTH;
    for (size_t i = 0; is_one && i < SIM_PLACE_LENGTH; i++) {
        is_one = memchr("0123456789abcdef", command->args[at].data[i], 16) != NULL;
    }
    return is_one ? command->args[at].data : NULL;
}

static bool is_there(const struct resp_command *command, size_t at) {
    return at < command->count && command->args[at].length > 0;
}

/* Its mode is "shared", or "convert". */
static bool is_readers(const struct resp_command *command, size_t mode) {
    return is_there(command, mode) &&
           (resp_is(&command->args[mode], "shared") || resp_is(&command->args[mode], "convert"));
}

/* The number of permits: the two digits behind its client's. */
static uint8_t take_of(const char *place) {
    const char digits[] = {place[16], place[17], '\0'};
    return (uint8_t)strtoul(digits, NULL, 16);
}

/* "1 S1 .. Sm" */
static void read_given(const struct server_ran *ran, struct sim_ran *out) {
    const char *at = memchr(ran->reply, '\n', ran->reply_length);
    while (at != NULL && (at = strchr(at + 1, ' ')) != NULL) {
        unsigned long slot = strtoul(at + 1, NULL, 10);
        out->resource |= (uint8_t)(slot < SIM_RESOURCES_MAX ? 1u << slot : 0);
    }
}

/* Of a place in the line of a semaphore. */
static bool read_permits(const struct server_ran *ran, size_t mode, struct sim_ran *out) {
    const bool joins = out->command == SIM_JOIN;
    out->serves = !joins && out->is_plain;
    out->resource = 0;
    out->take = take_of(out->place);
    out->permits = (uint16_t)number(ran->command, mode);
    if (!read_reply(ran, out)) {
        return false;
    }
    out->command =
        joins && resp_is(&ran->command->args[mode - 1], "peek") ? SIM_PEEK : out->command;
    if (joins && out->verdict == SIM_YES) {
        read_given(ran, out);
    }
    return true;
}

/* Of a place and of no token. */
static bool read_place(const struct server_ran *ran, struct sim_ran *out) {
    const size_t place = 3 + keys_of(ran->command);
    out->command = begins(ran->script, "join") ? SIM_JOIN : SIM_LEAVE;
    out->place = place_at(ran->command, place);
    const struct resp_arg *key = &ran->command->args[3];
    const size_t mode = place + (out->command == SIM_JOIN ? 5 : 3);
    const bool leaves = out->command == SIM_LEAVE;
    out->resource = (uint8_t)(key->length == 2 ? 1u << ((key->data[1] - '1') & 7) : 0);
    out->reads = is_readers(ran->command, mode);
    out->is_plain = !is_there(ran->command, mode - 1);
    out->serves = leaves && out->is_plain && !out->reads ? out->resource : 0;
    if (out->place != NULL && number(ran->command, mode) > 0) {
        return read_permits(ran, mode, out);
    }
    return out->place != NULL && read_reply(ran, out);
}

/* A number behind the verdict: the first says how many wait, the third is a counter. */
static uint64_t taken(const struct server_ran *ran, uint32_t nth) {
    const char *at = memchr(ran->reply, '\n', ran->reply_length);
    for (uint32_t i = 0; i < nth && at != NULL; i++) {
        at = strchr(at + 1, ' ');
    }
    return at != NULL ? strtoull(at + 1, NULL, 10) : 0;
}

/* A TAKE without a turn is what a SET is. */
static void read_take(const struct server_ran *ran, size_t value, struct sim_ran *out) {
    const struct resp_command *command = ran->command;
    const bool yes = out->verdict == SIM_YES;
    out->reads = is_readers(command, value + 6);
    out->command = out->reads ? SIM_SHARE : is_there(command, value + 4) ? SIM_TAKE : SIM_SET;
    out->permits = (uint16_t)number(command, value + 6);
    out->fence = yes && is_there(command, value + 2) ? taken(ran, 3) : 0;
    out->others_wait =
        out->command == SIM_TAKE && yes && keys_of(command) == 1 && taken(ran, 1) > 0;
}

/* To serve is to hand on each of its keys. */
static void read_release(const struct resp_command *command, size_t value, struct sim_ran *out) {
    const bool serves = value + 2 < command->count && resp_is(&command->args[value + 2], "serve");
    out->reads = is_readers(command, value + 5);
    for (size_t i = 3; i < value && serves; i++) {
        const uint32_t r = sim_key_number(command->args[i].data, command->args[i].length);
        out->serves |= (uint8_t)(r < SIM_RESOURCES_MAX ? 1u << r : 0);
    }
}

static bool read_script(const struct server_ran *ran, struct sim_ran *out) {
    const struct resp_command *command = ran->command;
    const size_t value = 3 + keys_of(command);
    if (begins(ran->script, "join") || begins(ran->script, "leave")) {
        return read_place(ran, out);
    }
    if (begins(ran->script, "set_permits")) {
        out->command = SIM_RESIZE;
        out->permits = (uint16_t)number(command, value + 1);
        return read_reply(ran, out);
    }
    if (value >= command->count || command->args[value].length < TOKEN_LENGTH ||
        !read_reply(ran, out)) {
        return false;
    }
    out->token = command->args[value].data;
    out->ttl_ms = (uint32_t)number(command, value + 1);
    read_slots(command, 3, keys_of(command), out);
    if (begins(ran->script, "release")) {
        out->command = SIM_RELEASE;
        out->ttl_ms = 0;
        read_release(command, value, out);
    } else if (begins(ran->script, "raise")) {
        out->command = SIM_RAISE;
        out->ttl_ms = 0;
        out->fence = number(command, value + 1);
        out->reads = is_readers(command, value + 3);
    } else if (begins(ran->script, "extend")) {
        out->command = SIM_EXTEND;
        out->reads = is_readers(command, value + 4);
    } else if (begins(ran->script, "upgrade")) {
        out->command = SIM_UPGRADE;
        out->fence = out->verdict == SIM_YES ? taken(ran, 3) : 0;
    } else {
        read_take(ran, value, out);
    }
    return true;
}

/* One of the locks that a command extends: its value and three more arguments, its key, which may
 * have a counter behind it, and its character of the answer. */
static bool read_many(const struct server_ran *ran, uint32_t nth, struct sim_ran *out) {
    const struct resp_command *command = ran->command;
    const char *text = ran->reply[0] == '$' ? memchr(ran->reply, '\n', ran->reply_length) : NULL;
    size_t key = 3, value = 3 + keys_of(command);
    for (uint32_t i = 0; i < nth; i++, value += 4) {
        key += is_there(command, value + 2) ? 2 : 1;
    }
    if (value >= command->count || text == NULL) {
        return false;
    }
    out->command = SIM_EXTEND;
    out->token = command->args[value].data;
    out->ttl_ms = (uint32_t)number(command, value + 1);
    out->verdict = text[1 + nth] == '1' ? SIM_YES : text[1 + nth] == '0' ? SIM_NO : SIM_ERROR;
    read_slots(command, key, 1, out);
    return true;
}

bool sim_wire_is_many(const struct server_ran *ran) {
    return ran->script != NULL && begins(ran->script, "extend_many");
}

bool sim_wire_read(const struct server_ran *ran, uint32_t nth, struct sim_ran *out) {
    *out = (struct sim_ran){.token = NULL};
    if (sim_wire_is_many(ran)) {
        return read_many(ran, nth, out);
    }
    if (nth > 0) {
        return false;
    }
    if (ran->script != NULL) {
        return ran->command->count > 3 && read_script(ran, out);
    }
    if (resp_is(&ran->command->args[0], "delifeq") || resp_is(&ran->command->args[0], "delex")) {
        return read_native(ran, out);
    }
    return resp_is(&ran->command->args[0], "set") && read_set(ran, out);
}
