/* A node's possible replies. The guard is driven through hiredis's own reader, with bytes as they
 * would come from the socket; the judge then classifies the reply. */
#include "redis/reply.h"

#include "redlock/redlock.h"
#include "unit/reply_scene.h"

#define TOKEN "0123456789abcdef0123456789abcdef01234567"
#define NAME_64 "abcdefghijklmnopqrstuvwxyz012345abcdefghijklmnopqrstuvwxyz012345"

/* -- The guard -- */

TEST(accepts_the_flat_replies) {
    static const struct {
        const char *wire;
        int type;
        const char *text;
        long long integer;
    } rows[] = {
        {"+OK\r\n", REDIS_REPLY_STATUS, "OK", 0},
        {"+\r\n", REDIS_REPLY_STATUS, "", 0},
        {"-ERR no\r\n", REDIS_REPLY_ERROR, "ERR no", 0},
        {":1\r\n", REDIS_REPLY_INTEGER, "", 1},
        {":-7\r\n", REDIS_REPLY_INTEGER, "", -7},
        {"$-1\r\n", REDIS_REPLY_NIL, "", 0},
        {"$4\r\nPONG\r\n", REDIS_REPLY_STRING, "PONG", 0},
        {"$0\r\n\r\n", REDIS_REPLY_STRING, "", 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        for (size_t piece = 1; piece <= strlen(rows[i].wire); piece++) { /* in fragments too */
            struct fixture f;
            redisReply *reply = NULL;
            fixture_init(&f, 1);
            for (size_t at = 0; at < strlen(rows[i].wire); at += piece) {
                size_t left = strlen(rows[i].wire) - at;
                assert_null(reply);
                reply = read_reply(&f, rows[i].wire + at, left < piece ? left : piece);
            }
            assert_ptr_equal(reply, &f.slot.reply); /* nothing was allocated */
            assert_int_equal(reply->type, rows[i].type);
            assert_string_equal(reply->str, rows[i].text);
            assert_int_equal(reply->integer, rows[i].integer);
            fixture_free(&f);
        }
    }
}

TEST(refuses_everything_else) {
    static const char *const wires[] = {
        "*0\r\n",
        "*-1\r\n", /* also a nil, but no answer to our commands */
        "*1\r\n$2\r\nOK\r\n",
        "*2\r\n:1\r\n:2\r\n",
        "*1\r\n*1\r\n*1\r\n+OK\r\n",
        "*2147483647\r\n",
        "*4294967296\r\n",
        "#t\r\n",
        ",1.5\r\n",
        "%1\r\n+a\r\n+b\r\n",
        "~1\r\n+a\r\n",
        ">2\r\n+invalidate\r\n*1\r\n+k\r\n",
        "|1\r\n+a\r\n+b\r\n+OK\r\n",
        "HTTP/1.1 400 Bad Request\r\n",
        "\r\n",
        "$-5\r\n",
        "$x\r\n",
        ":9x\r\n",
    };
    for (size_t i = 0; i < COUNT(wires); i++) {
        struct fixture f;
        fixture_init(&f, 1);
        redisReply *reply = read_text(&f, wires[i]);
        if (reply != NULL || f.reader->err == 0) {
            print_error("accepted: %s", wires[i]);
        }
        assert_null(reply);
        assert_int_not_equal(f.reader->err, 0);
        fixture_free(&f);
    }
}

/* Freeing 400,000 levels overflows the stack in hiredis's own functions. */
TEST(refuses_nesting_without_end) {
    struct fixture f;
    size_t length = 400000 * 4;
    char *wire = malloc(length);
    for (int hello = 0; hello < 2; hello++) { /* of the answer to HELLO, too */
        for (size_t i = 0; i < length; i++) {
            wire[i] = (hello ? "%1\r\n" : "*1\r\n")[i % 4];
        }
        fixture_init(&f, 1);
        f.slot.due.hello = hello;
        assert_null(read_reply(&f, wire, length));
        assert_int_not_equal(f.reader->err, 0);
        fixture_free(&f);
    }
    free(wire);
}

TEST(refuses_what_nobody_asked_for) {
    static const char *const wires[] = {"+OK\r\n", "-ERR x\r\n",  ":1\r\n",
                                        "$-1\r\n", "$1\r\na\r\n", "*-1\r\n"};
    for (size_t i = 0; i < COUNT(wires); i++) {
        struct fixture f;
        fixture_init(&f, 0);
        assert_null(read_text(&f, wires[i]));
        assert_int_not_equal(f.reader->err, 0);
        fixture_free(&f);
    }
    struct fixture f; /* the second answer to one request */
    fixture_init(&f, 1);
    assert_non_null(read_text(&f, "+OK\r\n+OK\r\n"));
    f.waiting = 0;
    assert_null(read_text(&f, ""));
    assert_int_not_equal(f.reader->err, 0);
    fixture_free(&f);
}

/* -- The judge -- */

TEST(takes_exact_answers_only) {
    static const struct {
        const char *wire;
        enum rl_verdict set, script, handshake; /* script: EXTEND and RELEASE */
    } rows[] = {
        {"+OK\r\n", RL_YES, RL_NOT_REDIS, RL_YES},
        {"$-1\r\n", RL_NO, RL_NOT_REDIS, RL_NO},
        {":1\r\n", RL_NOT_REDIS, RL_YES, RL_NOT_REDIS},
        {":0\r\n", RL_NOT_REDIS, RL_NO, RL_NOT_REDIS},
        {":2\r\n", RL_NOT_REDIS, RL_NOT_REDIS, RL_NOT_REDIS},
        {":-1\r\n", RL_NOT_REDIS, RL_NOT_REDIS, RL_NOT_REDIS},
        {":4294967297\r\n", RL_NOT_REDIS, RL_NOT_REDIS, RL_NOT_REDIS},
        {"+QUEUED\r\n", RL_NOT_REDIS, RL_NOT_REDIS, RL_YES},
        {"+ok\r\n", RL_NOT_REDIS, RL_NOT_REDIS, RL_YES},
        {"+OK \r\n", RL_NOT_REDIS, RL_NOT_REDIS, RL_YES},
        {"$2\r\nOK\r\n", RL_NOT_REDIS, RL_NOT_REDIS, RL_YES},
        {"+\r\n", RL_NOT_REDIS, RL_NOT_REDIS, RL_YES},
        {"+PONG\r\n", RL_NOT_REDIS, RL_NOT_REDIS, RL_YES},
        {"-ERR no\r\n", RL_ERROR, RL_ERROR, RL_ERROR},
        {"-\r\n", RL_ERROR, RL_ERROR, RL_ERROR},
        {"-OK\r\n", RL_ERROR, RL_ERROR, RL_ERROR},
        {"-NOSCRIPT No matching script.\r\n", RL_ERROR, RL_NOSCRIPT, RL_ERROR},
        {"-NOSCRIPTS\r\n", RL_ERROR, RL_ERROR, RL_ERROR},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(judge(RL_COMMAND_SET, rows[i].wire).verdict, rows[i].set);
        assert_int_equal(judge(RL_COMMAND_EXTEND, rows[i].wire).verdict, rows[i].script);
        assert_int_equal(judge(RL_COMMAND_RELEASE, rows[i].wire).verdict, rows[i].script);
        assert_int_equal(judge(RL_COMMAND_HANDSHAKE, rows[i].wire).verdict, rows[i].handshake);
    }
}

/* The form of the answers of a query's script; holder_reply_test.c tests their content. */
TEST(takes_a_sighting) {
    static const struct {
        const char *wire;
        enum rl_verdict wanted;
    } rows[] = {
        {"$-1\r\n", RL_NO},
        {"$4\r\n5 sx\r\n", RL_YES},
        {"$4\r\n-1 s\r\n", RL_YES},
        {"$7\r\n0 tlist\r\n", RL_YES},
        {"+5 sx\r\n", RL_NOT_REDIS},
        {":1\r\n", RL_NOT_REDIS},
        {":0\r\n", RL_NOT_REDIS},
        {"+OK\r\n", RL_NOT_REDIS},
        {"$0\r\n\r\n", RL_NOT_REDIS},
        {"$2\r\nsx\r\n", RL_NOT_REDIS},
        {"-NOSCRIPT No matching script.\r\n", RL_NOSCRIPT},
        {"-LOADING x\r\n", RL_ERROR},
        {"-WRONGTYPE x\r\n", RL_ERROR},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fixture f;
        fixture_init(&f, 1);
        const redisReply *reply = read_text(&f, rows[i].wire);
        assert_non_null(reply);
        assert_int_equal(rl_reply_judge(RL_COMMAND_READ, reply).verdict, rows[i].wanted);
        fixture_free(&f);
    }
    for (size_t length = 100; length < 200; length++) { /* up to the length at which the script cuts
                                                           it */
        char wire[256];
        struct fixture f;
        int head = snprintf(wire, sizeof wire, "$%zu\r\n1234567890123456789 s", length);
        memset(wire + head, 'v', length - 21);
        memcpy(wire + head + length - 21, "\r\n", 2);
        fixture_init(&f, 1);
        const redisReply *reply = read_reply(&f, wire, (size_t)head + length - 21 + 2);
        assert_non_null(reply);
        assert_int_equal(rl_reply_judge(RL_COMMAND_READ, reply).verdict,
                         length <= 127 ? RL_YES : RL_NOT_REDIS);
        fixture_free(&f);
    }
}

FIXTURE_TEST(is_not_fooled_by_a_zero) {
    const redisReply *reply = read_reply(f, "+OK\0NOT\r\n", 9);
    assert_non_null(reply);
    assert_int_equal(rl_reply_judge(RL_COMMAND_SET, reply).verdict, RL_NOT_REDIS);
}

static struct rl_answer judge_bulk(enum rl_command_kind kind, const char *text) {
    char wire[256];
    snprintf(wire, sizeof wire, "$%zu\r\n%s\r\n", strlen(text), text);
    return judge(kind, wire);
}

/* One character per lock, up to the length that the node keeps of a text. */
TEST(judges_each_of_many) {
    static const char *const bad[] = {"", "2", "1 0", "10x", ":1\r\n"};
    struct rl_answer all = judge_bulk(RL_COMMAND_EXTEND_MANY, "10w");
    assert_int_equal(all.verdict, RL_YES);
    assert_int_equal(rl_reply_judge_one(&all, 0).verdict, RL_YES);
    assert_int_equal(rl_reply_judge_one(&all, 1).verdict, RL_NO);
    assert_int_equal(rl_reply_judge_one(&all, 2).verdict, RL_ERROR);
    assert_int_equal(rl_reply_judge_one(&all, 2).reason, REDLOCK_ERR_NODE_WRONGTYPE);
    all = judge(RL_COMMAND_EXTEND_MANY, "-OOM no memory\r\n");
    assert_int_equal(rl_reply_judge_one(&all, 63).reason, REDLOCK_ERR_NODE_OOM);
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_int_equal(judge_bulk(RL_COMMAND_EXTEND_MANY, bad[i]).verdict, RL_NOT_REDIS);
    }
    assert_int_equal(judge(RL_COMMAND_EXTEND_MANY, ":1\r\n").verdict, RL_NOT_REDIS);
}

TEST(says_what_became_of_an_upgrade) {
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
    for (size_t i = 0; i < COUNT(answers); i++) {
        struct rl_answer answer = judge_bulk(RL_COMMAND_UPGRADE, answers[i].text);
        assert_int_equal(answer.verdict, answers[i].verdict);
        if (answer.verdict != RL_NOT_REDIS) {
            assert_true(answer.counter == answers[i].counter);
            assert_true(answer.line.life_ms == answers[i].life_ms);
            assert_int_equal(answer.line.which, answers[i].code);
        }
    }
    assert_int_equal(judge(RL_COMMAND_UPGRADE, ":1\r\n").verdict, RL_NOT_REDIS);
    assert_int_equal(judge(RL_COMMAND_UPGRADE, "$-1\r\n").verdict, RL_NOT_REDIS);
    assert_int_equal(judge(RL_COMMAND_UPGRADE, "-NOSCRIPT x\r\n").verdict, RL_NOSCRIPT);
    assert_int_equal(judge(RL_COMMAND_UPGRADE, "-WRONGTYPE x\r\n").verdict, RL_ERROR);
}

TEST(shows_who_reads) {
    static const char *const values[] = {
        TOKEN, TOKEN ":h", TOKEN ":" NAME_64, TOKEN ":" NAME_64 "x", "", "stranger's"};
    for (size_t i = 0; i < COUNT(values); i++) {
        char text[160];
        snprintf(text, sizeof text, "999999999 4294967295 %s", values[i]);
        struct rl_answer answer = judge_bulk(RL_COMMAND_READER, text);
        assert_int_equal(answer.verdict, RL_YES);
        assert_int_equal(answer.line.waiting, 999999999);
        assert_true(answer.line.first_waited_ms == UINT32_MAX);
        assert_string_equal(answer.text, values[i]);
    }
    assert_int_equal(judge(RL_COMMAND_READER, "$-1\r\n").verdict, RL_NO);
    static const char *const others[] = {
        "0 1 x", "1000000000 1 x", "1 2", "1", "", "1 x x", "1 2 " TOKEN ":" NAME_64 "xy"};
    for (size_t i = 0; i < COUNT(others); i++) {
        assert_int_equal(judge_bulk(RL_COMMAND_READER, others[i]).verdict, RL_NOT_REDIS);
    }
}

TEST(knows_the_words_of_redis) {
    static const struct {
        const char *text;
        int wanted;
    } rows[] = {
        {"LOADING Redis is loading the dataset in memory", REDLOCK_ERR_NODE_LOADING},
        {"READONLY You can't write against a read only replica.", REDLOCK_ERR_NODE_READONLY},
        {"MASTERDOWN Link with MASTER is down", REDLOCK_ERR_NODE_READONLY},
        {"OOM command not allowed when used memory > 'maxmemory'.", REDLOCK_ERR_NODE_OOM},
        {"NOAUTH Authentication required.", REDLOCK_ERR_NODE_AUTH},
        {"WRONGPASS invalid username-password pair", REDLOCK_ERR_NODE_AUTH},
        {"NOPERM this user has no permissions", REDLOCK_ERR_NODE_PERMISSION},
        {"DENIED Redis is running in protected mode", REDLOCK_ERR_NODE_PERMISSION},
        {"MISCONF Errors writing to the AOF file", REDLOCK_ERR_NODE_MISCONF},
        {"NOREPLICAS Not enough good replicas to write.", REDLOCK_ERR_NODE_MISCONF},
        {"BUSY Redis is busy running a script.", REDLOCK_ERR_NODE_BUSY},
        {"ERR max number of clients reached", REDLOCK_ERR_NODE_BUSY},
        {"MOVED 3999 127.0.0.1:6381", REDLOCK_ERR_NODE_CLUSTER},
        {"ASK 3999 127.0.0.1:6381", REDLOCK_ERR_NODE_CLUSTER},
        {"CROSSSLOT Keys in request don't hash to the same slot", REDLOCK_ERR_NODE_CLUSTER},
        {"CLUSTERDOWN The cluster is down", REDLOCK_ERR_NODE_CLUSTER},
        {"TRYAGAIN Multiple keys request during rehashing", REDLOCK_ERR_NODE_CLUSTER},
        {"WRONGTYPE Operation against a key", REDLOCK_ERR_NODE_WRONGTYPE},
        {"OOM", REDLOCK_ERR_NODE_OOM},
        /* not these words, or not where they begin */
        {"", REDLOCK_ERR_NODE_ERROR},
        {"ERR unknown command", REDLOCK_ERR_NODE_ERROR},
        {"LOADINGS x", REDLOCK_ERR_NODE_ERROR},
        {"loading x", REDLOCK_ERR_NODE_ERROR},
        {" OOM x", REDLOCK_ERR_NODE_ERROR},
        {"ERR the key is OOM", REDLOCK_ERR_NODE_ERROR},
        {"ERR max number of things", REDLOCK_ERR_NODE_ERROR},
        /* a script's error, wrapped by old and new servers */
        {"ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed",
         REDLOCK_ERR_NODE_OOM},
        {"ERR Error running script (call to f_1): @user_script: 1: -READONLY You can't write",
         REDLOCK_ERR_NODE_READONLY},
        {"ERR user_script:1: MISCONF Redis is configured script: f_1", REDLOCK_ERR_NODE_MISCONF},
        {"WRONGTYPE Operation script: f_1, on @user_script:1.", REDLOCK_ERR_NODE_WRONGTYPE},
        {"ERR Error running script: -OOM command not allowed", REDLOCK_ERR_NODE_OOM},
        {"ERR Error running script: xOOM xREADONLY", REDLOCK_ERR_NODE_ERROR},
        {"ERR Error running script (call to f_1): unknown", REDLOCK_ERR_NODE_ERROR},
        {"ERR user_script:1:NOPERM", REDLOCK_ERR_NODE_PERMISSION},
        /* a script that does what its user may not: Redis 6, 7.0, since 7.2 and Valkey */
        {"ERR Error running script (call to f_1): @user_script:1: @user_script: 1: The user "
         "executing the script can't run this command or subcommand",
         REDLOCK_ERR_NODE_PERMISSION},
        {"ERR The user executing the script can't run this command script: f_1",
         REDLOCK_ERR_NODE_PERMISSION},
        {"ERR ACL failure in script: User u has no permissions to run the 'get' command "
         "script: "
         "f_1, on @user_script:1.",
         REDLOCK_ERR_NODE_PERMISSION},
        {"ERR ACL failure in script: No permissions to access a key script: f_1",
         REDLOCK_ERR_NODE_PERMISSION},
        {"ERR no failure in the script of an ACL", REDLOCK_ERR_NODE_ERROR},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (rl_reply_reason(rows[i].text) != rows[i].wanted) {
            print_error("%s\n", rows[i].text);
        }
        assert_int_equal(rl_reply_reason(rows[i].text), rows[i].wanted);
    }
}
