/* Options, without any server: each of them out of range in each direction, the message about it,
 * and that nothing leaks. The nodes are sockets that do not exist. */
#include <math.h>

#include "messages.h"
#include "unit/nowhere.h"

/* -- An allocator that counts -- */

static void *count_malloc(size_t size, void *data) {
    *(int *)data += 1;
    return malloc(size);
}

static void count_free(void *pointer, void *data) {
    *(int *)data -= pointer != NULL;
    free(pointer);
}

static int blocks; /* blocks in use */
static const redlock_allocator counting = {count_malloc, count_free, &blocks};

static redlock_client_options good_options(char *error, size_t size) {
    redlock_client_options options = nowhere_options(error, size);
    options.allocator = &counting;
    options.guard = REDLOCK_GUARD_OFF; /* so that a ttl of a day is allowed */
    return options;
}

/* -- Opening that fails -- */

/* Opens a client, and expects this status and both words in the message. Nothing may be left
 * behind. */
static void assert_refused(const redlock_client_options *options, int status, const char *word,
                           const char *other) {
    assert_no_client(options, status);
    if (word != NULL) {
        assert_contains(options->error, word);
        assert_contains(options->error, other);
    }
    assert_int_equal(blocks, 0);
}

struct number_row {
    size_t offset;
    const char *name;
    int64_t least, most;
};

#define NUMBER(name, least, most) \
    { offsetof(redlock_client_options, name), #name, least, most }

static const struct number_row numbers[] = {
    NUMBER(connect_timeout_ms, 1, 3600000),    NUMBER(node_timeout_ms, 1, 3600000),
    NUMBER(reconnect_min_ms, 1, 3600000),      NUMBER(reconnect_max_ms, 1, 3600000),
    NUMBER(drift_ms, 0, REDLOCK_TTL_MS_MAX),   NUMBER(lost_margin_ms, 0, REDLOCK_TTL_MS_MAX),
    NUMBER(max_ttl_ms, 1, REDLOCK_TTL_MS_MAX),
};

static void set_number(redlock_client_options *options, const struct number_row *row,
                       int64_t value) {
    memcpy((char *)options + row->offset, &value, sizeof value);
}

TEST(names_the_number_that_is_out_of_range) {
    for (size_t i = 0; i < COUNT(numbers); i++) {
        const int64_t wrong[] = {numbers[i].least - 1, numbers[i].most + 1, -1, INT64_MIN,
                                 INT64_MAX};
        for (size_t j = 0; j < COUNT(wrong); j++) {
            char error[REDLOCK_MESSAGE_MAX] = "left over";
            char value[32];
            redlock_client_options options = good_options(error, sizeof error);
            set_number(&options, &numbers[i], wrong[j]);
            snprintf(value, sizeof value, "%lld", (long long)wrong[j]);
            assert_refused(&options, REDLOCK_ERR_INVALID, numbers[i].name, value);
        }
    }
    char error[REDLOCK_MESSAGE_MAX];
    redlock_client_options options = good_options(error, sizeof error);
    options.reconnect_min_ms = 2001; /* the largest is 2000 */
    assert_refused(&options, REDLOCK_ERR_INVALID, "reconnect_min_ms", "reconnect_max_ms");
}

TEST(refuses_a_ratio_that_is_none) {
    static const double wrong[] = {
        -0.000001, -1, 1, 1.5, 1e300, -1e300, (double)NAN, (double)INFINITY, (double)-INFINITY};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char error[REDLOCK_MESSAGE_MAX];
        redlock_client_options options = good_options(error, sizeof error);
        options.drift_ratio = wrong[i];
        assert_refused(&options, REDLOCK_ERR_INVALID, "drift_ratio", "below 1");
    }
}

TEST(refuses_a_name_that_redis_would) {
    char too_long[66];
    memset(too_long, 'a', sizeof too_long - 1);
    too_long[sizeof too_long - 1] = '\0';
    const char *const wrong[] = {"",      too_long,  "two words", "line\n",
                                 "tab\t", "del\x7f", "\xc3\xa9"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char error[REDLOCK_MESSAGE_MAX];
        redlock_client_options options = good_options(error, sizeof error);
        options.client_name = wrong[i];
        assert_refused(&options, REDLOCK_ERR_INVALID, "client_name", "");
    }
}

TEST(refuses_half_an_allocator) {
    static const redlock_allocator wrong[] = {
        {NULL, count_free, NULL}, {count_malloc, NULL, NULL}, {NULL, NULL, NULL}};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char error[REDLOCK_MESSAGE_MAX];
        redlock_client_options options = good_options(error, sizeof error);
        options.allocator = &wrong[i];
        assert_refused(&options, REDLOCK_ERR_INVALID, "allocator", "malloc");
    }
}

TEST(refuses_a_number_of_nodes_that_is_of_no_use) {
    static const struct {
        size_t n_nodes;
        const char *word;
    } rows[] = {{0, "no nodes"}, {32, "32"}, {64, "64"}, {SIZE_MAX, "maximum is 31"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        char error[REDLOCK_MESSAGE_MAX];
        redlock_client_options options = good_options(error, sizeof error);
        options.n_nodes = rows[i].n_nodes;
        assert_refused(&options, REDLOCK_ERR_INVALID, rows[i].word, "nodes");
    }
    char error[REDLOCK_MESSAGE_MAX];
    redlock_client_options options = good_options(error, sizeof error);
    options.nodes = NULL;
    assert_refused(&options, REDLOCK_ERR_INVALID, "nodes", "URL");
}

struct url_row {
    const char *nodes[3];
    size_t n_nodes;
    int status;
    const char *word, *other;
};

TEST(says_which_url_and_why) {
    static const struct url_row rows[] = {
        {{NOWHERE "a", NOWHERE "a"}, 2, REDLOCK_ERR_DUPLICATE, &(NOWHERE "a")[7], "nodes 0 and 1"},
        {{NOWHERE "a", NOWHERE "b", NOWHERE "a?db=3"},
         3,
         REDLOCK_ERR_DUPLICATE,
         "0 and 2",
         "two votes"},
        {{"redis://h", "redis://u:secret@H:6379/1"}, 2, REDLOCK_ERR_DUPLICATE, "h:6379", "0 and 1"},
        {{"redis://127.0.0.1:1", "redis://[::ffff:127.0.0.1]:1"},
         2,
         REDLOCK_ERR_DUPLICATE,
         "0",
         "1"},
#ifndef RL_WITH_TLS
        {{NOWHERE "a", "rediss://h"}, 2, REDLOCK_ERR_NO_TLS, "rediss://h", "TLS"},
#endif
        {{NOWHERE "a", NOWHERE "b", "redis://h:0"}, 3, REDLOCK_ERR_URL, "redis://h:0", "port"},
        {{NOWHERE "a", NULL}, 2, REDLOCK_ERR_URL, "empty", "redis://HOST:PORT"},
        {{"redis://u:secret@h:x"}, 1, REDLOCK_ERR_URL, "***", "port"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char error[REDLOCK_MESSAGE_MAX];
        redlock_client_options options = good_options(error, sizeof error);
        options.nodes = rows[i].nodes;
        options.n_nodes = rows[i].n_nodes;
        assert_refused(&options, rows[i].status, rows[i].word, rows[i].other);
        assert_null(strstr(error, "secret"));
    }
}

TEST(can_do_without_a_place_for_the_sentence) {
    redlock_client_options options = good_options(NULL, REDLOCK_MESSAGE_MAX);
    options.n_nodes = 0;
    assert_refused(&options, REDLOCK_ERR_INVALID, NULL, NULL);
    options.n_nodes = 1;
    options.nodes = (const char *const[]){"redis://"};
    assert_refused(&options, REDLOCK_ERR_URL, NULL, NULL);
    options.nodes = (const char *const[]){NOWHERE "a", NOWHERE "a"};
    options.n_nodes = 2;
    assert_refused(&options, REDLOCK_ERR_DUPLICATE, NULL, NULL);
    for (size_t size = 0; size < 60; size++) { /* or with a small buffer for it */
        char error[64];
        memset(error, 0x5a, sizeof error);
        options = good_options(error, size);
        options.n_nodes = 0;
        assert_refused(&options, REDLOCK_ERR_INVALID, NULL, NULL);
        assert_int_equal(error[size], 0x5a);
        assert_true(size == 0 || strlen(error) < size);
    }
}

/* -- A client that is open, for what needs one -- */

static void close_all(void) {
    close_good();
    assert_int_equal(blocks, 0);
}

TEST(takes_the_ends_of_each_range) {
    for (size_t i = 0; i < COUNT(numbers); i++) {
        for (int end = 0; end < 2; end++) {
            char error[REDLOCK_MESSAGE_MAX] = "left over";
            redlock_client_options options = good_options(error, sizeof error);
            options.reconnect_min_ms = 1;
            set_number(&options, &numbers[i], end ? numbers[i].most : numbers[i].least);
            if (options.reconnect_min_ms > options.reconnect_max_ms) {
                options.reconnect_max_ms = options.reconnect_min_ms;
            }
            open_good(&options);
            assert_string_equal(error, "");
            close_all();
        }
    }
    static const double ratios[] = {0, 1e-9, 0.999999};
    for (size_t i = 0; i < COUNT(ratios); i++) {
        redlock_client_options options = good_options(NULL, 0);
        options.drift_ratio = ratios[i];
        options.client_name = i == 0 ? NULL : "~!";
        open_good(&options);
        close_all();
    }
}

TEST(takes_up_to_31_nodes) {
    char urls[REDLOCK_NAMED_MAX][64];
    const char *nodes[REDLOCK_NAMED_MAX];
    for (size_t i = 0; i < REDLOCK_NAMED_MAX; i++) {
        snprintf(urls[i], sizeof urls[i], NOWHERE "%zu", i);
        nodes[i] = urls[i];
    }
    for (size_t n = 1; n <= REDLOCK_NAMED_MAX; n += 10) {
        redlock_client_options options = good_options(NULL, 0);
        redlock_node_info info = REDLOCK_NODE_INFO_INIT;
        options.nodes = nodes;
        options.n_nodes = n;
        open_good(&options);
        assert_int_equal(redlock_client_node(open_client, n - 1, &info), 0);
        assert_string_equal(info.node, urls[n - 1] + 7);
        assert_int_equal(redlock_client_node(open_client, n, &info), REDLOCK_ERR_INVALID);
        close_all();
    }
}

/* -- Locks and acquires -- */

TEST(bounds_the_resource) {
    char resource[REDLOCK_RESOURCE_MAX + 1] = "a\0\r\n\xff";
    redlock_client_options options = good_options(NULL, 0);
    redlock_lock *lock = NULL;
    open_good(&options);
    for (size_t length = 0; length <= sizeof resource; length += length < 5 ? 1 : 255) {
        bool good = length >= 1 && length <= REDLOCK_RESOURCE_MAX;
        int status = redlock_lock_new(open_client, resource, length, &lock);
        assert_int_equal(status, good ? 0 : REDLOCK_ERR_INVALID);
        assert_int_equal(lock != NULL, good);
        if (good) {
            size_t got = 0;
            assert_memory_equal(redlock_lock_resource(lock, &got), resource, length);
            assert_int_equal(got, length);
            assert_ptr_equal(redlock_lock_client(lock), open_client);
            redlock_lock_free(lock);
        }
    }
    close_all();
}

#define ACQUIRE(name, ...)                                \
    {                                                     \
        offsetof(redlock_acquire_options, name), #name, { \
            __VA_ARGS__                                   \
        }                                                 \
    }

static const struct {
    size_t offset;
    const char *name;
    int64_t wrong[6]; /* a 0 after the first value is not a value */
} acquire_rows[] = {
    ACQUIRE(ttl_ms, 0, -1, INT64_MIN, INT64_MAX, 86400001),
    ACQUIRE(ttl_ms, 1, 2, 3), /* 2.03 ms of drift and 1 ms of min_validity leave nothing of it */
    ACQUIRE(tries, 0, -2, INT64_MIN, INT64_MAX, 4294967295),
    ACQUIRE(wait_ms, -2, INT64_MIN, INT64_MAX, 4294967295),
    ACQUIRE(delay_ms, -1, INT64_MIN, INT64_MAX, 86400001),
    ACQUIRE(jitter_ms, -1, INT64_MIN, INT64_MAX, 86400001),
    ACQUIRE(min_validity_ms, -1, INT64_MIN, INT64_MAX, 86400001),
    ACQUIRE(min_validity_ms, 9898, 86400000), /* the ttl's validity is just this */
    ACQUIRE(linger_ms, -1, INT64_MIN, INT64_MAX, 10001),
    ACQUIRE(renew_ms, 0, -2, INT64_MAX, 9896), /* on_lost takes 2 ms of the ttl's validity */
    ACQUIRE(max_hold_ms, 0, -5),
};

TEST(names_what_cannot_linger) {
    static const redlock_bytes names[] = {{"a", 1}, {"b", 1}};
    static const struct {
        int n, mode, permits, fencing, max_hold_ms, wanted;
    } rows[] = {{1, REDLOCK_EXCLUSIVE, 0, 1, REDLOCK_NO_LIMIT, REDLOCK_ERR_INVALID},
                {1, REDLOCK_EXCLUSIVE, 0, 0, 20000, REDLOCK_ERR_INVALID},
                {1, REDLOCK_SHARED, 0, 0, REDLOCK_NO_LIMIT, REDLOCK_ERR_INVALID},
                {1, REDLOCK_EXCLUSIVE, 2, 0, REDLOCK_NO_LIMIT, REDLOCK_ERR_INVALID},
                {2, REDLOCK_EXCLUSIVE, 0, 0, REDLOCK_NO_LIMIT, REDLOCK_ERR_INVALID},
                {1, REDLOCK_EXCLUSIVE, 0, 0, REDLOCK_NO_LIMIT, 0}};
    redlock_client_options options = good_options(NULL, 0);
    redlock_lock *lock;
    open_good(&options);
    for (size_t i = 0; i < COUNT(rows); i++) {
        redlock_lock_options what = REDLOCK_LOCK_OPTIONS_INIT;
        redlock_acquire_options acquire = REDLOCK_ACQUIRE_OPTIONS_INIT;
        what.resources = names;
        what.n_resources = (size_t)rows[i].n;
        what.mode = (enum redlock_mode)rows[i].mode;
        what.permits = rows[i].permits;
        acquire.fencing = rows[i].fencing;
        acquire.max_hold_ms = rows[i].max_hold_ms;
        acquire.linger_ms = acquire.ttl_ms;
        assert_int_equal(redlock_lock_new_with(open_client, &what, &lock, NULL, 0), 0);
        assert_int_equal(redlock_acquire(lock, &acquire, NULL, NULL), rows[i].wanted);
        assert_int_equal(strstr(LOCK_MESSAGE(lock), "linger_ms is 10000: it must be 0") != NULL,
                         rows[i].wanted != 0);
        redlock_lock_free(lock);
    }
    close_all();
}

TEST(names_the_acquire_option_that_is_out_of_range) {
    redlock_client_options options = good_options(NULL, 0);
    open_good(&options);
    redlock_lock *lock = new_lock();
    for (size_t i = 0; i < COUNT(acquire_rows); i++) {
        for (size_t j = 0; j < 6 && (j == 0 || acquire_rows[i].wrong[j] != 0); j++) {
            redlock_acquire_options acquire = REDLOCK_ACQUIRE_OPTIONS_INIT;
            char value[32];
            acquire.auto_extend = 1;
            memcpy((char *)&acquire + acquire_rows[i].offset, &acquire_rows[i].wrong[j],
                   sizeof(int64_t));
            snprintf(value, sizeof value, "%lld", (long long)acquire_rows[i].wrong[j]);
            int status = redlock_acquire(lock, &acquire, not_called, NULL);
            const char *message = LOCK_MESSAGE(lock);
            if (status == 0 || !strstr(message, acquire_rows[i].name) || !strstr(message, value)) {
                print_error("%s %s: %s\n", acquire_rows[i].name, value, message);
            }
            assert_int_equal(status, REDLOCK_ERR_INVALID);
            assert_contains(message, acquire_rows[i].name);
            assert_contains(message, value);
        }
    }
    redlock_acquire_options acquire = REDLOCK_ACQUIRE_OPTIONS_INIT;
    acquire.auto_extend = 2;
    assert_int_equal(redlock_acquire(lock, &acquire, not_called, NULL), REDLOCK_ERR_INVALID);
    assert_contains(LOCK_MESSAGE(lock), "auto_extend is 2");
    acquire.auto_extend = 1;
    acquire.ttl_ms = 12; /* on_lost takes exactly half of it */
    assert_int_equal(redlock_acquire(lock, &acquire, NULL, NULL), 0);
    close_all();
}

static void note_status(redlock_lock *lock, int status, void *data) {
    assert_int_equal(*(int *)data, 1); /* not yet, and once only */
    *(int *)data = status;
}

/* No node can be reached, so each acquire ends on its own or is cancelled. */
TEST(takes_the_ends_of_each_acquire_range) {
    static const struct {
        redlock_acquire_options options;
        int wanted; /* CANCELED: it would go on trying */
    } rows[] = {
#define ROW(ttl, tries, wait, delay, jitter, min, wanted)                                       \
    {{sizeof(redlock_acquire_options), ttl, tries, wait, delay, jitter, min, NULL, NULL, 0, -1, \
      -1, NULL, NULL, 0, 0, 0, 0},                                                              \
     wanted}
        ROW(4, 1, 10000, 0, 0, 1, REDLOCK_ERR_NO_QUORUM),
        ROW(3, 2, REDLOCK_NO_LIMIT, 0, 0, 0, REDLOCK_ERR_NO_QUORUM),
        ROW(86400000, REDLOCK_NO_LIMIT, 0, 86400000, 86400000, 1, REDLOCK_ERR_NO_QUORUM),
        ROW(86400000, REDLOCK_NO_LIMIT, 1, 86400000, 0, 85535997, REDLOCK_ERR_DEADLINE),
        ROW(10000, 4294967294, 4294967294, 86400000, 86400000, 9897, REDLOCK_ERR_CANCELED),
        ROW(10000, REDLOCK_NO_LIMIT, REDLOCK_NO_LIMIT, 86400000, 1, 0, REDLOCK_ERR_CANCELED),
#undef ROW
    };
    redlock_client_options options = good_options(NULL, 0);
    open_good(&options);
    redlock_lock *lock = new_lock();
    for (size_t i = 0; i < COUNT(rows); i++) {
        int status = 1;
        assert_int_equal(redlock_acquire(lock, &rows[i].options, note_status, &status), 0);
        assert_int_equal(status, 1); /* never inside the call that submits */
        if (rows[i].wanted == REDLOCK_ERR_CANCELED) {
            assert_int_equal(redlock_cancel(lock), 0);
        }
        while (status == 1) {
            uv_run(&open_loop, UV_RUN_ONCE);
        }
        const bool ran_out = status == REDLOCK_ERR_EXPIRED && rows[i].options.ttl_ms < 10;
        assert_int_equal(ran_out ? rows[i].wanted : status, rows[i].wanted); /* on a busy machine */
    }
    close_all();
}

TEST(has_nothing_to_end_before_an_acquire) {
    redlock_client_options options = good_options(NULL, 0);
    open_good(&options);
    redlock_lock *lock = new_lock();
    assert_int_equal(redlock_release(lock, not_called, NULL), REDLOCK_ERR_NOT_HELD);
    assert_int_equal(redlock_extend(lock, 0, not_called, NULL), REDLOCK_ERR_NOT_HELD);
    assert_int_equal(redlock_cancel(lock), REDLOCK_ERR_IDLE);
    assert_int_equal(redlock_lock_is_valid(lock), 0);
    assert_int_equal(redlock_lock_valid_until_ns(lock), 0);
    assert_int_equal(redlock_lock_remaining_ms(lock), 0);
    assert_string_equal(redlock_lock_token(lock), "");
    close_all();
}
