/* A walk through the life of a lock on several nodes, with commentary:
 *
 *     demo [--kill COMMAND] URL...
 *
 * Alice acquires a lock, Bob is refused, Alice extends it and releases it; with --kill, COMMAND
 * runs before the release, to kill the last node. After every round it shows each node's vote. The
 * exit status is 0 if everything went as the text says.
 *
 * The calls are asynchronous. So that this reads from top to bottom, finish() runs the loop until
 * the callback of the preceding call; a program with other things to do goes on in the callback
 * instead.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <redlock/redlock.h>
#include <uv.h>

#define RESOURCE "demo:printer"
#define SETTLE_MS 1000 /* longest wait for the votes that the decision did not need */

struct person {
    const char *name;
    redlock_client *client;
    redlock_lock *lock;
    int pending; /* a callback has not come yet */
    int status;  /* the callback's status */
    uint64_t began_ns;
    uint64_t ended_ns;
};

static uv_loop_t loop;
static const char *const *nodes;
static size_t n_nodes;

static void die(const char *what, const char *why) {
    fprintf(stderr, "demo: %s: %s\n", what, why);
    exit(1);
}

/* -- Calls and their callbacks -- */

static void end(struct person *person, int status) {
    person->pending = 0;
    person->status = status;
    person->ended_ns = redlock_now_ns();
    uv_stop(&loop);
}

static void client_cb(redlock_client *client, int status, void *data) {
    (void)client;
    end(data, status);
}

static void lock_cb(redlock_lock *lock, int status, void *data) {
    (void)lock;
    end(data, status);
}

static void lost_cb(redlock_lock *lock, int status, void *data) {
    const struct person *person = data;
    (void)lock;
    printf("   %s lost the lock: %s\n", person->name, redlock_strerror(status));
}

static void begin(struct person *person) {
    person->pending = 1;
    person->began_ns = redlock_now_ns();
}

/* status: what the call returned. Returns the callback's status. */
static int finish(struct person *person, int status) {
    if (status != 0) {
        die(person->name, redlock_strerror(status));
    }
    while (person->pending) {
        uv_run(&loop, UV_RUN_DEFAULT); /* until a callback stops it */
    }
    return person->status;
}

struct wait {
    const struct person *person;
    int (*condition)(const struct person *person);
    int left_ms;
    int over;
};

static void wait_closed_cb(uv_handle_t *timer) {
    ((struct wait *)timer->data)->over = 1;
    uv_stop(&loop);
}

static void wait_timer_cb(uv_timer_t *timer) {
    struct wait *wait = timer->data;
    if (--wait->left_ms <= 0 || !wait->condition(wait->person)) {
        uv_close((uv_handle_t *)timer, wait_closed_cb);
    }
}

/* Runs the loop until condition() is false, looking every millisecond, for SETTLE_MS at most. */
static void wait_while(int (*condition)(const struct person *), const struct person *person) {
    struct wait wait = {person, condition, SETTLE_MS, 0};
    uv_timer_t timer;
    uv_timer_init(&loop, &timer);
    timer.data = &wait;
    uv_timer_start(&timer, wait_timer_cb, 1, 1);
    while (!wait.over) {
        uv_run(&loop, UV_RUN_DEFAULT);
    }
}

/* -- What happened -- */

static double ms(uint64_t ns) {
    return (double)ns / 1e6;
}

static int has_pending_votes(const struct person *person) {
    for (size_t i = 0; i < n_nodes; i++) {
        redlock_node_outcome outcome = REDLOCK_NODE_OUTCOME_INIT;
        if (redlock_lock_outcome(person->lock, i, &outcome) == 0 &&
            outcome.vote == REDLOCK_VOTE_PENDING) {
            return 1;
        }
    }
    return 0;
}

/* How many nodes voted so in the last round. */
static size_t count_votes(const struct person *person, enum redlock_vote vote) {
    size_t count = 0;
    for (size_t i = 0; i < n_nodes; i++) {
        redlock_node_outcome outcome = REDLOCK_NODE_OUTCOME_INIT;
        if (redlock_lock_outcome(person->lock, i, &outcome) == 0 && outcome.vote == vote) {
            count++;
        }
    }
    return count;
}

/* Shows each node's vote in the last round. granted, refused: the words for these votes. */
static void show_nodes(const struct person *person, const char *granted, const char *refused) {
    const char *words[] = {"-", "no answer yet", granted, refused, "failed"};
    wait_while(has_pending_votes, person);
    printf("   %-24s %-16s %10s  %s\n", "node", "vote", "latency", "reason");
    for (size_t i = 0; i < n_nodes; i++) {
        redlock_node_outcome outcome = REDLOCK_NODE_OUTCOME_INIT;
        char latency[32] = "-";
        redlock_lock_outcome(person->lock, i, &outcome);
        if (outcome.latency_us > 0) {
            snprintf(latency, sizeof(latency), "%" PRIu32 " us", outcome.latency_us);
        }
        printf("   %-24s %-16s %10s  %s\n", outcome.node, words[outcome.vote], latency,
               outcome.reason != 0 ? redlock_strerror(outcome.reason) : "");
    }
    printf("\n");
}

static void expect(const struct person *person, int wanted, const char *what) {
    if (person->status != wanted) {
        char sentence[REDLOCK_MESSAGE_MAX];
        printf("   This should not have happened (%s): %s\n", redlock_err_name(person->status),
               redlock_lock_message(person->lock, sentence, sizeof sentence));
        die(person->name, what);
    }
}

/* -- The story -- */

static void open_client(struct person *person) {
    char sentence[REDLOCK_MESSAGE_MAX];
    char error[REDLOCK_MESSAGE_MAX];
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    options.nodes = nodes;
    options.n_nodes = n_nodes;
    options.client_name = person->name;
    options.guard = REDLOCK_GUARD_OFF; /* the demo starts its nodes: nothing was voted for before */
    options.error = error;
    options.error_size = sizeof(error);
    begin(person);
    if (redlock_client_open(&person->client, &loop, &options, client_cb, person) != 0) {
        die(person->name, error);
    }
    if (finish(person, 0) != 0) {
        die(person->name, redlock_client_message(person->client, sentence, sizeof sentence));
    }
    if (redlock_lock_new(person->client, RESOURCE, strlen(RESOURCE), &person->lock) != 0) {
        die(person->name, "no memory");
    }
}

static void acquire(struct person *person) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.ttl_ms = 10000;
    options.tries = 1;
    options.on_lost = lost_cb;
    options.lost_data = person;
    begin(person);
    finish(person, redlock_acquire(person->lock, &options, lock_cb, person));
}

static void show_held(const struct person *person) {
    printf("   Held after %.2f ms, valid for %" PRId64
           " ms more: the ttl, less the time since the\n",
           ms(person->ended_ns - person->began_ns), redlock_lock_remaining_ms(person->lock));
    printf("   request was sent, less an allowance for clocks that run at different rates.\n");
}

struct killer {
    uv_process_t process;
    int failed;
    int over;
};

static void killer_closed_cb(uv_handle_t *process) {
    ((struct killer *)process->data)->over = 1;
    uv_stop(&loop);
}

static void killer_exited_cb(uv_process_t *process, int64_t status, int signal) {
    ((struct killer *)process->data)->failed = status != 0 || signal != 0;
    uv_close((uv_handle_t *)process, killer_closed_cb);
}

static int all_nodes_up(const struct person *person) {
    redlock_stats stats = REDLOCK_STATS_INIT;
    redlock_client_stats(person->client, &stats);
    return stats.nodes_up == n_nodes;
}

/* Runs the command, and waits until the client has noticed the loss of the node. */
static void kill_node(const struct person *person, const char *command) {
    char sentence[REDLOCK_MESSAGE_MAX];
    struct killer killer = {.failed = 0, .over = 0};
    char shell[] = "/bin/sh", flag[] = "-c";
    char *line = strdup(command);
    char *arguments[] = {shell, flag, line, NULL};
    uv_process_options_t options = {0};
    options.file = shell;
    options.args = arguments;
    options.exit_cb = killer_exited_cb;
    killer.process.data = &killer;
    if (line == NULL || uv_spawn(&loop, &killer.process, &options) != 0) {
        die("--kill", "cannot run /bin/sh");
    }
    while (!killer.over) {
        uv_run(&loop, UV_RUN_DEFAULT);
    }
    free(line);
    if (killer.failed) {
        die("the command of --kill failed", command);
    }
    wait_while(all_nodes_up, person);
    printf("%s\n\n", redlock_client_message(person->client, sentence, sizeof sentence));
}

static void tell_acquire(struct person *alice, struct person *bob) {
    printf("1. Alice acquires \"" RESOURCE "\" for 10 seconds\n\n");
    acquire(alice);
    expect(alice, 0, "the lock was free");
    show_held(alice);
    printf("   A majority is enough: %zu of %zu nodes. Her token is %s.\n\n", n_nodes / 2 + 1,
           n_nodes, redlock_lock_token(alice->lock));
    show_nodes(alice, "granted", "held by another");

    printf("2. Bob, another client, tries once\n\n");
    acquire(bob);
    expect(bob, REDLOCK_ERR_HELD, "two of them hold one lock");
    printf("   Refused after %.2f ms: %s\n\n", ms(bob->ended_ns - bob->began_ns),
           redlock_strerror(bob->status));
    show_nodes(bob, "granted", "held by another");
}

static void tell_extend(struct person *alice) {
    printf("3. Alice needs more time and extends it by another 10 seconds\n\n");
    begin(alice);
    finish(alice, redlock_extend(alice->lock, 0, lock_cb, alice));
    expect(alice, 0, "the lock was held");
    show_held(alice);
    printf("\n");
    show_nodes(alice, "renewed", "token is gone");
}

static void tell_release(struct person *alice, struct person *bob, const char *kill_command) {
    if (kill_command != NULL) {
        printf("4. One node is killed; Alice is unaffected, and releases\n\n   ");
        kill_node(alice, kill_command);
    } else {
        printf("4. Alice releases\n\n");
    }
    if (!redlock_lock_is_valid(alice->lock)) {
        die(alice->name, "the lock should still be held");
    }
    begin(alice);
    finish(alice, redlock_release(alice->lock, lock_cb, alice));
    expect(alice, 0, "a majority was up");
    printf("   Released after %.2f ms.\n\n", ms(alice->ended_ns - alice->began_ns));
    show_nodes(alice, "deleted", "was not there");

    printf("5. Bob tries again\n\n");
    acquire(bob);
    expect(bob, 0, "the lock was released");
    show_held(bob);
    printf("\n");
    show_nodes(bob, "granted", "held by another");
    if (kill_command != NULL && count_votes(bob, REDLOCK_VOTE_FAILED) != 1) {
        die(bob->name, "exactly one node should have failed");
    }
    begin(bob);
    finish(bob, redlock_release(bob->lock, lock_cb, bob));
    expect(bob, 0, "a majority was up");
}

static void close_client(struct person *person) {
    begin(person);
    finish(person, redlock_client_close(person->client, client_cb, person));
}

int main(int argc, char **argv) {
    char sentence[REDLOCK_MESSAGE_MAX];
    struct person alice = {.name = "alice"}, bob = {.name = "bob"};
    const char *kill_command = NULL;
    int first = 1;
    if (argc > 2 && strcmp(argv[1], "--kill") == 0) {
        kill_command = argv[2];
        first = 3;
    }
    if (first >= argc || argv[first][0] == '-') {
        fprintf(stderr, "usage: demo [--kill COMMAND] URL...\n");
        return 2;
    }
    nodes = (const char *const *)argv + first;
    n_nodes = (size_t)(argc - first);
    if (uv_loop_init(&loop) != 0) {
        die("libuv", "no loop");
    }
    open_client(&alice);
    open_client(&bob);
    printf("%s\n\n", redlock_client_message(alice.client, sentence, sizeof sentence));
    tell_acquire(&alice, &bob);
    tell_extend(&alice);
    tell_release(&alice, &bob, kill_command);
    close_client(&alice);
    close_client(&bob);
    /* Fails if the client has left anything on the loop. */
    if (uv_run(&loop, UV_RUN_DEFAULT) != 0 || uv_loop_close(&loop) != 0) {
        die("libuv", "something is left on the loop");
    }
    printf("Bob released it as well; nothing is left on the nodes that live.\n");
    return 0;
}
