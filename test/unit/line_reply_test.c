/* A node's possible answers to the commands on a line: through the guard and the judge, as in
 * reply_test.c. */
#include "redis/reply.h"

#include "unit/reply_scene.h"

#define TOKEN "0123456789abcdef0123456789abcdef01234567"
#define NAME_64 "abcdefghijklmnopqrstuvwxyz012345abcdefghijklmnopqrstuvwxyz012345"

static struct rl_answer judge_bulk(enum rl_command_kind kind, const char *text) {
    char wire[256];
    snprintf(wire, sizeof wire, "$%zu\r\n%s\r\n", strlen(text), text);
    return judge(kind, wire);
}

TEST(reads_the_lines_numbers) {
    static const struct {
        enum rl_command_kind kind;
        const char *text;
        enum rl_verdict verdict;
        uint64_t counter;
        struct rl_line_answer line;
    } rows[] = {
        {RL_COMMAND_JOIN, "1", RL_YES, 0, {.rank = 0}},
        {RL_COMMAND_JOIN, "0 0 0", RL_NO, 0, {.rank = 0}},
        {RL_COMMAND_JOIN, "0 7 250", RL_NO, 0, {.rank = 7, .life_ms = 250}},
        {RL_COMMAND_JOIN, "0 4294967295 -1", RL_NO, 0, {.rank = UINT32_MAX, .life_ms = -1}},
        {RL_COMMAND_TAKE, "1 0 0 0", RL_YES, 0, {.waiting = 0}},
        {RL_COMMAND_TAKE, "1 3 1250 0", RL_YES, 0, {.waiting = 3, .first_waited_ms = 1250}},
        {RL_COMMAND_TAKE,
         "1 4294967295 4294967296 9007199254740991",
         RL_YES,
         9007199254740991,
         {.waiting = UINT32_MAX, .first_waited_ms = UINT64_C(1) << 32}},
        {RL_COMMAND_TAKE,
         "0 1 999999999999999999",
         RL_NO,
         0,
         {.which = 1, .life_ms = 999999999999999999}},
        {RL_COMMAND_TAKE, "0 64 -1", RL_NO, 0, {.which = 64, .life_ms = -1}},
        {RL_COMMAND_RELEASE_LINE,
         "1 2 3 1 1795246000000001 4503599627370495",
         RL_YES,
         0,
         {.waiting = 2,
          .first_waited_ms = 3,
          .served = true,
          .time_us = 1795246000000001,
          .secret = 4503599627370495}},
        {RL_COMMAND_RELEASE_LINE, "0 2 3 0 0 0", RL_NO, 0, {.waiting = 2, .first_waited_ms = 3}},
        {RL_COMMAND_RELEASE_LINE,
         "0 0 0 1 7 8",
         RL_NO,
         0,
         {.served = true, .time_us = 7, .secret = 8}},
        {RL_COMMAND_RELEASE_PERMIT, "1 0 0 1 0 0", RL_YES, 0, {.served = true}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rl_answer answer = judge_bulk(rows[i].kind, rows[i].text);
        const struct rl_line_answer *line = &answer.line, *wanted = &rows[i].line;
        assert_int_equal(answer.verdict, rows[i].verdict);
        assert_int_equal(answer.reason, 0);
        assert_true(answer.counter == rows[i].counter);
        assert_int_equal(line->rank, wanted->rank);
        assert_int_equal(line->waiting, wanted->waiting);
        assert_true(line->first_waited_ms == wanted->first_waited_ms);
        assert_true(line->life_ms == wanted->life_ms);
        assert_int_equal(line->which, wanted->which);
        assert_int_equal(line->served, wanted->served);
        assert_true(line->time_us == wanted->time_us && line->secret == wanted->secret);
    }
}

TEST(shows_who_waits) {
    static const char *const members[] = {TOKEN, TOKEN ":h", TOKEN ":" NAME_64, "", "stranger's"};
    for (size_t i = 0; i < COUNT(members); i++) {
        char text[160];
        snprintf(text, sizeof text, "4294967295 4294967295 %s", members[i]);
        struct rl_answer answer = judge_bulk(RL_COMMAND_WAITER, text);
        assert_int_equal(answer.verdict, RL_YES);
        assert_int_equal(answer.line.waiting, UINT32_MAX);
        assert_true(answer.line.first_waited_ms == UINT32_MAX);
        assert_string_equal(answer.text, members[i]);
    }
    assert_int_equal(judge(RL_COMMAND_WAITER, "$-1\r\n").verdict, RL_NO);
    const char *too_long = "1 2 " TOKEN ":" NAME_64 "x";
    assert_int_equal(judge_bulk(RL_COMMAND_WAITER, too_long).verdict, RL_NOT_REDIS);
    assert_int_equal(judge(RL_COMMAND_LEAVE, ":1\r\n").verdict, RL_YES);
    assert_int_equal(judge(RL_COMMAND_LEAVE, ":0\r\n").verdict, RL_NO);
}

static const struct {
    const char *text;
    const char *good; /* for which, by their first letter */
} answers[] = {
    {"", ""},
    {"1", "J"},
    {"0", ""},
    {"2", ""},
    {"10", ""},
    {"1 ", ""},
    {" 1", ""},
    {"+1", ""},
    {"0 ", ""},
    {"0 1", ""},
    {"0 1 ", "W"},
    {"0 1 2", "JTW"},
    {"0 1 2 ", "W"},
    {"0 1  2", "W"},
    {"0  1 2", ""},
    {"00 1 2", ""},
    {"0 01 2", ""},
    {"0 1 02", "W"},
    {"0 1 -1", "JTW"},
    {"0 1 -2", "W"},
    {"0 1 -", "W"},
    {"0 1 -11", "W"},
    {"0 -1 1", ""},
    {"0 65 1", "JW"},
    {"0 0 1", "JW"},
    {"0 4294967296 1", "W"},
    {"0 1 1234567890123456789", "JTW"},
    {"0 1 12345678901234567890", "W"},
    {"0 1 1x", "W"},
    {"0 1x 1", ""},
    {"0\t1 1", ""},
    {"1 2 3", "JW"},
    {"1 2 3 0", "JTW"},
    {"1 2 3 ", "W"},
    {"1 2 3 01", "W"},
    {"1 2 3 1 0", "JW"},
    {"1 2 3 1 0 0", "RW"},
    {"1 2 3 0 999999999999999999 0", "RW"},
    {"1 2 3 0 0 999999999999999999", "RW"},
    {"1 2 3 2 4 5", "W"},
    {"1 2 3 1 4 ", "W"},
    {"1 2 3 1 4 5 ", "W"},
    {"1 2 3 1 04 5", "W"},
    {"1 2 3 1 4 05", "W"},
    {"1 2 3 1 -1 5", "W"},
    {"1 2 3 1 4 -1", "W"},
    {"1 2 3 1 1234567890123456789 5", "W"},
    {"1 2 3 1 4 1234567890123456789", "W"},
    {"1 2 3 1 4 5", "JRW"},
    {"1 2 3 1 4 5 6", "JW"},
    {"1 4294967296 3 1 4 5", "W"},
    {"4294967296 3 1", ""},
    {"1 1234567890123456789 3 1 4 5", ""},
    {"0 2 3 1", "W"},
    {"0 2 3 1 4", "W"},
    {"0 2 3 1 4 5", "RW"},
    {"2 2 3 1 4 5", "W"},
    {"OK", ""},
};

/* For each command, including answers that are valid for another one. */
TEST(takes_the_lines_answers_as_they_are) {
    static const enum rl_command_kind kinds[] = {RL_COMMAND_JOIN, RL_COMMAND_TAKE,
                                                 RL_COMMAND_RELEASE_LINE, RL_COMMAND_WAITER};
    for (size_t i = 0; i < COUNT(answers); i++) {
        for (size_t k = 0; k < COUNT(kinds); k++) {
            enum rl_verdict verdict = judge_bulk(kinds[k], answers[i].text).verdict;
            bool is_good = strchr(answers[i].good, "JTRW"[k]) != NULL;
            if ((verdict != RL_NOT_REDIS) != is_good) {
                print_error("\"%s\" to %c\n", answers[i].text, "JTRW"[k]);
            }
            assert_int_equal(verdict != RL_NOT_REDIS, is_good);
        }
    }
}

/* For a semaphore, a JOIN names the slots. */
TEST(takes_slots) {
    static const struct {
        const char *text;
        uint8_t n; /* 0: none */
        uint16_t last;
    } rows[] = {
        {" 0", 1, 0},
        {" 1023", 1, 1023},
        {" 1024", 0, 0},
        {" 0 1 2 3 4 5 6 7", 8, 7},
        {" 0 1 2 3 4 5 6 7 8", 0, 0},
        {" 3 2", 2, 2},
        {" 3 3", 0, 0},
        {"3", 0, 0},
        {" ", 0, 0},
        {" 1 ", 0, 0},
        {" 1  2", 0, 0},
        {" 01", 0, 0},
        {" -1", 0, 0},
        {" 1x", 0, 0},
        {"", 0, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rl_slots slots;
        assert_int_equal(rl_slots_parse(rows[i].text, &slots), rows[i].n > 0);
        if (rows[i].n > 0) {
            assert_int_equal(slots.n, rows[i].n);
            assert_int_equal(slots.at[slots.n - 1], rows[i].last);
        }
    }
}

/* Types other than a bulk string, and errors. */
TEST(takes_no_other_type) {
    static const struct {
        const char *wire;
        enum rl_verdict join, release;
    } others[] = {
        {":1\r\n", RL_NOT_REDIS, RL_NOT_REDIS},
        {":0\r\n", RL_NOT_REDIS, RL_NOT_REDIS},
        {"+1\r\n", RL_NOT_REDIS, RL_NOT_REDIS},
        {"$-1\r\n", RL_NOT_REDIS, RL_NOT_REDIS},
        {"-NOSCRIPT No matching script.\r\n", RL_NOSCRIPT, RL_NOSCRIPT},
        {"-OOM x\r\n", RL_ERROR, RL_ERROR},
        {"-WRONGTYPE x\r\n", RL_ERROR, RL_NO},
    };
    for (size_t i = 0; i < COUNT(others); i++) {
        assert_int_equal(judge(RL_COMMAND_JOIN, others[i].wire).verdict, others[i].join);
        assert_int_equal(judge(RL_COMMAND_TAKE, others[i].wire).verdict, others[i].join);
        assert_int_equal(judge(RL_COMMAND_RELEASE_LINE, others[i].wire).verdict, others[i].release);
    }
    assert_int_equal(judge(RL_COMMAND_LEAVE, "-WRONGTYPE x\r\n").verdict, RL_NO);
    assert_int_equal(judge(RL_COMMAND_LEAVE, "$1\r\n1\r\n").verdict, RL_NOT_REDIS);
}
