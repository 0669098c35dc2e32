/* A real redis-server and a server in memory that get the same commands.
 *
 * Happy path: pair_start(), then pair_say() again and again: the bytes go to both, randomly cut
 * into pieces, and the answers on all connections are compared. Then pair_check_keys() compares the
 * keys.
 *
 * Time: cluster/chaos/clock.c, preloaded, stops the real server's clock, and pair_pass() moves it;
 * the server in memory has the same time. So answers agree to the byte, and keys to the
 * millisecond. Neither server expires keys in the background: a key ends when a command touches
 * it.
 *
 * Failure modes: a difference; no answer within PAIR_PATIENCE_MS. `problem` describes it, and
 * `story` has all that was sent since pair_begin(). A failure of the machine ends the program. */
#ifndef SERVER_PAIR_H
#define SERVER_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <hiredis/hiredis.h>

#include "server/server.h"
#include "tool/local_nodes.h"

#define PAIR_CONNECTIONS 4
#define PAIR_PATIENCE_MS 5000

struct pair_connection {
    int fd; /* -1: none */
    struct server_connection *ours;
    struct bytes heard; /* from the real server, not compared yet */
};

/* The file that cluster/chaos/clock.c reads. */
struct pair_clock {
    uint64_t active; /* 0 or 1: which setting counts */
    struct {
        int64_t base_ns, offset_ns, rate_ppm;
    } settings[2];
    uint64_t unused;
};

struct pair {
    struct rl_local_nodes *nodes; /* the first is compared */
    redisContext *control;
    struct server *ours;
    struct pair_connection connections[PAIR_CONNECTIONS];
    uint64_t random; /* decides where bytes are cut */
    uint64_t now_us; /* of both clocks */
    struct pair_clock *clock;
    bool is_blind; /* in the server's state its keys cannot be read */
    uint64_t said;
    char problem[256]; /* "": none */
    FILE *story;
    char *story_text; /* after fflush() */
    size_t story_length;
};

/* Starts n real servers with these arguments (NULL-terminated, or NULL). password: the default
 * user's, or NULL. */
void pair_start(struct pair *pair, size_t n, const char *const *args, const char *password);
void pair_stop(struct pair *pair);

/* Sends a command to the real server only. Returns the reply's integer, or 0. Errors end the
 * program. */
long long pair_tell(struct pair *pair, const char *format, ...);
bool pair_info_says(struct pair *pair, const char *text);

/* Connects to a node, for questions. */
redisContext *pair_control(const struct pair *pair, size_t node, const char *password);

/* New connections, no scripts, a new story. The keys stay. */
void pair_begin(struct pair *pair, uint64_t seed);

/* False: they differ. */
bool pair_say(struct pair *pair, uint32_t connection, const struct bytes *wire);
bool pair_check_keys(struct pair *pair);

/* Copies the real server's keys to the server in memory. */
void pair_take_over(struct pair *pair);

/* Advances both clocks. */
void pair_pass(struct pair *pair, uint64_t us);

#endif
