/* The commands of readers as bytes, and what a node may answer to them. */
#include "redis/line_reply.h"
#include "redlock/redlock.h"
#include "unit/command_scene.h"
#include "unit/reply_scene.h"
#include "unit/script_shas.h"

#define NAME_64 "abcdefghijklmnopqrstuvwxyz012345abcdefghijklmnopqrstuvwxyz012345"
#define FENCE 1795246000000001

static const struct line_row rows[] = {
    {{.kind = RL_COMMAND_TAKE, .lock_mode = RL_SHARED, .token = TOKEN, .ttl_ms = 10000},
     1,
     "h",
     SIZED("*8\r\n$7\r\nEVALSHA\r\n$40\r\n" SHARE_SHA "\r\n$1\r\n1\r\n$1\r\na\r\n$42\r\n" TOKEN
           ":h\r\n$5\r\n10000\r\n$0\r\n\r\n$1\r\n0\r\n")},
    {{.kind = RL_COMMAND_TAKE,
      .lock_mode = RL_SHARED,
      .token = TOKEN,
      .ttl_ms = 5,
      .counter = FENCE,
      .place = PLACE,
      .shut_ms = 2000},
     2,
     NULL,
     SIZED("*13\r\n$7\r\nEVALSHA\r\n$40\r\n" SHARE_SHA
           "\r\n$1\r\n4\r\n$1\r\na\r\n$4\r\ndoor\r\n$18\r\nlibredlock:fence:a\r\n"
           "$21\r\nlibredlock:fence:door\r\n$40\r\n" TOKEN "\r\n$1\r\n5\r\n$32\r\n" PLACE
           "\r\n$4\r\n2000\r\n$16\r\n1795246000000001\r\n$8\r\n86400000\r\n")},
    {{.kind = RL_COMMAND_EXTEND, .lock_mode = RL_SHARED, .token = TOKEN, .ttl_ms = 9},
     2,
     NULL,
     SIZED("*8\r\n$7\r\nEVALSHA\r\n$40\r\n" EXTEND_SHARED_SHA
           "\r\n$1\r\n2\r\n$1\r\na\r\n$4\r\ndoor\r\n$40\r\n" TOKEN "\r\n$1\r\n9\r\n$0\r\n\r\n")},
    {{.kind = RL_COMMAND_EXTEND,
      .lock_mode = RL_SHARED,
      .token = TOKEN,
      .ttl_ms = 9,
      .counter = FENCE,
      .converts = true},
     1,
     NULL,
     SIZED("*10\r\n$7\r\nEVALSHA\r\n$40\r\n" EXTEND_SHARED_SHA
           "\r\n$1\r\n2\r\n$1\r\na\r\n$18\r\nlibredlock:fence:a\r\n$40\r\n" TOKEN
           "\r\n$1\r\n9\r\n$1\r\n1\r\n$16\r\n1795246000000001\r\n$8\r\n86400000\r\n")},
    {{.kind = RL_COMMAND_RAISE, .lock_mode = RL_SHARED, .token = TOKEN, .counter = FENCE},
     1,
     NULL,
     SIZED("*8\r\n$7\r\nEVALSHA\r\n$40\r\n" RAISE_SHARED_SHA
           "\r\n$1\r\n2\r\n$1\r\na\r\n$18\r\nlibredlock:fence:a\r\n$40\r\n" TOKEN
           "\r\n$16\r\n1795246000000001\r\n$8\r\n86400000\r\n")},
    {{.kind = RL_COMMAND_UPGRADE, .lock_mode = RL_SHARED, .token = TOKEN, .ttl_ms = 9},
     2,
     "h",
     SIZED("*7\r\n$7\r\nEVALSHA\r\n$40\r\n" UPGRADE_SHA
           "\r\n$1\r\n2\r\n$1\r\na\r\n$4\r\ndoor\r\n$42\r\n" TOKEN ":h\r\n$1\r\n9\r\n")},
    {{.kind = RL_COMMAND_UPGRADE,
      .lock_mode = RL_SHARED,
      .token = TOKEN,
      .ttl_ms = 9,
      .counter = FENCE},
     1,
     NULL,
     SIZED("*9\r\n$7\r\nEVALSHA\r\n$40\r\n" UPGRADE_SHA
           "\r\n$1\r\n2\r\n$1\r\na\r\n$18\r\nlibredlock:fence:a\r\n$40\r\n" TOKEN
           "\r\n$1\r\n9\r\n$16\r\n1795246000000001\r\n$8\r\n86400000\r\n")},
    /* no intent: that is a writer's */
    {{.kind = RL_COMMAND_RELEASE_LINE,
      .lock_mode = RL_SHARED,
      .token = TOKEN,
      .mode = RL_RELEASE_SERVE,
      .announces = true},
     1,
     NULL,
     SIZED("*8\r\n$7\r\nEVALSHA\r\n$40\r\n" RELEASE_SHARED_SHA
           "\r\n$1\r\n1\r\n$1\r\na\r\n$40\r\n" TOKEN "\r\n$1\r\n0\r\n$5\r\nserve\r\n$1\r\n1\r\n")},
    {{.kind = RL_COMMAND_RELEASE_LINE,
      .lock_mode = RL_SHARED,
      .token = TOKEN,
      .mode = RL_RELEASE_KEEP,
      .grace_ms = 250,
      .place = PLACE},
     2,
     NULL,
     SIZED("*9\r\n$7\r\nEVALSHA\r\n$40\r\n" RELEASE_SHARED_SHA
           "\r\n$1\r\n2\r\n$1\r\na\r\n$4\r\ndoor\r\n$40\r\n" TOKEN "\r\n$3\r\n250\r\n$32\r\n" PLACE
           "\r\n$0\r\n\r\n")},
    {{.kind = RL_COMMAND_JOIN,
      .lock_mode = RL_SHARED,
      .place = PLACE,
      .waited_ms = 3,
      .grace_ms = 250,
      .which = 1},
     2,
     "h:1",
     SIZED("*8\r\n$7\r\nEVALSHA\r\n$40\r\n" JOIN_SHARED_SHA
           "\r\n$1\r\n1\r\n$4\r\ndoor\r\n$32\r\n" PLACE
           "\r\n$3\r\nh:1\r\n$1\r\n3\r\n$3\r\n250\r\n")},
    {{.kind = RL_COMMAND_LEAVE, .lock_mode = RL_SHARED, .place = PLACE, .grace_ms = 250},
     1,
     NULL,
     SIZED("*7\r\n$7\r\nEVALSHA\r\n$40\r\n" LEAVE_SHARED_SHA
           "\r\n$1\r\n1\r\n$1\r\na\r\n$32\r\n" PLACE "\r\n$0\r\n\r\n$3\r\n250\r\n")},
    {{.kind = RL_COMMAND_WAITER, .lock_mode = RL_SHARED, .index = 7},
     1,
     "h",
     SIZED("*6\r\n$7\r\nEVALSHA\r\n$40\r\n" WAITER_SHA
           "\r\n$1\r\n1\r\n$1\r\na\r\n$1\r\n7\r\n$6\r\nshared\r\n")},
    {{.kind = RL_COMMAND_READER, .lock_mode = RL_SHARED, .index = 4294967295, .which = 1},
     2,
     "h",
     SIZED("*5\r\n$7\r\nEVALSHA\r\n$40\r\n" READERS_SHA
           "\r\n$1\r\n1\r\n$4\r\ndoor\r\n$10\r\n4294967295\r\n")},
};

static void writes_each_byte(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        writes_each_byte_of(&rows[i]);
    }
}

static void keeps_what_it_said(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        keeps_what_was_said(&rows[i]);
    }
}

/* What has no script of readers is the same for them; permits have those of a lock. */
static void has_one_script_where_the_mode_says_nothing(void **state) {
    (void)state;
    static const struct {
        enum rl_command_kind kind;
        enum rl_mode mode;
    } same[] = {
        {RL_COMMAND_READ, RL_SHARED},
        {RL_COMMAND_READER, RL_EXCLUSIVE},
    };
    for (size_t i = 0; i < COUNT(same); i++) {
        char wire[ROOM], other[ROOM];
        struct line_row row = {
            {.kind = same[i].kind, .token = TOKEN, .ttl_ms = 1, .lock_mode = (uint8_t)same[i].mode},
            1,
            NULL,
            {NULL, 0}};
        size_t length = format_line(wire, &row, true);
        row.command.lock_mode = RL_EXCLUSIVE;
        assert_int_equal(format_line(other, &row, true), length);
        assert_memory_equal(wire, other, length);
    }
}

static void format_wrong(void *data) {
    static char wire[ROOM];
    format_line(wire, data, false);
}

static void asserts_what_it_is_given(void **state) {
    (void)state;
    struct line_row wrongs[] = {
        {{.kind = RL_COMMAND_SET, .token = TOKEN, .ttl_ms = 1, .lock_mode = RL_SHARED},
         1,
         NULL,
         {0}},
        {{.kind = RL_COMMAND_RELEASE, .token = TOKEN, .lock_mode = RL_SHARED}, 1, NULL, {0}},
        {{.kind = RL_COMMAND_UPGRADE, .token = TOKEN, .ttl_ms = 1}, 1, NULL, {0}},
        {{.kind = RL_COMMAND_TAKE, .token = TOKEN, .ttl_ms = 1, .shut_ms = 1}, 1, NULL, {0}},
        {{.kind = RL_COMMAND_RELEASE_LINE, .token = TOKEN, .intent_ms = 1, .lock_mode = RL_SHARED},
         1,
         NULL,
         {0}},
        {{.kind = RL_COMMAND_EXTEND, .token = TOKEN, .ttl_ms = 1, .converts = true}, 1, NULL, {0}},
        {{.kind = RL_COMMAND_READ, .lock_mode = RL_PERMIT + 1}, 1, NULL, {0}},
    };
    for (size_t i = 0; i < COUNT(wrongs); i++) {
        assert_true(dies(format_wrong, &wrongs[i]));
    }
}

/* Old servers do: Redis 6.0 knows these commands, and no options that came later. */
static void needs_no_newer_server_than_redis_6_0(void **state) {
    (void)state;
    static const char *const commands[] = {"del",           "exists",
                                           "get",           "getrange",
                                           "pexpire",       "pexpireat",
                                           "pttl",          "publish",
                                           "pubsub",        "set",
                                           "time",          "type",
                                           "zadd",          "zcard",
                                           "zcount",        "zpopmin",
                                           "zrange",        "zrank",
                                           "zrem",          "zscore",
                                           "zrangebyscore", "zremrangebyscore",
                                           "mget"};
    static const char *const options[] = {"'gt'",      "'lt'",  "'pxat'",    "'exat'",
                                          "'keepttl'", "'rev'", "'byscore'", "'get', 'px'"};
    const char *script, *sha1;
    size_t count = 0;
    for (size_t i = 0; (script = rl_command_script_at(i, &sha1)) != NULL; i++) {
        for (const char *at = script; (at = strstr(at, "call('")) != NULL; count++) {
            bool is_known = false;
            at += strlen("call('");
            for (size_t k = 0; k < COUNT(commands); k++) {
                size_t length = strlen(commands[k]);
                is_known = is_known || (memcmp(at, commands[k], length) == 0 && at[length] == '\'');
            }
            assert_true(is_known);
        }
        for (size_t k = 0; k < COUNT(options); k++) {
            assert_null(strcasestr(script, options[k]));
        }
    }
    assert_true(count > 100);
}

/* -- Answers -- */

static struct rl_answer judge_bulk(struct fixture *f, enum rl_command_kind kind, const char *text) {
    char wire[256];
    snprintf(wire, sizeof wire, "$%zu\r\n%s\r\n", strlen(text), text);
    return judge(f, kind, wire);
}

static void says_what_became_of_an_upgrade(void **state) {
    (void)state;
    static const struct {
        const char *text;
        enum rl_verdict verdict;
        uint64_t counter;
        int64_t life_ms;
        uint8_t code;
    } answers[] = {
        {"1 0 0 0", RL_YES, 0, 0, 0},
        {"1 0 0 9007199254740991", RL_YES, 9007199254740991, 0, 0},
        {"0 1 250", RL_NO, 0, 250, RL_UPGRADE_OTHERS},
        {"0 2 -1", RL_NO, 0, -1, RL_UPGRADE_MEETS_UPGRADE},
        {"0 3 0", RL_NO, 0, 0, RL_UPGRADE_NO_READER},
        {"0 0 0", RL_NOT_REDIS, 0, 0, 0},
        {"0 4 0", RL_NOT_REDIS, 0, 0, 0},
        {"0 1", RL_NOT_REDIS, 0, 0, 0},
        {"1", RL_NOT_REDIS, 0, 0, 0},
        {"1 0 0", RL_NOT_REDIS, 0, 0, 0},
        {"2 0 0 0", RL_NOT_REDIS, 0, 0, 0},
    };
    struct fixture f;
    for (size_t i = 0; i < COUNT(answers); i++) {
        struct rl_answer answer = judge_bulk(&f, RL_COMMAND_UPGRADE, answers[i].text);
        assert_int_equal(answer.verdict, answers[i].verdict);
        if (answer.verdict != RL_NOT_REDIS) {
            assert_true(answer.counter == answers[i].counter);
            assert_true(answer.line.life_ms == answers[i].life_ms);
            assert_int_equal(answer.line.which, answers[i].code);
        }
    }
    assert_int_equal(judge(&f, RL_COMMAND_UPGRADE, ":1\r\n").verdict, RL_NOT_REDIS);
    assert_int_equal(judge(&f, RL_COMMAND_UPGRADE, "$-1\r\n").verdict, RL_NOT_REDIS);
    assert_int_equal(judge(&f, RL_COMMAND_UPGRADE, "-NOSCRIPT x\r\n").verdict, RL_NOSCRIPT);
    assert_int_equal(judge(&f, RL_COMMAND_UPGRADE, "-WRONGTYPE x\r\n").verdict, RL_ERROR);
}

static void shows_who_reads(void **state) {
    (void)state;
    static const char *const values[] = {
        TOKEN, TOKEN ":h", TOKEN ":" NAME_64, TOKEN ":" NAME_64 "x", "", "stranger's"};
    struct fixture f;
    for (size_t i = 0; i < COUNT(values); i++) {
        char text[160];
        snprintf(text, sizeof text, "999999999 4294967295 %s", values[i]);
        struct rl_answer answer = judge_bulk(&f, RL_COMMAND_READER, text);
        assert_int_equal(answer.verdict, RL_YES);
        assert_int_equal(answer.line.waiting, 999999999);
        assert_true(answer.line.first_waited_ms == UINT32_MAX);
        assert_string_equal(answer.text, values[i]);
    }
    assert_int_equal(judge(&f, RL_COMMAND_READER, "$-1\r\n").verdict, RL_NO);
    static const char *const others[] = {
        "0 1 x", "1000000000 1 x", "1 2", "1", "", "1 x x", "1 2 " TOKEN ":" NAME_64 "xy"};
    for (size_t i = 0; i < COUNT(others); i++) {
        assert_int_equal(judge_bulk(&f, RL_COMMAND_READER, others[i]).verdict, RL_NOT_REDIS);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_each_byte),
        cmocka_unit_test(keeps_what_it_said),
        cmocka_unit_test(has_one_script_where_the_mode_says_nothing),
        cmocka_unit_test(asserts_what_it_is_given),
        cmocka_unit_test(needs_no_newer_server_than_redis_6_0),
        cmocka_unit_test(says_what_became_of_an_upgrade),
        cmocka_unit_test(shows_who_reads),
    };
    return cmocka_run_group_tests_name("command shared", tests, NULL, NULL);
}
