/* The answers of a query's script, parsed. */
#include "redis/reply.h"

#include "redlock/redlock.h"
#include "unit/check.h"

#define TOKEN "0123456789abcdef0123456789abcdef01234567"
#define NAME_32 "abcdefghijklmnopqrstuvwxyz012345"

TEST(takes_our_own_values) {
    static const struct {
        const char *text;
        int64_t remaining_ms;
        const char *holder;
    } rows[] = {
        {"5 s" TOKEN, 5, ""},
        {"0 s" TOKEN, 0, ""},
        {"-1 s" TOKEN, -1, ""},
        {"86400000 s" TOKEN ":host-1/4711", 86400000, "host-1/4711"},
        {"7 s" TOKEN ":a:b", 7, "a:b"},
        {"7 s" TOKEN ":" NAME_32 NAME_32, 7, NAME_32 NAME_32},
        {"9223372036854775807 s" TOKEN ":h", INT64_MAX, "h"},
        {"9223372036854775808 s" TOKEN ":h", INT64_MAX, "h"}, /* rounded as a Lua number */
        {"9999999999999999999 s" TOKEN ":h", INT64_MAX, "h"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rl_holder_reply seen;
        memset(&seen, 0x5a, sizeof seen);
        assert_true(rl_holder_reply_parse(rows[i].text, &seen));
        assert_string_equal(seen.token, TOKEN);
        assert_string_equal(seen.holder, rows[i].holder);
        assert_true(seen.remaining_ms == rows[i].remaining_ms);
    }
}

TEST(shows_what_is_not_ours) {
    static const struct {
        const char *text;
        const char *holder;
    } rows[] = {
        {"5 sstranger", "stranger"},
        {"5 sx", "x"},
        {"5 s two words ", " two words "},
        {"-1 s", "(empty string)"},
        {"5 tlist", "(list)"},
        {"-1 tReJSON-RL", "(ReJSON-RL)"},
        {"5 s0123456789abcdef0123456789abcdef0123456", "0123456789abcdef0123456789abcdef0123456"},
        {"5 s" TOKEN "8", TOKEN "8"},
        {"5 s" TOKEN ":", TOKEN ":"},
        {"5 s" TOKEN ":two words", TOKEN ":two words"},
        {"5 sreserve", "reserve"},
        {"5 sreservedx", "reservedx"},
        {"5 sreserved:", "reserved:"},
        {"5 sreserved:share", "reserved:share"},
        {"5 sreserved:shared ", "reserved:shared "},
        {"5 sreserved:" TOKEN, "reserved:" TOKEN},
        {"5 s" TOKEN "reserved", TOKEN "reserved"},
        {"5 s" TOKEN "-name", TOKEN "-name"},
        {"5 s0123456789ABCDEF0123456789ABCDEF01234567", "0123456789ABCDEF0123456789ABCDEF01234567"},
        {"5 s" TOKEN ":" NAME_32 NAME_32 "x",
         TOKEN ":" NAME_32 "abcdefghijklmnopqrstuvwxyz0123..."},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rl_holder_reply seen;
        memset(&seen, 0x5a, sizeof seen);
        assert_true(rl_holder_reply_parse(rows[i].text, &seen));
        assert_string_equal(seen.token, "");
        assert_string_equal(seen.holder, rows[i].holder);
        assert_false(seen.is_reserved);
    }
}

TEST(knows_reservations) {
    static const char *const texts[] = {"250 sreserved", "-1 sreserved", "7 sreserved:shared"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct rl_holder_reply seen;
        memset(&seen, 0x5a, sizeof seen);
        assert_true(rl_holder_reply_parse(texts[i], &seen));
        assert_true(seen.is_reserved && !seen.is_foreign);
        assert_string_equal(seen.token, "");
        assert_string_equal(seen.holder, "");
    }
}

TEST(knows_readers) {
    struct rl_holder_reply seen;
    memset(&seen, 0x5a, sizeof seen);
    assert_true(rl_holder_reply_parse("250 sredlock:shared", &seen));
    assert_true(seen.is_shared && !seen.is_foreign && !seen.is_reserved);
    assert_string_equal(seen.token, "");
    assert_string_equal(seen.holder, "");
    static const char *const others[] = {"1 sredlock:share", "1 sredlock:shared ", "1 sredlock:"};
    for (size_t i = 0; i < COUNT(others); i++) {
        assert_true(rl_holder_reply_parse(others[i], &seen));
        assert_true(!seen.is_shared && seen.is_foreign);
        assert_string_equal(seen.holder, others[i] + 3);
    }
    memset(&seen, 0x5a, sizeof seen);
    rl_holder_value_parse(TOKEN ":name", &seen); /* a reader's own */
    assert_string_equal(seen.token, TOKEN);
    assert_string_equal(seen.holder, "name");
    assert_int_equal(seen.remaining_ms, 0);
}

TEST(refuses_other_forms) {
    static const char *const texts[] = {
        "",
        "5",
        "5 ",
        " sx",
        "5sx",
        "-2 sx",
        "-1sx",
        "- sx",
        "-5 s",
        "+5 sx",
        "5 x",
        "5 Sx",
        "5 t",
        "5  sx",
        "x sx",
        "0x5 sx",
        "5.0 sx",
        "1e3 sx",
        "99999999999999999999 sx",
        "OK",
        "PONG",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct rl_holder_reply seen;
        if (rl_holder_reply_parse(texts[i], &seen)) {
            print_error("accepted: %s\n", texts[i]);
        }
        assert_false(rl_holder_reply_parse(texts[i], &seen));
    }
}
