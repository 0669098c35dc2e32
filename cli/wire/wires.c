/* See wires.h. */
#include "wire/wires.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "exits.h"
#include "nodes/tls.h"
#include "say.h"
#include "tls/stream.h"

#define ANSWER_MS_MIN 1000

int64_t rl_wires_answer_ms(const struct rl_args *args) {
    int64_t ms = 4 * args->node_timeout_ms;
    return ms > ANSWER_MS_MIN ? ms : ANSWER_MS_MIN;
}

static int parse(struct rl_wire *wire, const struct rl_args *args, const char *text) {
    char error[REDLOCK_MESSAGE_MAX];
    wire->text = text;
    wire->args = args;
    if (rl_url_parse_tls(text, &wire->url, &wire->tls, error, sizeof error) != 0) {
        return rl_fail(RL_EXIT_USAGE, "%s: %s", args->nodes_from, error);
    }
    if (wire->url.is_tls && !redlock_has_tls()) {
        return rl_fail(RL_EXIT_USAGE, "%s: %s: %s", args->nodes_from, wire->url.name,
                       redlock_strerror(REDLOCK_ERR_NO_TLS));
    }
    if (args->password.text[0] != '\0') {
        struct rl_url *url = &wire->url;
        url->has_password = true;
        snprintf(url->user, sizeof url->user, "%s", args->user != NULL ? args->user : "");
        snprintf(url->password, sizeof url->password, "%s", args->password.text);
    }
    return 0;
}

/* Checks the TLS settings of a node, and reads its files. Returns a status, and why in error. */
static int make_tls(struct rl_wire *wire, const redlock_client_options *options, char *error,
                    size_t size) {
    const struct rl_tls_settings settings = rl_client_tls_settings(options, &wire->tls);
    const char *name = rl_client_tls_name(options, &wire->tls, wire->url.host);
    int status = rl_client_tls_check_node(&settings, name, wire->url.name, error, size);
#ifdef RL_WITH_TLS
    char why[REDLOCK_MESSAGE_MAX - 256] = "out of memory";
    rl_memory_init(&wire->memory, NULL);
    if (status == 0) {
        status = rl_tls_new(&wire->context, &wire->memory, &settings, why, sizeof why);
        wire->dialer = status == 0 ? rl_tls_peer_new(wire->context, name) : NULL;
        if (wire->dialer == NULL) {
            status = status != 0 ? status : REDLOCK_ERR_NOMEM;
            snprintf(error, size, "node %.200s: %s", wire->url.name, why);
        }
    }
#endif
    return status;
}

/* TLS, for all nodes. Returns 0, or says why not and returns the exit status. */
static int make_all_tls(struct rl_wire *wires, size_t n) {
    char error[REDLOCK_MESSAGE_MAX] = "";
    bool has_tls = false;
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    options.error = error;
    options.error_size = sizeof error;
    rl_args_tls(wires[0].args, &options);
    int status = rl_client_tls_check(&options);
    for (size_t i = 0; i < n && status == 0; i++) {
        if (wires[i].url.is_tls) {
            has_tls = true;
            status = make_tls(&wires[i], &options, error, sizeof error);
        }
    }
    if (status == 0) {
        status = rl_client_tls_check_use(&options, has_tls);
    }
    return status != 0 ? rl_fail(RL_EXIT_USAGE, "%s", error) : 0;
}

static int open_all(struct rl_wire **wires, const struct rl_args *args, int64_t answer_ms) {
    int status = 0;
    assert(args->nodes.n > 0 && args->nodes.n <= REDLOCK_NODES_MAX);
    struct rl_wire *opened = rl_must_alloc(args->nodes.n, sizeof *opened);
    for (size_t i = 0; status == 0 && i < args->nodes.n; i++) {
        opened[i].answer_ms = answer_ms;
        status = parse(&opened[i], args, args->nodes.items[i]);
    }
    if (status == 0) {
        status = make_all_tls(opened, args->nodes.n);
    }
    if (status != 0) {
        rl_wires_free(opened, args->nodes.n);
        return status;
    }
    *wires = opened;
    return 0;
}

int rl_wires_open(struct rl_wire **wires, const struct rl_args *args, int64_t answer_ms) {
    signal(SIGPIPE, SIG_IGN);
    return open_all(wires, args, answer_ms);
}

void rl_wires_free(struct rl_wire *wires, size_t n) {
    if (wires == NULL) {
        return;
    }
#ifdef RL_WITH_TLS
    for (size_t i = 0; i < n; i++) {
        rl_tls_peer_free(wires[i].dialer);
        rl_tls_free(wires[i].context);
    }
#endif
    explicit_bzero(wires, n * sizeof *wires);
    free(wires);
}

void rl_wires_each(void *items, size_t size, size_t n, void (*ask)(void *item)) {
    uv_thread_t threads[REDLOCK_NODES_MAX];
    bool runs[REDLOCK_NODES_MAX];
    assert(n <= REDLOCK_NODES_MAX);
    for (size_t i = 0; i < n; i++) {
        void *item = (char *)items + i * size;
        runs[i] = uv_thread_create(&threads[i], ask, item) == 0;
        if (!runs[i]) {
            ask(item);
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (runs[i]) {
            uv_thread_join(&threads[i]);
        }
    }
}

/* A command for one node. */
struct errand {
    struct rl_wire *wire;
    size_t n;
    const char **argv;
    const size_t *lengths;
    struct rl_wire_answer *answer;
};

static void run_errand(void *data) {
    const struct errand *errand = data;
    struct rl_wire *wire = errand->wire;
    if (rl_wire_connect(wire) && rl_wire_hello(wire)) {
        rl_wire_ask_argv(wire, errand->n, errand->argv, errand->lengths);
        errand->answer->reply = rl_wire_checked(wire, rl_wire_reply(wire));
    }
    memcpy(errand->answer->why, wire->failure, sizeof wire->failure);
    rl_wire_disconnect(wire);
}

void rl_wires_ask(const struct rl_args *args, size_t n, const char **argv, const size_t *lengths,
                  struct rl_wire_answer answers[REDLOCK_NODES_MAX]) {
    struct errand errands[REDLOCK_NODES_MAX];
    struct rl_wire *wires = NULL;
    for (size_t i = 0; i < args->nodes.n; i++) {
        answers[i] = (struct rl_wire_answer){.why = "it could not be asked"};
    }
    if (open_all(&wires, args, rl_wires_answer_ms(args)) == 0) {
        for (size_t i = 0; i < args->nodes.n; i++) {
            errands[i] = (struct errand){&wires[i], n, argv, lengths, &answers[i]};
        }
        rl_wires_each(errands, sizeof errands[0], args->nodes.n, run_errand);
        rl_wires_free(wires, args->nodes.n);
    }
}
