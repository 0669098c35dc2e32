/* Five fake nodes, a client on them, and the waits that all tests of faults share.
 *
 *     FIVE_TEST(grants) {                 nodes listen, options are the defaults but for speed
 *         ... script the nodes, change f->options ...
 *         five_open(f);                   returns the status of on_open
 *         five_acquire(f, f->lock)        returns the callback's status
 *     }                                   closes everything, and checks what holds after any fault
 *
 * FIVE_TEST_OPEN() has opened the client on all nodes. FIVE_EACH(name, times) and FIVE_EACH_OPEN()
 * run their body `times` times, each on new nodes; `row` counts from 0.
 *
 * After the body five_stop() asserts: closing ended in one callback, no key of ours is left on a
 * node that could be reached, the loop closes with no handle left, no turn of the loop took longer
 * than a second (less the time for which the machine kept us from running: spent.h; it is printed,
 * and below 10 ms on a quiet machine), and memory did not grow beyond five.memory_cap.
 *
 * Nothing sleeps: five_run_until() turns the loop until a condition holds, and fails the test after
 * FIVE_PATIENCE_MS. */
#ifndef FAKE_FIVE_H
#define FAKE_FIVE_H

#include <uv.h>

#include "redlock/redlock.h"
#include "server/fake_node.h"
#include "spent.h"
#include "testing.h"

#define FIVE 5
#define FIVE_PATIENCE_MS 30000
#define FIVE_RESOURCE "orders"
#define FIVE_TIMEOUT_MS 5000 /* of the options: the machine may stall for a while */
#define FIVE_TRIES 20        /* of a test that a stall of the machine spoils */

struct five_done { /* the result of a callback */
    int calls;
    int status;
};

struct five_down { /* the events of the trace hook */
    unsigned times;
    int status; /* of the last event */
};

struct five {
    uv_loop_t loop;
    uv_timer_t tick; /* ends a turn of the loop after a millisecond */
    struct fake_node *nodes[FIVE];
    const char *urls[FIVE];
    redlock_client_options options;
    redlock_client *client;
    redlock_lock *lock; /* on FIVE_RESOURCE */
    struct five_done opened, closed, lost;
    struct five_down downs[FIVE];
    unsigned may_keep; /* mask of the nodes on which a key of ours may be left at the end */
    size_t memory_cap;
    size_t memory_before, memory_most; /* bytes allocated in this process */
    uint64_t stall_ns;                 /* the longest turn of the loop */
    struct spent waiting;              /* since the last wait began */
};

#define FIVE_TEST(name) TEST_ON(name, struct five, f, five_start, five_stop)
#define FIVE_EACH(name, times) TEST_ON_EACH(name, times, struct five, f, five_start, five_stop)
#define FIVE_TEST_OPEN(name) TEST_ON(name, struct five, f, five_start_open, five_stop)
#define FIVE_EACH_OPEN(name, times) \
    TEST_ON_EACH(name, times, struct five, f, five_start_open, five_stop)

/* A rule for a node: five_rule(f, 1, .command = "SET", .action = FAKE_CLOSE); */
#define five_rule(f, index, ...) node_rule((f)->nodes[index], __VA_ARGS__)
#define node_rule(node, ...) fake_node_rule(node, (struct fake_rule){__VA_ARGS__})

void five_start(struct five *f);
void five_start_open(struct five *f);

/* Opens the client on the first n nodes (five_open: all) and waits for on_open. When it returns,
 * each node is up or has failed once: a hostile node fails before the 50 ms that a slow one
 * gets. */
int five_open_n(struct five *f, size_t n);
int five_open(struct five *f);

void five_stop(struct five *f);

/* -- Waiting -- */

typedef bool five_condition(struct five *f, void *data);

/* Turns the loop until the condition holds; false if patience ends first. */
bool five_run_until(struct five *f, five_condition *condition, void *data);

/* Turns the loop for so long. */
void five_run_ms(struct five *f, uint64_t ms);

/* Waits for a callback and asserts that it came once. Returns its status. */
int five_wait(struct five *f, const struct five_done *done);

/* Waits until so many nodes are up. */
void five_wait_up(struct five *f, size_t count);

/* Waits until one node is up, or is not. */
void five_wait_node(struct five *f, size_t index, bool up);

/* Waits until one node has gone down so many times; asserts the reason for the last time. */
void five_wait_down(struct five *f, size_t index, unsigned times, int status);

/* Waits until no release is pending and everything has been answered. */
void five_wait_repaid(struct five *f);

/* Waits until this many commands of this name have come to one node. */
void five_wait_count(struct five *f, size_t index, const char *command, size_t count);

/* -- The lock -- */

/* Fills a struct five_done. */
void five_on_lock(redlock_lock *lock, int status, void *data);
void five_on_client(redlock_client *client, int status, void *data);

/* One try with a ttl of 30 s, and its outcome. */
int five_acquire(struct five *f, redlock_lock *lock);
int five_extend(struct five *f, redlock_lock *lock);
int five_release(struct five *f, redlock_lock *lock);

/* Options of one try; on_lost goes into f->lost. */
redlock_acquire_options five_one_try(struct five *f);

/* Acquires and releases f->lock: both must work. Afterwards no node that answers has a key. */
void five_cycle(struct five *f);

/* The nodes in the order in which they become home of FIVE_RESOURCE. */
void five_homes(struct five *f, size_t order[FIVE]);

/* How node number index voted in the lock's last round. */
redlock_node_outcome five_outcome(struct five *f, size_t index);
redlock_node_info five_info(struct five *f, size_t index);
redlock_stats five_stats(struct five *f);

#endif /* FAKE_FIVE_H */
