/* See listeners.h. */
#include "listeners.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"
#include "wire/connection.h"
#include "wire/wires.h"

#define CHANNEL "libredlock:client:"
#define CHANNEL_MAX (sizeof CHANNEL + 32)
#define PLACES_MAX (2 * RL_LINE_MAX)

struct question {
    struct rl_wire *wire;
    struct rl_line *line;
    size_t at[PLACES_MAX]; /* the places of this node whose client is known */
    size_t n;
};

static redisReply *ask_node(struct question *question) {
    char channels[PLACES_MAX][CHANNEL_MAX];
    const char *argv[2 + PLACES_MAX] = {"PUBSUB", "NUMSUB"};
    for (size_t i = 0; i < question->n; i++) {
        snprintf(channels[i], sizeof channels[i], CHANNEL "%s",
                 question->line->places[question->at[i]].client);
        argv[2 + i] = channels[i];
    }
    struct rl_wire *wire = question->wire;
    if (redisAppendCommandArgv(wire->context, (int)(2 + question->n), argv, NULL) != REDIS_OK) {
        return NULL;
    }
    return rl_wire_checked(wire, rl_wire_reply(wire));
}

/* A channel and how many listen to it, for each of those that were asked for. */
static void take_answer(const struct question *question, const redisReply *reply) {
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 * question->n) {
        return;
    }
    for (size_t i = 0; i < question->n; i++) {
        const redisReply *count = reply->element[2 * i + 1];
        if (count->type == REDIS_REPLY_INTEGER) {
            question->line->places[question->at[i]].listens =
                count->integer > 0 ? RL_LISTENS_YES : RL_LISTENS_NO;
        }
    }
}

static void ask(void *data) {
    struct question *question = data;
    redisReply *reply = NULL;
    if (question->n > 0 && rl_wire_connect(question->wire) && rl_wire_hello(question->wire)) {
        reply = ask_node(question);
    }
    if (reply != NULL) {
        take_answer(question, reply);
        freeReplyObject(reply);
    }
    rl_wire_disconnect(question->wire);
}

void rl_listeners_look(struct rl_line *line, const struct rl_args *args) {
    struct rl_wire *wires = NULL;
    const size_t n = args->nodes.n;
    struct question *questions = NULL;
    if (line->n == 0 || rl_wires_open(&wires, args, args->node_timeout_ms) != 0) {
        return;
    }
    questions = rl_must_alloc(n, sizeof *questions);
    for (size_t i = 0; i < n; i++) {
        struct question *question = &questions[i];
        *question = (struct question){.wire = &wires[i], .line = line};
        for (size_t j = 0; j < line->n; j++) {
            assert(j < PLACES_MAX);
            if (line->places[j].client[0] != '\0' &&
                strcmp(line->places[j].node, wires[i].url.name) == 0) {
                question->at[question->n++] = j;
            }
        }
    }
    rl_wires_each(questions, sizeof *questions, n, ask);
    rl_wires_free(wires, n);
    free(questions);
}
