/* See kicks.h. */
#include "watch/kicks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"

#define SAME_MS 100 /* two looks at one end */

/* What the thread has, apart from what the loop's thread uses. */
struct reading {
    uv_work_t work;
    struct rl_watch_kicks *kicks;
    struct rl_args args;
    struct rl_kick_notes found;
};

static void read_notes(uv_work_t *work) {
    struct reading *reading = work->data;
    rl_kick_notes_read(&reading->args, reading->kicks->tell->key, &reading->found);
}

static bool is_known(const struct rl_kick_notes *known, const struct rl_kick_note *note) {
    for (size_t i = 0; i < known->n; i++) {
        if (memcmp(&known->notes[i], note, sizeof *note) == 0) {
            return true;
        }
    }
    return false;
}

static void go_on(struct rl_watch_kicks *kicks) {
    kicks->is_busy = false;
    kicks->has_begun = true;
    if (kicks->is_wanted) {
        kicks->is_wanted = false;
        rl_watch_kicks_look(kicks);
    }
}

static void on_read(uv_work_t *work, int status) {
    struct reading *reading = work->data;
    struct rl_watch_kicks *kicks = reading->kicks;
    const bool tells = status == 0 && kicks->has_begun && !kicks->is_closed;
    for (size_t i = reading->found.n; tells && i > 0; i--) { /* the oldest first */
        const struct rl_kick_note *note = &reading->found.notes[i - 1];
        if (!is_known(&kicks->known, note)) {
            rl_watch_tell_kicked(kicks->tell, note);
        }
    }
    if (status == 0 && reading->found.n > 0) {
        kicks->known = reading->found;
    }
    explicit_bzero(reading, sizeof *reading); /* with a password */
    free(reading);
    go_on(kicks);
}

static void on_looked(struct rl_kick_look *look, void *data) {
    struct rl_watch_kicks *kicks = data;
    const int64_t end_ms = (int64_t)uv_now(&kicks->session->loop) + look->left_ms;
    assert(kicks->is_busy);
    if (kicks->is_closed || look->left_ms <= 0 || end_ms <= kicks->end_ms + SAME_MS) {
        go_on(kicks);
        return;
    }
    struct reading *reading = rl_must_alloc(1, sizeof *reading);
    kicks->end_ms = end_ms;
    reading->kicks = kicks;
    reading->work.data = reading;
    reading->args = *kicks->session->args;
    if (uv_queue_work(&kicks->session->loop, &reading->work, read_notes, on_read) != 0) {
        on_read(&reading->work, UV_ENOMEM);
    }
}

void rl_watch_kicks_look(struct rl_watch_kicks *kicks) {
    if (kicks->is_busy || kicks->is_closed) {
        kicks->is_wanted = true;
        return;
    }
    kicks->is_busy =
        rl_kick_look_ask(&kicks->look, kicks->session->client, kicks->session->args->nodes.n,
                         kicks->tell->key, on_looked, kicks) == 0;
}

void rl_watch_kicks_open(struct rl_watch_kicks *kicks, struct rl_session *session,
                         const struct rl_watch_tell *tell) {
    *kicks = (struct rl_watch_kicks){.session = session, .tell = tell};
    rl_watch_kicks_look(kicks);
}

void rl_watch_kicks_close(struct rl_watch_kicks *kicks) {
    kicks->is_closed = true;
}
