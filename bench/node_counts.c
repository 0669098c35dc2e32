/* See node_counts.h. */
#include "node_counts.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_S 2

struct rl_bench_node_counts {
    uint64_t asked; /* INFOs so far */
    size_t n;
    redisContext *nodes[];
};

struct rl_bench_node_counts *rl_bench_node_counts_open(const struct rl_local_nodes *local) {
    size_t n = local != NULL ? rl_local_nodes_count(local) : 0;
    struct rl_bench_node_counts *counts =
        n > 0 ? calloc(1, sizeof(*counts) + n * sizeof(counts->nodes[0])) : NULL;
    if (counts == NULL) {
        return NULL;
    }
    for (; counts->n < n; counts->n++) {
        counts->nodes[counts->n] =
            redisConnectWithTimeout("127.0.0.1", rl_local_nodes_port(local, counts->n),
                                    (struct timeval){.tv_sec = TIMEOUT_S});
    }
    return counts;
}

static uint64_t read_one(redisContext *node) {
    static const char name[] = "total_commands_processed:";
    unsigned long long count = 0;
    redisReply *reply = node != NULL && node->err == 0 ? redisCommand(node, "INFO stats") : NULL;
    if (reply != NULL && reply->str != NULL) {
        const char *line = strstr(reply->str, name);
        count = line != NULL ? strtoull(line + strlen(name), NULL, 10) : 0;
    }
    freeReplyObject(reply);
    return count;
}

uint64_t rl_bench_node_counts_read(struct rl_bench_node_counts *counts) {
    uint64_t sum = 0;
    bool is_whole = counts != NULL;
    for (size_t i = 0; counts != NULL && i < counts->n; i++) {
        uint64_t count = read_one(counts->nodes[i]);
        is_whole &= count > 0;
        sum += count - counts->asked; /* the count does not include this INFO */
    }
    if (!is_whole) {
        return 0;
    }
    counts->asked++;
    return sum;
}

void rl_bench_node_counts_close(struct rl_bench_node_counts *counts) {
    for (size_t i = 0; counts != NULL && i < counts->n; i++) {
        redisFree(counts->nodes[i]);
    }
    free(counts);
}
