/* One client on one loop, for commands that read from top to bottom.
 *
 *     rl_session_open() -> rl_session_lock() -> redlock_...(.., rl_session_lock_cb, session)
 *         -> rl_session_wait() -> rl_session_close()
 *
 * rl_session_wait() runs the loop until the callback of the preceding call has run.
 *
 * Failure modes: the client cannot be opened (a bad URL: RL_EXIT_USAGE); too few nodes answer,
 * which is not an error here: a client that waits for a lock also waits for nodes. SIGINT, SIGTERM
 * or SIGHUP end rl_session_open() with 128 + n. During an acquire they cancel it, so that no key
 * stays behind; session->caught is the signal. */
#include "session/room.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "say.h"
#include "tool/json.h"

#define PASSWORD_MS 1000 /* how often the file is checked */

/* -- The loop -- */

void rl_session_done(struct rl_session *session, int status) {
    session->is_done = true;
    session->status = status;
    uv_stop(&session->loop);
}

void rl_session_lock_cb(redlock_lock *lock, int status, void *session) {
    ((struct rl_session *)session)->lock = lock;
    rl_session_done(session, status);
}

static void client_cb(redlock_client *client, int status, void *session) {
    (void)client;
    rl_session_done(session, status);
}

int rl_session_wait(struct rl_session *session) {
    while (!session->is_done) {
        uv_run(&session->loop, UV_RUN_DEFAULT);
    }
    session->is_done = false;
    return session->status;
}

static void on_limit(uv_timer_t *timer) {
    rl_session_done(timer->data, 0);
}

void rl_session_until(struct rl_session *session, rl_session_condition *is_over, const void *data,
                      int64_t limit_ms, bool is_interruptible) {
    uv_timer_t limit;
    if (is_over != NULL && is_over(session, data)) {
        return;
    }
    uv_timer_init(&session->loop, &limit);
    limit.data = session;
    uv_update_time(&session->loop);
    uv_timer_start(&limit, on_limit, (uint64_t)limit_ms, 0);
    session->is_interruptible = is_interruptible;
    while (!session->is_done && (is_over == NULL || !is_over(session, data))) {
        uv_run(&session->loop, UV_RUN_ONCE);
    }
    session->is_done = session->is_interruptible = false; /* before the loop runs again */
    uv_close((uv_handle_t *)&limit, NULL);
    uv_run(&session->loop, UV_RUN_NOWAIT);
}

bool rl_session_repeats(struct rl_session *session) {
    const bool repeats = session->args->is_repeated && session->caught == 0;
    if (repeats) {
        rl_session_until(session, NULL, NULL, session->args->repeat_ms, true);
    }
    return repeats && session->caught == 0;
}

/* -- Late nodes -- */

/* What to wait for, on all nodes: a set may have more than were named. */
enum step { CONNECTED, ANSWERED, RELEASED };

static bool have_done(const struct rl_session *session, const void *data) {
    const enum step step = *(const enum step *)data;
    redlock_node_info info = REDLOCK_NODE_INFO_INIT;
    for (size_t i = 0; redlock_client_node(session->client, i, &info) == 0; i++) {
        const bool has_connected = info.up || info.connects > 0 || info.failures > 0;
        const bool has_answered = info.outstanding == 0;
        if (!(step == CONNECTED  ? has_connected
              : step == ANSWERED ? has_answered
                                 : has_answered && info.pending_releases == 0)) {
            return false;
        }
    }
    return true;
}

void rl_session_settle(struct rl_session *session, const redlock_lock *lock) {
    int64_t limit_ms = session->args->client.node_timeout_ms;
    int64_t half_ms = lock != NULL ? redlock_lock_remaining_ms(lock) / 2 : limit_ms;
    rl_session_until(session, have_done, &(enum step){ANSWERED},
                     half_ms < limit_ms ? half_ms : limit_ms, lock != NULL);
}

int rl_session_confirm(struct rl_session *session, int status) {
    if (status != REDLOCK_ERR_NO_QUORUM) {
        return status;
    }
    rl_session_until(session, have_done, &(enum step){RELEASED},
                     2 * session->args->client.node_timeout_ms, false);
    return have_done(session, &(enum step){RELEASED}) ? 0 : status;
}

static void on_signal(int signal_number, void *data) {
    struct rl_session *session = data;
    if (signal_number == SIGWINCH) {
        rl_waiting_redraw(&session->waiting);
        return;
    }
    session->caught = signal_number;
    for (size_t i = 0; i < session->n_acquiring; i++) {
        redlock_cancel(session->acquiring[i]);
    }
    if (session->is_interruptible) {
        rl_session_done(session, REDLOCK_ERR_CANCELED);
    }
    if (session->on_caught != NULL) {
        session->on_caught(signal_number, session->caught_data);
    }
}

/* -- A password that changes -- */

/* A password that changes while a command runs: the file of --password-file is checked, and a new
 * password goes to the nodes. Each node's answer to a new password is reported: a refusal always,
 * acceptance with --verbose; run and elect with --json report both, as events on stderr. The first
 * password is set before the loop runs, like one in the URLs: a node that refuses it stays down.
 *
 * Why no signal? SIGHUP goes to the command, and ends the wait for a lock. And nothing sends a
 * signal when a file changes, such as a secret mounted into a container. */
static void on_password_timer(uv_timer_t *timer) {
    struct rl_session *session = timer->data;
    if (rl_password_look(&session->args->password)) {
        int status = rl_password_set(&session->args->password, session->client);
        if (status != 0 && status != REDLOCK_ERR_CLOSED) {
            rl_say("the new password: %s", redlock_strerror(status));
        }
    }
}

static int open_rotation(struct rl_session *session) {
    struct rl_password *password = &session->args->password;
    if (password->is_watched) {
        uv_timer_init(&session->loop, &session->password_timer);
        session->password_timer.data = session;
        uv_timer_start(&session->password_timer, on_password_timer, PASSWORD_MS, PASSWORD_MS);
        uv_unref((uv_handle_t *)&session->password_timer);
        session->has_password_timer = true;
    }
    return rl_password_set(password, session->client);
}

static void say_refused(const struct rl_session *session, const redlock_event *event) {
    redlock_node_info info = REDLOCK_NODE_INFO_INIT;
    for (size_t i = 0; redlock_client_node(session->client, i, &info) == 0; i++) {
        if (strcmp(info.node, event->node) == 0) {
            bool has_words = info.credentials_detail[0] != '\0';
            rl_say("node %s refuses the new password: %s%s%s%s%s", event->node,
                   redlock_strerror(event->status), has_words ? " (" : "", info.credentials_detail,
                   has_words ? ")" : "", info.connects > 0 ? "; the one before stays in use" : "");
        }
    }
}

static void report_password(const redlock_event *event) {
    assert(event->node != NULL);
    tool_json_line(stderr, JSON_TEXT("event", "password"), JSON_TEXT("node", event->node),
                   JSON_TEXT("status", redlock_err_name(event->status)));
}

static void report_rotation(const struct rl_session *session, const redlock_event *event) {
    const bool is_refused = event->type == REDLOCK_EVENT_CREDENTIALS_REFUSED;
    if (!is_refused && event->type != REDLOCK_EVENT_CREDENTIALS_ACCEPTED) {
        return;
    }
    const struct rl_args *args = session->args;
    if (args->json && (args->command == RL_CMD_RUN || args->command == RL_CMD_ELECT)) {
        report_password(event);
    } else if (is_refused) {
        say_refused(session, event);
    } else if (args->verbose) {
        rl_say("node %s accepts the new password", event->node);
    }
}

static void on_event(const redlock_event *event, void *data) {
    struct rl_session *session = data;
    rl_waiting_on_event(&session->waiting, event);
    report_rotation(session, event);
}

/* -- Open and close -- */

int rl_session_open(struct rl_session *session, struct rl_args *args) {
    char sentence[REDLOCK_MESSAGE_MAX];
    static const int list[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, 0};
    char error[REDLOCK_MESSAGE_MAX] = "";
    redlock_client_options options = args->client;
    memset(session, 0, sizeof *session);
    session->args = args;
    options.nodes = args->nodes.items;
    options.n_nodes = args->nodes.n;
    options.guard = (enum redlock_guard)args->guard;
    options.client_name = "redlock-cli";
    options.tls_insecure_skip_verify = args->tls_insecure;
    options.error = error;
    options.error_size = sizeof error;
    options.trace = on_event;
    options.trace_data = session;
    if (uv_loop_init(&session->loop) != 0) {
        return rl_fail(RL_EXIT_SYSTEM, "cannot create an event loop");
    }
    rl_waiting_open(&session->waiting, &session->loop, args);
    int status =
        redlock_client_open(&session->client, &session->loop, &options, client_cb, session);
    if (status != 0) {
        rl_waiting_close(&session->waiting);
        uv_run(&session->loop, UV_RUN_DEFAULT);
        uv_loop_close(&session->loop);
        bool is_usage = status != REDLOCK_ERR_NOMEM && status != REDLOCK_ERR_SYSTEM;
        return rl_fail(is_usage ? RL_EXIT_USAGE : RL_EXIT_SYSTEM, "%s: %s", args->nodes_from,
                       error[0] != '\0' ? error : redlock_strerror(status));
    }
    session->is_open = true;
    status = open_rotation(session);
    if (status != 0) {
        status = rl_fail(RL_EXIT_SYSTEM, "%s", redlock_strerror(status));
        rl_session_close(session, status);
        return status;
    }
    rl_signals_open(&session->signals, &session->loop, list, on_signal, session);
    session->is_interruptible = true;
    status = rl_session_wait(session);
    session->is_interruptible = false;
    if (status == REDLOCK_ERR_DUPLICATE) {
        int exit_status =
            rl_usage("%s: %s", args->nodes_from,
                     redlock_client_message(session->client, sentence, sizeof sentence));
        rl_session_close(session, exit_status);
        return exit_status;
    }
    if (status == 0) {
        rl_session_until(session, have_done, &(enum step){CONNECTED},
                         args->client.node_timeout_ms / 2, true);
    }
    if (session->caught != 0) {
        const int exit_status = RL_EXIT_SIGNAL + session->caught;
        rl_session_close(session, exit_status);
        return exit_status;
    }
    if (args->verbose && status == 0) {
        rl_say("%s", redlock_client_message(session->client, sentence, sizeof sentence));
    }
    return 0;
}

static void on_close_limit(uv_timer_t *timer) {
    const int *exit_status = timer->data;
    _exit(rl_output_close(*exit_status));
}

void rl_session_close(struct rl_session *session, int exit_status) {
    uv_timer_t limit;
    if (!session->is_open) {
        return;
    }
    uv_timer_init(&session->loop, &limit);
    limit.data = &exit_status;
    if (exit_status != RL_CLOSE_WAITS) {
        uv_update_time(&session->loop);
        uv_timer_start(&limit, on_close_limit,
                       (uint64_t)session->args->client.node_timeout_ms + RL_CLOSE_MS, 0);
        uv_unref((uv_handle_t *)&limit);
    }
    session->is_interruptible = false; /* a second signal: the client is being closed already */
    if (session->has_password_timer) {
        uv_close((uv_handle_t *)&session->password_timer, NULL);
    }
    if (redlock_client_close(session->client, client_cb, session) == 0) {
        rl_session_wait(session);
    }
    rl_signals_close(&session->signals); /* only now: the outcome so far has been reported */
    rl_waiting_close(&session->waiting);
    uv_run(&session->loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&limit, NULL);
    uv_run(&session->loop, UV_RUN_DEFAULT);
    int left = uv_loop_close(&session->loop);
    assert(left == 0);
    (void)left;
    session->is_open = false;
}

/* -- Locks -- */

const char *rl_session_message(const redlock_lock *lock) {
    char sentence[REDLOCK_MESSAGE_MAX];
    return rl_text("%s", redlock_lock_message(lock, sentence, sizeof sentence));
}

const char *rl_session_holder(long number) {
    char host[48] = "";
    if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0') {
        snprintf(host, sizeof host, "localhost");
    }
    for (char *c = host; *c != '\0'; c++) {
        *c = *c > 0x20 && *c < 0x7f ? *c : '?';
    }
    return rl_text("%s:%ld", host, number);
}

/* Reports the library's error in terms of the command line. */
static int refuse_lock(int status, const char *error) {
    if (strncmp(error, "resource ", 9) == 0) {
        return rl_usage("KEY %s", error + 9 + strspn(error + 9, "0123456789 "));
    }
    return rl_fail(status == REDLOCK_ERR_NOMEM ? RL_EXIT_SYSTEM : RL_EXIT_USAGE, "%s",
                   error[0] != '\0' ? error : redlock_strerror(status));
}

int rl_session_lock(struct rl_session *session, const char *keys_text, const char *holder,
                    redlock_lock **lock) {
    struct rl_keys keys;
    char error[REDLOCK_MESSAGE_MAX] = "";
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    int exit_status = 0;
    const char *why = rl_keys_of(&keys, session->args, keys_text);
    *lock = NULL;
    if (why != NULL) {
        exit_status = rl_usage("KEY: %s", why);
    } else if (session->args->permits != 0 && keys.count > 1) {
        exit_status =
            rl_usage("--permits is for one key, and these are %zu; in a key write \\, for a comma",
                     keys.count);
    } else {
        options.resources = keys.items;
        options.n_resources = keys.count;
        options.holder = holder;
        options.mode = session->args->shared ? REDLOCK_SHARED : REDLOCK_EXCLUSIVE;
        options.permits = (int32_t)session->args->permits;
        options.take = (int32_t)session->args->take;
        int status = redlock_lock_new_with(session->client, &options, lock, error, sizeof error);
        if (status != 0) {
            exit_status = refuse_lock(status, error);
        }
    }
    rl_keys_free(&keys);
    return exit_status;
}

int rl_session_refused(redlock_lock *lock, const char *keys, int status) {
    const bool is_usage = status == REDLOCK_ERR_INVALID || status == REDLOCK_ERR_PERMITS;
    const bool is_lost = status == REDLOCK_ERR_LOST || status == REDLOCK_ERR_NOT_HELD;
    const bool are_few = status == REDLOCK_ERR_NO_QUORUM || status == REDLOCK_ERR_UNKNOWN ||
                         status == REDLOCK_ERR_EXPIRED;
    const int exit_status = is_usage  ? RL_EXIT_USAGE
                            : is_lost ? RL_EXIT_LOST
                            : are_few ? RL_EXIT_NO_QUORUM
                                      : RL_EXIT_SYSTEM;
    return rl_fail_of(exit_status, keys, "%s", rl_session_message(lock));
}

/* -- Several keys -- */

/* For commands that take several keys: asks the nodes for each key in turn, and shows the result.
 *
 * Failure modes: a malformed key, or nodes that cannot be asked, end the command with a message.
 * SIGINT, SIGTERM and SIGHUP end it before the next key. */

static void on_found(struct rl_found *found, void *session) {
    rl_session_done(session, found->status);
}

int rl_ask_key(struct rl_session *session, struct rl_found *found, redlock_bytes key,
               struct rl_found_parts parts) {
    int status = rl_found_ask(found, session->client, key, parts, on_found, session);
    status = status == 0 ? rl_session_wait(session) : status;
    return status == 0 || status == REDLOCK_ERR_NO_QUORUM
               ? 0
               : rl_fail(RL_EXIT_SYSTEM, "%s", redlock_strerror(status));
}

/* Shows all keys of one word. Returns the largest exit status. */
static int ask_word(struct rl_session *session, const char *word, rl_ask_keys_show show,
                    bool is_first) {
    static const struct rl_found_parts all = {
        .readers = true, .line = true, .permits = true, .kicks = true};
    static struct rl_found found;
    struct rl_keys keys;
    int worst = RL_EXIT_OK;
    const char *why = rl_keys_parse(&keys, word);
    if (why != NULL) {
        worst = rl_usage("KEY: %s", why);
    }
    for (size_t i = 0; why == NULL && i < keys.count && session->caught == 0; i++) {
        int exit_status = rl_ask_key(session, &found, keys.items[i], all);
        if (exit_status != 0) {
            worst = exit_status;
            break;
        }
        exit_status = show(session, &found, is_first && i == 0);
        worst = exit_status > worst ? exit_status : worst;
    }
    rl_keys_free(&keys);
    return worst;
}

int rl_ask_keys(struct rl_args *args, rl_ask_keys_show show) {
    static struct rl_session session;
    int worst = RL_EXIT_OK;
    int status = rl_session_open(&session, args);
    if (status != 0) {
        return status;
    }
    for (int i = 0; i < args->n_words && session.caught == 0; i++) {
        status = ask_word(&session, args->words[i], show, i == 0);
        worst = status > worst ? status : worst;
    }
    worst = session.caught != 0 ? RL_EXIT_SIGNAL + session.caught : worst;
    rl_session_close(&session, worst);
    return worst;
}
