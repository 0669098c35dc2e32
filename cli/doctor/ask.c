/* See ask.h. */
#include "doctor/ask.h"

#include <hiredis/hiredis.h>
#include <string.h>

#include "doctor/info.h"
#include "doctor/probe.h"
#include "doctor/trial.h"
#include "tool/utf8.h"
#include "wire/clock.h"
#include "wire/connection.h"
#include "wire/wires.h"

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
        rl_wire_clock(wire, RL_WIRE_SAMPLES, &facts->clock);
        rl_doctor_try(facts);
    }
    rl_wire_disconnect(wire);
}

void rl_doctor_ask(struct rl_facts *facts, size_t n) {
    rl_wires_each(facts, sizeof *facts, n, ask);
}
