/* A server's description of itself: parsed from any bytes that the other side sends as INFO. */
#include "redis/info.h"

#include "unit/check.h"

#define RUN_ID "0123456789abcdef0123456789abcdef01234567"
#define REPLID "fedcba9876543210fedcba9876543210fedcba98"

/* The fields in their order, one line each. */
enum { RUN, REPL, UPTIME, ROLE, LOADING, MAXMEMORY, POLICY, LINES };
static const char *const good[LINES] = {
    "run_id:" RUN_ID, "master_replid:" REPLID, "uptime_in_seconds:1234",      "role:master",
    "loading:0",      "maxmemory:0",           "maxmemory_policy:noeviction",
};

/* The valid lines, with one of them replaced (NULL: left out), each with this line end. */
static size_t compose(char *out, size_t size, int changed, const char *line, const char *end) {
    size_t used = (size_t)snprintf(out, size, "# Server%sredis_version:7.0.15%s", end, end);
    for (int i = 0; i < LINES; i++) {
        const char *text = i == changed ? line : good[i];
        if (text != NULL) {
            used += (size_t)snprintf(out + used, size - used, "%s%s", text, end);
        }
        assert_true(used < size);
    }
    return used;
}

static bool read_changed(struct rl_info *info, int changed, const char *line) {
    char text[1024];
    return rl_info_read(info, text, compose(text, sizeof text, changed, line, "\r\n"));
}

TEST(reads_what_it_needs_whatever_ends_a_line) {
    static const char *const ends[] = {"\r\n", "\n", "\r", "\n\r", "\r\n\r\n", "\n# x\n"};
    for (size_t i = 0; i < COUNT(ends); i++) {
        struct rl_info info;
        char text[1024];
        memset(&info, 0x5a, sizeof info);
        size_t length = compose(text, sizeof text, -1, NULL, ends[i]);
        assert_true(rl_info_read(&info, text, length));
        assert_null(info.problem);
        assert_string_equal(info.run_id, RUN_ID);
        assert_string_equal(info.replid, REPLID);
        assert_int_equal(info.uptime_s, 1234);
        assert_int_equal(info.maxmemory, 0);
        assert_false(info.is_replica || info.is_loading || info.evicts);
        assert_true(rl_info_read(&info, text, length - strlen(ends[i]))); /* without the last line
                                                                             end */
    }
}

TEST(reads_versions_where_they_are_said) {
    static const struct {
        const char *lines;
        uint32_t redis, valkey;
    } rows[] = {
        {"x:y", RL_INFO_VERSION(7, 0), 0}, /* compose()'s own */
        {"valkey_version:9.1.2", RL_INFO_VERSION(7, 0), RL_INFO_VERSION(9, 1)},
        {"valkey_version:10.12", RL_INFO_VERSION(7, 0), RL_INFO_VERSION(10, 12)},
        {"valkey_version:9.0.0-rc1", RL_INFO_VERSION(7, 0), RL_INFO_VERSION(9, 0)},
        {"valkey_version:9", RL_INFO_VERSION(7, 0), 0},
        {"valkey_version:9.", RL_INFO_VERSION(7, 0), 0},
        {"valkey_version:9..1", RL_INFO_VERSION(7, 0), 0},
        {"valkey_version:.9.1", RL_INFO_VERSION(7, 0), 0},
        {"valkey_version:v9.1", RL_INFO_VERSION(7, 0), 0},
        {"valkey_version:-9.1", RL_INFO_VERSION(7, 0), 0},
        {"valkey_version:99999.1", RL_INFO_VERSION(7, 0), 0},
        {"valkey_version:9999.9999", RL_INFO_VERSION(7, 0), RL_INFO_VERSION(9999, 9999)},
        {"valkey_version:", RL_INFO_VERSION(7, 0), 0},
        {"redis_version:8.6.3", 0, 0}, /* the version was given before */
        {"valkey_version:9.1.2\r\nvalkey_version:9.1.2", 0, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rl_info info;
        char line[256];
        memset(&info, 0x5a, sizeof info);
        snprintf(line, sizeof line, "%s\r\n%s", good[RUN], rows[i].lines);
        assert_true(read_changed(&info, RUN, line));
        assert_int_equal(info.redis, rows[i].redis);
        assert_int_equal(info.valkey, rows[i].valkey);
    }
}

TEST(says_which_field_is_not_there) {
    static const char *const names[LINES] = {
        "run_id",  "master_replid", "uptime_in_seconds", "role",
        "loading", "maxmemory",     "maxmemory_policy"};
    for (int i = 0; i < LINES; i++) {
        struct rl_info info;
        char twice[256];
        assert_false(read_changed(&info, i, NULL));
        assert_string_equal(info.field, names[i]);
        assert_string_equal(info.problem, "is missing");
        snprintf(twice, sizeof twice, "%s\r\n%s", good[i], good[i]);
        assert_false(read_changed(&info, i, twice));
        assert_string_equal(info.field, names[i]);
        assert_string_equal(info.problem, "appears twice");
        snprintf(twice, sizeof twice, "%s:", names[i]); /* empty */
        assert_false(read_changed(&info, i, twice));
        assert_string_equal(info.field, names[i]);
        assert_string_equal(info.problem, "has an unexpected value");
        snprintf(twice, sizeof twice, " %s", good[i]); /* another name */
        assert_false(read_changed(&info, i, twice));
        assert_string_equal(info.problem, "is missing");
    }
}

TEST(refuses_values_that_redis_does_not_write) {
    static const struct {
        int line;
        const char *text;
    } rows[] = {
        {RUN, "run_id:0123456789ABCDEF0123456789abcdef01234567"},
        {RUN, "run_id:0123456789abcdef0123456789abcdef0123456"},
        {RUN, "run_id:0123456789abcdef0123456789abcdef012345678"},
        {RUN, "run_id: 123456789abcdef0123456789abcdef01234567"},
        {REPL, "master_replid:?"},
        {UPTIME, "uptime_in_seconds:1.5"},
        {UPTIME, "uptime_in_seconds:-"},
        {UPTIME, "uptime_in_seconds:--1"},
        {UPTIME, "uptime_in_seconds:0x10"},
        {UPTIME, "uptime_in_seconds:+1"},
        {ROLE, "role:sentinel"},
        {ROLE, "role:masterful"},
        {ROLE, "role:active-replica"},
        {LOADING, "loading:no"},
        {LOADING, "loading:-1"},
        {MAXMEMORY, "maxmemory:1gb"},
        {MAXMEMORY, "maxmemory:-1"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rl_info info;
        if (read_changed(&info, rows[i].line, rows[i].text)) {
            fail_msg("taken: %s", rows[i].text);
        }
        assert_string_equal(info.problem, "has an unexpected value");
    }
}

TEST(tells_states_apart) {
    struct rl_info info;
    assert_true(read_changed(&info, ROLE, "role:slave"));
    assert_true(info.is_replica);
    assert_true(read_changed(&info, LOADING, "loading:1"));
    assert_true(info.is_loading);
    assert_true(read_changed(&info, MAXMEMORY, "maxmemory:1048576"));
    assert_int_equal(info.maxmemory, 1048576);
    assert_false(info.evicts); /* noeviction */
    assert_true(read_changed(&info, POLICY, "maxmemory_policy:volatile-ttl"));
    assert_false(info.evicts); /* no limit, so nothing is ever evicted */
    assert_true(read_changed(&info, POLICY, "maxmemory_policy:x\r\nused_memory:1"));
    char text[1024];
    size_t length = compose(text, sizeof text, POLICY,
                            "maxmemory_policy:allkeys-lru\r\nmaxmemory_human:1M", "\r\n");
    memcpy(strstr(text, "maxmemory:0") + 10, "9", 1);
    assert_true(rl_info_read(&info, text, length));
    assert_true(info.evicts);
}

TEST(bounds_numbers) {
    static const struct {
        const char *text;
        uint64_t wanted;
    } rows[] = {
        {"uptime_in_seconds:0", 0},
        {"uptime_in_seconds:-86400", 0}, /* the server's clock was set back */
        {"uptime_in_seconds:00000000000000000000000000007", 7},
        {"uptime_in_seconds:18446744073709551615", UINT64_MAX},
        {"uptime_in_seconds:18446744073709551616", UINT64_MAX},
        {"uptime_in_seconds:99999999999999999999999999999999999999999", UINT64_MAX},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rl_info info;
        assert_true(read_changed(&info, UPTIME, rows[i].text));
        assert_true(info.uptime_s == rows[i].wanted);
    }
}

TEST(takes_zero_bytes_for_what_they_are) {
    for (size_t at = 0;; at++) {
        struct rl_info info;
        char text[1024];
        size_t length = compose(text, sizeof text, -1, NULL, "\n");
        if (at == length) {
            break;
        }
        bool is_end = text[at] == '\n', is_ours = at > strlen("# Server\nredis_version:7.0.15\n") &&
                                                  at < (size_t)(strstr(text, "noeviction") - text);
        text[at] = '\0';
        bool read = rl_info_read(&info, text, length);
        assert_int_equal(read, info.problem == NULL);
        if (is_ours && !is_end) {
            assert_false(read);
        }
    }
}

/* Garbage and valid lines in a random order: no crash, and the known fields are well-formed. */
TEST(counts_deletions) {
    static const struct {
        const char *text;
        uint64_t flushes;
    } rows[] = {
        {"", 0},
        {"# Commandstats\r\ncmdstat_get:calls=9,usec=1\r\n", 0},
        {"cmdstat_flushall:calls=3,usec=10,usec_per_call=1.00,failed_calls=0\r\n", 3},
        {"cmdstat_flushdb:calls=2\ncmdstat_swapdb:calls=40,usec=1\ncmdstat_flushall:calls=100,\n",
         142},
        {"cmdstat_flushall:calls=\r\ncmdstat_flushdb:calls=x,\r\ncmdstat_swapdb:3\r\n", 0},
        {"cmdstat_flushall_:calls=3,\ncmdstat_flushal:calls=3,\ncmdstat_flushall", 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(rl_info_flushes(rows[i].text, strlen(rows[i].text)), rows[i].flushes);
    }
}
