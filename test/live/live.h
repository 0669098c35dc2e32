/* What the live tests share: real redis-servers, one loop, one client, and access to the nodes'
 * keys.
 *
 * A test is the body of LIVE_TEST(name) or LIVE_TEST_FIVE(name), to which `live` is passed: the
 * setup makes the loop (and, for the latter, five nodes and a client to which all five are up), the
 * teardown stops the nodes, also after a failure. After the body live_end() closes what is
 * open and demands that libuv has no handle left; a test calls it itself if the client, while it
 * closes, still uses variables of the body: a trace hook's, a lost hold's, handles of libuv.
 *
 *     LIVE_UNTIL(live, done.count == 1);     runs the loop until callbacks have made it true
 *     LIVE_POLL(live, live_no_keys(live));   the same for what only the nodes know
 *
 * In LIVE_UNTIL() only a watchdog wakes the loop, which detects a wake-up that the library forgot.
 * Both fail the test after LIVE_PATIENCE_MS.
 *
 * Node i is number i in the order of starting. Nodes are asked over blocking connections of our own
 * (live_ask() and its like), which are opened and closed each time. */
#ifndef LIVE_LIVE_H
#define LIVE_LIVE_H

#include <hiredis/hiredis.h>
#include <uv.h>

#include "redlock/redlock.h"

#include "testing.h"
#include "tool/local_nodes.h"

#define LIVE_NODES_MAX 8
#define LIVE_PATIENCE_MS 30000
#define LIVE_POLL_MS 5
#define LIVE_TIMEOUT_MS 10000     /* node_timeout_ms and connect_timeout_ms of live_options() */
#define LIVE_MS UINT64_C(1000000) /* in nanoseconds */

struct live;
typedef void live_test(struct live *live);

struct live_case { /* the initial state of a test */
    live_test *run;
};

struct live {
    live_test *run; /* NULL: by the program itself */
    uv_loop_t loop;
    uv_timer_t watchdog;
    bool is_late; /* the watchdog has fired */
    bool is_ended;
    struct live *next_failed;
    redlock_client *client; /* NULL, or closed by live_end() */
    size_t n;
    struct {
        struct rl_local_nodes *set;
        size_t index;
        int tls_port; /* 0: none, see secure.h */
        char url[64];
    } node[LIVE_NODES_MAX];
    const char *urls[LIVE_NODES_MAX];
    enum redlock_guard guard; /* of live_options(). Off unless the test sets it: the nodes are new
                                 and have no locks, and a strict guard would wait */
    bool is_hasty;            /* live_options() leave the library's own timeouts, 250 ms and 1 s */
    char ca[128];             /* "": no node has TLS */
    const char *password;     /* of the nodes' default user, for our own questions; or NULL */
    size_t n_sets;
    struct rl_local_nodes *sets[LIVE_NODES_MAX];
};

/* -- The frame -- */

int live_setup(void **state);
int live_setup_five(void **state);
int live_setup_five_hasty(void **state);
int live_teardown(void **state);
void live_run(void **state);

#define LIVE_TEST_WITH(name, setup)                                \
    static void name(struct live *live);                           \
    static struct live_case name##_case = {name};                  \
    TEST_ENTER(name, live_run, setup, live_teardown, &name##_case) \
    static void name(struct live *live)
#define LIVE_TEST(name) LIVE_TEST_WITH(name, live_setup)
#define LIVE_TEST_FIVE(name) LIVE_TEST_WITH(name, live_setup_five)
#define LIVE_TEST_FIVE_HASTY(name) LIVE_TEST_WITH(name, live_setup_five_hasty)

/* Closes live->client and demands that nothing is left on the loop. */
void live_end(struct live *live);

/* One turn of the loop. poll_ms: how long it may block, 0 for as long as it likes. Fails the test
 * once the watchdog that live_watch() set has fired. */
void live_turn(struct live *live, unsigned poll_ms, const char *what, const char *file, int line);
void live_watch(struct live *live, uint64_t patience_ms);

#define LIVE_WAIT_(live, condition, poll_ms)                              \
    do {                                                                  \
        live_watch((live), LIVE_PATIENCE_MS);                             \
        while (!(condition)) {                                            \
            live_turn((live), (poll_ms), #condition, __FILE__, __LINE__); \
        }                                                                 \
    } while (0)
#define LIVE_UNTIL(live, condition) LIVE_WAIT_(live, condition, 0)
#define LIVE_POLL(live, condition) LIVE_WAIT_(live, condition, LIVE_POLL_MS)

/* Runs the loop for a time, to check that something does not happen. */
void live_run_for(struct live *live, unsigned ms);

/* Blocks, so that the loop cannot run, without using the processor. */
void live_block_until(uint64_t at_ns);

/* -- Nodes -- */

/* Adds n nodes. args: more arguments for redis-server, NULL-terminated, or NULL. */
void live_start(struct live *live, size_t n, const char *const *args);

void live_kill(struct live *live, size_t i);
void live_restart(struct live *live, size_t i);
void live_pause(struct live *live, size_t i);
void live_resume(struct live *live, size_t i);
/* Calls `what` for n nodes, from `first` on: live_do(live, live_kill, 0, 3); */
void live_do(struct live *live, void (*what)(struct live *live, size_t i), size_t first, size_t n);
/* Sends what was submitted. When this returns, the answers of the nodes from `first` on are in the
 * sockets, unread: those nodes are paused while the loop runs. */
void live_send(struct live *live, size_t first);
int live_port(const struct live *live, size_t i);

/* Asks a node; the reply is the caller's. An error reply is a reply. */
redisReply *live_ask(const struct live *live, size_t i, const char *format, ...);

/* As live_ask(), but fails the test on an error reply. */
void live_tell(const struct live *live, size_t i, const char *format, ...);
void live_tell_all(const struct live *live, const char *command);
/* Writes a configuration to a node, and cuts its connections, as `redlock set` does. */
void live_configure(const struct live *live, size_t i, const char *text);
void live_cut(const struct live *live, size_t i);
long long live_integer(const struct live *live, size_t i, const char *format, ...);
/* How many keys there are, without the node's secret. */
long long live_keys(const struct live *live, size_t i);

bool live_key_is(const struct live *live, size_t i, const char *key, const char *value);
long long live_pttl(const struct live *live, size_t i, const char *key);

/* On how many of the nodes that run a key has this value; whether none of them has any key but
 * counters of fences and reservations that are about to end. */
size_t live_count_keys(const struct live *live, const char *key, const char *value);
bool live_no_keys(const struct live *live);

/* -- Clients and locks -- */

/* The defaults, with all nodes, and live->guard; reconnect_max_ms is 100. The timeouts are long: a
 * node that gets no CPU time must not count as silent. A test in which nodes must be found silent
 * sets `is_hasty`. */
redlock_client_options live_options(const struct live *live);

/* Opens a client and runs the loop until on_open; returns its status. */
int live_open(struct live *live, const redlock_client_options *options, redlock_client **client);
/* One more client with the defaults, to which all nodes are up. */
redlock_client *live_another(struct live *live);
void live_close(struct live *live, redlock_client *client);

/* Opens live->client with options, or the defaults if NULL, and waits until all nodes are up. */
void live_open_all(struct live *live, const redlock_client_options *options);

uint64_t live_up(const redlock_client *client);
redlock_stats live_stats(const redlock_client *client);
redlock_node_info live_node(const redlock_client *client, size_t i);
redlock_node_outcome live_outcome(const redlock_lock *lock, size_t i);

/* Votes of one kind in the last round. */
size_t live_votes(const redlock_lock *lock, size_t n, enum redlock_vote vote);

/* Whether every request of the client has been answered, and no release is pending. */
bool live_is_quiet(const redlock_client *client, size_t n);

/* Ends the turn of the loop; every callback that a test defines calls it. Callbacks run before the
 * loop polls, which would wait for the next event before the test checks their effects. */
void live_wake(void);

/* The result of a callback. Begin with {0}; data of the callback is its address. */
struct live_done {
    int count;
    int status;
    uint64_t at_ns;
};
void live_lock_cb(redlock_lock *lock, int status, void *data);
void live_client_cb(redlock_client *client, int status, void *data);

redlock_lock *live_lock(redlock_client *client, const char *resource);
/* A lock with these options, to which the resource is added. */
redlock_lock *live_lock_with(redlock_client *client, const char *resource,
                             redlock_lock_options options);

/* An acquire with one try. */
redlock_acquire_options live_once(int64_t ttl_ms);
/* An acquire that waits for as long as it takes. */
redlock_acquire_options live_patient(int64_t ttl_ms);

/* Acquires, and waits until every node has it. The callback runs once a quorum has the lock. On a
 * node that runs the command later another client may have come first; if that node is home, its
 * answer to that client is not what a test with a holder expects. */
void live_hold(struct live *live, redlock_lock *lock, const redlock_acquire_options *options);

/* Submit, run the loop until the callback, see that it ran once; return its status. */
int live_acquire(struct live *live, redlock_lock *lock, const redlock_acquire_options *options);
int live_extend(struct live *live, redlock_lock *lock, int64_t ttl_ms);
int live_release(struct live *live, redlock_lock *lock);

/* Acquires "key" by a new lock, extends and releases it. */
void live_cycle(struct live *live, redlock_client *client);

/* Status codes by name, for readable failures. */
#define LIVE_STATUS(status, wanted) \
    assert_string_equal(redlock_err_name(status), redlock_err_name(wanted))

#endif
