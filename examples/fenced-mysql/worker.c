/* A worker that sells what a database has in stock, under a lock; and a database that refuses it
 * once a later holder of the lock has been there. run.sh stops it in the middle and shows both.
 *
 *     worker NUMBER SOCKET fenced|unfenced redis://host:port ...
 *
 * The lock is taken around the transaction, and the transaction is inside:
 *
 *     lock        with a fence: a number that is larger for each later holder
 *     claim       UPDATE stock SET fence = mine WHERE id = ? AND fence <= mine
 *     BEGIN
 *     read, decide
 *     check       is the lock still valid?
 *     write       UPDATE stock SET rest = rest - 1, fence = mine WHERE id = ? AND fence <= mine
 *     COMMIT
 *     unlock      after the commit: before it, the next holder would read the old stock
 *
 * Can it sell what is not there? The process may be stopped at any point, for longer than the lock
 * lives, and never knows. Worker 1 is stopped, its lease ends, and worker 2 gets the lock:
 *   - Between the check and the write. The check was right when it was made; no further check in
 *     worker 1 can help, since it may be stopped after that, too. Worker 2 claims the row with a
 *     larger fence. The write of worker 1 then finds no row with fence <= mine: it is refused and
 *     rolled back. With `unfenced` it goes through: two orders for one item.
 *   - Between the write and the commit. Worker 1 has a lock of the database on the row. The claim
 *     of worker 2 waits for it, and what worker 2 reads afterwards has the sale of worker 1 in it.
 *     That is why it claims before it reads: a read without a claim is not fenced. It would see the
 *     stock from before, and its own write, whose fence is larger, would be let through.
 *   - After the commit: the sale is done, and worker 2 reads it.
 * The claim is a transaction of its own, so that no row is locked while the worker decides, which
 * may take long. `<=`, since the same holder writes again with the same fence; no two holders have
 * the same one.
 *
 * Here one statement could protect itself (AND rest > 0). The fence is for what no statement can
 * check: a computed price, a requested payment, a written file.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <redlock/blocking.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "sql.h"

#define ITEM 7
#define RESOURCE "stock:7"
#define TTL_MS 3000
#define WAIT_MS 60000

/* Also the exit status. */
enum outcome { SOLD = 0, FAILED = 1, USAGE = 2, SOLD_OUT = 3, REFUSED = 4, LOST = 5 };

struct worker {
    uint64_t number;
    int is_fenced;
    MYSQL *db;
    redlock_mutex *mutex;
    uint64_t fence;
};

/* Here run.sh may stop the process: it says where it is, and goes on when it reads a byte from
 * stdin, or its end. With /dev/null it goes on at once. */
static void reach(const char *point) {
    char byte;
    printf("%s\n", point);
    while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR) {
    }
}

/* From here on, a smaller fence is refused. */
static enum outcome claim(const struct worker *worker) {
    const uint64_t values[] = {worker->fence, ITEM, worker->fence};
    int64_t rows =
        sql_run(worker->db, "UPDATE stock SET fence = ? WHERE id = ? AND fence <= ?", values, 3);
    return rows < 0 ? FAILED : rows == 0 ? REFUSED : SOLD;
}

static enum outcome write_sale(const struct worker *worker) {
    const uint64_t values[] = {worker->fence, ITEM, worker->fence};
    const uint64_t order[] = {ITEM, worker->number, worker->fence};
    const char *fenced = "UPDATE stock SET rest = rest - 1, fence = ? WHERE id = ? AND fence <= ?";
    const char *unfenced = "UPDATE stock SET rest = rest - 1, fence = ? WHERE id = ?";
    int64_t rows = worker->is_fenced ? sql_run(worker->db, fenced, values, 3)
                                     : sql_run(worker->db, unfenced, values, 2);
    if (rows < 1) {
        return rows < 0 ? FAILED : REFUSED;
    }
    rows =
        sql_run(worker->db, "INSERT INTO orders (item, worker, fence) VALUES (?, ?, ?)", order, 3);
    return rows == 1 ? SOLD : FAILED;
}

static enum outcome transaction(const struct worker *worker) {
    int64_t rest;
    if (sql_run(worker->db, "BEGIN", NULL, 0) < 0 ||
        sql_read(worker->db, "SELECT rest FROM stock WHERE id = ?", ITEM, &rest) != 0) {
        return FAILED;
    }
    printf("reads: %" PRId64 " left\n", rest);
    if (rest < 1) {
        return SOLD_OUT;
    }
    /* ... here it decides, asks for the payment, works out the price ... */
    if (!redlock_mutex_is_valid(worker->mutex)) {
        return LOST; /* worth checking, but not enough */
    }
    reach("looks: its lock is valid. It is about to write");
    enum outcome outcome = write_sale(worker);
    if (outcome == SOLD) {
        reach("has written, and is about to commit");
        outcome = sql_run(worker->db, "COMMIT", NULL, 0) < 0 ? FAILED : SOLD;
    }
    return outcome;
}

/* Runs under the lock. Uncommitted changes are rolled back. (A COMMIT that fails may have
 * succeeded, with only its answer lost: check before you try again.) */
static enum outcome sell(const struct worker *worker) {
    static const char *const words[] = {
        [SOLD] = "sold: its order is committed",
        [FAILED] = "failed",
        [SOLD_OUT] = "sold out: no order",
        [REFUSED] = "refused",
        [LOST] = "lost the lock before it wrote: no order",
    };
    enum outcome outcome = worker->is_fenced ? claim(worker) : SOLD;
    outcome = outcome == SOLD ? transaction(worker) : outcome;
    if (outcome != SOLD) {
        sql_run(worker->db, "ROLLBACK", NULL, 0);
    }
    printf("%s", words[outcome]);
    int64_t other;
    /* After the rollback: inside the transaction this would still read the row as it was before. */
    if (outcome == REFUSED &&
        sql_read(worker->db, "SELECT fence FROM stock WHERE id = ?", ITEM, &other) == 0) {
        printf(": a later holder (fence %" PRId64 ") has been here; mine is %" PRIu64
               "\nrolled back: no order",
               other, worker->fence);
    }
    printf("\n");
    return outcome;
}

static enum outcome with_lock(struct worker *worker) {
    char sentence[REDLOCK_MESSAGE_MAX];
    int status = redlock_mutex_try_lock(worker->mutex);
    if (status == REDLOCK_ERR_HELD) {
        printf("waits for the lock: %s\n", redlock_strerror(status));
        status = redlock_mutex_lock(worker->mutex, WAIT_MS);
    }
    if (status != 0) {
        redlock_mutex_message(worker->mutex, sentence, sizeof sentence);
        fprintf(stderr, "lock: %s\n", sentence);
        return FAILED;
    }
    worker->fence = redlock_mutex_fence(worker->mutex);
    assert(worker->fence > 0);
    printf("holds the lock, fence %" PRIu64 "\n", worker->fence);
    enum outcome outcome = sell(worker);
    status = redlock_mutex_unlock(worker->mutex);
    printf("unlocks: %s\n", redlock_strerror(status));
    return outcome;
}

static enum outcome with_nodes(struct worker *worker, char **nodes, size_t n_nodes) {
    char sentence[REDLOCK_MESSAGE_MAX] = "";
    redlock_blocking *client;
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    redlock_mutex_options mutex = REDLOCK_MUTEX_OPTIONS_INIT; /* renewed until it is unlocked */
    options.nodes = (const char *const *)nodes;
    options.n_nodes = n_nodes;
    /* run.sh started these nodes a second ago, without locks. Otherwise leave it strict: a node
     * that has just started may have forgotten a lock. */
    options.guard = REDLOCK_GUARD_OBSERVED;
    options.error = mutex.error = sentence;
    options.error_size = mutex.error_size = sizeof sentence;
    mutex.ttl_ms = TTL_MS;
    mutex.fencing = 1;
    enum outcome outcome = FAILED;
    if (redlock_blocking_open(&client, &options) != 0 ||
        redlock_mutex_new(client, RESOURCE, strlen(RESOURCE), &mutex, &worker->mutex) != 0) {
        fprintf(stderr, "worker: %s\n", sentence);
    } else {
        outcome = with_lock(worker);
        redlock_mutex_free(worker->mutex);
    }
    redlock_blocking_close(client);
    return outcome;
}

int main(int argc, char **argv) {
    struct worker worker = {0};
    if (argc < 5 || (strcmp(argv[3], "fenced") != 0 && strcmp(argv[3], "unfenced") != 0)) {
        fprintf(stderr, "usage: worker NUMBER SOCKET fenced|unfenced redis://host:port ...\n");
        return USAGE;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    worker.number = strtoull(argv[1], NULL, 10);
    worker.is_fenced = strcmp(argv[3], "fenced") == 0;
    worker.db = sql_connect(argv[2], "root", "shop");
    if (worker.db == NULL) {
        return FAILED;
    }
    enum outcome outcome = with_nodes(&worker, argv + 4, (size_t)argc - 4);
    mysql_close(worker.db);
    return (int)outcome;
}
