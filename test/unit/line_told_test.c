/* What is said on a client's channel: whose turn it is, or who is the heir; and nothing else is
 * taken for that. */
#include "client/line_call.h"
#include "unit/check.h"

#define ID "0123456789abcdef"
#define NUMBER "fedcba9876543210"

static bool parse(const char *payload, size_t length, enum rl_line_event_type *type,
                  uint64_t *place, bool *shuts) {
    static const redlock_client client = {.id = ID};
    struct rl_slots slots;
    bool good = rl_line_parse(&client, payload, length, type, place, shuts, &slots);
    assert_true(!good || slots.n == 0);
    return good;
}

static void knows_the_three_words(void **state) {
    (void)state;
    static const struct {
        const char *payload;
        enum rl_line_event_type type;
        bool shuts;
    } rows[] = {
        {"turn " ID NUMBER, RL_LINE_EV_TURN, false},
        {"shut " ID NUMBER, RL_LINE_EV_TURN, true}, /* a reader's turn, and writers wait */
        {"heir " ID NUMBER, RL_LINE_EV_HEIR, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        enum rl_line_event_type type = RL_LINE_EV_TURN;
        uint64_t place = 0;
        bool shuts = !rows[i].shuts;
        assert_true(parse(rows[i].payload, strlen(rows[i].payload), &type, &place, &shuts));
        assert_int_equal(type, rows[i].type);
        assert_int_equal(shuts, rows[i].shuts);
        assert_true(place == UINT64_C(0xfedcba9876543210));
    }
}

/* Of a semaphore a turn has slots. */
static void knows_slots(void **state) {
    (void)state;
    static const redlock_client client = {.id = ID};
    static const struct {
        const char *payload;
        uint8_t n; /* 0: it is no message */
    } rows[] = {
        {"turn " ID NUMBER " 0", 1},
        {"turn " ID NUMBER " 1023 0 3", 3},
        {"turn " ID NUMBER " 1000 1001 1002 1003 1004 1005 1006 1007", 8},
        {"turn " ID NUMBER " 1 2 3 4 5 6 7 8 9", 0},
        {"turn " ID NUMBER " 1024", 0},
        {"turn " ID NUMBER " 1 1", 0},
        {"turn " ID NUMBER " ", 0},
        {"turn " ID NUMBER "0", 0},
        {"heir " ID NUMBER " 0", 0},
        {"shut " ID NUMBER " 0", 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        enum rl_line_event_type type;
        uint64_t place;
        bool shuts;
        struct rl_slots slots;
        bool good = rl_line_parse(&client, rows[i].payload, strlen(rows[i].payload), &type, &place,
                                  &shuts, &slots);
        assert_int_equal(good, rows[i].n > 0);
        assert_int_equal(good ? slots.n : 0, rows[i].n);
    }
}

static void takes_nothing_else(void **state) {
    (void)state;
    static const char *const others[] = {
        "",
        "turn",
        "shut ",
        "turn " ID,
        "shut" ID NUMBER "0",
        "shut " ID NUMBER "0",
        "SHUT " ID NUMBER,
        "shut_" ID NUMBER,
        "shun " ID NUMBER,
        "shut 1123456789abcdef" NUMBER, /* another client's */
        "shut " ID "fedcba987654321g",
        "shut " ID "FEDCBA9876543210",
        "shut " ID "0000000000000000", /* no place has it */
    };
    for (size_t i = 0; i < COUNT(others); i++) {
        enum rl_line_event_type type;
        uint64_t place;
        bool shuts;
        assert_false(parse(others[i], strlen(others[i]), &type, &place, &shuts));
    }
}

/* It does not read behind the end, and a zero byte is a byte. */
static void goes_by_the_length(void **state) {
    (void)state;
    static const char payload[] = "shut " ID NUMBER;
    enum rl_line_event_type type;
    uint64_t place;
    bool shuts;
    for (size_t length = 0; length < sizeof payload - 1; length++) {
        char *copy = malloc(length + 1); /* for those who watch the heap */
        assert_non_null(copy);
        memcpy(copy, payload, length);
        assert_false(parse(copy, length, &type, &place, &shuts));
        free(copy);
    }
    char zero[sizeof payload];
    memcpy(zero, payload, sizeof zero);
    zero[sizeof payload - 2] = '\0';
    assert_false(parse(zero, sizeof payload - 1, &type, &place, &shuts));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_the_three_words),
        cmocka_unit_test(knows_slots),
        cmocka_unit_test(takes_nothing_else),
        cmocka_unit_test(goes_by_the_length),
    };
    return cmocka_run_group_tests_name("line_told", tests, NULL, NULL);
}
