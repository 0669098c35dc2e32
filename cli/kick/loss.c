/* See loss.h. */
#include "kick/loss.h"

#include <string.h>

#include "keys.h"
#include "kick/look.h"
#include "kick/notes.h"

static void on_looked(struct rl_kick_look *look, void *session) {
    (void)look;
    rl_session_done(session, 0);
}

static bool has_notes(struct rl_session *session, redlock_bytes key) {
    struct rl_kick_look look;
    if (rl_kick_look_ask(&look, session->client, session->args->nodes.n, key, on_looked, session) !=
        0) {
        return false;
    }
    rl_session_wait(session);
    return look.left_ms > 0;
}

/* A note of all readers has no token. */
static bool is_of(const struct rl_kick_note *note, const char *token, bool reads) {
    return note->token[0] != '\0' ? strcmp(note->token, token) == 0
                                  : reads && strcmp(note->what, "readers") == 0;
}

void rl_kick_loss_tell(struct rl_session *session, const struct rl_tell *tell, const char *token) {
    struct rl_keys keys;
    struct rl_kick_notes notes = {0};
    char said[RL_KICK_SAY_MAX];
    const bool is_parsed = rl_keys_parse(&keys, tell->keys) == NULL;
    for (size_t i = 0; is_parsed && i < keys.count; i++) {
        if (has_notes(session, keys.items[i])) {
            rl_kick_notes_read(session->args, keys.items[i], &notes);
        }
        for (size_t j = 0; j < notes.n; j++) { /* the newest first */
            if (is_of(&notes.notes[j], token, session->args->shared)) {
                rl_tell_kicked(tell, rl_kick_note_say(&notes.notes[j], said));
                rl_keys_free(&keys);
                return;
            }
        }
    }
    rl_keys_free(&keys);
}
