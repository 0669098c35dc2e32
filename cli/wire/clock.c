/* See clock.h. */
#include "wire/clock.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <time.h>

#include "wire/connection.h"

static double now_ms(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static bool is_time(const redisReply *reply) {
    return reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
           reply->element[0]->str != NULL && reply->element[1]->str != NULL;
}

static bool sample(struct rl_wire *wire, struct rl_wire_clock *clock) {
    double sent_ms = now_ms(CLOCK_MONOTONIC), wall_ms = now_ms(CLOCK_REALTIME);
    redisReply *reply = rl_wire_checked(wire, rl_wire_command(wire, "TIME"));
    double trip_ms = now_ms(CLOCK_MONOTONIC) - sent_ms;
    bool is_good = is_time(reply);
    if (is_good && (!clock->is_known || trip_ms < clock->latency_ms)) {
        double theirs_ms =
            strtod(reply->element[0]->str, NULL) * 1e3 + strtod(reply->element[1]->str, NULL) / 1e3;
        clock->latency_ms = trip_ms;
        clock->error_ms = trip_ms / 2;
        clock->ahead_ms = theirs_ms - (wall_ms + trip_ms / 2);
        clock->is_known = true;
    }
    if (is_good) {
        clock->samples_ms[clock->n_samples++] = trip_ms;
    }
    clock->latency_max_ms = trip_ms > clock->latency_max_ms ? trip_ms : clock->latency_max_ms;
    if (reply != NULL) {
        freeReplyObject(reply);
    }
    return is_good;
}

void rl_wire_clock(struct rl_wire *wire, int n, struct rl_wire_clock *clock) {
    *clock = (struct rl_wire_clock){0};
    assert(n <= RL_WIRE_SAMPLES);
    while (clock->n_samples < n && sample(wire, clock)) {
    }
}
