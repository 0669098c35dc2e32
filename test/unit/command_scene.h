/* What the tests of the commands as bytes share. */
#ifndef UNIT_COMMAND_SCENE_H
#define UNIT_COMMAND_SCENE_H

#include "redis/command.h"
#include "redis/request.h"
#include "unit/check.h"

#define TOKEN "0123456789abcdef0123456789abcdef01234567"
#define PLACE "0123456789abcdef0000000000000007"

struct sized {
    const char *bytes;
    size_t length;
};

#define SIZED(text) \
    { text, sizeof(text) - 1 }

struct line_row {
    struct rl_command command;
    uint32_t n; /* resources: "a", "door" */
    const char *holder;
    struct sized wanted;
};

static inline struct rl_target line_target(const struct line_row *row) {
    static const struct rl_bytes names[] = {{"a", 1}, {"door", 4}};
    const char *holder = row->holder;
    return (struct rl_target){.resources = names,
                              .n = row->n,
                              .notifies = true,
                              .retention_ms = 86400000,
                              .holder = holder,
                              .holder_length = holder != NULL ? (uint8_t)strlen(holder) : 0};
}

#define ROOM 6000

static inline size_t format_line(char *wire, const struct line_row *row, bool whole) {
    struct rl_target target = line_target(row);
    struct rl_command command = row->command;
    command.target = &target;
    command.whole_script = whole;
    assert_true(rl_command_room(&target) <= ROOM);
    return rl_command_format(wire, &command);
}

static inline void writes_each_byte_of(const struct line_row *row) {
    char wire[ROOM], whole[ROOM];
    size_t length = format_line(wire, row, false);
    assert_int_equal(length, row->wanted.length);
    assert_memory_equal(wire, row->wanted.bytes, length + 1);
    size_t whole_length = format_line(whole, row, true);
    size_t head = sizeof "*9\r\n$7\r\nEVALSHA\r\n$40\r\n" + 40; /* at least */
    assert_memory_equal(whole + whole_length - (length - head), wire + head, length - head);
}

static inline struct rl_request request_of(const struct rl_command *command) {
    struct rl_request request = {.target = command->target,
                                 .ttl_ms = command->ttl_ms,
                                 .counter = command->counter,
                                 .kind = (uint8_t)command->kind,
                                 .announces = command->announces,
                                 .mode = command->mode,
                                 .which = command->which,
                                 .waited_ms = command->waited_ms,
                                 .grace_ms = command->grace_ms,
                                 .index = command->index,
                                 .converts = command->converts,
                                 .shut_ms = command->shut_ms,
                                 .intent_ms = command->intent_ms,
                                 .lock_mode = command->lock_mode};
    memcpy(request.token, command->token != NULL ? command->token : TOKEN, sizeof request.token);
    memcpy(request.place, command->place != NULL ? command->place : "\0" PLACE, RL_PLACE_LEN);
    return request;
}

/* A request that is sent again whole says what the command said. */
static inline void keeps_what_was_said(const struct line_row *row) {
    char wire[ROOM], again[ROOM];
    struct rl_target target = line_target(row);
    struct rl_command command = row->command;
    command.target = &target;
    struct rl_request request = request_of(&command);
    request.whole_script = true;
    size_t length = format_line(wire, row, true);
    assert_int_equal(rl_request_format(&request, again), length);
    assert_memory_equal(again, wire, length);
}

#endif
