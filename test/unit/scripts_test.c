/* The scripts as texts: their list, and what they require of a server. */
#include "redis/scripts/scripts.h"
#include "base/sha1.h"
#include "redis/command.h"
#include "unit/check.h"
#include "unit/script_shas.h"

/* The same bytes and hashes in every build, without comments. */
TEST(has_the_scripts_of_this_version) {
    static const char *const shas[] = {SCRIPT_SHAS};
    const char *script, *sha1;
    size_t count = 0, longest = 0;
    while ((script = rl_command_script_at(count, &sha1)) != NULL) {
        char hex[RL_SHA1_LEN + 1];
        rl_sha1_hex(script, strlen(script), hex);
        assert_string_equal(sha1, hex);
        bool is_known = false;
        for (size_t i = 0; i < COUNT(shas); i++) {
            is_known = is_known || strcmp(sha1, shas[i]) == 0;
        }
        assert_true(is_known);
        assert_null(strstr(script, "--"));
        assert_null(strstr(script, "\n "));
        longest = strlen(script) > longest ? strlen(script) : longest;
        count++;
    }
    assert_int_equal(count, COUNT(shas));
    assert_int_equal(longest, RL_SCRIPT_LENGTH_MAX);
}

/* An old server is enough: the scripts use only the commands and options of Redis 6.0. */
TEST(needs_no_newer_server_than_redis_6_0) {
    static const char commands[] =
        " del exists get getrange mget pexpire pexpireat pttl publish pubsub set time type "
        "zadd "
        "zcard "
        "zcount zpopmin zrange zrangebyscore zrank zrem zremrangebyscore zscore ";
    static const char *const options[] = {"'gt'",  "'lt'",      "'pxat'",     "'exat'",
                                          "'rev'", "'byscore'", "'get', 'px'"};
    const char *script, *sha1;
    size_t count = 0;
    for (size_t i = 0; (script = rl_command_script_at(i, &sha1)) != NULL; i++) {
        for (const char *at = script; (at = strstr(at, "call('")) != NULL; count++) {
            char word[32];
            at += strlen("call('");
            snprintf(word, sizeof word, " %.*s ", (int)strcspn(at, "'"), at);
            assert_contains(commands, word);
        }
        for (size_t k = 0; k < COUNT(options); k++) {
            assert_null(strcasestr(script, options[k]));
        }
    }
    assert_true(count > 100);
}
