/* See wires.h. */
#include "wire/wires.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "exits.h"
#include "redlock/redlock.h"
#include "say.h"
#include "wire/tunnel.h"

/* Of an answer, unless who asks sets others: an array of more is none, and INFO takes one or two
 * pieces. */
#define ELEMENTS_MAX 1024
#define PIECES_MAX 256

#define ANSWER_MS_MIN 1000

int64_t rl_wires_answer_ms(const struct rl_args *args) {
    int64_t ms = 4 * args->node_timeout_ms;
    return ms > ANSWER_MS_MIN ? ms : ANSWER_MS_MIN;
}

static int parse(struct rl_wire *wire, const struct rl_args *args, const char *text) {
    char error[REDLOCK_MESSAGE_MAX];
    wire->text = text;
    wire->args = args;
    wire->elements_max = ELEMENTS_MAX;
    wire->pieces_max = PIECES_MAX;
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

int rl_wires_open(struct rl_wire **wires, const struct rl_args *args, int64_t answer_ms) {
    int status = 0;
    assert(args->nodes.n > 0 && args->nodes.n <= REDLOCK_NODES_MAX);
    struct rl_wire *opened = rl_must_alloc(args->nodes.n, sizeof *opened);
    for (size_t i = 0; status == 0 && i < args->nodes.n; i++) {
        opened[i].answer_ms = answer_ms;
        status = parse(&opened[i], args, args->nodes.items[i]);
    }
    if (status == 0) {
        status = rl_wire_tunnel_check(opened, args->nodes.n);
    }
    if (status != 0) {
        rl_wires_free(opened, args->nodes.n);
        return status;
    }
    signal(SIGPIPE, SIG_IGN);
    *wires = opened;
    return 0;
}

void rl_wires_free(struct rl_wire *wires, size_t n) {
    if (wires != NULL) {
        explicit_bzero(wires, n * sizeof *wires);
        free(wires);
    }
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
