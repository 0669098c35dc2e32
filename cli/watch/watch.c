/* redlock status --watch: the events of some locks, one line each, until SIGINT, SIGTERM or SIGHUP,
 * which end it with status 0; so does the end of the process that reads its output.
 *
 * Happy path: each key is queried (found.c) every --interval, and changes since the last look are
 * reported (snapshot.c). When a holder has gone, the nodes are asked whether it was kicked.
 *
 * Why polling instead of messages? A release is announced only to clients that wait or watch an
 * election; polling costs the holders nothing. For each look and key, a node runs one script that
 * reads the key, two for the lines, and one for each client listed in them; for a semaphore, one
 * more, and one for each slot in use. (The first look, and then one in 16, checks whether a key is
 * a semaphore.) docs/monitoring.md has figures.
 *
 * Failure modes: a node that does not answer delays a look by --node-timeout, until it counts as
 * down; looks at other keys go on meanwhile. Fewer nodes than a quorum: reported, and the state
 * once they are back. A lock is changing hands: the next look comes sooner, and the lock is shown
 * afterwards. */
#include "commands.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kick/room.h"
#include "say.h"
#include "session/room.h"
#include "watch/room.h"

#define UNSETTLED_MS 50 /* until a lock that changes hands is looked at again */
#define UNSETTLED_MAX 8 /* this many times; then the lock is shown as it is */
#define MISSING_MAX 1   /* the same if an entry of a list is missing, see rl_snapshot_lacks() */
#define PERMITS_EVERY 16
#define NODES_MS 200
#define SAME_MS 100 /* two looks at one expiry */

struct watch;

/* One key. */
struct watched {
    struct watch *watch;
    struct rl_watch_report report;
    uv_timer_t timer;
    struct rl_found found;
    struct rl_snapshot seen;    /* what was last reported */
    struct rl_kick_notes kicks; /* the known notes */
    int64_t kicks_end_ms;       /* when the notes expire, on the loop's clock */
    uint64_t looked_ms;
    unsigned looks;
    int unsettled; /* unsettled looks in a row */
    bool is_looking;
    bool is_known, was_said; /* whether the state is known; whether it was ever reported */
    bool is_semaphore;
    bool wants_kicks;                 /* the next look asks for them */
    bool asks_for_kicks, reads_kicks; /* this look does; the notes are being read */
    bool knows_kicks;                 /* it has read the notes from before the watch */
};

struct watch {
    struct rl_session session;
    struct rl_keys *words; /* each argument's keys */
    struct watched *items;
    size_t n_words, n;
    uv_timer_t timer; /* checks the nodes, and whether the output still has a reader */
    int states[REDLOCK_NODES_MAX];
    int exit_status;
    bool is_over;
};

/* -- The end -- */

static void stop(struct watch *watch, int exit_status) {
    watch->exit_status = exit_status > watch->exit_status ? exit_status : watch->exit_status;
    rl_session_done(&watch->session, 0);
}

/* Ends the watch when the reader of its output is gone. */
static void check_output(struct watch *watch) {
    struct pollfd out = {.fd = STDOUT_FILENO};
    const int error = rl_output_flush();
    if (error == EPIPE || (poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0)) {
        rl_output_drop();
        stop(watch, RL_EXIT_OK);
    } else if (error != 0) {
        stop(watch, RL_EXIT_SYSTEM); /* main() reports why */
    }
}

/* -- Nodes -- */

/* is_first: healthy nodes get no line. */
static void look_at_nodes(struct watch *watch, bool is_first) {
    struct rl_watch_report report = {.args = watch->session.args};
    const redlock_bytes key = watch->words[0].items[0];
    size_t voting = 0;
    (void)redlock_client_lacks(watch->session.client, key.data, key.length, &report.n, &voting,
                               &report.needed);
    redlock_node_info info = REDLOCK_NODE_INFO_INIT;
    for (size_t i = 0; redlock_client_node(watch->session.client, i, &info) == 0; i++) {
        const int before = watch->states[i], now = info.up + info.voting;
        watch->states[i] = now;
        if (is_first ? !info.voting : before != now) {
            rl_watch_report_node(&report, &info, voting);
        }
    }
}

static void on_tick(uv_timer_t *timer) {
    look_at_nodes(timer->data, false);
    check_output(timer->data);
}

/* -- Kicks -- */

/* Whether a former holder was kicked.
 *
 * Happy path: the look after a holder has gone also queries the key of the notes, to learn whether
 * there are any and how old they are; only if there is a new one, a thread of libuv reads them
 * (kick/note.c), and each new one is an event.
 *
 * Failure modes: the nodes do not answer, or forbid it: no event. Notes from before the watch are
 * not reported. */

/* The data of the worker thread, which shares nothing with the loop's thread. */
struct reading {
    uv_work_t work;
    struct watched *watched;
    struct rl_args args;
    struct rl_kick_notes found;
};

static void read_notes(uv_work_t *work) {
    struct reading *reading = work->data;
    rl_kick_notes_read(&reading->args, reading->watched->report.key, &reading->found);
}

static bool is_known(const struct rl_kick_notes *known, const struct rl_kick_note *note) {
    for (size_t i = 0; i < known->n; i++) {
        if (memcmp(&known->notes[i], note, sizeof *note) == 0) {
            return true;
        }
    }
    return false;
}

static void on_read(uv_work_t *work, int status) {
    struct reading *reading = work->data;
    struct watched *watched = reading->watched;
    const bool tells = status == 0 && watched->knows_kicks && !watched->watch->is_over;
    for (size_t i = reading->found.n; tells && i > 0; i--) { /* the oldest first */
        const struct rl_kick_note *note = &reading->found.notes[i - 1];
        if (!is_known(&watched->kicks, note)) {
            rl_watch_report_kicked(&watched->report, note);
        }
    }
    if (status == 0 && reading->found.n > 0) {
        watched->kicks = reading->found;
    }
    watched->reads_kicks = false;
    watched->knows_kicks = true;
    explicit_bzero(reading, sizeof *reading); /* with a password */
    free(reading);
}

static void take_kicks(struct watched *watched) {
    struct rl_session *session = &watched->watch->session;
    const int64_t left_ms = watched->found.kicks_left_ms;
    const int64_t end_ms = (int64_t)uv_now(&session->loop) + left_ms;
    watched->wants_kicks = false;
    if (left_ms <= 0 || end_ms <= watched->kicks_end_ms + SAME_MS) {
        watched->knows_kicks = true;
        return;
    }
    struct reading *reading = rl_must_alloc(1, sizeof *reading);
    watched->kicks_end_ms = end_ms;
    watched->reads_kicks = true;
    reading->watched = watched;
    reading->work.data = reading;
    reading->args = *session->args;
    if (uv_queue_work(&session->loop, &reading->work, read_notes, on_read) != 0) {
        on_read(&reading->work, UV_ENOMEM);
    }
}

/* -- One key -- */

static void on_timer(uv_timer_t *timer);

static void look_in(struct watched *watched, uint64_t ms) {
    uv_timer_start(&watched->timer, on_timer, ms, 0);
}

/* Whether any client holds the lock or a permit, or reads. */
static bool is_had(const struct rl_snapshot *snapshot) {
    bool is_had = false;
    for (size_t i = 0; i < snapshot->n; i++) {
        is_had |= snapshot->items[i].kind < RL_ITEM_WAITS;
    }
    return is_had;
}

/* Reports the changes since the last look, and keeps this one. */
static void show(struct watched *watched, struct rl_snapshot *now, uint64_t now_ms) {
    const bool is_new = !watched->was_said || !watched->is_known;
    const size_t left_over = watched->seen.left_over;
    watched->wants_kicks |= rl_watch_report_changes(&watched->report, &watched->seen, now,
                                                    (int64_t)(now_ms - watched->looked_ms));
    const bool is_odd = now->left_over > 0 && left_over == 0;
    if (!is_had(now) && (is_new || is_odd)) {
        rl_watch_report_free(&watched->report, now->left_over);
    }
    rl_snapshot_free(&watched->seen);
    watched->seen = *now;
    watched->looked_ms = now_ms;
    watched->was_said = watched->is_known = true;
    watched->unsettled = 0;
}

/* Returns in how many ms to look again. */
static uint64_t take(struct watched *watched) {
    struct rl_found *found = &watched->found;
    const uint64_t interval_ms = (uint64_t)watched->watch->session.args->interval_ms;
    const uint64_t now_ms = uv_now(&watched->watch->session.loop);
    struct rl_snapshot now;
    watched->report.n = found->look.n;
    watched->report.needed = found->look.needed;
    if (found->status != 0) {
        if (watched->is_known || !watched->was_said) {
            rl_watch_report_unknown(&watched->report, found->look.answered);
        }
        watched->was_said = true;
        watched->is_known = false;
        return interval_ms;
    }
    watched->is_semaphore = watched->is_semaphore || rl_found_has_permits(found);
    rl_snapshot_take(&now, found, &watched->seen);
    const int most = now.is_unsettled                          ? UNSETTLED_MAX
                     : rl_snapshot_lacks(&now, &watched->seen) ? MISSING_MAX
                                                               : 0;
    if (watched->unsettled++ < most) {
        rl_snapshot_free(&now);
        return interval_ms < UNSETTLED_MS ? interval_ms : UNSETTLED_MS;
    }
    show(watched, &now, now_ms);
    return interval_ms;
}

static void on_found(struct rl_found *found, void *data) {
    struct watched *watched = data;
    assert(found == &watched->found);
    watched->is_looking = false;
    if (found->status != 0 && found->status != REDLOCK_ERR_NO_QUORUM) {
        return; /* the client is being closed */
    }
    if (watched->asks_for_kicks) {
        take_kicks(watched);
    }
    const uint64_t ms = take(watched);
    check_output(watched->watch);
    look_in(watched, watched->wants_kicks && ms > UNSETTLED_MS ? UNSETTLED_MS : ms);
}

static void on_timer(uv_timer_t *timer) {
    struct watched *watched = timer->data;
    struct rl_session *session = &watched->watch->session;
    const bool looks_for_permits = watched->looks++ % PERMITS_EVERY == 0;
    watched->asks_for_kicks = watched->wants_kicks && !watched->reads_kicks;
    const struct rl_found_parts parts = {.readers = true,
                                         .line = true,
                                         .permits = watched->is_semaphore || looks_for_permits,
                                         .kicks = watched->asks_for_kicks};
    const int status = rl_found_ask(&watched->found, session->client, watched->report.key, parts,
                                    on_found, watched);
    watched->is_looking = status == 0;
    if (status != 0) {
        stop(watched->watch, rl_fail(RL_EXIT_SYSTEM, "%s", redlock_strerror(status)));
    }
}

/* -- The frame -- */

/* Returns 0 or an exit status. */
static int parse_words(struct watch *watch, const struct rl_args *args) {
    watch->words = rl_must_alloc((size_t)args->n_words, sizeof *watch->words);
    for (int i = 0; i < args->n_words; i++) {
        const char *why = rl_keys_parse(&watch->words[watch->n_words++], args->words[i]);
        if (why != NULL) {
            return rl_usage("KEY: %s", why);
        }
        watch->n += watch->words[i].count;
    }
    watch->items = rl_must_alloc(watch->n, sizeof *watch->items);
    return 0;
}

static void begin(struct watch *watch) {
    struct rl_session *session = &watch->session;
    size_t at = 0;
    look_at_nodes(watch, true);
    uv_timer_init(&session->loop, &watch->timer);
    watch->timer.data = watch;
    uv_timer_start(&watch->timer, on_tick, NODES_MS, NODES_MS);
    for (size_t i = 0; i < watch->n_words; i++) {
        for (size_t j = 0; j < watch->words[i].count; j++) {
            struct watched *watched = &watch->items[at++];
            watched->watch = watch;
            watched->report =
                (struct rl_watch_report){.args = session->args, .key = watch->words[i].items[j]};
            watched->wants_kicks = true;
            uv_timer_init(&session->loop, &watched->timer);
            watched->timer.data = watched;
            watched->looked_ms = uv_now(&session->loop);
            look_in(watched, 0);
        }
    }
    assert(at == watch->n);
}

/* Pending queries end with the client, before their memory is freed. */
static void end(struct watch *watch) {
    struct rl_session *session = &watch->session;
    watch->is_over = true;
    uv_close((uv_handle_t *)&watch->timer, NULL);
    for (size_t i = 0; i < watch->n; i++) {
        uv_close((uv_handle_t *)&watch->items[i].timer, NULL);
    }
    rl_session_close(session, watch->exit_status);
}

static void forget(struct watch *watch) {
    for (size_t i = 0; watch->items != NULL && i < watch->n; i++) {
        assert(!watch->items[i].is_looking);
        rl_snapshot_free(&watch->items[i].seen);
        rl_found_free(&watch->items[i].found);
    }
    for (size_t i = 0; i < watch->n_words; i++) {
        rl_keys_free(&watch->words[i]);
    }
    free(watch->items);
    free(watch->words);
    free(watch);
}

int rl_cmd_watch(struct rl_args *args) {
    struct watch *watch = rl_must_alloc(1, sizeof *watch);
    int status = parse_words(watch, args);
    status = status == 0 ? rl_session_open(&watch->session, args) : status;
    if (status == 0) {
        begin(watch);
        watch->session.is_interruptible = true;
        rl_session_wait(&watch->session);
        end(watch);
        status = watch->exit_status;
    } else if (watch->session.caught != 0) {
        status = RL_EXIT_OK; /* as later */
    }
    forget(watch);
    return status;
}
