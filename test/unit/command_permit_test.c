/* The commands of a semaphore as bytes. */
#include "redlock/redlock.h"
#include "unit/command_scene.h"
#include "unit/script_shas.h"

#define FENCE 1795246000000001

static const struct rl_slots one = {.at = {7}, .n = 1}, two = {.at = {0, 1023}, .n = 2};

/* Of the resource "a", which has 1024 permits. */
static const struct line_row rows[] = {
    {{.kind = RL_COMMAND_TAKE, .token = TOKEN, .ttl_ms = 10000, .place = PLACE, .slots = &one},
     1,
     "h",
     SIZED("*9\r\n$7\r\nEVALSHA\r\n$40\r\n" TAKE_PERMIT_SHA
           "\r\n$1\r\n1\r\n$21\r\nlibredlock:slot:7:{a}\r\n$42\r\n" TOKEN
           ":h\r\n$5\r\n10000\r\n$32\r\n" PLACE "\r\n$4\r\n1024\r\n$1\r\na\r\n")},
    {{.kind = RL_COMMAND_TAKE,
      .token = TOKEN,
      .ttl_ms = 5,
      .counter = FENCE,
      .place = PLACE,
      .slots = &two},
     1,
     NULL,
     SIZED("*14\r\n$7\r\nEVALSHA\r\n$40\r\n" TAKE_PERMIT_FENCED_SHA
           "\r\n$1\r\n4\r\n$21\r\nlibredlock:slot:0:{a}\r\n$24\r\nlibredlock:slot:1023:{a}\r\n"
           "$38\r\nlibredlock:fence:libredlock:slot:0:{a}\r\n"
           "$41\r\nlibredlock:fence:libredlock:slot:1023:{a}\r\n$40\r\n" TOKEN
           "\r\n$1\r\n5\r\n$16\r\n1795246000000001\r\n$8\r\n86400000\r\n$32\r\n" PLACE
           "\r\n$4\r\n1024\r\n$1\r\na\r\n")},
    {{.kind = RL_COMMAND_JOIN,
      .place = PLACE,
      .waited_ms = 3,
      .grace_ms = 250,
      .from = RL_NO_SLOT,
      .peeks = true},
     1,
     NULL,
     SIZED("*12\r\n$7\r\nEVALSHA\r\n$40\r\n" JOIN_PERMIT_SHA
           "\r\n$1\r\n1\r\n$22\r\nlibredlock:permits:{a}\r\n$32\r\n" PLACE
           "\r\n$0\r\n\r\n$1\r\n3\r\n$3\r\n250\r\n$4\r\n1024\r\n$0\r\n\r\n$1\r\n1\r\n"
           "$1\r\na\r\n")},
    {{.kind = RL_COMMAND_JOIN, .place = PLACE, .grace_ms = 250, .from = 2},
     1,
     "h",
     SIZED("*12\r\n$7\r\nEVALSHA\r\n$40\r\n" JOIN_PERMIT_SHA
           "\r\n$1\r\n1\r\n$22\r\nlibredlock:permits:{a}\r\n$32\r\n" PLACE
           "\r\n$1\r\nh\r\n$1\r\n0\r\n$3\r\n250\r\n$4\r\n1024\r\n$1\r\n2\r\n$0\r\n\r\n"
           "$1\r\na\r\n")},
    {{.kind = RL_COMMAND_LEAVE, .place = PLACE, .grace_ms = 250},
     1,
     NULL,
     SIZED("*9\r\n$7\r\nEVALSHA\r\n$40\r\n" LEAVE_PERMIT_SHA
           "\r\n$1\r\n1\r\n$22\r\nlibredlock:permits:{a}\r\n$32\r\n" PLACE
           "\r\n$0\r\n\r\n$3\r\n250\r\n$4\r\n1024\r\n$1\r\na\r\n")},
    {{.kind = RL_COMMAND_RELEASE_LINE,
      .token = TOKEN,
      .grace_ms = 250,
      .mode = RL_RELEASE_SERVE,
      .slots = &two},
     1,
     NULL,
     SIZED("*10\r\n$7\r\nEVALSHA\r\n$40\r\n" RELEASE_PERMIT_SHA
           "\r\n$1\r\n2\r\n$21\r\nlibredlock:slot:0:{a}\r\n$24\r\nlibredlock:slot:1023:{a}\r\n$"
           "40\r\n" TOKEN "\r\n$3\r\n250\r\n$5\r\nserve\r\n$4\r\n1024\r\n$1\r\na\r\n")},
    {{.kind = RL_COMMAND_RELEASE, .token = TOKEN, .slots = &one},
     1,
     NULL,
     SIZED("*5\r\n$7\r\nEVALSHA\r\n$40\r\n" RELEASE_SHA
           "\r\n$1\r\n1\r\n$21\r\nlibredlock:slot:7:{a}\r\n$40\r\n" TOKEN "\r\n")},
    {{.kind = RL_COMMAND_EXTEND, .token = TOKEN, .ttl_ms = 9, .slots = &two},
     1,
     NULL,
     SIZED("*7\r\n$7\r\nEVALSHA\r\n$40\r\n" EXTEND_ALL_SHA
           "\r\n$1\r\n2\r\n$21\r\nlibredlock:slot:0:{a}\r\n$24\r\nlibredlock:slot:1023:{a}\r\n$"
           "40\r\n" TOKEN "\r\n$1\r\n9\r\n")},
    {{.kind = RL_COMMAND_RAISE, .token = TOKEN, .counter = FENCE, .slots = &one},
     1,
     NULL,
     SIZED("*8\r\n$7\r\nEVALSHA\r\n$40\r\n" RAISE_SHA
           "\r\n$1\r\n2\r\n$21\r\nlibredlock:slot:7:{a}\r\n"
           "$38\r\nlibredlock:fence:libredlock:slot:7:{a}\r\n$40\r\n" TOKEN
           "\r\n$16\r\n1795246000000001\r\n$8\r\n86400000\r\n")},
    {{.kind = RL_COMMAND_SET_ALL, .token = TOKEN, .ttl_ms = 9, .slots = &two},
     1,
     NULL,
     SIZED("*7\r\n$7\r\nEVALSHA\r\n$40\r\n" SET_ALL_SHA
           "\r\n$1\r\n2\r\n$21\r\nlibredlock:slot:0:{a}\r\n$24\r\nlibredlock:slot:1023:{a}\r\n$"
           "40\r\n" TOKEN "\r\n$1\r\n9\r\n")},
    {{.kind = RL_COMMAND_SET_PERMITS, .grace_ms = 250},
     1,
     NULL,
     SIZED("*7\r\n$7\r\nEVALSHA\r\n$40\r\n" SET_PERMITS_SHA
           "\r\n$1\r\n1\r\n$22\r\nlibredlock:permits:{a}\r\n$4\r\n1024\r\n$3\r\n250\r\n"
           "$1\r\na\r\n")},
    {{.kind = RL_COMMAND_SLOT, .index = RL_NO_SLOT},
     1,
     NULL,
     SIZED("*6\r\n$7\r\nEVALSHA\r\n$40\r\n" SLOTS_SHA
           "\r\n$1\r\n1\r\n$22\r\nlibredlock:permits:{a}\r\n$0\r\n\r\n$1\r\na\r\n")},
    {{.kind = RL_COMMAND_SLOT, .index = 1023},
     1,
     NULL,
     SIZED("*6\r\n$7\r\nEVALSHA\r\n$40\r\n" SLOTS_SHA
           "\r\n$1\r\n1\r\n$22\r\nlibredlock:permits:{a}\r\n$4\r\n1023\r\n$1\r\na\r\n")},
    {{.kind = RL_COMMAND_WAITER, .index = 3},
     1,
     NULL,
     SIZED("*6\r\n$7\r\nEVALSHA\r\n$40\r\n" WAITER_SHA
           "\r\n$1\r\n1\r\n$1\r\na\r\n$1\r\n3\r\n$7\r\npermits\r\n")},
};

static struct rl_target target_of(const struct line_row *row) {
    struct rl_target target = line_target(row);
    target.permits = RL_PERMITS_MAX;
    target.take = 2;
    return target;
}

static void writes_each_byte(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char wire[ROOM];
        struct rl_target target = target_of(&rows[i]);
        struct rl_command command = rows[i].command;
        command.target = &target;
        command.lock_mode = RL_PERMIT;
        assert_true(rl_command_room(&target) <= ROOM);
        assert_int_equal(rl_command_format(wire, &command), rows[i].wanted.length);
        assert_memory_equal(wire, rows[i].wanted.bytes, rows[i].wanted.length + 1);
    }
}

/* A request has slots of its own. */
static void keeps_what_it_said(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char wire[ROOM];
        struct rl_target target = target_of(&rows[i]);
        struct rl_command command = rows[i].command;
        command.target = &target;
        struct rl_request request = request_of(&command);
        request.lock_mode = RL_PERMIT;
        request.peeks = command.peeks;
        request.from = command.from;
        if (command.slots != NULL) {
            request.slots = *command.slots;
        }
        assert_int_equal(rl_request_format(&request, wire), rows[i].wanted.length);
        assert_memory_equal(wire, rows[i].wanted.bytes, rows[i].wanted.length + 1);
    }
}

/* The longest names, all slots, and whole scripts. */
static void has_room(void **state) {
    (void)state;
    static const char name[REDLOCK_RESOURCE_MAX] = {1};
    const struct rl_bytes resource = {name, sizeof name};
    struct rl_slots slots = {.n = RL_SLOTS_MAX};
    struct rl_target target = {.resources = &resource,
                               .n = 1,
                               .retention_ms = UINT32_MAX,
                               .permits = RL_PERMITS_MAX,
                               .take = RL_SLOTS_MAX};
    for (uint16_t i = 0; i < RL_SLOTS_MAX; i++) {
        slots.at[i] = RL_PERMITS_MAX - 1 - i;
    }
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rl_command command = rows[i].command;
        size_t room = rl_command_room(&target);
        char *wire = malloc(room);
        assert_non_null(wire);
        command.target = &target;
        command.lock_mode = RL_PERMIT;
        command.whole_script = true;
        if (command.slots != NULL && command.kind != RL_COMMAND_RELEASE) {
            command.slots = &slots;
        }
        assert_true(rl_command_format(wire, &command) < room);
        free(wire);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_each_byte),
        cmocka_unit_test(keeps_what_it_said),
        cmocka_unit_test(has_room),
    };
    return cmocka_run_group_tests_name("command permit", tests, NULL, NULL);
}
