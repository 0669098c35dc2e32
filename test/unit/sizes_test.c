/* Every size of every struct that has one, in a heap block of exactly that size (a sanitizer sees
 * what is read or written beyond): only the initializer's size is accepted, and wherever there is a
 * message, it names the initializer that the program forgot. */
#include <uv.h>

#include "messages.h"
#include "redlock/blocking.h"
#include "redlock/election.h"
#include "redlock/redlock.h"
#include "redlock/rwlock.h"
#include "redlock/semaphore_blocking.h"
#include "redlock/token.h"
#include "unit/check.h"

#define BEYOND 64

static const char *const nowhere[] = {"unix:///nonexistent-redlock/0"};

/* What each of them is used for. */
static struct {
    uv_loop_t loop;
    redlock_client *client;
    redlock_lock *lock;
    redlock_blocking *blocking;
    char error[REDLOCK_MESSAGE_MAX];
} world;

static void ignore_lock(redlock_lock *lock, int status, void *data) {
    (void)lock, (void)status, (void)data;
}

static int use_client(void *options) {
    redlock_client *client;
    int status = redlock_client_open(&client, &world.loop, options, NULL, NULL);
    assert_int_equal(client == NULL, status != 0);
    if (status == 0) {
        redlock_client_close(client, NULL, NULL);
    }
    return status;
}

static int use_blocking(void *options) {
    redlock_blocking *blocking;
    int status = redlock_blocking_open(&blocking, options);
    if (blocking != NULL) {
        redlock_blocking_close(blocking);
        return 0; /* without a quorum, as it reports */
    }
    return status;
}

static int use_lock(void *options) {
    redlock_lock *lock;
    int status =
        redlock_lock_new_with(world.client, options, &lock, world.error, sizeof world.error);
    redlock_lock_free(lock);
    return status;
}

static int use_acquire(void *options) {
    int status = redlock_acquire(world.lock, options, ignore_lock, NULL);
    snprintf(world.error, sizeof world.error, "%s", status == 0 ? "" : LOCK_MESSAGE(world.lock));
    if (status == 0) {
        assert_int_equal(redlock_cancel(world.lock), 0);
        while (redlock_release(world.lock, NULL, NULL) == REDLOCK_ERR_BUSY) {
            uv_run(&world.loop, UV_RUN_NOWAIT); /* until its callback has run */
        }
    }
    return status;
}

static int use_mutex(void *options) {
    redlock_mutex *mutex;
    int status = redlock_mutex_new(world.blocking, "a", 1, options, &mutex);
    assert_int_equal(redlock_mutex_free(mutex), 0);
    return status;
}

static int use_rwlock(void *options) {
    redlock_rwlock *rwlock;
    int status = redlock_rwlock_new(world.blocking, "a", 1, options, &rwlock);
    assert_int_equal(redlock_rwlock_free(rwlock), 0);
    return status;
}

static int use_semaphore(void *options) {
    redlock_semaphore *semaphore;
    int status = redlock_semaphore_new(world.blocking, "a", 1, 2, options, &semaphore);
    assert_int_equal(redlock_semaphore_free(semaphore), 0);
    return status;
}

static int use_election(void *options) {
    redlock_election *election;
    int status =
        redlock_election_new(world.client, options, &election, world.error, sizeof world.error);
    redlock_election_free(election);
    return status;
}

static int use_stats(void *stats) {
    return redlock_client_stats(world.client, stats);
}

static int use_blocking_stats(void *stats) {
    return redlock_blocking_stats(world.blocking, stats);
}

static int use_node(void *info) {
    return redlock_client_node(world.client, 0, info);
}

static int use_outcome(void *outcome) {
    return redlock_lock_outcome(world.lock, 0, outcome);
}

static const redlock_bytes resource = {"a", 1};
static redlock_client_options client_options = REDLOCK_CLIENT_OPTIONS_INIT;
static redlock_lock_options lock_options = REDLOCK_LOCK_OPTIONS_INIT;
static redlock_acquire_options acquire_options = REDLOCK_ACQUIRE_OPTIONS_INIT;
static redlock_mutex_options mutex_options = REDLOCK_MUTEX_OPTIONS_INIT;
static redlock_rwlock_options rwlock_options = REDLOCK_RWLOCK_OPTIONS_INIT;
static redlock_semaphore_options semaphore_options = REDLOCK_SEMAPHORE_OPTIONS_INIT;
static redlock_election_options election_options = REDLOCK_ELECTION_OPTIONS_INIT;
static const redlock_stats stats = REDLOCK_STATS_INIT;
static const redlock_node_info node_info = REDLOCK_NODE_INFO_INIT;
static const redlock_node_outcome outcome = REDLOCK_NODE_OUTCOME_INIT;

static const struct row {
    const char *initializer;
    const void *good;
    size_t size;
    int (*use)(void *block);
    bool has_sentence;
} rows[] = {
    {"REDLOCK_CLIENT_OPTIONS_INIT", &client_options, sizeof client_options, use_client, true},
    {"REDLOCK_CLIENT_OPTIONS_INIT", &client_options, sizeof client_options, use_blocking, true},
    {"REDLOCK_LOCK_OPTIONS_INIT", &lock_options, sizeof lock_options, use_lock, true},
    {"REDLOCK_ACQUIRE_OPTIONS_INIT", &acquire_options, sizeof acquire_options, use_acquire, true},
    {"REDLOCK_MUTEX_OPTIONS_INIT", &mutex_options, sizeof mutex_options, use_mutex, true},
    {"REDLOCK_RWLOCK_OPTIONS_INIT", &rwlock_options, sizeof rwlock_options, use_rwlock, true},
    {"REDLOCK_SEMAPHORE_OPTIONS_INIT", &semaphore_options, sizeof semaphore_options, use_semaphore,
     true},
    {"REDLOCK_ELECTION_OPTIONS_INIT", &election_options, sizeof election_options, use_election,
     true},
    {"REDLOCK_STATS_INIT", &stats, sizeof stats, use_stats, false},
    {"REDLOCK_STATS_INIT", &stats, sizeof stats, use_blocking_stats, false},
    {"REDLOCK_NODE_INFO_INIT", &node_info, sizeof node_info, use_node, false},
    {"REDLOCK_NODE_OUTCOME_INIT", &outcome, sizeof outcome, use_outcome, false},
};

/* The struct, shortened or lengthened to a size that its own field gives. */
static int use_size(const struct row *row, size_t size, size_t named) {
    size_t room = size < sizeof size ? sizeof size : size;
    unsigned char *block = malloc(room);
    assert_non_null(block);
    memset(block, 0xaa, room);
    memcpy(block, row->good, size < row->size ? size : row->size);
    memcpy(block, &named, sizeof named);
    world.error[0] = '\0';
    int status = row->use(block);
    free(block);
    return status;
}

TEST(takes_the_initializers_size_only) {
    for (size_t i = 0; i < COUNT(rows); i++) {
        for (size_t size = 1; size <= rows[i].size + BEYOND; size++) {
            int status = use_size(&rows[i], size, size);
            if ((status == 0) != (size == rows[i].size)) {
                fail_msg("%s, row %zu: a size of %zu, not %zu, comes to %s", rows[i].initializer, i,
                         size, rows[i].size, redlock_err_name(status));
            }
            if (status != 0) {
                assert_int_equal(status, REDLOCK_ERR_INVALID);
            }
        }
        assert_int_equal(use_size(&rows[i], rows[i].size, SIZE_MAX), REDLOCK_ERR_INVALID);
    }
}

/* `options = {0}`, then the fields: the program lacks the defaults that it expects. */
TEST(names_the_initializer_that_was_forgotten) {
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(use_size(&rows[i], rows[i].size, 0), REDLOCK_ERR_INVALID);
        if (rows[i].has_sentence && (strstr(world.error, rows[i].initializer) == NULL ||
                                     strstr(world.error, "options.size is 0") == NULL)) {
            fail_msg("%s, row %zu: \"%s\"", rows[i].initializer, i, world.error);
        }
    }
}

TEST(names_it_to_a_later_version) {
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(use_size(&rows[i], rows[i].size + 8, rows[i].size + 8),
                         REDLOCK_ERR_INVALID);
        assert_true(!rows[i].has_sentence || strstr(world.error, rows[i].initializer) != NULL);
    }
}

/* -- The functions beside the initializers -- */

#define MADE(name, initializer)                        \
    static int init_##name(void *block, size_t size) { \
        return redlock_##name##_init(block, size);     \
    }                                                  \
    static const redlock_##name fresh_##name = initializer;
MADE(client_options, REDLOCK_CLIENT_OPTIONS_INIT)
MADE(lock_options, REDLOCK_LOCK_OPTIONS_INIT)
MADE(acquire_options, REDLOCK_ACQUIRE_OPTIONS_INIT)
MADE(mutex_options, REDLOCK_MUTEX_OPTIONS_INIT)
MADE(rwlock_options, REDLOCK_RWLOCK_OPTIONS_INIT)
MADE(semaphore_options, REDLOCK_SEMAPHORE_OPTIONS_INIT)
MADE(election_options, REDLOCK_ELECTION_OPTIONS_INIT)
MADE(stats, REDLOCK_STATS_INIT)
MADE(node_info, REDLOCK_NODE_INFO_INIT)
MADE(node_outcome, REDLOCK_NODE_OUTCOME_INIT)
MADE(node_holder, REDLOCK_NODE_HOLDER_INIT)
MADE(waiter, REDLOCK_WAITER_INIT)
MADE(reader, REDLOCK_READER_INIT)
MADE(slot, REDLOCK_SLOT_INIT)

static const struct made {
    const void *fresh;
    size_t size;
    int (*init)(void *block, size_t size);
} made[] = {
    {&fresh_client_options, sizeof fresh_client_options, init_client_options},
    {&fresh_lock_options, sizeof fresh_lock_options, init_lock_options},
    {&fresh_acquire_options, sizeof fresh_acquire_options, init_acquire_options},
    {&fresh_mutex_options, sizeof fresh_mutex_options, init_mutex_options},
    {&fresh_rwlock_options, sizeof fresh_rwlock_options, init_rwlock_options},
    {&fresh_semaphore_options, sizeof fresh_semaphore_options, init_semaphore_options},
    {&fresh_election_options, sizeof fresh_election_options, init_election_options},
    {&fresh_stats, sizeof fresh_stats, init_stats},
    {&fresh_node_info, sizeof fresh_node_info, init_node_info},
    {&fresh_node_outcome, sizeof fresh_node_outcome, init_node_outcome},
    {&fresh_node_holder, sizeof fresh_node_holder, init_node_holder},
    {&fresh_waiter, sizeof fresh_waiter, init_waiter},
    {&fresh_reader, sizeof fresh_reader, init_reader},
    {&fresh_slot, sizeof fresh_slot, init_slot},
};

/* The functions set what the macros set, and nothing if the caller passes another size. */
TEST(functions_set_what_the_macros_set) {
    for (size_t i = 0; i < COUNT(made); i++) {
        for (size_t size = 1; size <= made[i].size + BEYOND; size++) {
            unsigned char *block = malloc(size), *before = malloc(size);
            assert_true(block != NULL && before != NULL);
            memset(block, 0xaa, size);
            memset(before, 0xaa, size);
            bool is_known = size == made[i].size;
            assert_true(made[i].init(block, size) == (is_known ? 0 : REDLOCK_ERR_INVALID));
            if (is_known && made[i].fresh == &fresh_client_options) { /* two literals, or one */
                redlock_client_options *options = (void *)block;
                assert_string_equal(options->client_name, fresh_client_options.client_name);
                options->client_name = fresh_client_options.client_name;
            }
            assert_memory_equal(block, is_known ? made[i].fresh : before, size);
            free(block);
            free(before);
        }
    }
}

static int begin(void **state) {
    client_options.nodes = nowhere;
    client_options.n_nodes = COUNT(nowhere);
    client_options.error = world.error;
    client_options.error_size = sizeof world.error;
    lock_options.resources = &resource;
    lock_options.n_resources = 1;
    mutex_options.error = world.error;
    mutex_options.error_size = sizeof world.error;
    rwlock_options.error = world.error;
    rwlock_options.error_size = sizeof world.error;
    semaphore_options.error = world.error;
    semaphore_options.error_size = sizeof world.error;
    election_options.name = "e";
    election_options.name_length = 1;
    assert_int_equal(uv_loop_init(&world.loop), 0);
    assert_int_equal(redlock_client_open(&world.client, &world.loop, &client_options, NULL, NULL),
                     0);
    assert_int_equal(redlock_lock_new(world.client, "a", 1, &world.lock), 0);
    assert_int_equal(redlock_blocking_open(&world.blocking, &client_options),
                     REDLOCK_ERR_NO_QUORUM);
    return 0;
}

static int end(void **state) {
    assert_int_equal(redlock_client_close(world.client, NULL, NULL), 0);
    assert_int_equal(redlock_blocking_close(world.blocking), 0);
    assert_int_equal(uv_run(&world.loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&world.loop), 0);
    return 0;
}

TEST_GROUP(begin, end)
