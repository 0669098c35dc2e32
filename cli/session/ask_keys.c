/* For commands that take several keys: asks the nodes for each key in turn, and shows what was
 * found.
 *
 * Failure modes: a malformed key, or nodes that cannot be asked, end the command with a message.
 * SIGINT, SIGTERM and SIGHUP end it before the next key. */
#include "session/room.h"

#include "exits.h"
#include "say.h"

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

/* All keys of one word. Returns the worst. */
static int ask_word(struct rl_session *session, const char *word, rl_ask_keys_show show,
                    bool is_first) {
    static const struct rl_found_parts all = {.line = true, .permits = true, .kicks = true};
    static struct rl_found found;
    struct rl_keys keys;
    int worst = RL_EXIT_OK;
    const char *why = rl_keys_parse(&keys, word);
    if (why != NULL) {
        worst = rl_fail(RL_EXIT_USAGE, "KEY: %s", why);
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
    int caught = session.caught;
    rl_session_close(&session);
    return caught != 0 ? RL_EXIT_SIGNAL + caught : worst;
}
