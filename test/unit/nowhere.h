/* A client of nodes that do not exist, for tests that need a client but no server. */
#ifndef UNIT_NOWHERE_H
#define UNIT_NOWHERE_H

#include <uv.h>

#include "redlock/redlock.h"
#include "unit/check.h"

#define NOWHERE "unix:///nonexistent-redlock/"

static const char *const nowhere[] = {NOWHERE "0", NOWHERE "1", NOWHERE "2", NOWHERE "3",
                                      NOWHERE "4"};
static uv_loop_t open_loop;
static redlock_client *open_client;

static inline redlock_client_options nowhere_options(char *error, size_t size) {
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    options.nodes = nowhere;
    options.n_nodes = COUNT(nowhere);
    options.error = error;
    options.error_size = size;
    return options;
}

static inline void open_good(const redlock_client_options *options) {
    assert_int_equal(uv_loop_init(&open_loop), 0);
    assert_int_equal(redlock_client_open(&open_client, &open_loop, options, NULL, NULL), 0);
    assert_non_null(open_client);
}

static inline void close_good(void) {
    assert_int_equal(redlock_client_close(open_client, NULL, NULL), 0);
    assert_int_equal(uv_run(&open_loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&open_loop), 0);
}

static inline redlock_lock *new_lock(void) {
    redlock_lock *lock = NULL;
    assert_int_equal(redlock_lock_new(open_client, "a", 1, &lock), 0);
    return lock;
}

static inline void not_called(redlock_lock *lock, int status, void *data) {
    fail_msg("a callback of what was not submitted");
}

static inline void never_opened(redlock_client *client, int status, void *data) {
    fail_msg("a callback of what was not submitted");
}

/* Opening fails and leaves nothing behind. */
static inline void assert_no_client(const redlock_client_options *options, int wanted) {
    uv_loop_t loop;
    redlock_client *client = (redlock_client *)&loop; /* anything but NULL */
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(redlock_client_open(&client, &loop, options, never_opened, NULL), wanted);
    assert_null(client);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0); /* no handle was left on it */
}

#endif
