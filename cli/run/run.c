/* redlock run: a command that holds a lock while it runs.
 *
 * Happy path: redlock acquires the lock, starts the command (work.c), renews by the library's
 * watchdog, releases once the command's process group is empty, and ends with the command's status.
 * With --repeat, it does all of this again.
 *
 * Failure modes: the lock is not acquired (-E, or too few nodes); the command cannot be started;
 * the lock is lost, which ends the command; a signal interrupts the wait (128 + n). Each has its
 * own exit status: say.h.
 *
 * Can two commands run under one lock? The command is started after the acquire's callback and is
 * gone before validity ends: work.c begins to end it earlier by the grace and a little more, the
 * lock is released when it is gone, and the guard does not depend on this process. */
#include "run/room.h"

#include "commands.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kick/room.h"
#include "redlock/semaphore.h"
#include "say.h"

struct run {
    struct rl_session session;
    struct rl_args *args;
    struct rl_report report;
    struct rl_work work;
    redlock_lock *lock;                         /* the one that is held, or was tried last */
    redlock_lock *locks[REDLOCK_RESOURCES_MAX]; /* with --any more than one */
    char *keys[REDLOCK_RESOURCES_MAX];          /* of each lock, as typed; owned */
    size_t n;
    char holder[RL_HOLDER_ROOM];
    uint64_t acquired_ns;
    bool is_working;
    bool has_started; /* the command, in this round */
    bool is_lost;
    bool is_gone; /* the nodes reported that they no longer had the token */
    bool ignores_loss;
    uv_timer_t prepare;
};

#define PREPARE_MS 50 /* if the lock comes sooner, nothing is prepared */

/* -- Was it kicked? -- */

/* Finds out whether a lost lock was kicked: run reports it after the loss.
 *
 * Happy path: run asks for the notes of each key (found.c), reads them if there are any, and
 * reports the note with this token; with --json, as an event.
 *
 * Failure modes: the nodes do not answer, or no note has this token: nothing is reported. It takes
 * at most a node's timeouts, and begins when the command has ended. */
/* A note about all readers has no token. */
static bool is_of(const struct rl_kick_note *note, const char *token, bool reads) {
    return note->token[0] != '\0' ? strcmp(note->token, token) == 0
                                  : reads && strcmp(note->what, "readers") == 0;
}

static void report_kick(struct rl_session *session, const struct rl_report *report,
                        const char *token) {
    static struct rl_found found;
    struct rl_keys keys;
    struct rl_kick_notes notes = {0};
    const bool is_parsed = rl_keys_parse(&keys, report->keys) == NULL;
    for (size_t i = 0; is_parsed && i < keys.count; i++) {
        if (rl_ask_key(session, &found, keys.items[i], (struct rl_found_parts){.kicks = true}) ==
                0 &&
            found.kicks_left_ms > 0) {
            rl_kick_notes_read(session->args, keys.items[i], &notes);
        }
        for (size_t j = 0; j < notes.n; j++) { /* the newest first */
            if (is_of(&notes.notes[j], token, session->args->shared)) {
                rl_report_kicked(report, rl_kick_note_say(&notes.notes[j]));
                rl_keys_free(&keys);
                return;
            }
        }
    }
    rl_keys_free(&keys);
}

/* -- One round -- */

static void lose(struct run *run, int status, const char *message) {
    if (run->is_lost) {
        return; /* the command is already being ended, and this took all of the validity */
    }
    run->is_lost = true;
    run->is_gone = status == REDLOCK_ERR_LOST;
    rl_report_lost(&run->report, status, message,
                   !run->has_started   ? "the command is not started"
                   : !run->is_working  ? "the command has ended"
                   : run->ignores_loss ? "the command goes on without it"
                                       : "the command is terminated");
}

static void on_lost(redlock_lock *lock, int status, void *data) {
    struct run *run = data;
    lose(run, status, rl_session_message(lock));
    if (run->is_working) {
        rl_work_lost(&run->work);
    }
}

/* The lock is still held, and is kept while the command is terminated: see work.c. */
static void on_due(const char *why, void *data) {
    struct run *run = data;
    lose(run, why != NULL ? REDLOCK_ERR_SILENT : REDLOCK_ERR_EXPIRED,
         why != NULL ? why : rl_report_not_renewed(rl_session_message(run->lock)));
}

static void on_renew(redlock_lock *lock, int status, void *data) {
    struct run *run = data;
    rl_report_renewed(&run->report, status, redlock_lock_remaining_ms(lock));
    if (run->is_working) {
        rl_work_renewed(&run->work, redlock_lock_valid_until_ns(lock));
    }
}

static void on_end(struct rl_work *work, int status, void *data) {
    struct run *run = data;
    (void)work;
    run->is_working = false;
    rl_report_ended(&run->report, status);
    rl_session_done(&run->session, status);
}

/* The lock is not free: start the child and the guard now, so that a grant need not wait for
 * them. */
static void on_prepare(uv_timer_t *timer) {
    struct run *run = timer->data;
    if (run->session.caught == 0) {
        rl_work_prepare(&run->work);
    }
}

static bool acquire(struct run *run, int *exit_status) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.auto_extend = 1;
    options.on_lost = on_lost;
    options.lost_data = run;
    options.on_renew = on_renew;
    options.renew_data = run;
    run->is_lost = false;
    run->is_gone = false;
    run->has_started = false;
    if (!run->args->no_wait && run->n == 1) { /* else the guard would not know the key */
        uv_update_time(&run->session.loop);
        uv_timer_start(&run->prepare, on_prepare, PREPARE_MS, 0);
    }
    run->report.keys = run->args->words[0];
    bool done =
        rl_acquire(&run->session, run->locks, run->n, run->report.keys, &options, exit_status);
    uv_timer_stop(&run->prepare);
    if (!done) {
        rl_work_close(&run->work);
    }
    for (size_t i = 0; done && i < run->n; i++) {
        if (run->locks[i] == run->session.lock) {
            run->lock = run->locks[i];
            run->report.keys = run->keys[i];
        }
    }
    return done;
}

static void note_slots(struct run *run) {
    run->report.n_slots = 0;
    for (int64_t i = 0; run->args->permits != 0 && i < run->args->take; i++) {
        run->report.slots[run->report.n_slots++] = redlock_lock_slot(run->lock, (size_t)i);
    }
}

static int work(struct run *run) {
    const char *digits = redlock_lock_token(run->lock);
    const struct rl_grant grant = {.token = digits,
                                   .shown = rl_token_show(NULL, 0, digits, run->holder),
                                   .fence = redlock_lock_fence(run->lock),
                                   .valid_ms = redlock_lock_remaining_ms(run->lock),
                                   .valid_until_ns = redlock_lock_valid_until_ns(run->lock)};
    run->acquired_ns = redlock_now_ns();
    note_slots(run);
    rl_report_acquired(&run->report, grant.shown, grant.fence, grant.valid_ms);
    int status = rl_work_start(&run->work, &grant);
    if (status != 0) {
        if (status != RL_EXIT_LOST) {
            run->args->is_repeated = false; /* the command will not be found next time either */
        }
        return status;
    }
    run->is_working = true;
    run->has_started = true;
    return rl_session_wait(&run->session);
}

static bool is_over(const struct rl_session *session, const void *data) {
    const struct run *run = data;
    return run->is_lost || session->caught != 0;
}

/* --at-least: keeps the lock, so that a machine whose clock is behind does not run the command
 * again. The lock is renewed meanwhile; the guard has ended with the command, so if redlock is
 * killed, the lock stays for its ttl. A signal releases the lock early. */
static void keep(struct run *run) {
    const uint64_t until_ns = run->acquired_ns + (uint64_t)run->args->at_least_ms * 1000000;
    const uint64_t now_ns = redlock_now_ns();
    if (run->has_started && now_ns < until_ns) {
        rl_session_until(&run->session, is_over, run,
                         (int64_t)((until_ns - now_ns + 999999) / 1000000), true);
    }
}

/* Releases the lock. Returns the exit status: the command's, or RL_EXIT_LOST. */
static int release(struct run *run, int exit_status) {
    char sentence[REDLOCK_MESSAGE_MAX];
    int status = redlock_release(run->lock, rl_session_lock_cb, &run->session);
    /* Sends the release now: the next holder need not wait for the steps that follow. */
    uv_run(&run->session.loop, UV_RUN_NOWAIT);
    rl_work_close(&run->work);
    status = status == 0 ? rl_session_wait(&run->session) : status;
    if (run->is_gone) {
        report_kick(&run->session, &run->report, redlock_lock_token(run->lock));
    }
    if (run->is_lost) {
        status = REDLOCK_ERR_LOST; /* if it was still held, the next holder gets it at once */
    }
    if (status != REDLOCK_ERR_LOST) {
        redlock_lock_message(run->lock, sentence, sizeof sentence);
        rl_report_released(&run->report, rl_session_confirm(&run->session, status), sentence);
        return exit_status;
    }
    return run->ignores_loss ? exit_status : RL_EXIT_LOST;
}

/* -- Round after round -- */

static int rounds(struct run *run) {
    int exit_status;
    do {
        if (acquire(run, &exit_status)) {
            bool can_start = redlock_lock_is_valid(run->lock);
            exit_status = can_start ? work(run) : RL_EXIT_LOST;
            keep(run);
            exit_status = release(run, exit_status);
        } else if (run->session.caught == 0) {
            rl_report_refused(&run->report, run->session.outcome, run->session.why_not);
            if (exit_status == RL_EXIT_USAGE || exit_status == RL_EXIT_SYSTEM) {
                run->args->is_repeated = false; /* nor will it be acquired next time */
            }
        }
    } while (exit_status != RL_EXIT_SIGNAL + SIGINT && rl_session_repeats(&run->session));
    return exit_status;
}

/* Returns 0 or an exit status. */
static int make_locks(struct run *run) {
    struct rl_keys keys;
    const char *text = run->args->words[0], *why = rl_keys_parse(&keys, text);
    int status = why != NULL ? rl_usage("KEY: %s", why) : 0;
    run->n = run->args->any ? keys.count : 1;
    for (size_t i = 0; i < run->n && status == 0; i++) {
        const int length = run->args->any ? keys.typed_lengths[i] : (int)strlen(text);
        run->keys[i] = rl_must_print("%.*s", length, text);
        text += run->args->any ? length + 1 : 0;
        status = rl_session_lock(&run->session, run->keys[i], run->holder, &run->locks[i]);
    }
    rl_keys_free(&keys);
    return status;
}

int rl_cmd_run(struct rl_args *args) {
    struct run *run = rl_must_alloc(1, sizeof *run);
    int status = rl_plan_check_ttl(args);
    run->args = args;
    run->ignores_loss = args->on_lost == RL_ON_LOST_IGNORE;
    if (status == 0) {
        run->report = (struct rl_report){.args = args, .file = stderr, .keys = args->words[0]};
        snprintf(run->holder, sizeof run->holder, "%s",
                 args->holder != NULL ? args->holder : rl_session_holder((long)getpid()));
    }
    status = status == 0 ? rl_plan_begin(args) : status;
    status = status == 0 ? rl_session_open(&run->session, args) : status;
    if (status == 0) {
        status = make_locks(run);
        uv_timer_init(&run->session.loop, &run->prepare);
        run->prepare.data = run;
        run->work.plan = (struct rl_work_plan){.session = &run->session,
                                               .report = &run->report,
                                               .holder = run->holder,
                                               .on_due = on_due,
                                               .on_end = on_end,
                                               .data = run};
        status = status == 0 ? rounds(run) : status;
        uv_close((uv_handle_t *)&run->prepare, NULL);
        rl_session_close(&run->session, status);
    }
    for (size_t i = 0; i < run->n; i++) {
        free(run->keys[i]);
    }
    free(run);
    return status;
}
