/* See kick.h. */
#include "kick/kick.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exits.h"
#include "keys.h"
#include "kick/show.h"
#include "say.h"
#include "session.h"
#include "tool/utf8.h"
#include "when.h"

#define ANSWER_MAX 64
#define NAME_MAX_BYTES 64 /* of a user; a host has as much */

struct kick {
    struct rl_session session;
    struct rl_keys keys;
    struct rl_found found;
    struct rl_kick_targets targets;
    struct rl_kick_note note;
    struct rl_kick_noted noted[REDLOCK_NODES_MAX];
    char answer[ANSWER_MAX];
};

/* -- Arguments -- */

static int check(struct kick *kick, const struct rl_args *args) {
    if (args->child != NULL) {
        return rl_fail(RL_EXIT_USAGE, "kick: it runs no command; leave -- out");
    }
    if (args->n_words != 1) {
        return rl_fail(RL_EXIT_USAGE, "kick: %s redlock kick KEY --reason TEXT",
                       args->n_words == 0 ? "which lock?" : "one lock at a time:");
    }
    if (args->reason == NULL) {
        return rl_fail(RL_EXIT_USAGE,
                       "kick: why? --reason TEXT is noted on the nodes for a day, for those who "
                       "look at the lock later");
    }
    const char *why = rl_kick_note_check_reason(args->reason);
    if (why != NULL) {
        return rl_fail(RL_EXIT_USAGE, "--reason: %s", why);
    }
    why = rl_keys_parse(&kick->keys, args->words[0]);
    if (why != NULL) {
        return rl_fail(RL_EXIT_USAGE, "KEY: %s", why);
    }
    if (kick->keys.count != 1) {
        return rl_fail(RL_EXIT_USAGE, "kick: one lock at a time; in a key write \\, for a comma");
    }
    if (!args->yes && (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))) {
        return rl_fail(RL_EXIT_USAGE,
                       "kick: there is no terminal to ask on; give --yes if it is meant");
    }
    return 0;
}

/* -- Who kicks -- */

static void put_name(char *out, size_t size, const char *name) {
    snprintf(out, size, "%.*s", NAME_MAX_BYTES - 1, name[0] != '\0' ? name : "?");
    for (char *at = out; *at != '\0'; at++) {
        *at = *at > ' ' && *at <= '~' ? *at : '?';
    }
}

/* user@host; of one that became root by sudo, who that was. */
static void set_by(char out[RL_KICK_BY_MAX]) {
    char user[NAME_MAX_BYTES], host[NAME_MAX_BYTES], name[256] = "";
    uv_passwd_t entry = {0};
    const char *sudo = getenv("SUDO_USER");
    const bool has_sudo = geteuid() == 0 && sudo != NULL && sudo[0] != '\0';
    const bool has_entry = uv_os_get_passwd(&entry) == 0;
    put_name(user, sizeof user, has_sudo ? sudo : has_entry ? entry.username : "");
    if (has_entry) {
        uv_os_free_passwd(&entry);
    }
    if (gethostname(name, sizeof name - 1) != 0) {
        name[0] = '\0';
    }
    put_name(host, sizeof host, name);
    snprintf(out, RL_KICK_BY_MAX, "%s@%s", user, host);
}

static void set_note(struct kick *kick, const struct rl_args *args) {
    const struct rl_kick_targets *targets = &kick->targets;
    struct rl_kick_note *note = &kick->note;
    const bool is_one = targets->n == 1;
    memset(note, 0, sizeof *note);
    note->at_ms = rl_when_now_ms();
    set_by(note->by);
    snprintf(note->what, sizeof note->what, "%s", targets->what);
    snprintf(note->token, sizeof note->token, "%s", is_one ? targets->items[0].token.digits : "");
    snprintf(note->holder, sizeof note->holder, "%s", is_one ? targets->items[0].token.holder : "");
    snprintf(note->reason, sizeof note->reason, "%s", args->reason);
}

/* -- Asking -- */

static void on_readable(uv_poll_t *poll, int status, int events) {
    struct kick *kick = poll->data;
    (void)events;
    const ssize_t n = status == 0 ? read(STDIN_FILENO, kick->answer, ANSWER_MAX - 1) : 0;
    kick->answer[n > 0 ? n : 0] = '\0';
    rl_session_done(&kick->session, 0);
}

/* The loop runs meanwhile, so that Ctrl-C is heard. */
static bool is_confirmed(struct kick *kick, const char *key) {
    char shown[128], whom[RL_KICK_WHOM_MAX];
    uv_poll_t poll;
    struct rl_session *session = &kick->session;
    const int flags = fcntl(STDIN_FILENO, F_GETFL);
    fprintf(stderr, "Kick %s from %s? [y/N] ", rl_kick_targets_say(&kick->targets, whom),
            tool_utf8_clean(key, strlen(key), shown, sizeof shown));
    fflush(stderr);
    if (uv_poll_init(&session->loop, &poll, STDIN_FILENO) != 0) {
        return false;
    }
    poll.data = kick;
    session->is_interruptible = true;
    uv_poll_start(&poll, UV_READABLE, on_readable);
    if (session->caught == 0) {
        rl_session_wait(session);
    }
    session->is_interruptible = false;
    uv_close((uv_handle_t *)&poll, NULL);
    uv_run(&session->loop, UV_RUN_NOWAIT);
    fcntl(STDIN_FILENO, F_SETFL, flags); /* the poll has set O_NONBLOCK, for the shell as well */
    if (session->caught != 0) {
        fprintf(stderr, "\n");
    }
    kick->answer[strcspn(kick->answer, "\r\n")] = '\0';
    return session->caught == 0 &&
           (strcasecmp(kick->answer, "y") == 0 || strcasecmp(kick->answer, "yes") == 0);
}

/* -- The kick -- */

static void on_found(struct rl_found *found, void *session) {
    rl_session_done(session, found->status);
}

/* Who has it. Returns 0 or an exit status. */
static int look(struct kick *kick) {
    static const struct rl_found_parts all = {.line = true, .permits = true};
    struct rl_session *session = &kick->session;
    int status = rl_found_ask(&kick->found, session->client, session->args->nodes.n,
                              kick->keys.items[0], all, on_found, session);
    status = status == 0 ? rl_session_wait(session) : status;
    if (status != 0 && status != REDLOCK_ERR_NO_QUORUM) {
        return rl_fail(RL_EXIT_SYSTEM, "%s", redlock_strerror(status));
    }
    return rl_kick_targets_choose(&kick->targets, &kick->found, session->args);
}

static int kick_it(struct kick *kick, struct rl_args *args) {
    const char *key = args->words[0];
    const struct rl_kick_report report = {.args = args,
                                          .found = &kick->found,
                                          .targets = &kick->targets,
                                          .note = &kick->note,
                                          .noted = kick->noted};
    int exit_status = look(kick);
    if (exit_status != 0) {
        return exit_status;
    }
    rl_kick_show_meaning(&report);
    if (!args->yes && !is_confirmed(kick, key)) {
        return kick->session.caught != 0 ? RL_EXIT_SIGNAL + kick->session.caught
                                         : rl_fail(RL_EXIT_HELD, "nothing was done");
    }
    set_note(kick, args);
    rl_kick_notes_write(args, kick->keys.items[0], &kick->note, kick->noted);
    exit_status = rl_kick_release(&kick->session, key, &kick->targets);
    if (exit_status != 0) {
        return exit_status;
    }
    const enum rl_kick_verdict verdict = rl_kick_verdict(&kick->targets, args->nodes.n);
    if (verdict == RL_KICK_GONE) {
        rl_kick_notes_withdraw(args, kick->keys.items[0], &kick->note);
    }
    rl_kick_show_outcome(&report, verdict);
    return verdict == RL_KICK_DONE   ? RL_EXIT_OK
           : verdict == RL_KICK_GONE ? RL_EXIT_LOST
                                     : RL_EXIT_NO_QUORUM;
}

int rl_cmd_kick(struct rl_args *args) {
    struct kick *kick = rl_must_alloc(1, sizeof *kick);
    int exit_status = check(kick, args);
    exit_status = exit_status == 0 ? rl_session_open(&kick->session, args) : exit_status;
    if (exit_status == 0) {
        exit_status = kick_it(kick, args);
        rl_session_close(&kick->session);
    }
    rl_keys_free(&kick->keys);
    free(kick);
    return exit_status;
}
