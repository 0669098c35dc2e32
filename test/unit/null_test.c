/* Passes NULL to every public function for each pointer that it needs: the rule is in redlock.h.
 * test/headers/headers.sh demands that this file calls each function of the headers. */
#include <uv.h>

#include "redlock/blocking.h"
#include "redlock/election.h"
#include "redlock/redlock.h"
#include "redlock/rwlock.h"
#include "redlock/semaphore.h"
#include "redlock/semaphore_blocking.h"
#include "redlock/token.h"
#include "unit/check.h"

static const char *const nowhere[] = {"unix:///nonexistent-redlock/0"};
static const redlock_bytes no_bytes = {NULL, 1};

static struct {
    uv_loop_t loop;
    redlock_client *client;
    redlock_lock *lock;
    redlock_blocking *blocking;
    redlock_mutex *mutex;
    redlock_rwlock *rwlock;
    redlock_semaphore *semaphore;
} world;

static redlock_client_options client_options = REDLOCK_CLIENT_OPTIONS_INIT;
static redlock_lock_options lock_options = REDLOCK_LOCK_OPTIONS_INIT;
static redlock_election_options election_options = REDLOCK_ELECTION_OPTIONS_INIT;

struct row {
    const char *call;
    bool is_as_ruled;
};

#define STATUS(call) \
    { #call, (call) == REDLOCK_ERR_INVALID }
#define NOTHING(call) \
    { #call, (call) == 0 }
#define TEXT(call) \
    { #call, is_empty(call) }
#define POINTER(call) \
    { #call, (call) == NULL }
#define IGNORED(call) \
    { #call, ((call), true) }
#define NEEDS_NONE(call) \
    { #call, (call) != 0 }

static bool is_empty(const char *text) {
    return text != NULL && text[0] == '\0';
}

static void check(const struct row rows[], size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!rows[i].is_as_ruled) {
            fail_msg("%s", rows[i].call);
        }
    }
}

static void ignore_query(redlock_query *query, int status, void *data) {
    (void)query, (void)status, (void)data;
}

TEST(client_and_status) {
    redlock_stats stats = REDLOCK_STATS_INIT;
    redlock_node_info info = REDLOCK_NODE_INFO_INIT;
    redlock_client_options none = client_options;
    redlock_client *client;
    char buffer[REDLOCK_MESSAGE_MAX];
    none.nodes = NULL;
    const struct row rows[] = {
        STATUS(redlock_client_open(NULL, &world.loop, &client_options, NULL, NULL)),
        STATUS(redlock_client_open(&client, NULL, &client_options, NULL, NULL)),
        STATUS(redlock_client_open(&client, &world.loop, NULL, NULL, NULL)),
        STATUS(redlock_client_open(&client, &world.loop, &none, NULL, NULL)),
        POINTER(client),
        STATUS(redlock_client_close(NULL, NULL, NULL)),
        TEXT(redlock_client_message(NULL, buffer, sizeof buffer)),
        TEXT(redlock_client_message(world.client, NULL, sizeof buffer)),
        TEXT(redlock_client_message(world.client, buffer, 0)),
        STATUS(redlock_client_set_credentials(NULL, REDLOCK_ALL_NODES, "user", "password")),
        STATUS(redlock_client_set_credentials(world.client, 0, "user", NULL)),
        STATUS(redlock_client_stats(NULL, &stats)),
        STATUS(redlock_client_stats(world.client, NULL)),
        STATUS(redlock_metrics_format(NULL, REDLOCK_METRICS_PROMETHEUS, buffer, sizeof buffer)),
        STATUS(redlock_metrics_format(world.client, REDLOCK_METRICS_PROMETHEUS, NULL, 1)),
        STATUS(redlock_client_node(NULL, 0, &info)),
        STATUS(redlock_client_node(world.client, 0, NULL)),
        NEEDS_NONE(redlock_version()),
        NEEDS_NONE(redlock_has_tls()),
        NEEDS_NONE(redlock_now_ns()),
        NEEDS_NONE(redlock_strerror(REDLOCK_ERR_HELD)),
        NEEDS_NONE(redlock_err_name(REDLOCK_ERR_HELD)),
        NEEDS_NONE(redlock_is_retryable(REDLOCK_ERR_HELD)),
        NEEDS_NONE(redlock_guard_name(REDLOCK_GUARD_OFF)),
        NEEDS_NONE(redlock_event_name(REDLOCK_EVENT_DONE)),
        STATUS(redlock_client_options_init(NULL, sizeof(redlock_client_options))),
        STATUS(redlock_stats_init(NULL, sizeof(redlock_stats))),
        STATUS(redlock_node_info_init(NULL, sizeof(redlock_node_info))),
    };
    check(rows, COUNT(rows));
}

TEST(locks) {
    redlock_node_outcome outcome = REDLOCK_NODE_OUTCOME_INIT;
    redlock_lock_options none = lock_options, nameless = lock_options;
    redlock_lock *lock;
    const int32_t slot = 0;
    size_t length = 7;
    char buffer[REDLOCK_MESSAGE_MAX];
    none.resources = NULL;
    nameless.resources = &no_bytes;
    const struct row rows[] = {
        STATUS(redlock_lock_new(NULL, "a", 1, &lock)),
        STATUS(redlock_lock_new(world.client, NULL, 1, &lock)),
        STATUS(redlock_lock_new(world.client, "a", 1, NULL)),
        STATUS(redlock_lock_new_with(NULL, &lock_options, &lock, NULL, 7)),
        STATUS(redlock_lock_new_with(world.client, NULL, &lock, NULL, 7)),
        STATUS(redlock_lock_new_with(world.client, &none, &lock, NULL, 7)),
        STATUS(redlock_lock_new_with(world.client, &nameless, &lock, NULL, 7)),
        STATUS(redlock_lock_new_with(world.client, &lock_options, NULL, NULL, 7)),
        POINTER(lock),
        IGNORED(redlock_lock_free(NULL)),
        STATUS(redlock_acquire(NULL, NULL, NULL, NULL)),
        STATUS(redlock_acquire_any(NULL, 1, NULL, NULL, NULL)),
        STATUS(redlock_acquire_any(&lock, 1, NULL, NULL, NULL)),
        STATUS(redlock_extend(NULL, 0, NULL, NULL)),
        STATUS(redlock_lock_alive(NULL)),
        STATUS(redlock_downgrade(NULL, NULL, NULL)),
        STATUS(redlock_try_upgrade(NULL, NULL, NULL)),
        NOTHING(redlock_lock_mode(NULL)),
        STATUS(redlock_release(NULL, NULL, NULL)),
        STATUS(redlock_cancel(NULL)),
        NOTHING(redlock_lock_is_valid(NULL)),
        NOTHING(redlock_lock_valid_until_ns(NULL)),
        NOTHING(redlock_lock_remaining_ms(NULL)),
        TEXT(redlock_lock_token(NULL)),
        NOTHING(redlock_lock_fence(NULL)),
        NEEDS_NONE(redlock_lock_slot(NULL, 0)),
        STATUS(redlock_lock_set_slots(NULL, &slot, 1)),
        STATUS(redlock_lock_set_slots(world.lock, NULL, 1)),
        STATUS(redlock_set_permits(NULL, "a", 1, 1, ignore_query, NULL)),
        STATUS(redlock_set_permits(world.client, NULL, 1, 1, ignore_query, NULL)),
        STATUS(redlock_set_permits(world.client, "a", 1, 1, NULL, NULL)),
        POINTER(redlock_lock_resource(NULL, &length)),
        NOTHING(length),
        POINTER(redlock_lock_resource(NULL, NULL)),
        NEEDS_NONE(redlock_lock_resource(world.lock, NULL)),
        POINTER(redlock_lock_client(NULL)),
        TEXT(redlock_lock_message(NULL, buffer, sizeof buffer)),
        TEXT(redlock_lock_message(world.lock, NULL, sizeof buffer)),
        TEXT(redlock_lock_message(world.lock, buffer, 0)),
        STATUS(redlock_lock_attempt_status(NULL)),
        STATUS(redlock_lock_outcome(NULL, 0, &outcome)),
        STATUS(redlock_lock_outcome(world.lock, 0, NULL)),
        STATUS(redlock_lock_options_init(NULL, sizeof(redlock_lock_options))),
        STATUS(redlock_acquire_options_init(NULL, sizeof(redlock_acquire_options))),
        STATUS(redlock_node_outcome_init(NULL, sizeof(redlock_node_outcome))),
        NEEDS_NONE(redlock_vote_name(REDLOCK_VOTE_NONE)),
        IGNORED(redlock_lock_set_data(NULL, &length)),
        POINTER(redlock_lock_data(NULL)),
        IGNORED(redlock_lock_set_data(world.lock, NULL)),
        POINTER(redlock_lock_data(world.lock)),
    };
    check(rows, COUNT(rows));
}

TEST(tokens) {
    static const char token[] = "0123456789012345678901234567890123456789";
    redlock_node_holder node_holder = REDLOCK_NODE_HOLDER_INIT;
    redlock_waiter waiter = REDLOCK_WAITER_INIT;
    redlock_reader reader = REDLOCK_READER_INIT;
    redlock_slot slot = REDLOCK_SLOT_INIT;
    const struct row rows[] = {
        STATUS(redlock_adopt(NULL, token, NULL, NULL, NULL)),
        STATUS(redlock_adopt(world.lock, NULL, NULL, NULL, NULL)),
        STATUS(redlock_disown(NULL)),
        STATUS(redlock_release_token(NULL, token, NULL, NULL)),
        STATUS(redlock_release_token(world.lock, NULL, NULL, NULL)),
        STATUS(redlock_query_holder(NULL, "a", 1, ignore_query, NULL)),
        STATUS(redlock_query_holder(world.client, NULL, 1, ignore_query, NULL)),
        STATUS(redlock_query_holder(world.client, "a", 1, NULL, NULL)),
        STATUS(redlock_query_node(NULL, 0, &node_holder)),
        NOTHING(redlock_query_quorum(NULL, NULL, NULL, NULL)),
        NOTHING(redlock_query_lacks(NULL, 0)),
        STATUS(redlock_node_holder_init(NULL, sizeof(redlock_node_holder))),
        STATUS(redlock_query_waiters(NULL, "a", 1, 1, ignore_query, NULL)),
        STATUS(redlock_query_waiters(world.client, NULL, 1, 1, ignore_query, NULL)),
        STATUS(redlock_query_waiters(world.client, "a", 1, 1, NULL, NULL)),
        NOTHING(redlock_query_waiting(NULL)),
        STATUS(redlock_query_waiter(NULL, 0, &waiter)),
        STATUS(redlock_waiter_init(NULL, sizeof(redlock_waiter))),
        STATUS(redlock_client_home(NULL, "a", 1, 0)),
        STATUS(redlock_client_home(world.client, NULL, 1, 0)),
        STATUS(redlock_client_lacks(NULL, "a", 1, NULL, NULL, NULL)),
        STATUS(redlock_client_lacks(world.client, NULL, 1, NULL, NULL, NULL)),
        STATUS(redlock_query_readers(NULL, "a", 1, 1, ignore_query, NULL)),
        STATUS(redlock_query_readers(world.client, NULL, 1, 1, ignore_query, NULL)),
        STATUS(redlock_query_readers(world.client, "a", 1, 1, NULL, NULL)),
        NOTHING(redlock_query_reading(NULL)),
        STATUS(redlock_query_reader(NULL, 0, &reader)),
        STATUS(redlock_reader_init(NULL, sizeof(redlock_reader))),
        STATUS(redlock_query_slots(NULL, "a", 1, 1, ignore_query, NULL)),
        STATUS(redlock_query_slots(world.client, NULL, 1, 1, ignore_query, NULL)),
        STATUS(redlock_query_slots(world.client, "a", 1, 1, NULL, NULL)),
        NOTHING(redlock_query_permits(NULL, 0)),
        STATUS(redlock_query_slot(NULL, 0, &slot)),
        STATUS(redlock_slot_init(NULL, sizeof(redlock_slot))),
        STATUS(redlock_query_permit_waiters(NULL, "a", 1, 1, ignore_query, NULL)),
        STATUS(redlock_query_permit_waiters(world.client, NULL, 1, 1, ignore_query, NULL)),
        STATUS(redlock_query_permit_waiters(world.client, "a", 1, 1, NULL, NULL)),
    };
    check(rows, COUNT(rows));
}

TEST(elections) {
    redlock_election_options nameless = election_options;
    redlock_election *election;
    char buffer[REDLOCK_MESSAGE_MAX];
    nameless.name = NULL;
    const struct row rows[] = {
        STATUS(redlock_election_new(NULL, &election_options, &election, NULL, 7)),
        STATUS(redlock_election_new(world.client, NULL, &election, NULL, 7)),
        STATUS(redlock_election_new(world.client, &nameless, &election, NULL, 7)),
        STATUS(redlock_election_new(world.client, &election_options, NULL, NULL, 7)),
        POINTER(election),
        STATUS(redlock_election_campaign(NULL)),
        STATUS(redlock_election_alive(NULL)),
        STATUS(redlock_election_resign(NULL, NULL, NULL)),
        IGNORED(redlock_election_free(NULL)),
        NOTHING(redlock_election_is_leader(NULL)),
        NOTHING(redlock_election_remaining_ms(NULL)),
        NOTHING(redlock_election_fence(NULL)),
        POINTER(redlock_election_leader(NULL)),
        TEXT(redlock_election_token(NULL)),
        TEXT(redlock_election_candidate(NULL)),
        NOTHING(redlock_election_state(NULL)),
        NEEDS_NONE(redlock_election_state_name(REDLOCK_ELECTION_IDLE)),
        TEXT(redlock_election_message(NULL, buffer, sizeof buffer)),
        POINTER(redlock_election_client(NULL)),
        STATUS(redlock_election_options_init(NULL, sizeof(redlock_election_options))),
        STATUS(redlock_election_attempt_status(NULL)),
    };
    check(rows, COUNT(rows));
}

TEST(blocking) {
    redlock_stats stats = REDLOCK_STATS_INIT;
    redlock_blocking *opened;
    redlock_mutex *mutex;
    char buffer[REDLOCK_MESSAGE_MAX];
    const struct row rows[] = {
        STATUS(redlock_blocking_open(NULL, &client_options)),
        STATUS(redlock_blocking_open(&opened, NULL)),
        POINTER(opened),
        STATUS(redlock_blocking_close(NULL)),
        STATUS(redlock_blocking_set_credentials(NULL, 0, "user", "password")),
        STATUS(redlock_blocking_set_credentials(world.blocking, 0, "user", NULL)),
        STATUS(redlock_blocking_metrics(NULL, REDLOCK_METRICS_PROMETHEUS, NULL, 0)),
        STATUS(redlock_blocking_metrics(world.blocking, REDLOCK_METRICS_PROMETHEUS, NULL, 1)),
        STATUS(redlock_blocking_stats(NULL, &stats)),
        STATUS(redlock_blocking_stats(world.blocking, NULL)),
        TEXT(redlock_blocking_message(NULL, buffer, sizeof buffer)),
        TEXT(redlock_blocking_message(world.blocking, NULL, sizeof buffer)),
        TEXT(redlock_blocking_message(world.blocking, buffer, 0)),
        STATUS(redlock_mutex_new(NULL, "a", 1, NULL, &mutex)),
        STATUS(redlock_mutex_new(world.blocking, NULL, 1, NULL, &mutex)),
        STATUS(redlock_mutex_new(world.blocking, "a", 1, NULL, NULL)),
        STATUS(redlock_mutex_new_with(NULL, &lock_options, NULL, &mutex)),
        STATUS(redlock_mutex_new_with(world.blocking, NULL, NULL, &mutex)),
        STATUS(redlock_mutex_new_with(world.blocking, &lock_options, NULL, NULL)),
        POINTER(mutex),
        NOTHING(redlock_mutex_free(NULL)),
        STATUS(redlock_mutex_lock(NULL, 0)),
        STATUS(redlock_mutex_lock(NULL, -7)),
        STATUS(redlock_mutex_try_lock(NULL)),
        STATUS(redlock_mutex_lock_any(NULL, 1, 0, &mutex)),
        STATUS(redlock_mutex_lock_any(&mutex, 1, 0, NULL)),
        STATUS(redlock_mutex_lock_any(&mutex, 1, 0, &mutex)),
        STATUS(redlock_mutex_attempt_status(NULL)),
        STATUS(redlock_mutex_options_init(NULL, sizeof(redlock_mutex_options))),
        STATUS(redlock_mutex_unlock(NULL)),
        STATUS(redlock_mutex_extend(NULL, 0)),
        STATUS(redlock_mutex_alive(NULL)),
        NOTHING(redlock_mutex_is_valid(NULL)),
        NOTHING(redlock_mutex_remaining_ms(NULL)),
        STATUS(redlock_mutex_token(NULL, buffer, sizeof buffer)),
        STATUS(redlock_mutex_token(world.mutex, NULL, sizeof buffer)),
        STATUS(redlock_mutex_token(world.mutex, buffer, 0)),
        NOTHING(redlock_mutex_fence(NULL)),
        TEXT(redlock_mutex_message(NULL, buffer, sizeof buffer)),
        TEXT(redlock_mutex_message(world.mutex, NULL, sizeof buffer)),
        TEXT(redlock_mutex_message(world.mutex, buffer, 0)),
    };
    check(rows, COUNT(rows));
}

TEST(rwlocks) {
    redlock_rwlock *rwlock;
    char buffer[REDLOCK_MESSAGE_MAX];
    const struct row rows[] = {
        STATUS(redlock_rwlock_new(NULL, "a", 1, NULL, &rwlock)),
        STATUS(redlock_rwlock_new(world.blocking, NULL, 1, NULL, &rwlock)),
        STATUS(redlock_rwlock_new(world.blocking, "a", 1, NULL, NULL)),
        STATUS(redlock_rwlock_new_with(NULL, &lock_options, NULL, &rwlock)),
        STATUS(redlock_rwlock_new_with(world.blocking, NULL, NULL, &rwlock)),
        STATUS(redlock_rwlock_new_with(world.blocking, &lock_options, NULL, NULL)),
        POINTER(rwlock),
        NOTHING(redlock_rwlock_free(NULL)),
        STATUS(redlock_rwlock_rdlock(NULL, 0)),
        STATUS(redlock_rwlock_wrlock(NULL, -7)),
        STATUS(redlock_rwlock_try_rdlock(NULL)),
        STATUS(redlock_rwlock_try_wrlock(NULL)),
        STATUS(redlock_rwlock_attempt_status(NULL)),
        STATUS(redlock_rwlock_options_init(NULL, sizeof(redlock_rwlock_options))),
        STATUS(redlock_rwlock_unlock(NULL)),
        STATUS(redlock_rwlock_extend(NULL, 0)),
        STATUS(redlock_rwlock_alive(NULL)),
        STATUS(redlock_rwlock_downgrade(NULL)),
        STATUS(redlock_rwlock_try_upgrade(NULL)),
        NOTHING(redlock_rwlock_is_valid(NULL)),
        NOTHING(redlock_rwlock_remaining_ms(NULL)),
        STATUS(redlock_rwlock_token(NULL, buffer, sizeof buffer)),
        STATUS(redlock_rwlock_token(world.rwlock, NULL, sizeof buffer)),
        STATUS(redlock_rwlock_token(world.rwlock, buffer, 0)),
        NOTHING(redlock_rwlock_fence(NULL)),
        TEXT(redlock_rwlock_message(NULL, buffer, sizeof buffer)),
        TEXT(redlock_rwlock_message(world.rwlock, NULL, sizeof buffer)),
        TEXT(redlock_rwlock_message(world.rwlock, buffer, 0)),
    };
    check(rows, COUNT(rows));
}

TEST(semaphores) {
    redlock_semaphore *semaphore;
    redlock_lock_options none = REDLOCK_LOCK_OPTIONS_INIT;
    char buffer[REDLOCK_MESSAGE_MAX];
    const struct row rows[] = {
        STATUS(redlock_semaphore_new(NULL, "a", 1, 1, NULL, &semaphore)),
        STATUS(redlock_semaphore_new(world.blocking, NULL, 1, 1, NULL, &semaphore)),
        STATUS(redlock_semaphore_new(world.blocking, "a", 1, 1, NULL, NULL)),
        STATUS(redlock_semaphore_new_with(NULL, &lock_options, NULL, &semaphore)),
        STATUS(redlock_semaphore_new_with(world.blocking, NULL, NULL, &semaphore)),
        STATUS(redlock_semaphore_new_with(world.blocking, &none, NULL, &semaphore)),
        STATUS(redlock_semaphore_new_with(world.blocking, &lock_options, NULL, NULL)),
        POINTER(semaphore),
        NOTHING(redlock_semaphore_free(NULL)),
        STATUS(redlock_semaphore_acquire(NULL, 0)),
        STATUS(redlock_semaphore_acquire(NULL, -7)),
        STATUS(redlock_semaphore_try_acquire(NULL)),
        STATUS(redlock_semaphore_attempt_status(NULL)),
        STATUS(redlock_semaphore_options_init(NULL, sizeof(redlock_semaphore_options))),
        STATUS(redlock_semaphore_release(NULL)),
        STATUS(redlock_semaphore_extend(NULL, 0)),
        STATUS(redlock_semaphore_alive(NULL)),
        NEEDS_NONE(redlock_semaphore_slot(NULL, 0)),
        NOTHING(redlock_semaphore_is_valid(NULL)),
        NOTHING(redlock_semaphore_remaining_ms(NULL)),
        STATUS(redlock_semaphore_token(NULL, buffer, sizeof buffer)),
        STATUS(redlock_semaphore_token(world.semaphore, NULL, sizeof buffer)),
        STATUS(redlock_semaphore_token(world.semaphore, buffer, 0)),
        NOTHING(redlock_semaphore_fence(NULL)),
        TEXT(redlock_semaphore_message(NULL, buffer, sizeof buffer)),
        TEXT(redlock_semaphore_message(world.semaphore, NULL, sizeof buffer)),
        TEXT(redlock_semaphore_message(world.semaphore, buffer, 0)),
    };
    check(rows, COUNT(rows));
}

static int begin(void **state) {
    client_options.nodes = nowhere;
    client_options.n_nodes = COUNT(nowhere);
    static const redlock_bytes resource = {"a", 1};
    lock_options.resources = &resource;
    lock_options.n_resources = 1;
    election_options.name = "e";
    election_options.name_length = 1;
    assert_int_equal(uv_loop_init(&world.loop), 0);
    assert_int_equal(redlock_client_open(&world.client, &world.loop, &client_options, NULL, NULL),
                     0);
    assert_int_equal(redlock_lock_new(world.client, "a", 1, &world.lock), 0);
    assert_int_equal(redlock_blocking_open(&world.blocking, &client_options),
                     REDLOCK_ERR_NO_QUORUM);
    assert_int_equal(redlock_mutex_new(world.blocking, "a", 1, NULL, &world.mutex), 0);
    assert_int_equal(redlock_rwlock_new(world.blocking, "a", 1, NULL, &world.rwlock), 0);
    assert_int_equal(redlock_semaphore_new(world.blocking, "a", 1, 1, NULL, &world.semaphore), 0);
    return 0;
}

static int end(void **state) {
    assert_int_equal(redlock_client_close(world.client, NULL, NULL), 0);
    assert_int_equal(redlock_mutex_free(world.mutex), 0);
    assert_int_equal(redlock_rwlock_free(world.rwlock), 0);
    assert_int_equal(redlock_semaphore_free(world.semaphore), 0);
    assert_int_equal(redlock_blocking_close(world.blocking), 0);
    assert_int_equal(uv_run(&world.loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&world.loop), 0);
    return 0;
}

TEST_GROUP(begin, end)
