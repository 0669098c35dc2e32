/* Messages on a client's channel: the turn, the heir, a key that a node has passed on and the next
 * client; and no other text is accepted as one. */
#include "core/fence.h"
#include "redis/guard.h"
#include "unit/check.h"
#include "wait/line_call.h"

#define ID "0123456789abcdef"
#define NUMBER "fedcba9876543210"
#define TAIL "a1b2c3d4"
#define TOKEN ID NUMBER TAIL
#define OTHER "76543210fedcba9876543210fedcba9876543210"
#define NAME_32 "abcdefghijklmnopqrstuvwxyz012345"
#define MAC "00112233445566778899aabbccddeeff00112233"
#define NUMBER_18 "999999999999999999"

static bool parse(const char *payload, size_t length, struct rl_line_message *out) {
    static const redlock_client client = {.id = ID, .lines.tail = TAIL};
    memset(out, 0x5a, sizeof *out);
    return rl_line_parse(&client, payload, length, out);
}

TEST(takes_every_form) {
    static const struct {
        const char *payload;
        struct rl_line_message said;
    } rows[] = {
        {"turn " TOKEN, {.kind = RL_LINE_SAYS_TURN}},
        {"turn " TOKEN " 0", {.kind = RL_LINE_SAYS_TURN, .slots = {.n = 1}}},
        {"turn " TOKEN " 1023 0 3",
         {.kind = RL_LINE_SAYS_TURN, .slots = {.n = 3, .at = {1023, 0, 3}}}},
        {"turn " TOKEN " 1000 1001 1002 1003 1004 1005 1006 1007",
         {.kind = RL_LINE_SAYS_TURN,
          .slots = {.n = 8, .at = {1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007}}}},
        {"shut " TOKEN, {.kind = RL_LINE_SAYS_SHUT}},
        {"heir " TOKEN, {.kind = RL_LINE_SAYS_HEIR}},
        {"pass " TOKEN " 1795246000000001 1000 0 " MAC,
         {.kind = RL_LINE_SAYS_PASS, .time_us = 1795246000000001, .lease_ms = 1000}},
        {"pass " TOKEN " 0 1 7 " MAC, {.kind = RL_LINE_SAYS_PASS, .lease_ms = 1, .counter = 7}},
        {"pass " TOKEN " " NUMBER_18 " 4294967295 9006649498927104 " MAC,
         {.kind = RL_LINE_SAYS_PASS,
          .time_us = UINT64_C(999999999999999999),
          .lease_ms = UINT32_MAX,
          .counter = RL_FENCE_VOTE_MAX}},
        {"pass " TOKEN " 5 6 7 " MAC " " OTHER ":w:2",
         {.kind = RL_LINE_SAYS_PASS,
          .time_us = 5,
          .lease_ms = 6,
          .counter = 7,
          .next = OTHER ":w:2"}},
        {"next " TOKEN, {.kind = RL_LINE_SAYS_NEXT}},
        {"next " TOKEN " " OTHER, {.kind = RL_LINE_SAYS_NEXT, .next = OTHER}},
        {"next " TOKEN " " OTHER ":w:2", {.kind = RL_LINE_SAYS_NEXT, .next = OTHER ":w:2"}},
        {"next " TOKEN " " OTHER ":" NAME_32 NAME_32,
         {.kind = RL_LINE_SAYS_NEXT, .next = OTHER ":" NAME_32 NAME_32}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct rl_line_message *wanted = &rows[i].said;
        struct rl_line_message said;
        assert_true(parse(rows[i].payload, strlen(rows[i].payload), &said));
        assert_int_equal(said.kind, wanted->kind);
        assert_true(said.place == UINT64_C(0xfedcba9876543210));
        assert_string_equal(said.token, TOKEN);
        assert_true(said.time_us == wanted->time_us && said.counter == wanted->counter);
        assert_int_equal(said.lease_ms, wanted->lease_ms);
        assert_string_equal(said.mac, wanted->kind == RL_LINE_SAYS_PASS ? MAC : "");
        assert_string_equal(said.next, wanted->next);
        assert_int_equal(said.slots.n, wanted->slots.n);
        assert_memory_equal(said.slots.at, wanted->slots.at,
                            wanted->slots.n * sizeof wanted->slots.at[0]);
    }
}

static const char *const others[] = {
    "",
    "turn",
    "shut ",
    "turn " ID,
    "turn " ID NUMBER,
    "turn " ID NUMBER "a1b2c3d",
    "turn " ID NUMBER "a1b2c3dg",
    "turn " ID NUMBER "A1B2C3D4",
    "turn " ID "FEDCBA9876543210" TAIL,
    "turn " OTHER, /* another client's */
    "shut" TOKEN "0",
    "SHUT " TOKEN,
    "shut_" TOKEN,
    "shun " TOKEN,
    " shut " TOKEN,
    "shut  " TOKEN,
    /* Slots, and their owner. */
    "turn " TOKEN " 1 2 3 4 5 6 7 8 9",
    "turn " TOKEN " 1024",
    "turn " TOKEN " 1 1",
    "turn " TOKEN " ",
    "turn " TOKEN "0",
    "turn " TOKEN " " OTHER,
    "heir " TOKEN " 0",
    "heir " TOKEN " ",
    "heir " TOKEN "0",
    "shut " TOKEN " 0",
    "shut " TOKEN "0",
    /* Passes. */
    "pass " TOKEN,
    "pass " TOKEN " ",
    "pass " TOKEN " 5",
    "pass " TOKEN " 5 1000",
    "pass " TOKEN " 5 1000 ",
    "pass " TOKEN " 5 1000 0",
    "pass " TOKEN " 5 1000 0 ",
    "pass " TOKEN " 5 1000 " MAC,
    "pass " TOKEN " 5 1000 0 " OTHER ":w:2", /* not a value */
    "pass " TOKEN " 5 1000 0 0" MAC,
    "pass " TOKEN " 5 1000 0 00112233445566778899aabbccddeeff0011223",
    "pass " TOKEN " 5 1000 0 00112233445566778899AABBCCDDEEFF00112233",
    "pass " TOKEN "5 1000 0 " MAC,
    "pass " TOKEN "_5 1000 0 " MAC,
    "pass " TOKEN " 5 1000 0 " MAC " ",
    "pass " TOKEN " 5 1000 0 0 " MAC,
    "pass " TOKEN " 5 1000 0 " MAC " " OTHER " ",
    "pass " TOKEN " 5 1000 0 " MAC "  " OTHER,
    "pass " TOKEN " 5 1000 0 " MAC OTHER,
    "pass " TOKEN " 5 1000 0 " MAC " reserved",
    "pass " TOKEN "  5 1000 0 " MAC,
    "pass " TOKEN " 5  1000 0 " MAC,
    "pass " TOKEN " 5 1000  0 " MAC,
    "pass " TOKEN " 5 1000 0  " MAC,
    "pass " TOKEN " 5\t1000 0 " MAC,
    "pass " TOKEN " -5 1000 0 " MAC,
    "pass " TOKEN " 5 -1 0 " MAC,
    "pass " TOKEN " 5 +1 0 " MAC,
    "pass " TOKEN " 5 1000 -1 " MAC,
    "pass " TOKEN " 5 0 0 " MAC, /* a lease cannot be this short */
    "pass " TOKEN " 5 01 0 " MAC,
    "pass " TOKEN " 5 1e3 0 " MAC,
    "pass " TOKEN " 5 4294967296 0 " MAC,
    "pass " TOKEN " 5 1000 9006649498927105 " MAC,
    "pass " TOKEN " 1" NUMBER_18 " 1000 0 " MAC,
    "pass " TOKEN " 5 1000 0x " MAC,
    "pass " OTHER " 5 1000 0 " MAC,
    /* The next client. */
    "next " TOKEN " ",
    "next " TOKEN OTHER,
    "next " TOKEN "  " OTHER,
    "next " TOKEN " " OTHER " ",
    "next " TOKEN " " OTHER ":",
    "next " TOKEN " " OTHER "0",
    "next " TOKEN " " OTHER ":two words",
    "next " TOKEN " " OTHER ":" NAME_32 NAME_32 "x",
    "next " TOKEN " reserved",
    "next " TOKEN " reserved:shared",
    "next " TOKEN " redlock:shared",
    "next " TOKEN " 76543210FEDCBA9876543210fedcba9876543210",
    "next " OTHER " " TOKEN,
};

TEST(takes_nothing_else) {
    for (size_t i = 0; i < COUNT(others); i++) {
        struct rl_line_message said;
        if (parse(others[i], strlen(others[i]), &said)) {
            print_error("accepted: %s\n", others[i]);
        }
        assert_false(parse(others[i], strlen(others[i]), &said));
    }
}

/* Signs the secret, the message as the script sends it, and the resource's name, separated by
 * spaces. */
static void sign(struct rl_line_message *said, const char *secret, const char *name) {
    char text[160];
    int length =
        snprintf(text, sizeof text, "%s %s 1795246000000001 250 7 %s", secret, TOKEN, name);
    rl_sha1_hex(text, (size_t)length, said->mac);
}

static bool is_signed(const struct rl_line_message *said, uint64_t secret, const char *name) {
    struct rl_resource *resource = calloc(1, sizeof *resource + strlen(name));
    assert_non_null(resource);
    resource->length = (uint32_t)strlen(name);
    memcpy(resource->bytes, name, resource->length);
    const bool is = rl_line_is_signed(said, secret, resource);
    free(resource);
    return is;
}

TEST(knows_whose_pass_it_is) {
    const uint64_t secret = UINT64_C(4503599627370495);
    struct rl_line_message said = {
        .token = TOKEN, .time_us = 1795246000000001, .lease_ms = 250, .counter = 7};
    sign(&said, "4503599627370495", "orders");
    struct rl_line_message changed[] = {said, said, said, said, said};
    changed[0].time_us++;
    changed[1].lease_ms++;
    changed[2].counter++;
    memcpy(changed[3].token, OTHER, RL_TOKEN_LEN);
    changed[4].mac[RL_SHA1_LEN - 1] ^= 1;
    for (size_t i = 0; i < COUNT(changed); i++) {
        assert_false(is_signed(&changed[i], secret, "orders"));
    }
    assert_true(is_signed(&said, secret, "orders"));
    assert_false(is_signed(&said, secret - 1, "orders"));
    assert_false(is_signed(&said, secret, "order"));
    assert_false(is_signed(&said, secret, "orders2"));
    sign(&said, "0", "orders"); /* a node that has no secret */
    assert_false(is_signed(&said, 0, "orders"));
}

/* It does not read past the end, and a zero byte counts as a byte. */
TEST(goes_by_the_length) {
    static const char *const payloads[] = {
        "shut " TOKEN, "pass " TOKEN " 1795246000000001 1000 7 " MAC, "next " TOKEN " " OTHER};
    for (size_t i = 0; i < COUNT(payloads); i++) {
        const char *payload = payloads[i];
        const size_t whole = strlen(payload);
        struct rl_line_message said;
        for (size_t length = 0; length < whole; length++) {
            char *copy = malloc(length + 1); /* so that a sanitizer sees a read past its end */
            assert_non_null(copy);
            memcpy(copy, payload, length);
            const bool is_nobody = payload[0] == 'n' && length == strlen("next " TOKEN);
            assert_int_equal(parse(copy, length, &said), is_nobody);
            free(copy);
        }
        for (size_t at = 0; at < whole; at++) {
            char zero[160];
            memcpy(zero, payload, whole);
            zero[at] = '\0';
            assert_false(parse(zero, whole, &said));
        }
    }
}

/* The longest message that a listener can deliver is parsed, but nothing longer. */
TEST(takes_no_more_than_a_message) {
    for (size_t length = RL_PAYLOAD_MAX - 1; length <= RL_PAYLOAD_MAX + 64; length++) {
        char *payload = malloc(length);
        struct rl_line_message said;
        assert_non_null(payload);
        memset(payload, 'a', length);
        memcpy(payload, "turn " TOKEN, 45);
        assert_false(parse(payload, length, &said));
        free(payload);
    }
}
