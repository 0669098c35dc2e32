/* See ask.h. */
#include "doctor/ask.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "doctor/info.h"
#include "doctor/probe.h"
#include "doctor/trial.h"
#include "tool/utf8.h"
#include "wire/connection.h"
#include "wire/wires.h"

static double now_ms(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* -- Single questions -- */

static void ask_info(struct rl_facts *facts) {
    redisReply *reply = rl_wire_checked(facts->wire, rl_wire_command(facts->wire, "INFO"));
    if (reply == NULL) {
        memcpy(facts->no_info, facts->wire->failure, sizeof facts->no_info);
        return;
    }
    if (reply->str != NULL) {
        rl_doctor_read_info(facts, reply->str);
    }
    freeReplyObject(reply);
}

/* One setting. False: not allowed, or not there. */
static bool ask_setting(struct rl_facts *facts, const char *name, char *out) {
    redisReply *reply =
        rl_wire_checked(facts->wire, rl_wire_command(facts->wire, "CONFIG GET %s", name));
    bool found = reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                 reply->element[1]->str != NULL;
    if (found) {
        tool_utf8_clean(reply->element[1]->str, strlen(reply->element[1]->str), out, RL_FACT_MAX);
    }
    if (reply != NULL) {
        freeReplyObject(reply);
    }
    return found;
}

/* Its clock, several times: the answer that came fastest tells it most exactly. */
static void ask_clock(struct rl_facts *facts) {
    for (int i = 0; i < RL_DOCTOR_SAMPLES; i++) {
        double sent_ms = now_ms(CLOCK_MONOTONIC), wall_ms = now_ms(CLOCK_REALTIME);
        redisReply *reply = rl_wire_checked(facts->wire, rl_wire_command(facts->wire, "TIME"));
        double trip_ms = now_ms(CLOCK_MONOTONIC) - sent_ms;
        bool is_time = reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                       reply->element[0]->str != NULL && reply->element[1]->str != NULL;
        if (is_time && (!facts->has_clock || trip_ms < facts->latency_ms)) {
            double theirs_ms = strtod(reply->element[0]->str, NULL) * 1e3 +
                               strtod(reply->element[1]->str, NULL) / 1e3;
            facts->latency_ms = trip_ms;
            facts->clock_error_ms = trip_ms / 2;
            facts->clock_ms = theirs_ms - (wall_ms + trip_ms / 2);
            facts->has_clock = true;
        }
        facts->latency_max_ms = trip_ms > facts->latency_max_ms ? trip_ms : facts->latency_max_ms;
        if (reply != NULL) {
            freeReplyObject(reply);
        }
        if (!is_time) {
            return;
        }
    }
}

/* -- One node, all nodes -- */

/* What else may be there, of a node that took the connection and did not answer. */
static void ask_otherwise(struct rl_facts *facts) {
    struct rl_wire *wire = facts->wire;
    rl_wire_disconnect(wire);
    if (wire->tls_end[0] != '\0') {
        wire->failed_at = "TLS";
        memcpy(wire->failure, wire->tls_end, sizeof wire->failure);
    } else {
        rl_doctor_probe(facts);
    }
}

static void ask(void *data) {
    struct rl_facts *facts = data;
    struct rl_wire *wire = facts->wire;
    if (rl_wire_connect(wire)) {
        facts->is_reachable = rl_wire_hello(wire);
        if (!facts->is_reachable && wire->context->err != 0) {
            ask_otherwise(facts);
        }
    }
    if (facts->is_reachable) {
        ask_info(facts);
        facts->has_config = ask_setting(facts, "appendfsync", facts->appendfsync) &&
                            ask_setting(facts, "save", facts->save);
        ask_clock(facts);
        rl_doctor_try(facts);
    }
    rl_wire_disconnect(wire);
}

void rl_doctor_ask(struct rl_facts *facts, size_t n) {
    rl_wires_each(facts, sizeof *facts, n, ask);
}
