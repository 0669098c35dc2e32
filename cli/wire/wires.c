/* The nodes of a command: those of --nodes, and, if any of them has a configuration, all nodes of
 * its sets (members.c). A wire for each (wire.c).
 *
 * Happy path: rl_wires_open(); rl_wires_each() asks every node in its own thread, then the nodes
 * that the configurations name (read by rl_wire_hello()), with the credentials of the first node;
 * rl_wires_close().
 *
 * The latest configuration counts. It is determined again after each rl_wires_each(): a change of
 * the sets cuts connections, so a connection that stays has read it. Nodes are never removed: a
 * former member decides about nothing.
 *
 * Failure modes: a URL or a TLS option is bad: rl_wires_open() says so. A thread is unavailable:
 * its node is asked in the caller's thread. Nodes belong to different sets: they are treated as
 * having no configuration, and are_divided is set; clients get no votes there. A configuration that
 * clients refuse is ignored. */
#include "wire/room.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <uv.h>

#include "nodes/tls.h"
#include "say.h"
#include "tls/stream.h"

#define ANSWER_MS_MIN 1000

int64_t rl_wires_answer_ms(const struct rl_args *args) {
    int64_t ms = 4 * args->client.node_timeout_ms;
    return ms > ANSWER_MS_MIN ? ms : ANSWER_MS_MIN;
}

static int parse(struct rl_wire *wire, const struct rl_args *args, const char *text) {
    char error[REDLOCK_MESSAGE_MAX];
    wire->args = args;
    if (rl_url_parse_tls(text, &wire->url, &wire->tls, error, sizeof error) != 0) {
        return rl_usage("%s: %s", args->nodes_from, error);
    }
    if (wire->url.is_tls && !redlock_has_tls()) {
        return rl_usage("%s: %s: %s", args->nodes_from, wire->url.name,
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

/* Checks a node's TLS settings, and reads the files. Returns a status, with the reason in error. */
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

/* Sets up TLS for all nodes. Returns 0, or reports an error and returns the exit status. */
static int make_all_tls(struct rl_wire *wires, const struct rl_args *args, size_t n) {
    char error[REDLOCK_MESSAGE_MAX] = "";
    bool has_tls = false;
    redlock_client_options options = args->client;
    options.error = error;
    options.error_size = sizeof error;
    options.tls_insecure_skip_verify = args->tls_insecure;
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
    return status != 0 ? rl_usage("%s", error) : 0;
}

int rl_wire_open(struct rl_wire *wire, const struct rl_args *args, const char *text,
                 const struct rl_wire *like) {
    struct rl_args one = *args; /* its TLS options apply only to a node with TLS */
    struct rl_url *url = &wire->url;
    if (strncasecmp(text, "rediss:", 7) != 0) {
        one.client.tls_ca = one.client.tls_cert = one.client.tls_key = one.client.tls_server_name =
            NULL;
        one.tls_insecure = false;
    }
    memset(wire, 0, sizeof *wire);
    wire->answer_ms = rl_wires_answer_ms(args);
    int status = parse(wire, args, text);
    status = status == 0 ? make_all_tls(wire, &one, 1) : status;
    if (status == 0 && like != NULL && !url->has_password) {
        url->has_password = like->url.has_password;
        memcpy(url->user, like->url.user, sizeof url->user);
        memcpy(url->password, like->url.password, sizeof url->password);
        url->db = url->db == 0 ? like->url.db : url->db;
    }
    return status;
}

void rl_wire_close(struct rl_wire *wire) {
    rl_wire_disconnect(wire);
#ifdef RL_WITH_TLS
    rl_tls_peer_free(wire->dialer);
    rl_tls_free(wire->context);
#endif
    free(wire->config);
    explicit_bzero(wire, sizeof *wire);
}

/* -- Those of the command line -- */

static int open_all(struct rl_wires *wires, const struct rl_args *args, int64_t answer_ms) {
    int status = 0;
    assert(args->nodes.n > 0 && args->nodes.n <= REDLOCK_NODES_MAX);
    *wires = (struct rl_wires){.args = args, .answer_ms = answer_ms};
    wires->all = rl_must_alloc(REDLOCK_NODES_MAX, sizeof *wires->all);
    while (status == 0 && wires->n < args->nodes.n) {
        wires->all[wires->n].answer_ms = answer_ms;
        status = parse(&wires->all[wires->n], args, args->nodes.items[wires->n]);
        wires->n++;
    }
    rl_members_none(&wires->members, wires->n);
    return status == 0 ? make_all_tls(wires->all, args, wires->n) : status;
}

int rl_wires_open(struct rl_wires *wires, const struct rl_args *args) {
    return open_all(wires, args, rl_wires_answer_ms(args));
}

void rl_wires_close(struct rl_wires *wires) {
    for (size_t i = 0; i < wires->n; i++) {
        rl_wire_close(&wires->all[i]);
    }
    free(wires->all);
    wires->all = NULL;
    wires->n = 0;
}

/* -- Those of the configuration -- */

/* Whether clients would adopt it (nodes/membership.c). */
static bool is_usable(const struct rl_config *config) {
    bool is_usable = config->key.epoch != 0 && rl_config_fits(config);
    struct rl_url url;
    for (uint32_t i = 0; i < config->n && is_usable; i++) {
        is_usable = rl_url_parse(config->members[i].url, &url, NULL, 0) == 0 &&
                    url.kind == RL_URL_TCP && !url.has_password;
    }
    return is_usable;
}

/* The latest configuration that was read, even by earlier connections. NULL: there is none, or the
 * nodes belong to different sets. */
static const struct rl_config *latest_of(struct rl_wires *wires) {
    const struct rl_config *latest = &wires->members.config;
    wires->are_divided = false;
    for (size_t i = 0; i < wires->n; i++) {
        const struct rl_config *config = wires->all[i].config;
        if (config != NULL && is_usable(config)) {
            const enum rl_config_order order = rl_config_compare(&latest->key, &config->key);
            wires->are_divided |= order == RL_CONFIG_FOREIGN;
            latest = order == RL_CONFIG_NEWER ? config : latest;
        }
    }
    return latest->key.epoch != 0 && !wires->are_divided ? latest : NULL;
}

/* The index of the member's node: the one with its URL; or, since it may have been named
 * differently, the one whose own text says that it is this member. n: there is none. */
static size_t find(const struct rl_wires *wires, const struct rl_config *config, uint32_t member) {
    struct rl_url url;
    size_t i = 0;
    int status = rl_url_parse(config->members[member].url, &url, NULL, 0);
    assert(status == 0); /* is_usable() */
    (void)status;
    while (i < wires->n && !rl_url_same_server(&wires->all[i].url, &url)) {
        i++;
    }
    for (size_t j = 0; j < wires->n && i == wires->n; j++) {
        const struct rl_config *its = wires->all[j].config;
        if (its != NULL && its->key.epoch != 0 && strcmp(its->key.id, config->key.id) == 0 &&
            strcmp(its->members[its->self].url, config->members[member].url) == 0) {
            return j;
        }
    }
    return i;
}

/* Adds a member: without it, its set would seem smaller than it is. */
static void add(struct rl_wires *wires, const char *url) {
    int status = 0;
    if (wires->n == REDLOCK_NODES_MAX) {
        exit(rl_usage("%s: with those of the set there are more than %d nodes",
                      wires->args->nodes_from, REDLOCK_NODES_MAX));
    }
    struct rl_wire *wire = &wires->all[wires->n];
    status = rl_wire_open(wire, wires->args, url, &wires->all[0]);
    if (status != 0) {
        exit(status);
    }
    wire->answer_ms = wires->answer_ms;
    wires->n++;
}

static void adopt(struct rl_wires *wires) {
    const struct rl_config *config = latest_of(wires);
    if (config == NULL) {
        rl_members_none(&wires->members, wires->n);
        return;
    }
    if (config != &wires->members.config) {
        rl_members_begin(&wires->members, config);
        config = &wires->members.config;
    }
    for (uint32_t i = 0; i < config->n; i++) {
        const size_t node = find(wires, config, i);
        if (node == wires->n) {
            add(wires, config->members[i].url);
        }
        rl_members_place(&wires->members, i, (uint32_t)node);
    }
}

void rl_threads_run(void *items, size_t size, size_t n, void (*ask)(void *item)) {
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

void rl_wires_each(struct rl_wires *wires, void *items, size_t size, void (*ask)(void *item)) {
    for (size_t from = 0; from < wires->n;) {
        const size_t to = wires->n;
        for (size_t i = from; i < to; i++) {
            struct rl_wire *wire = &wires->all[i];
            memcpy((char *)items + i * size, &wire, sizeof wire);
        }
        rl_threads_run((char *)items + from * size, size, to - from, ask);
        from = to;
        adopt(wires);
    }
}

/* -- A command for each -- */

struct errand {
    struct rl_wire *wire; /* the first member, see rl_wires_each() */
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
    memcpy(errand->answer->node, wire->url.name, sizeof wire->url.name);
    rl_wire_disconnect(wire);
}

size_t rl_wires_ask(const struct rl_args *args, int64_t answer_ms, size_t n, const char **argv,
                    const size_t *lengths, struct rl_wire_answer answers[REDLOCK_NODES_MAX]) {
    struct errand errands[REDLOCK_NODES_MAX];
    struct rl_wires wires;
    size_t asked = 0;
    for (size_t i = 0; i < REDLOCK_NODES_MAX; i++) {
        answers[i] = (struct rl_wire_answer){.reply = NULL};
        errands[i] = (struct errand){NULL, n, argv, lengths, &answers[i]};
    }
    if (open_all(&wires, args, answer_ms) == 0) {
        rl_wires_each(&wires, errands, sizeof errands[0], run_errand);
        asked = wires.n;
    }
    rl_wires_close(&wires);
    return asked;
}
