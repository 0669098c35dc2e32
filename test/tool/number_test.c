/* Numbers: they are shown as they were written, and other text is refused. */

#include "tool/number.h"
#include "testing.h"

static void duration(const char *text, int64_t ms, const char *shown) {
    char out[TOOL_DURATION_TEXT_MAX];
    int64_t got = -1;
    assert_null(tool_duration_parse(text, &got));
    assert_int_equal(got, ms);
    assert_string_equal(tool_duration_show(ms, out, sizeof out), shown);
}

TEST(durations) {
    duration("0", 0, "0s");
    duration("1ms", 1, "1ms");
    duration("1500ms", 1500, "1500ms");
    duration("1.5s", 1500, "1500ms");
    duration("90s", 90000, "90s");
    duration("1.5m", 90000, "90s");
    duration("60m", 3600000, "1h");
    duration("24h", 86400000, "1d");
    duration("0.001d", 86400, "86400ms");
    duration("1000d", INT64_C(86400000000), "1000d");
}

TEST(no_durations) {
    const char *const texts[] = {"",    "s",    "10",      "-1s",   "+1s",
                                 " 1s", "1 s",  "1.0001s", "1001d", "1e3s",
                                 "1S",  "0x1s", ".5s",     "1ss",   "99999999999999999999ms"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        int64_t ms = -1;
        if (tool_duration_parse(texts[i], &ms) == NULL) {
            fail_msg("\"%s\" is taken for a duration", texts[i]);
        }
        assert_int_equal(ms, -1);
    }
}

TEST(seconds) {
    int64_t ms = -1;
    assert_true(tool_seconds_parse("0.05", &ms));
    assert_int_equal(ms, 50);
    assert_true(tool_seconds_parse("3600", &ms));
    assert_int_equal(ms, 3600000);
    assert_false(tool_seconds_parse("", &ms));
    assert_false(tool_seconds_parse("1s", &ms));
    assert_false(tool_seconds_parse("-1", &ms));
    assert_false(tool_seconds_parse("0.0005", &ms));
}

TEST(whole_numbers) {
    int64_t number = -1;
    assert_true(tool_whole_parse("0", &number));
    assert_int_equal(number, 0);
    assert_true(tool_whole_parse("9223372036854775807", &number));
    assert_int_equal(number, INT64_MAX);
    const char *const texts[] = {"", "-1", "+1", " 1", "1 ", "1.0", "0x1", "9223372036854775808"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (tool_whole_parse(texts[i], &number)) {
            fail_msg("\"%s\" is taken for a whole number", texts[i]);
        }
    }
}
