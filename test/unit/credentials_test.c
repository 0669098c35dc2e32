/* New credentials during AUTH: every order of setting, answers and disconnects; what may be shown
 * of them; and that none stays in memory. */
#include "redis/credentials.h"
#include "redis/handshake.h"

#include "marks.h"
#include "redlock/redlock.h"
#include "unit/check.h"

static struct rl_credentials credentials(const char *user, const char *password) {
    struct rl_credentials made;
    assert_true(rl_credentials_set(&made, user, password));
    return made;
}

static bool is_blank(const void *memory, size_t size) {
    const char *bytes = memory;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

#define ASSERT_BLANK(place) assert_true(is_blank(&(place), sizeof(place)))

static void offer(struct rl_auth *auth, const char *password) {
    struct rl_credentials made = credentials("app", password);
    rl_auth_offer(auth, &made);
}

/* -- What can be set -- */

TEST(takes_what_can_be_sent) {
    char long_user[RL_URL_USER_MAX + 2], long_password[RL_URL_PASSWORD_MAX + 2];
    struct rl_credentials made;
    memset(long_user, 'u', sizeof long_user);
    memset(long_password, 'p', sizeof long_password);
    long_user[sizeof long_user - 1] = long_password[sizeof long_password - 1] = '\0';
    assert_false(rl_credentials_set(&made, "app", NULL));
    assert_false(rl_credentials_set(&made, "app", ""));
    assert_false(rl_credentials_set(&made, NULL, long_password));
    assert_false(rl_credentials_set(&made, long_user, "pass"));
    ASSERT_BLANK(made);
    assert_true(rl_credentials_set(&made, long_user + 1, long_password + 1));
    assert_string_equal(made.user, long_user + 1);
    assert_string_equal(made.password, long_password + 1);
    assert_true(rl_credentials_set(&made, NULL, "p w%40\xff"));
    assert_string_equal(made.user, "");
    rl_credentials_wipe(&made);
    ASSERT_BLANK(made);
}

/* -- From one to the next -- */

/* Credentials that are set while AUTH is outstanding wait for its answer, whatever it is, or for
 * the connection's end. */
TEST(later_ones_wait) {
    struct rl_url url;
    for (int how = 0; how < 3; how++) {
        struct rl_auth auth = {.state = RL_AUTH_SETTLED};
        assert_int_equal(rl_url_parse("redis://app:old@h", &url, NULL, 0), 0);
        MARK_FROM(CREDENTIALS_LATER);
        offer(&auth, "first");
        rl_auth_sent(&auth);
        offer(&auth, "second");
        offer(&auth, "third");
        assert_string_equal(auth.offered.password, "first");
        if (how == 0) {
            rl_auth_accepted(&auth, &url);
        } else if (how == 1) {
            rl_auth_refused(&auth, REDLOCK_ERR_NODE_AUTH, "WRONGPASS");
        } else {
            rl_auth_ended(&auth, RL_AUTH_ENDED);
        }
        MARK_TO(CREDENTIALS_LATER);
        assert_string_equal(url.password, how == 0 ? "first" : "old");
        assert_int_equal(auth.state, RL_AUTH_OFFERED);
        assert_int_equal(auth.reason, 0);
        assert_string_equal(auth.offered.password, "third");
        ASSERT_BLANK(auth.later);
    }
}

/* If a server ends a handshake, the next handshake does not send the new credentials. */
TEST(a_cut_skips_them_once) {
    struct rl_auth auth = {.state = RL_AUTH_SETTLED};
    rl_auth_ended(&auth, RL_AUTH_CUT_HANDSHAKE);
    assert_int_equal(auth.state, RL_AUTH_SETTLED); /* there is only one */
    offer(&auth, "new");
    rl_auth_ended(&auth, RL_AUTH_CUT_HANDSHAKE);
    assert_false(auth.is_skipped); /* they were not sent */
    for (int how = 0; how < 2; how++) {
        rl_auth_sent(&auth);
        if (how == 1) {
            rl_auth_refused(&auth, REDLOCK_ERR_NODE_AUTH, "WRONGPASS");
        }
        rl_auth_ended(&auth, RL_AUTH_CUT_HANDSHAKE);
        assert_true(auth.is_skipped);
        rl_auth_ended(&auth, RL_AUTH_CUT_HANDSHAKE);
        assert_false(auth.is_skipped);
    }
    rl_auth_sent(&auth);
    rl_auth_ended(&auth, RL_AUTH_CUT_HANDSHAKE);
    offer(&auth, "newer");
    assert_false(auth.is_skipped);
}

/* The node is up without them. They are sent then, unless they are known to be refused. */
TEST(skipped_ones_are_due) {
    static const struct {
        bool is_refused, is_cut_live, is_due;
    } rows[] = {{false, false, true}, {true, false, false}, {false, true, false}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rl_auth auth = {.state = RL_AUTH_SETTLED};
        assert_false(rl_auth_is_due(&auth));
        offer(&auth, "new");
        assert_true(rl_auth_is_due(&auth));
        rl_auth_sent(&auth);
        rl_auth_ended(&auth, rows[i].is_cut_live ? RL_AUTH_CUT_LIVE : RL_AUTH_ENDED);
        rl_auth_sent(&auth);
        if (rows[i].is_refused) {
            rl_auth_refused(&auth, REDLOCK_ERR_NODE_AUTH, "WRONGPASS");
        }
        assert_false(rl_auth_is_due(&auth));
        rl_auth_ended(&auth, RL_AUTH_CUT_HANDSHAKE);
        assert_true(auth.is_skipped);
        assert_true(rl_auth_is_due(&auth) == rows[i].is_due);
        offer(&auth, "newer");
        assert_true(rl_auth_is_due(&auth));
    }
}

/* After a regular refusal, the end of the connection does not count as a cut, whenever it comes. */
TEST(an_end_after_a_refusal_is_no_cut) {
    struct rl_auth auth = {.state = RL_AUTH_SETTLED};
    offer(&auth, "new");
    rl_auth_sent(&auth);
    rl_auth_refused(&auth, REDLOCK_ERR_NODE_AUTH, "WRONGPASS");
    rl_auth_ended(&auth, RL_AUTH_CUT_LIVE);
    assert_false(auth.is_cut_live || auth.is_skipped);
}

/* -- What may be shown -- */

TEST(hides_what_is_repeated) {
    static const struct {
        const char *text, *password, *shown;
    } rows[] = {
        {"WRONGPASS invalid username-password pair or user is disabled.", "hunter2",
         "WRONGPASS invalid username-password pair or user is disabled."},
        {"ERR unknown command 'AUTH', with args beginning with: 'app' 'hunter2' ", "hunter2",
         "ERR"},
        {"ERR unknown command 'AUTH', with args beginning with: 'app' 'hunt", "hunter2", "ERR"},
        {"ERR no: a", "a", "ERR"},
        {"hunter2 is wrong", "hunter2", ""},
        {"ERR hunter2", "ERROR", "ERR hunter2"},
        {"no code, hunter2", "hunter2", ""},
        {"ERR p?ss? is wrong", "p\x01ss\xff", "ERR"}, /* as it would be stored */
        {"", "hunter2", ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[RL_REPLY_TEXT_MAX];
        snprintf(text, sizeof text, "%s", rows[i].text);
        size_t length = strlen(text);
        rl_auth_hide(text, rows[i].password);
        assert_string_equal(text, rows[i].shown);
        if (strlen(text) < length) { /* nothing remains after its end */
            assert_true(is_blank(text + strlen(text), length - strlen(text)));
        }
    }
}

/* A shortened text may end within the password. */
TEST(hides_what_is_cut_off) {
    char text[RL_REPLY_TEXT_MAX];
    MARK_FROM(PASSWORD_REPEATED);
    memset(text, 'x', sizeof text);
    memcpy(text, "ERR ", 4);
    memcpy(text + sizeof text - 3, "hu", 3);
    rl_auth_hide(text, "hunter2");
    assert_string_equal(text, "ERR");
    MARK_TO(PASSWORD_REPEATED);
    snprintf(text, sizeof text, "ERR hu");
    rl_auth_hide(text, "hunter2");
    assert_string_equal(text, "ERR hu");
}
