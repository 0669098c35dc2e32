/* The status codes: every one has a name, a text and its own number; and the version is the
 * header's. */
#include <strings.h>

#include "redlock/redlock.h"
#include "unit/check.h"

static const struct {
    int value;
    const char *name;
    const char *text;
} map[] = {
#define ROW(name, value, text) {(value), #name, text},
    REDLOCK_STATUS_MAP(ROW)
#undef ROW
};

TEST(has_a_name_and_a_text_for_each) {
    for (size_t i = 0; i < COUNT(map); i++) {
        assert_string_equal(redlock_err_name(map[i].value), map[i].name);
        assert_string_equal(redlock_strerror(map[i].value), map[i].text);
        assert_true(strlen(map[i].text) > 0);
        assert_true(strlen(map[i].text) < 100);
        assert_null(strpbrk(map[i].text, "\r\n"));
        assert_true(i == 0 ? map[i].value == 0 : map[i].value < 0);
        assert_true(i == 0 || strncmp(map[i].name, "ERR_", 4) == 0);
    }
}

TEST(tells_them_apart) {
    for (size_t i = 0; i < COUNT(map); i++) {
        for (size_t j = 0; j < i; j++) {
            assert_int_not_equal(map[i].value, map[j].value);
            assert_string_not_equal(map[i].name, map[j].name);
            assert_string_not_equal(map[i].text, map[j].text);
        }
    }
}

/* The numbers are part of the ABI: a few from each block. */
TEST(keeps_its_numbers) {
    assert_int_equal(REDLOCK_OK, 0);
    assert_int_equal(REDLOCK_ERR_INVALID, -1);
    assert_int_equal(REDLOCK_ERR_ALREADY_HELD, -12);
    assert_int_equal(REDLOCK_ERR_WOULD_DEADLOCK, -16);
    assert_int_equal(REDLOCK_ERR_HELD, -20);
    assert_int_equal(REDLOCK_ERR_UNKNOWN, -26);
    assert_int_equal(REDLOCK_ERR_NODE_DOWN, -40);
    assert_int_equal(REDLOCK_ERR_NODE_ERROR, -56);
}

TEST(is_not_confused_by_other_numbers) {
    static const int others[] = {1, -17, -19, -28, -39, -99, -1000, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < COUNT(others); i++) {
        assert_string_equal(redlock_err_name(others[i]), "ERR_?");
        assert_true(strlen(redlock_strerror(others[i])) > 0);
        assert_int_equal(redlock_is_retryable(others[i]), 0);
    }
}

TEST(says_what_may_be_tried_again) {
    static const int retryable[] = {
        REDLOCK_ERR_HELD,    REDLOCK_ERR_NO_QUORUM, REDLOCK_ERR_EXPIRED, REDLOCK_ERR_DEADLINE,
        REDLOCK_ERR_UNKNOWN, REDLOCK_ERR_BUSY,      REDLOCK_ERR_NOMEM,
    };
    for (size_t i = 0; i < COUNT(map); i++) {
        int wanted = 0;
        for (size_t j = 0; j < COUNT(retryable); j++) {
            wanted |= map[i].value == retryable[j];
        }
        assert_int_equal(redlock_is_retryable(map[i].value), wanted);
    }
}

TEST(knows_its_version) {
    char wanted[32];
    snprintf(wanted, sizeof wanted, "%d.%d.%d", REDLOCK_VERSION_MAJOR, REDLOCK_VERSION_MINOR,
             REDLOCK_VERSION_PATCH);
    assert_string_equal(redlock_version(), wanted);
    assert_string_equal(redlock_version(), REDLOCK_VERSION);
}

/* The name is the identifier's, in lower case: it can be searched for. */
TEST(names_the_enumerations) {
    const struct {
        const char *name, *identifier;
    } names[] = {
        {redlock_guard_name(REDLOCK_GUARD_OFF), "OFF"},
        {redlock_guard_name(REDLOCK_GUARD_OBSERVED), "OBSERVED"},
        {redlock_guard_name(REDLOCK_GUARD_STRICT), "STRICT"},
        {redlock_vote_name(REDLOCK_VOTE_NONE), "NONE"},
        {redlock_vote_name(REDLOCK_VOTE_PENDING), "PENDING"},
        {redlock_vote_name(REDLOCK_VOTE_GRANTED), "GRANTED"},
        {redlock_vote_name(REDLOCK_VOTE_REFUSED), "REFUSED"},
        {redlock_vote_name(REDLOCK_VOTE_FAILED), "FAILED"},
        {redlock_event_name(REDLOCK_EVENT_NODE_UP), "NODE_UP"},
        {redlock_event_name(REDLOCK_EVENT_NODE_DOWN), "NODE_DOWN"},
        {redlock_event_name(REDLOCK_EVENT_ATTEMPT), "ATTEMPT"},
        {redlock_event_name(REDLOCK_EVENT_EXTEND), "EXTEND"},
        {redlock_event_name(REDLOCK_EVENT_RELEASE), "RELEASE"},
        {redlock_event_name(REDLOCK_EVENT_REPAIR), "REPAIR"},
        {redlock_event_name(REDLOCK_EVENT_VOTE), "VOTE"},
        {redlock_event_name(REDLOCK_EVENT_LATE_VOTE), "LATE_VOTE"},
        {redlock_event_name(REDLOCK_EVENT_ACQUIRED), "ACQUIRED"},
        {redlock_event_name(REDLOCK_EVENT_DONE), "DONE"},
        {redlock_event_name(REDLOCK_EVENT_LOST), "LOST"},
        {redlock_event_name(REDLOCK_EVENT_RELEASE_PENDING), "RELEASE_PENDING"},
        {redlock_event_name(REDLOCK_EVENT_RELEASE_RETRIED), "RELEASE_RETRIED"},
        {redlock_event_name(REDLOCK_EVENT_RELEASE_DROPPED), "RELEASE_DROPPED"},
        {redlock_event_name(REDLOCK_EVENT_LISTEN_UP), "LISTEN_UP"},
        {redlock_event_name(REDLOCK_EVENT_LISTEN_DOWN), "LISTEN_DOWN"},
        {redlock_event_name(REDLOCK_EVENT_RELEASE_NOTIFIED), "RELEASE_NOTIFIED"},
        {redlock_event_name(REDLOCK_EVENT_FENCE), "FENCE"},
        {redlock_event_name(REDLOCK_EVENT_NODE_QUARANTINED), "NODE_QUARANTINED"},
        {redlock_event_name(REDLOCK_EVENT_NODE_VOTES), "NODE_VOTES"},
        {redlock_event_name(REDLOCK_EVENT_JOIN), "JOIN"},
        {redlock_event_name(REDLOCK_EVENT_TURN), "TURN"},
        {redlock_event_name(REDLOCK_EVENT_TAKE), "TAKE"},
        {redlock_event_name(REDLOCK_EVENT_LEAVE), "LEAVE"},
        {redlock_event_name(REDLOCK_EVENT_UPGRADE), "UPGRADE"},
        {redlock_event_name(REDLOCK_EVENT_CREDENTIALS_ACCEPTED), "CREDENTIALS_ACCEPTED"},
        {redlock_event_name(REDLOCK_EVENT_CREDENTIALS_REFUSED), "CREDENTIALS_REFUSED"},
        {redlock_event_name(REDLOCK_EVENT_SUBMITTED), "SUBMITTED"},
        {redlock_event_name(REDLOCK_EVENT_WAITING), "WAITING"},
        {redlock_event_name(REDLOCK_EVENT_PAUSE), "PAUSE"},
        {redlock_event_name(REDLOCK_EVENT_PLACE), "PLACE"},
        {redlock_event_name(REDLOCK_EVENT_FAILED), "FAILED"},
        {redlock_event_name(REDLOCK_EVENT_RELEASED), "RELEASED"},
    };
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_int_equal(strcasecmp(names[i].name, names[i].identifier), 0);
        assert_null(strpbrk(names[i].name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"));
    }
    static const int others[] = {-1, 99, INT32_MAX};
    for (size_t i = 0; i < COUNT(others); i++) {
        assert_string_equal(redlock_guard_name((enum redlock_guard)others[i]), "?");
        assert_string_equal(redlock_vote_name((enum redlock_vote)others[i]), "?");
        assert_string_equal(redlock_event_name((enum redlock_event_type)others[i]), "?");
    }
    assert_string_equal(redlock_event_name((enum redlock_event_type)0), "?");
}
