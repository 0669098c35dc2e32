/* See ask.h. */
#include "doctor/ask.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#include "doctor/connection.h"
#include "doctor/info.h"
#include "doctor/probe.h"
#include "doctor/trial.h"
#include "doctor/tunnel.h"
#include "exits.h"
#include "say.h"
#include "tool/utf8.h"

static double now_ms(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* -- Single steps: false ends the questions -- */

static bool fail(struct rl_facts *facts, const char *step, const char *why) {
    facts->failed_at = step;
    tool_utf8_clean(why, strlen(why), facts->failure, sizeof facts->failure);
    return false;
}

/* The reply, or NULL after an error, which is left in facts->failure. */
static redisReply *checked(struct rl_facts *facts, redisContext *context, redisReply *reply) {
    if (reply == NULL || reply->type == REDIS_REPLY_ERROR) {
        fail(facts, NULL, reply != NULL ? reply->str : rl_doctor_error(context));
        if (reply != NULL) {
            freeReplyObject(reply);
        }
        return NULL;
    }
    facts->failure[0] = '\0';
    return reply;
}

/* "ERR unknown command 'AUTH', with args beginning with: ...": the password follows. */
static void hide_arguments(redisReply *reply) {
    char *at = reply != NULL && reply->type == REDIS_REPLY_ERROR ? strstr(reply->str, ", with args")
                                                                 : NULL;
    if (at != NULL) {
        explicit_bzero(at, strlen(at));
    }
}

static bool say_hello(struct rl_facts *facts, redisContext *context) {
    const struct rl_url *url = &facts->url;
    redisReply *reply = NULL;
    if (url->has_password) {
        reply = url->user[0] != '\0'
                    ? rl_doctor_command(facts, context, "AUTH %s %s", url->user, url->password)
                    : rl_doctor_command(facts, context, "AUTH %s", url->password);
        hide_arguments(reply);
        if (checked(facts, context, reply) == NULL) {
            facts->failed_at = context->err != 0 ? "connect" : "AUTH";
            return false;
        }
        freeReplyObject(reply);
    }
    if (url->db != 0) {
        reply = rl_doctor_command(facts, context, "SELECT %u", url->db);
        if (checked(facts, context, reply) == NULL) {
            facts->failed_at = context->err != 0 ? "connect" : "SELECT";
            return false;
        }
        freeReplyObject(reply);
    }
    reply = rl_doctor_command(facts, context, "PING");
    bool must_log_in =
        reply != NULL && reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "NOAUTH", 6) == 0;
    if (reply == NULL || must_log_in) {
        fail(facts, must_log_in ? "AUTH" : "connect",
             reply != NULL ? reply->str : rl_doctor_error(context));
    }
    if (reply != NULL) {
        freeReplyObject(reply);
    }
    return reply != NULL && !must_log_in;
}

static void ask_info(struct rl_facts *facts, redisContext *context) {
    redisReply *reply = checked(facts, context, rl_doctor_command(facts, context, "INFO"));
    if (reply == NULL) {
        memcpy(facts->no_info, facts->failure, sizeof facts->no_info);
        return;
    }
    if (reply->str != NULL) {
        rl_doctor_read_info(facts, reply->str);
    }
    freeReplyObject(reply);
}

/* One setting. False: not allowed, or not there. */
static bool ask_setting(struct rl_facts *facts, redisContext *context, const char *name,
                        char *out) {
    redisReply *reply =
        checked(facts, context, rl_doctor_command(facts, context, "CONFIG GET %s", name));
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
static void ask_clock(struct rl_facts *facts, redisContext *context) {
    for (int i = 0; i < RL_DOCTOR_SAMPLES; i++) {
        double sent_ms = now_ms(CLOCK_MONOTONIC), wall_ms = now_ms(CLOCK_REALTIME);
        redisReply *reply = checked(facts, context, rl_doctor_command(facts, context, "TIME"));
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

static void ask(void *data) {
    struct rl_facts *facts = data;
    redisContext *context = rl_doctor_connect(facts);
    if (context == NULL || context->err != 0) {
        bool is_tls = context != NULL && facts->url.is_tls && context->err == RL_DOCTOR_ERR_TLS;
        fail(facts, is_tls ? "TLS" : "connect",
             context != NULL ? rl_doctor_error(context) : "out of memory");
    } else {
        facts->is_connected = true;
        facts->is_reachable = say_hello(facts, context);
        if (!facts->is_reachable && context->err != 0) {
            rl_doctor_disconnect(facts, context);
            context = NULL;
            if (facts->tls_end[0] != '\0') {
                fail(facts, "TLS", facts->tls_end);
            } else {
                rl_doctor_probe(facts);
            }
        }
    }
    if (facts->is_reachable) {
        ask_info(facts, context);
        facts->has_config = ask_setting(facts, context, "appendfsync", facts->appendfsync) &&
                            ask_setting(facts, context, "save", facts->save);
        ask_clock(facts, context);
        rl_doctor_try(facts, context);
    }
    rl_doctor_disconnect(facts, context);
}

int rl_doctor_ask(struct rl_facts *facts, struct rl_args *args) {
    uv_thread_t threads[REDLOCK_NODES_MAX];
    bool runs[REDLOCK_NODES_MAX];
    assert(args->nodes.n <= REDLOCK_NODES_MAX);
    for (size_t i = 0; i < args->nodes.n; i++) {
        char error[REDLOCK_MESSAGE_MAX];
        facts[i].text = args->nodes.items[i];
        facts[i].args = args;
        if (rl_url_parse_tls(args->nodes.items[i], &facts[i].url, &facts[i].tls, error,
                             sizeof error) != 0) {
            return rl_fail(RL_EXIT_USAGE, "%s: %s", args->nodes_from, error);
        }
        if (facts[i].url.is_tls && !redlock_has_tls()) {
            return rl_fail(RL_EXIT_USAGE, "%s: %s: %s", args->nodes_from, facts[i].url.name,
                           redlock_strerror(REDLOCK_ERR_NO_TLS));
        }
    }
    for (size_t i = 0; args->password.text[0] != '\0' && i < args->nodes.n; i++) {
        struct rl_url *url = &facts[i].url;
        url->has_password = true;
        snprintf(url->user, sizeof url->user, "%s", args->user != NULL ? args->user : "");
        snprintf(url->password, sizeof url->password, "%s", args->password.text);
    }
    int status = rl_doctor_tunnel_check(facts, args->nodes.n);
    if (status != 0) {
        return status;
    }
    for (size_t i = 0; i < args->nodes.n; i++) {
        runs[i] = uv_thread_create(&threads[i], ask, &facts[i]) == 0;
        if (!runs[i]) {
            ask(&facts[i]);
        }
    }
    for (size_t i = 0; i < args->nodes.n; i++) {
        if (runs[i]) {
            uv_thread_join(&threads[i]);
        }
    }
    return 0;
}
