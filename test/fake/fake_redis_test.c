/* The fake node's Redis, without a socket: its answers are those of Redis 7.0. A command is written
 * as one line, words between single spaces. */
#include "fake/fake_redis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fake/resp.h"
#include "fake/sha1.h"

#define SECOND 1000000000u

#define RELEASE "'get',KEYS[1]==ARGV[1]'del',KEYS[1]" /* enough to be known by */
#define EXTEND "'get',KEYS[1]==ARGV[1]'pexpire',KEYS[1],ARGV[2]"
#define SET_ALL "'get',KEYS[i]'set',KEYS[i],ARGV[1],'NX'"
#define READ "'getrange',KEYS[1]"

struct fixture {
    struct fake_redis *redis;
    struct fake_session session;
    uint64_t now_ns;
};

static void assert_reply(struct fixture *f, const char *line, const char *wanted) {
    struct resp_command command = {.count = 0};
    struct bytes reply = {NULL, 0, 0};
    for (const char *word = line; *word != '\0' || command.count == 0;) {
        size_t length = strcspn(word, " ");
        assert_true(command.count < RESP_ARGS_MAX);
        command.args[command.count++] = (struct resp_arg){word, length};
        word += length + (word[length] == ' ' ? 1 : 0);
    }
    fake_redis_execute(f->redis, &f->session, &command, f->now_ns, &reply);
    bytes_append(&reply, "", 1);
    assert_string_equal(reply.data, wanted);
    bytes_free(&reply);
}

static int set_up(void **state) {
    static struct fixture f;
    memset(&f, 0, sizeof(f));
    f.redis = fake_redis_new();
    f.now_ns = SECOND;
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *f = *state;
    fake_redis_free(f->redis);
    return 0;
}

static void sets_and_gets(void **state) {
    struct fixture *f = *state;
    assert_reply(f, "PING", "+PONG\r\n");
    assert_reply(f, "set k v nx px 100000", "+OK\r\n");
    assert_reply(f, "SET k w NX PX 100000", "$-1\r\n");
    assert_reply(f, "GET k", "$1\r\nv\r\n");
    assert_reply(f, "SET k w", "+OK\r\n");
    assert_reply(f, "GET k", "$1\r\nw\r\n");
    assert_reply(f, "PTTL k", ":-1\r\n");
    assert_reply(f, "PTTL none", ":-2\r\n");
    assert_reply(f, "DEL k", ":1\r\n");
    assert_reply(f, "DEL k", ":0\r\n");
    fake_redis_put(f->redis, 0, "k", 1, "", UINT64_MAX);
    assert_reply(f, "GET k", "$0\r\n\r\n");
    assert_reply(f, "FLUSHALL", "+OK\r\n");
    assert_int_equal(fake_redis_keys(f->redis, f->now_ns), 0);
}

static void refuses_what_redis_refuses(void **state) {
    struct fixture *f = *state;
    assert_reply(f, "SET k v PX 0", "-ERR invalid expire time in 'set' command\r\n");
    assert_reply(f, "SET k v PX -1", "-ERR invalid expire time in 'set' command\r\n");
    assert_reply(f, "SET k v PX 1x", "-ERR value is not an integer or out of range\r\n");
    assert_reply(f, "SET k v PX", "-ERR syntax error\r\n");
    assert_reply(f, "SET k v WHAT", "-ERR syntax error\r\n");
    assert_reply(f, "GET", "-ERR wrong number of arguments for 'get' command\r\n");
    assert_reply(f, "GET a b", "-ERR wrong number of arguments for 'get' command\r\n");
    assert_reply(f, "NOSUCH", "-ERR unknown command 'NOSUCH', with args beginning with: \r\n");
    assert_int_equal(fake_redis_keys(f->redis, f->now_ns), 0);
}

static void keeps_databases_apart(void **state) {
    struct fixture *f = *state;
    assert_reply(f, "SET k v", "+OK\r\n");
    assert_reply(f, "SELECT 15", "+OK\r\n");
    assert_reply(f, "GET k", "$-1\r\n");
    assert_reply(f, "SELECT 16", "-ERR DB index is out of range\r\n");
    assert_reply(f, "SELECT -1", "-ERR DB index is out of range\r\n");
    assert_reply(f, "SELECT x", "-ERR value is not an integer or out of range\r\n");
    assert_reply(f, "SET k w", "+OK\r\n");
    assert_int_equal(fake_redis_keys(f->redis, f->now_ns), 2);
    assert_string_equal(fake_redis_get(f->redis, 0, "k", 1, f->now_ns), "v");
    assert_string_equal(fake_redis_get(f->redis, 15, "k", 1, f->now_ns), "w");
    assert_null(fake_redis_get(f->redis, 1, "k", 1, f->now_ns));
}

static void lets_keys_expire(void **state) {
    struct fixture *f = *state;
    assert_reply(f, "SET k v NX PX 60000", "+OK\r\n");
    f->now_ns += UINT64_C(60) * SECOND - 1000000;
    assert_reply(f, "PTTL k", ":1\r\n");
    f->now_ns += 999999;
    assert_reply(f, "PTTL k", ":0\r\n");
    assert_int_equal(fake_redis_keys(f->redis, f->now_ns), 1);
    f->now_ns += 1;
    assert_int_equal(fake_redis_keys(f->redis, f->now_ns), 0);
    assert_null(fake_redis_get(f->redis, 0, "k", 1, f->now_ns));
    assert_reply(f, "SET k w NX PX 60000", "+OK\r\n");
    assert_reply(f, "GET k", "$1\r\nw\r\n");
    fake_redis_put(f->redis, 0, "k", 1, "x", f->now_ns + 1);
    assert_reply(f, "GET k", "$1\r\nx\r\n");
    f->now_ns += 1;
    assert_reply(f, "GET k", "$-1\r\n");
}

static void runs_the_scripts_of_a_lock(void **state) {
    struct fixture *f = *state;
    char sha1[SHA1_HEX_SIZE], line[128], answer[64];
    sha1_hex(RELEASE, strlen(RELEASE), sha1);
    snprintf(line, sizeof(line), "EVALSHA %s 1 k v", sha1);
    snprintf(answer, sizeof(answer), "$40\r\n%s\r\n", sha1);
    assert_reply(f, line, "-NOSCRIPT No matching script. Please use EVAL.\r\n");
    assert_reply(f, "SCRIPT LOAD " RELEASE, answer);
    assert_reply(f, line, ":0\r\n");
    assert_reply(f, "SET k v", "+OK\r\n");
    assert_reply(f, "EVAL " EXTEND " 1 k other 5000", ":0\r\n");
    assert_reply(f, "PTTL k", ":-1\r\n");
    assert_reply(f, "EVAL " EXTEND " 1 k v 5000", ":1\r\n");
    assert_reply(f, "PTTL k", ":5000\r\n");
    assert_reply(f, "EVAL " RELEASE " 1 k other", ":0\r\n");
    assert_reply(f, line, ":1\r\n");
    assert_reply(f, "GET k", "$-1\r\n");
    assert_reply(f, "EVAL unknown 0",
                 "-ERR Error compiling script: the fake node does not know it"
                 "\r\n");
    assert_reply(f, "SET k v PX 9000", "+OK\r\n");
    assert_reply(f, "EVAL " EXTEND " 1 k v 5000", ":1\r\n");
    assert_reply(f, "PTTL k", ":9000\r\n"); /* never to a shorter life */
    assert_reply(f, "DEL k", ":1\r\n");
    assert_reply(f, "EVAL " RELEASE " 2 k v",
                 "-ERR the fake node's scripts take keys, a value and a ttl\r\n");
    assert_reply(f, "SCRIPT FLUSH", "+OK\r\n");
    assert_reply(f, line, "-NOSCRIPT No matching script. Please use EVAL.\r\n");
    assert_reply(f, "EVAL " RELEASE " 1 k v", ":0\r\n"); /* which loads it */
    assert_reply(f, line, ":0\r\n");
}

static void runs_the_scripts_of_several_keys(void **state) {
    struct fixture *f = *state;
    assert_reply(f, "SET b stranger", "+OK\r\n");
    assert_reply(f, "EVAL " SET_ALL " 2 a b v 5000", ":0\r\n");
    assert_int_equal(fake_redis_keys(f->redis, f->now_ns), 1); /* all or none */
    assert_reply(f, "SET b v PX 1000", "+OK\r\n");
    assert_reply(f, "EVAL " EXTEND " 2 a b v 5000", ":0\r\n");
    assert_reply(f, "PTTL b", ":1000\r\n");
    assert_reply(f, "EVAL " SET_ALL " 2 a b v 5000", ":1\r\n");
    assert_reply(f, "PTTL a", ":5000\r\n");
    assert_reply(f, "PTTL b", ":1000\r\n");
    assert_reply(f, "EVAL " EXTEND " 2 a b v 3000", ":1\r\n");
    assert_reply(f, "PTTL a", ":5000\r\n");
    assert_reply(f, "PTTL b", ":3000\r\n");
    assert_reply(f, "EVAL " RELEASE " 2 a b other", ":0\r\n");
    assert_reply(f, "DEL b", ":1\r\n");
    assert_reply(f, "EVAL " RELEASE " 2 a b v", ":1\r\n");
    assert_int_equal(fake_redis_keys(f->redis, f->now_ns), 0);
    assert_reply(f, "EVAL " SET_ALL " 1 a v 0", "-ERR invalid expire time in 'set' command\r\n");
}

static void tells_who_holds_a_key(void **state) {
    struct fixture *f = *state;
    assert_reply(f, "EVAL " READ " 1 k", "$-1\r\n");
    assert_reply(f, "SET k value", "+OK\r\n");
    assert_reply(f, "EVAL " READ " 1 k", "$9\r\n-1 svalue\r\n");
    assert_reply(f, "SET k value PX 1500", "+OK\r\n");
    assert_reply(f, "EVAL " READ " 1 k", "$11\r\n1500 svalue\r\n");
    assert_reply(f, "EVAL " READ " 1 k v",
                 "-ERR the fake node's scripts take keys, a value and a ttl\r\n");
}

static void hashes_as_the_standard_says(void **state) {
    (void)state;
    char hex[SHA1_HEX_SIZE];
    sha1_hex("abc", 3, hex); /* FIPS 180-4's own examples */
    assert_string_equal(hex, "a9993e364706816aba3e25717850c26c9cd0d89d");
    sha1_hex("", 0, hex);
    assert_string_equal(hex, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    const char *two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    sha1_hex(two_blocks, strlen(two_blocks), hex);
    assert_string_equal(hex, "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
}

static void asks_for_the_password(void **state) {
    struct fixture *f = *state;
    assert_reply(f, "AUTH x",
                 "-ERR AUTH <password> called without any password configured for the default"
                 " user. Are you sure your configuration is correct?\r\n");
    fake_redis_set_password(f->redis, "me", "secret");
    assert_reply(f, "PING", "-NOAUTH Authentication required.\r\n");
    assert_reply(f, "AUTH secret",
                 "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    assert_reply(f, "AUTH me secret2",
                 "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    assert_reply(f, "AUTH me secret", "+OK\r\n");
    assert_reply(f, "PING", "+PONG\r\n");
    fake_redis_set_password(f->redis, NULL, "secret");
    f->session.authenticated = false;
    assert_reply(f, "AUTH secret", "+OK\r\n");
    assert_reply(f, "CLIENT SETNAME me", "+OK\r\n");
    assert_string_equal(f->session.name, "me");
}

static void tells_what_it_is(void **state) {
    struct fixture *f = *state;
    fake_redis_set_info(f->redis, "role", "slave");
    assert_reply(f, "INFO",
                 "$231\r\n# Server\r\nredis_version:7.0.15\r\n"
                 "run_id:0123456789abcdef0123456789abcdef01234567\r\n"
                 "uptime_in_seconds:1000000\r\nloading:0\r\naof_enabled:1\r\nrole:slave\r\n"
                 "master_replid:fedcba9876543210fedcba9876543210fedcba98\r\n"
                 "maxmemory_policy:noeviction\r\n\r\n");
}

static void parses_commands_in_any_pieces(void **state) {
    (void)state;
    static const char wire[] = "*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n*1\r\n";
    struct resp_command command;
    for (size_t i = 0; i < sizeof(wire) - 1; i++) {
        assert_int_equal(resp_parse(wire, i, &command), i < 23 ? 0 : 23);
    }
    assert_int_equal(command.count, 2);
    assert_true(resp_is(&command.args[0], "get"));
    assert_memory_equal(command.args[1].data, "a\r\nb", 4);
    static const char *const wrong[] = {
        "G",
        "*x\r\n",
        "*\r\n",
        "*0\r\n",
        "*17\r\n",
        "*1\r$",
        "*1\rx",
        "*1\r\nx",
        "*1\r\n$-1\r\n",
        "*1\r\n$1048577",
        "*1\r\n$1\r\nabc",
        "*99999999999999999999999",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(resp_parse(wrong[i], strlen(wrong[i]), &command), -1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sets_and_gets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_what_redis_refuses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keeps_databases_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lets_keys_expire, set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_the_scripts_of_a_lock, set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_the_scripts_of_several_keys, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tells_who_holds_a_key, set_up, tear_down),
        cmocka_unit_test(hashes_as_the_standard_says),
        cmocka_unit_test_setup_teardown(asks_for_the_password, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tells_what_it_is, set_up, tear_down),
        cmocka_unit_test(parses_commands_in_any_pieces),
    };
    return cmocka_run_group_tests_name("fake_redis", tests, NULL, NULL);
}
