/* The handshake: the commands for each URL, and the answers that exclude a node. */
#include "redis/handshake.h"

#include "redis/guard.h"
#include "redlock/redlock.h"
#include "unit/check.h"

/* All steps for a URL, one line each: the arguments, parsed from the RESP. */
static void said(const char *text, const struct rl_handshake_options *options, char *out,
                 size_t size) {
    struct rl_url url;
    size_t used = 0;
    assert_int_equal(rl_url_parse(text, &url, NULL, 0), 0);
    for (enum rl_step step = RL_STEP_AUTH; step < RL_STEPS; step++) {
        char wire[RL_COMMAND_WIRE_MAX];
        size_t length = rl_handshake_format(step, &url, options, wire);
        const char *at = wire;
        assert_true(length < sizeof wire);
        for (long n = length > 0 ? strtol(wire + 1, NULL, 10) : 0; n > 0; n--) {
            at = strchr(at, '$');
            assert_non_null(at);
            char *end = NULL;
            long bytes = strtol(at + 1, &end, 10);
            at = end + 2 + bytes;
            used += (size_t)snprintf(out + used, size - used, "%.*s%c", (int)bytes, end + 2,
                                     n > 1 ? ' ' : '\n');
            assert_true(used < size);
        }
        assert_true(length == 0 || at + 2 == wire + length);
    }
}

#if RL_HAS_RESP3
#define RESP3 "HELLO 3\nCLIENT TRACKING ON OPTIN\n"
#else
#define RESP3 ""
#endif

TEST(says_what_the_url_asks_for) {
    static const struct {
        const char *url, *name, *wanted;
        bool info;
    } rows[] = {
        {"redis://h", NULL, "GET libredlock:config\nPING\n", false},
        {"redis://h", NULL, RESP3 "INFO\nINFO commandstats\nGET libredlock:config\nPING\n", true},
        {"redis://h/0", "redlock", "CLIENT SETNAME redlock\nGET libredlock:config\nPING\n", false},
        {"redis://h/15", NULL, "SELECT 15\nGET libredlock:config\nPING\n", false},
        {"redis://h/2147483647", NULL, "SELECT 2147483647\nGET libredlock:config\nPING\n", false},
        {"redis://:secret@h", NULL, "AUTH secret\nGET libredlock:config\nPING\n", false},
        {"redis://me:s%20t@h/1", "x",
         "AUTH me s t\nSELECT 1\nCLIENT SETNAME x\nGET libredlock:config\nPING\n", false},
        {"unix:///run/r?db=3", "n", "SELECT 3\nCLIENT SETNAME n\nGET libredlock:config\nPING\n",
         false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char out[4096];
        struct rl_handshake_options options = {rows[i].name, rows[i].info};
        said(rows[i].url, &options, out, sizeof out);
        assert_string_equal(out, rows[i].wanted);
    }
}

TEST(has_room_for_the_longest_password) {
    struct rl_url url = {.has_password = true};
    char wire[RL_COMMAND_WIRE_MAX];
    memset(url.user, 'u', RL_URL_USER_MAX);
    memset(url.password, 'p', RL_URL_PASSWORD_MAX);
    struct rl_handshake_options options = {NULL, false};
    size_t length = rl_handshake_format(RL_STEP_AUTH, &url, &options, wire);
    assert_true(length > RL_URL_USER_MAX + RL_URL_PASSWORD_MAX);
    assert_int_equal(wire[length], '\0');
}

#define GOES_ON 0
#define R(name) REDLOCK_ERR_NODE_##name

TEST(rules_out_who_must_be_ruled_out) {
    static const int16_t reasons[] = {R(ERROR), R(AUTH), R(PERMISSION), R(LOADING), R(BUSY)};
    static const int16_t wanted[RL_STEPS][COUNT(reasons)] = {
        [RL_STEP_AUTH] = {R(AUTH), R(AUTH), R(PERMISSION), R(LOADING), R(BUSY)},
        [RL_STEP_SELECT] = {R(DATABASE), R(AUTH), R(PERMISSION), R(LOADING), R(BUSY)},
        [RL_STEP_SETNAME] = {GOES_ON, R(AUTH), GOES_ON, R(LOADING), R(BUSY)},
        [RL_STEP_RESP3] = {GOES_ON, R(AUTH), GOES_ON, R(LOADING), R(BUSY)},
        [RL_STEP_TRACK] = {GOES_ON, R(AUTH), GOES_ON, R(LOADING), R(BUSY)},
        [RL_STEP_INFO] = {R(ERROR), R(AUTH), R(PERMISSION), R(LOADING), R(BUSY)},
        [RL_STEP_STATS] = {GOES_ON, R(AUTH), GOES_ON, R(LOADING), R(BUSY)},
        [RL_STEP_CONFIG] = {R(ERROR), R(AUTH), R(PERMISSION), R(LOADING), R(BUSY)},
        [RL_STEP_PING] = {R(ERROR), R(AUTH), GOES_ON, R(LOADING), R(BUSY)},
    };
    for (enum rl_step step = RL_STEP_AUTH; step < RL_STEPS; step++) {
        for (size_t i = 0; i < COUNT(reasons); i++) {
            struct rl_answer answer = {.verdict = RL_ERROR, .reason = reasons[i], .text = "ERR x"};
            assert_int_equal(rl_handshake_judge(step, &answer), wanted[step][i]);
        }
    }
}

TEST(takes_the_answers_of_redis_only) {
    for (enum rl_step step = RL_STEP_AUTH; step < RL_STEPS; step++) {
        bool ping = step == RL_STEP_PING;
        struct rl_answer pong = {.verdict = RL_YES, .reason = 0, .text = "PONG"};
        struct rl_answer ok = {.verdict = RL_YES, .reason = 0, .text = "OK"};
        struct rl_answer not_redis = {.verdict = RL_NOT_REDIS, .reason = R(PROTOCOL), .text = "x"};
        struct rl_answer noscript = {
            .verdict = RL_NOSCRIPT, .reason = R(ERROR), .text = "NOSCRIPT"};
        struct rl_answer no = {.verdict = RL_NO, .reason = 0, .text = ""};
        assert_int_equal(rl_handshake_judge(step, &pong), GOES_ON);
        assert_int_equal(rl_handshake_judge(step, &ok), ping ? R(PROTOCOL) : GOES_ON);
        assert_int_equal(rl_handshake_judge(step, &not_redis), R(PROTOCOL));
        assert_int_equal(rl_handshake_judge(step, &noscript), R(PROTOCOL));
        assert_int_equal(rl_handshake_judge(step, &no),
                         step == RL_STEP_CONFIG ? GOES_ON : R(PROTOCOL));
    }
}

/* A node that the guard cannot judge is not used: the message says what to do. */
TEST(says_what_the_guard_lacks) {
    struct rl_info info;
    char text[RL_REPLY_TEXT_MAX];
    rl_info_init(&info);
    rl_handshake_explain(R(PERMISSION), &info, text, sizeof text);
    assert_string_equal(text, "the guard needs INFO: allow +info or set guard to off");
    rl_handshake_explain(R(ERROR), &info, text, sizeof text);
    assert_string_equal(text, "the guard needs INFO: do not rename it, or set guard to off");
    rl_handshake_explain(R(PROTOCOL), &info, text, sizeof text);
    assert_string_equal(
        text,
        "in INFO, which the guard needs, run_id is missing; is it Redis? or set guard to off");
}

TEST(knows_who_has_a_command_for_releases) {
    static const struct {
        uint32_t redis, valkey;
        enum rl_command_kind wanted;
    } rows[] = {
        {0, 0, RL_COMMAND_RELEASE},
        {RL_INFO_VERSION(7, 0), 0, RL_COMMAND_RELEASE},
        {RL_INFO_VERSION(8, 3), 0, RL_COMMAND_RELEASE},
        {RL_INFO_VERSION(8, 4), 0, RL_COMMAND_DELEX},
        {RL_INFO_VERSION(8, 12), 0, RL_COMMAND_DELEX},
        {RL_INFO_VERSION(9, 0), 0, RL_COMMAND_DELEX},
        {RL_INFO_VERSION(7, 2), RL_INFO_VERSION(8, 1), RL_COMMAND_RELEASE},
        {RL_INFO_VERSION(7, 2), RL_INFO_VERSION(9, 0), RL_COMMAND_DELIFEQ},
        {RL_INFO_VERSION(8, 4), RL_INFO_VERSION(8, 1), RL_COMMAND_RELEASE},
        {0, RL_INFO_VERSION(10, 0), RL_COMMAND_DELIFEQ},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rl_info info = {.redis = rows[i].redis, .valkey = rows[i].valkey};
        assert_int_equal(rl_handshake_release(&info), rows[i].wanted);
        info.problem = "is missing"; /* the rest is unreliable */
        assert_int_equal(rl_handshake_release(&info), RL_COMMAND_RELEASE);
    }
}
