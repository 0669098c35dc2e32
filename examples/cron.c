/* The cron dispatcher of a workflow engine: every tick its jobs are dispatched, by one process.
 *
 *     cron LEDGER TICK_MS TTL_MS redis://host:port ...
 *
 * Run it on several machines with the same nodes. One leads and dispatches; the others wait. When
 * the leader dies, another one leads within TTL_MS and catches up on the ticks that were missed.
 * SIGTERM: it resigns, so that the next one leads at once, and ends.
 *
 * Is each tick dispatched exactly once? That takes both of these:
 *   - The election: one process leads at a time. It calls redlock_election_is_leader() right before
 *     each action. That alone is not enough: between the check and the action the process can be
 *     stopped for any time, and then it dispatches late what another one has dispatched already.
 *   - The ledger: a tick's number is claimed in it before its jobs are dispatched, and can be
 *     claimed once. Here it is a directory in which a file is created exclusively. In an engine it
 *     is the engine's database: INSERT INTO ticks (number) with number as the primary key,
 *     preferably in the transaction that also creates the jobs. The number is the fence: the second
 *     is refused.
 * So no tick is dispatched twice, whatever stops, dies or drifts. A tick whose leader dies between
 * the claim and the action is not dispatched, unless both are one transaction; then each is
 * dispatched exactly once, though perhaps late.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <redlock/election.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include <uv.h>

struct cron {
    const char *ledger; /* a directory that exists */
    long long tick_ms;
    long long dispatched; /* the last tick that is in the ledger, 0: none */
    redlock_client *client;
    redlock_election *election;
    uv_timer_t timer;
    uv_signal_t end;
};

static long long now_ms(void) {
    struct timeval now;
    gettimeofday(&now, NULL);
    return (long long)now.tv_sec * 1000 + now.tv_usec / 1000;
}

static void say(const char *what, long long number) {
    printf("%lld %ld %s", now_ms(), (long)getpid(), what);
    printf(number > 0 ? " %lld\n" : "\n", number);
    fflush(stdout);
}

/* -- The ledger -- */

static long long last_in_ledger(const char *ledger) {
    long long last = 0;
    DIR *folder = opendir(ledger);
    if (folder == NULL) {
        perror(ledger);
        exit(1);
    }
    for (const struct dirent *at = readdir(folder); at != NULL; at = readdir(folder)) {
        long long number = strtoll(at->d_name, NULL, 10);
        last = number > last ? number : last;
    }
    closedir(folder);
    return last;
}

/* True if the tick is ours to dispatch: nobody has claimed it before. */
static int claim(const struct cron *cron, long long tick) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%lld", cron->ledger, tick);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (fd < 0) {
        if (errno != EEXIST) {
            perror(path);
            exit(1);
        }
        return 0;
    }
    dprintf(fd, "%ld\n", (long)getpid());
    close(fd);
    return 1;
}

/* -- The leader's work -- */

static void dispatch(struct cron *cron) {
    long long now = now_ms() / cron->tick_ms;
    if (cron->dispatched == 0) {
        cron->dispatched = now - 1; /* an empty ledger begins now */
    }
    while (cron->dispatched < now) {
        if (!redlock_election_is_leader(cron->election)) {
            say("stands down", 0);
            return;
        }
        cron->dispatched++;
        if (claim(cron, cron->dispatched)) {
            say("dispatches", cron->dispatched); /* here the jobs of the tick are started */
        } else {
            say("finds dispatched", cron->dispatched);
        }
    }
}

static void on_timer(uv_timer_t *timer) {
    struct cron *cron = timer->data;
    dispatch(cron);
}

static void on_elected(redlock_election *election, int status, void *data) {
    struct cron *cron = data;
    (void)election;
    (void)status;
    say("leads", 0);
    cron->dispatched = last_in_ledger(cron->ledger);
    uv_timer_start(&cron->timer, on_timer, 0, (uint64_t)(cron->tick_ms + 3) / 4);
}

static void on_lost(redlock_election *election, int status, void *data) {
    struct cron *cron = data;
    (void)election;
    uv_timer_stop(&cron->timer);
    printf("%lld %ld lost: %s\n", now_ms(), (long)getpid(), redlock_strerror(status));
    fflush(stdout);
}

static void on_leader(redlock_election *election, const char *leader, void *data) {
    (void)election;
    (void)data;
    printf("%lld %ld sees %s\n", now_ms(), (long)getpid(), leader != NULL ? leader : "-");
    fflush(stdout);
}

/* -- Ending -- */

static void on_resigned(redlock_election *election, int status, void *data) {
    struct cron *cron = data;
    (void)election;
    (void)status;
    say("ends", 0);
    redlock_client_close(cron->client, NULL, NULL);
    uv_close((uv_handle_t *)&cron->timer, NULL);
    uv_close((uv_handle_t *)&cron->end, NULL);
}

static void on_end(uv_signal_t *signal, int number) {
    struct cron *cron = signal->data;
    (void)number;
    uv_timer_stop(&cron->timer);
    uv_signal_stop(signal);
    if (redlock_election_resign(cron->election, on_resigned, cron) != 0) {
        on_resigned(cron->election, 0, cron);
    }
}

int main(int argc, char **argv) {
    struct cron cron = {.ledger = argc > 4 ? argv[1] : ""};
    char error[REDLOCK_MESSAGE_MAX] = "usage: cron LEDGER TICK_MS TTL_MS redis://host:port ...";
    redlock_client_options client = REDLOCK_CLIENT_OPTIONS_INIT;
    redlock_election_options election = REDLOCK_ELECTION_OPTIONS_INIT;
    cron.tick_ms = argc > 4 ? strtoll(argv[2], NULL, 10) : 0;
    if (cron.tick_ms < 1) {
        fprintf(stderr, "%s\n", error);
        return 2;
    }
    client.nodes = (const char *const *)(argv + 4);
    client.n_nodes = (size_t)argc - 4;
    client.guard = REDLOCK_GUARD_OBSERVED; /* cron.sh starts new nodes; otherwise leave it strict */
    client.error = error;
    client.error_size = sizeof error;
    election.name = "cron";
    election.name_length = strlen("cron");
    election.ttl_ms = strtoll(argv[3], NULL, 10);
    election.on_elected = on_elected;
    election.on_lost = on_lost;
    election.on_leader = on_leader;
    election.data = &cron;
    if (redlock_client_open(&cron.client, uv_default_loop(), &client, NULL, NULL) != 0 ||
        redlock_election_new(cron.client, &election, &cron.election, error, sizeof error) != 0) {
        fprintf(stderr, "cron: %s\n", error);
        return 2;
    }
    uv_timer_init(uv_default_loop(), &cron.timer);
    uv_signal_init(uv_default_loop(), &cron.end);
    cron.timer.data = cron.end.data = &cron;
    uv_signal_start(&cron.end, on_end, SIGTERM);
    redlock_election_campaign(cron.election);
    return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
