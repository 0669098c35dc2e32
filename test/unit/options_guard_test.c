/* The options of the guard, without any server: what is refused. */
#include "messages.h"
#include "redlock/token.h"
#include "unit/nowhere.h"

TEST(refuses_a_guard_that_is_none) {
    static const int wrong[] = {-1, REDLOCK_GUARD_STRICT + 1, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char error[REDLOCK_MESSAGE_MAX], wanted[REDLOCK_MESSAGE_MAX];
        redlock_client_options options = nowhere_options(error, sizeof error);
        memcpy(&options.guard, &wrong[i], sizeof wrong[i]);
        snprintf(wanted, sizeof wanted,
                 "guard is %d: it must be one of REDLOCK_GUARD_STRICT, _OBSERVED and _OFF",
                 wrong[i]);
        assert_no_client(&options, REDLOCK_ERR_INVALID);
        assert_string_equal(error, wanted);
    }
}

#define ABOVE                                                                                    \
    "ttl_ms is %d, above max_ttl_ms, which is %d: the guard keeps a restarted node from voting " \
    "for no longer than that; ask for a shorter ttl and extend it, or raise max_ttl_ms in all "  \
    "clients"

/* The quarantine of a node is as long as max_ttl_ms: nothing may live longer. */
TEST(refuses_a_ttl_that_outlives_a_quarantine) {
    static const struct {
        enum redlock_guard guard;
        int64_t max_ttl_ms, ttl_ms;
        bool is_refused;
    } rows[] = {
        {REDLOCK_GUARD_STRICT, 30000, 30000, false},
        {REDLOCK_GUARD_STRICT, 30000, 30001, true},
        {REDLOCK_GUARD_OBSERVED, 5000, 5000, false},
        {REDLOCK_GUARD_OBSERVED, 5000, 5001, true},
        {REDLOCK_GUARD_STRICT, 86400000, 86400000, false},
        {REDLOCK_GUARD_OFF, 1, 86400000, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        redlock_client_options options = nowhere_options(NULL, 0);
        redlock_acquire_options acquire = REDLOCK_ACQUIRE_OPTIONS_INIT;
        char wanted[REDLOCK_MESSAGE_MAX];
        options.guard = rows[i].guard;
        options.max_ttl_ms = rows[i].max_ttl_ms;
        acquire.ttl_ms = rows[i].ttl_ms;
        snprintf(wanted, sizeof wanted, ABOVE, (int)rows[i].ttl_ms, (int)rows[i].max_ttl_ms);
        open_good(&options);
        redlock_lock *lock = new_lock();
        const char *token = "0123456789abcdef0123456789abcdef01234567";
        int status = redlock_adopt(lock, token, &acquire, NULL, NULL);
        assert_int_equal(status, rows[i].is_refused ? REDLOCK_ERR_INVALID : 0);
        if (rows[i].is_refused) {
            assert_string_equal(LOCK_MESSAGE(lock), wanted);
            status = redlock_acquire(lock, &acquire, not_called, NULL);
            assert_int_equal(status, REDLOCK_ERR_INVALID);
            assert_string_equal(LOCK_MESSAGE(lock), wanted);
        }
        close_good();
    }
}
