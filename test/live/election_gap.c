/* How long nobody leads: three candidates on five nodes of our own, whose leader is told to resign,
 * or is killed, again and again.
 *
 *     election-gap [RESIGNATIONS [KILLS [TTL_MS [POLL_MS]]]]      default 100 30 2000 500
 *
 * Prints the distribution of the time between the leader's resignation (before the call) or its
 * SIGKILL (before kill()) and the next on_elected, in milliseconds. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/candidates.h"
#include "redlock/redlock.h"
#include "tool/local_nodes.h"

#define NODES 5
#define CANDIDATES 3
#define SAMPLES_MAX 10000

struct gaps {
    double ms[SAMPLES_MAX];
    size_t count;
};

static void die(const char *why) {
    fprintf(stderr, "election-gap: %s\n", why);
    exit(1);
}

static struct candidate_record wait_for(struct candidates *c, enum candidate_event event,
                                        int index) {
    struct candidate_record record;
    if (!candidates_wait(c, event, index, &record)) {
        die("nothing happens any more");
    }
    return record;
}

/* So that everybody waits, and a killed leader is killed at any time between two renewals. */
static void settle(void) {
    poll(NULL, 0, 300 + rand() % 700);
}

static void add(struct gaps *gaps, uint64_t from_ns, uint64_t to_ns) {
    gaps->ms[gaps->count++] = ((double)to_ns - (double)from_ns) / 1e6;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *what, struct gaps *gaps) {
    static const int percents[] = {0, 10, 50, 90, 99, 100};
    qsort(gaps->ms, gaps->count, sizeof(gaps->ms[0]), by_size);
    printf("%-12s n %zu", what, gaps->count);
    for (size_t i = 0; gaps->count > 0 && i < sizeof(percents) / sizeof(percents[0]); i++) {
        size_t at = (gaps->count - 1) * (size_t)percents[i] / 100;
        printf("  p%d %.2f", percents[i], gaps->ms[at]);
    }
    printf(" ms\n");
}

static long number(int argc, char **argv, int index, long otherwise) {
    return index < argc ? strtol(argv[index], NULL, 10) : otherwise;
}

int main(int argc, char **argv) {
    static struct gaps resigned, killed;
    struct rl_local_nodes_options options = {.n = NODES};
    struct rl_local_nodes *nodes = NULL;
    struct candidates c;
    char error[512];
    long resignations = number(argc, argv, 1, 100), kills = number(argc, argv, 2, 30);
    if (resignations < 0 || resignations > SAMPLES_MAX || kills < 0 || kills > SAMPLES_MAX) {
        die("usage: election-gap [RESIGNATIONS [KILLS [TTL_MS [POLL_MS]]]]");
    }
    if (rl_local_nodes_start(&nodes, &options, error, sizeof(error)) != 0) {
        die(error);
    }
    candidates_start(&c, rl_local_nodes_urls(nodes), NODES, number(argc, argv, 3, 2000),
                     number(argc, argv, 4, 500));
    for (int i = 0; i < CANDIDATES; i++) {
        candidates_spawn(&c, i);
    }
    struct candidate_record leader = wait_for(&c, CANDIDATE_ELECTED, CANDIDATE_ANY);
    for (long i = 0; i < resignations; i++) {
        settle();
        candidates_resign(&c, leader.index);
        struct candidate_record resigns = wait_for(&c, CANDIDATE_RESIGNS, leader.index);
        leader = wait_for(&c, CANDIDATE_ELECTED, CANDIDATE_ANY);
        add(&resigned, resigns.at_ns, leader.at_ns);
    }
    report("resignation", &resigned);
    for (long i = 0; i < kills; i++) {
        settle();
        uint64_t killed_ns = candidates_kill(&c, leader.index);
        int dead = leader.index;
        leader = wait_for(&c, CANDIDATE_ELECTED, CANDIDATE_ANY);
        add(&killed, killed_ns, leader.at_ns);
        candidates_spawn(&c, dead);
    }
    report("SIGKILL", &killed);
    candidates_end(&c);
    rl_local_nodes_stop(nodes);
    return 0;
}
