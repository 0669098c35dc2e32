/* See node_handshake.h. */
#include "redis/node_handshake.h"

#include <assert.h>
#include <stdio.h>

#include "redis/conn.h"
#include "redis/credentials.h"
#include "redis/handshake.h"
#include "redis/native.h"
#include "redlock/status.h"

/* Only the answer to INFO is parsed as INFO, and so on. */
static void node_expect(struct rl_node *node) {
    const struct rl_request *steps = node->steps, *next = node->head;
    rl_conn_expect(node->conn,
                   (struct rl_due){
                       .info = next == &steps[RL_STEP_INFO] ? &node->info : NULL,
                       .flushes = next == &steps[RL_STEP_STATS] ? &node->info.flushes : NULL,
                       .config = next == &steps[RL_STEP_CONFIG] ? &node->io->config : NULL,
                       .hello = next == &steps[RL_STEP_RESP3],
                   });
}

/* Sends the steps from this one on, all at once. */
static void node_say(struct rl_node *node, enum rl_step from) {
    char wire[RL_COMMAND_WIRE_MAX];
    assert(node->head == NULL); /* see credentials.h */
    if (!rl_conn_begin_secret(node->conn, RL_STEPS * sizeof wire)) {
        return;
    }
    for (enum rl_step step = from; step < RL_STEPS; step++) {
        size_t length = rl_handshake_format(step, &node->url, &node->options->handshake, wire);
        node->steps[step] = (struct rl_request){.kind = RL_COMMAND_HANDSHAKE};
        if (length > 0 && rl_conn_send(node->conn, wire, length)) {
            rl_node_push(node, &node->steps[step]);
        }
    }
    rl_wipe(wire, sizeof wire);
    node_expect(node);
}

void rl_node_shake(struct rl_node *node) {
    assert(node->head == NULL);
    rl_node_move(node, RL_NODE_HANDSHAKE);
    rl_node_set_deadline(node, rl_io_now_ns(node->io) + node->options->connect_timeout_ns);
    node->hint[0] = '\0';
    rl_info_init(&node->info);
    if (!rl_node_auth_greet(node)) {
        node_say(node, RL_STEP_AUTH);
    }
}

/* AUTH with newer credentials was answered; in a handshake it was the first command. */
static void node_auth_answer(struct rl_node *node, const struct rl_answer *answer) {
    int16_t reason = rl_node_auth_answer(node, answer);
    if (node->state == RL_NODE_HANDSHAKE && reason != REDLOCK_ERR_NODE_PROTOCOL) {
        node_say(node, reason == 0 ? RL_STEP_AUTH + 1 : RL_STEP_AUTH);
    }
}

/* The handshake is complete: no answer has ruled the node out. */
static void node_shaken(struct rl_node *node) {
    char detail[RL_DETAIL_MAX] = "";
    int16_t reason = 0;
    assert(node->head == NULL); /* a node that is down is sent nothing else */
    if (node->options->handshake.wants_info) {
        assert(node->info.problem == NULL); /* PING is answered after INFO */
        reason = node->events->judge(node, &node->info, detail);
    }
    if (reason != 0) {
        rl_conn_break(node->conn, reason, detail);
        return;
    }
    rl_node_move(node, RL_NODE_UP);
    node->reason = 0;
    node->detail[0] = '\0';
    node->pause_ns = 0;
    node->up_ns = rl_io_now_ns(node->io);
    node->connects++;
    rl_native_begin(node);
    node->known = 0;
    rl_node_set_deadline(node, RL_NEVER);
    rl_node_auth_up(node);
    node->events->up(node);
}

static void node_info_answer(struct rl_node *node, const struct rl_answer *answer, int16_t reason) {
    char detail[RL_DETAIL_MAX];
    bool is_missing = reason == REDLOCK_ERR_NODE_PERMISSION || reason == REDLOCK_ERR_NODE_ERROR;
    if (reason == 0 && node->info.problem != NULL) {
        reason = REDLOCK_ERR_NODE_PROTOCOL;
        is_missing = true;
    }
    if (is_missing) {
        rl_handshake_explain(reason, &node->info, detail, sizeof detail);
        rl_conn_break(node->conn, reason, detail);
    } else if (reason != 0) {
        rl_node_auth_break(node, reason, answer->text);
    }
}

static void node_config_answer(struct rl_node *node, const struct rl_answer *answer,
                               int16_t reason) {
    char detail[RL_DETAIL_MAX];
    struct rl_config_read *read = &node->io->config;
    if (reason == 0 && answer->verdict != RL_NO && read->problem != NULL) {
        reason = REDLOCK_ERR_NODE_CONFIG;
    }
    if (reason != 0) {
        rl_handshake_explain_config(reason, read->problem, answer->text, detail, sizeof detail);
    } else {
        const struct rl_config *config = answer->verdict != RL_NO ? read->config : NULL;
        node->config = config != NULL ? config->key : (struct rl_config_key){0};
        reason = node->events->config(node, config, detail);
    }
    rl_config_unread(read, NULL);
    if (reason != 0) {
        rl_conn_break(node->conn, reason, detail);
    }
}

void rl_node_handshake_answer(struct rl_node *node, const struct rl_request *request,
                              const struct rl_answer *answer) {
    if (request == &node->auth_request) {
        node_auth_answer(node, answer);
        return;
    }
    enum rl_step step = (enum rl_step)(request - node->steps);
    assert(step < RL_STEPS);
    assert(node->state == RL_NODE_HANDSHAKE);
    int16_t reason = rl_handshake_judge(step, answer);
    node_expect(node);
    if (step == RL_STEP_AUTH) {
        rl_node_auth_former(node, answer);
    } else if (step == RL_STEP_INFO) {
        node_info_answer(node, answer, reason);
    } else if (step == RL_STEP_CONFIG) {
        node_config_answer(node, answer, reason);
    } else if (reason != 0) {
        rl_node_auth_break(node, reason, answer->text);
    } else if (answer->verdict == RL_ERROR && step < RL_STEP_RESP3) {
        snprintf(node->hint, sizeof node->hint, "%s", answer->text);
    } else if (step == RL_STEP_PING) {
        node_shaken(node);
    }
}
