/* redlock elect: one of several machines leads at a time.
 *
 * Happy path: redlock campaigns. Without a command, it reports the leader whenever it changes. With
 * one, it runs the command while it leads (work.c); when the command ends by itself, it resigns and
 * ends with that status, or, with --repeat, campaigns again after a pause.
 *
 * Failure modes: the leadership is lost: the command is ended, and the campaign goes on. A signal
 * arrives: redlock passes it on to the command if one runs; else it resigns and ends with 128 + n.
 * The command cannot be started.
 *
 * Can two commands of one election run? Ours is gone before our validity ends, as with run. If we
 * are elected again while the last command is still being ended, the next one starts only after
 * that. If we still lead when it has ended (a renewal came late), we resign, since the leadership
 * was reported as lost. */
#include "run/room.h"

#include "commands.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "redlock/election.h"
#include "say.h"
#include "tool/json.h"

#define LOOKS_PER_TTL 30 /* how often the end of validity is read again */
#define LOOK_MS_MIN 10

#define TO_START INT_MAX /* what a wait ends with when the command is to start: no exit status */

struct elect {
    struct rl_session session;
    struct rl_args *args;
    struct rl_report report;
    struct rl_work work;
    redlock_election *election;
    uv_timer_t look;
    bool is_leading; /* else redlock waits, see waiting.c */
    bool is_working;
    bool is_lost;   /* the running command is being ended */
    bool is_kept;   /* it is being ended while we still lead */
    bool is_ending; /* do not campaign again */
};

/* -- What is reported -- */

static void report_event(const struct elect *elect, const char *event, const char *leader,
                         uint64_t fence, const char *message) {
    tool_json_line(elect->report.file, JSON_TEXT("event", event),
                   JSON_TEXT("election", elect->report.keys), JSON_TEXT("leader", leader),
                   JSON_TEXT("candidate", redlock_election_candidate(elect->election)),
                   JSON_IF(fence != 0, JSON_INT("fence", fence)),
                   JSON_IF(message != NULL, JSON_TEXT("message", message)));
    rl_output_flush();
}

/* ", fence 1700000000000000", or nothing. */
static const char *show_fence(const redlock_election *election) {
    const uint64_t fence = redlock_election_fence(election);
    return fence != 0 ? rl_text(", fence %" PRIu64, fence) : "";
}

static void on_leader(redlock_election *election, const char *leader, void *data) {
    struct elect *elect = data;
    const char *shown =
        leader != NULL ? rl_text_clean(leader, REDLOCK_CANDIDATE_MAX + 1) : "nobody";
    if (elect->args->json) {
        report_event(elect, "leader", leader, 0, NULL);
    } else if (elect->args->child == NULL) {
        bool we_lead = leader != NULL && redlock_election_is_leader(election);
        printf("%s leads%s%s%s\n", shown, we_lead ? " (we" : "",
               we_lead ? show_fence(election) : "", we_lead ? ")" : "");
    } else if (elect->args->verbose || !(elect->args->quiet || elect->is_leading)) {
        rl_say_of(elect->report.keys, "%s leads", shown);
    }
    int error = elect->args->child == NULL ? rl_output_flush() : 0;
    if (error != 0) {
        rl_session_done(&elect->session,
                        rl_fail(RL_EXIT_SYSTEM, "cannot write the output: %s", strerror(error)));
    }
}

/* -- The command -- */

static uint64_t valid_until_ns(const struct elect *elect) {
    /* Read the clock first: if redlock is stopped between the two calls, the sum is too early,
     * which is safe. */
    uint64_t now_ns = redlock_now_ns();
    int64_t left_ms = redlock_election_remaining_ms(elect->election);
    return now_ns + (uint64_t)left_ms * NS_PER_MS;
}

static void on_look(uv_timer_t *timer) {
    struct elect *elect = timer->data;
    if (elect->is_working && !elect->is_lost && redlock_election_is_leader(elect->election)) {
        rl_work_renewed(&elect->work, valid_until_ns(elect));
    }
}

/* We do not lead, or no longer do. */
static void wait_on(struct elect *elect) {
    elect->is_leading = false;
    rl_waiting_begin(&elect->session.waiting, elect->session.client, elect->report.keys);
}

/* The leadership that was reported as lost has now ended. */
static void on_given_up(redlock_election *election, int status, void *data) {
    struct elect *elect = data;
    (void)status;
    if (!elect->is_ending) {
        wait_on(elect);
        redlock_election_campaign(election);
    }
}

static void on_end(struct rl_work *work, int status, void *data) {
    struct elect *elect = data;
    (void)work;
    elect->is_working = false;
    rl_work_close(&elect->work);
    rl_report_ended(&elect->report, status);
    if (!elect->is_lost || elect->is_ending || elect->session.caught != 0) {
        rl_session_done(&elect->session, elect->is_lost ? RL_EXIT_LOST : status);
        return;
    }
    elect->is_lost = false;
    elect->session.is_interruptible = true;
    if (elect->is_kept) {
        elect->is_kept = false;
        redlock_election_resign(elect->election, on_given_up, elect);
    } else if (redlock_election_is_leader(elect->election)) { /* elected again meanwhile */
        rl_session_done(&elect->session, TO_START);
    }
}

static void report_lost(const struct elect *elect, const char *message) {
    if (elect->args->json) {
        report_event(elect, "lost", NULL, 0, message);
    } else {
        rl_say_of(elect->report.keys, "the leadership was lost: %s%s", message,
                  elect->is_working ? "; the command is terminated" : "");
    }
}

/* The leadership is still ours, and we keep it while the command is terminated: see work.c. */
static void on_due(const char *why, void *data) {
    char sentence[REDLOCK_MESSAGE_MAX];
    struct elect *elect = data;
    elect->is_lost = elect->is_kept = true;
    redlock_election_message(elect->election, sentence, sizeof sentence);
    report_lost(elect, why != NULL ? why : rl_report_not_renewed(sentence));
}

/* Returns 0 or an exit status. */
static int start(struct elect *elect) {
    const struct rl_grant grant = {.token = redlock_election_token(elect->election),
                                   .fence = redlock_election_fence(elect->election),
                                   .valid_ms = redlock_election_remaining_ms(elect->election),
                                   .valid_until_ns = valid_until_ns(elect)};
    const int status = rl_work_start(&elect->work, &grant);
    if (status == 0) {
        elect->is_working = true;
        elect->session.is_interruptible = false;
    } else if (status != RL_EXIT_LOST) {
        elect->args->is_repeated = false; /* it would not start next time either */
    }
    return status;
}

/* Waits until the candidacy ends, and starts the command whenever we are elected. No callback does
 * that: the handles of the last command are closed only when the loop has returned, and a signal
 * may be on its way. Returns the exit status. */
static int wait_for_end(struct elect *elect) {
    int status = 0;
    while (status == 0) {
        const int ended = rl_session_wait(&elect->session);
        if (ended != TO_START && ended != REDLOCK_ERR_CANCELED) {
            return ended;
        }
        if (elect->session.caught != 0) {
            status = RL_EXIT_SIGNAL + elect->session.caught;
        } else if (redlock_election_is_leader(elect->election)) {
            status = start(elect);
        }
    }
    return status;
}

/* -- The election -- */

static void on_elected(redlock_election *election, int status, void *data) {
    struct elect *elect = data;
    assert(status == 0);
    (void)status;
    elect->is_leading = true;
    rl_waiting_end(&elect->session.waiting);
    if (elect->args->json) {
        report_event(elect, "elected", redlock_election_candidate(election),
                     redlock_election_fence(election), NULL);
    } else if (elect->args->verbose) {
        rl_say_of(elect->report.keys, "elected as %s%s", redlock_election_candidate(election),
                  show_fence(election));
    }
    if (elect->args->child != NULL && !elect->is_working) {
        rl_session_done(&elect->session, TO_START);
    }
}

/* The election's message is about the campaign that has begun since. */
static const char *cause_of(int status) {
    return status == REDLOCK_ERR_LOST ? "too many nodes have lost the key"
                                      : redlock_strerror(status);
}

static void on_lost(redlock_election *election, int status, void *data) {
    char sentence[REDLOCK_MESSAGE_MAX];
    struct elect *elect = data;
    wait_on(elect);
    if (status == REDLOCK_ERR_SYSTEM || status == REDLOCK_ERR_INVALID) { /* the election is over */
        rl_say_of(elect->report.keys, "%s",
                  redlock_election_message(election, sentence, sizeof sentence));
        elect->is_ending = true;
        if (!elect->is_working) {
            rl_session_done(&elect->session, RL_EXIT_SYSTEM);
        }
        return;
    }
    elect->is_kept = false;
    if (!elect->is_lost) {
        report_lost(elect, cause_of(status));
    }
    if (elect->is_working) {
        elect->is_lost = true;
        rl_work_lost(&elect->work);
    }
}

static void on_resigned(redlock_election *election, int status, void *data) {
    (void)election;
    rl_session_done(data, status);
}

static void resign(struct elect *elect) {
    char sentence[REDLOCK_MESSAGE_MAX];
    struct rl_session *session = &elect->session;
    session->is_interruptible = false;
    if (redlock_election_resign(elect->election, on_resigned, session) == 0 &&
        rl_session_confirm(session, rl_session_wait(session)) == REDLOCK_ERR_NO_QUORUM) {
        rl_say_of(elect->report.keys, "not resigned: %s; it ends with its ttl",
                  redlock_election_message(elect->election, sentence, sizeof sentence));
    }
}

/* Campaigns until a signal arrives, or the command has ended by itself. */
static int campaign(struct elect *elect) {
    int exit_status = RL_EXIT_OK;
    do {
        elect->is_ending = elect->is_lost = elect->is_kept = false;
        elect->session.is_interruptible = true;
        wait_on(elect);
        int status = redlock_election_campaign(elect->election);
        if (status != 0) {
            return rl_fail(RL_EXIT_SYSTEM, "%s", redlock_strerror(status));
        }
        exit_status = wait_for_end(elect);
        elect->is_ending = true;
        rl_waiting_end(&elect->session.waiting);
        resign(elect);
    } while (exit_status != RL_EXIT_SIGNAL + SIGINT && rl_session_repeats(&elect->session));
    return exit_status;
}

/* Reports the library's error in terms of the command line. */
static int refuse_election(int status, const char *error) {
    if (strncmp(error, "candidate ", 10) == 0) {
        return rl_usage("--id %.*s", (int)strcspn(error + 10, ","), error + 10);
    }
    if (strncmp(error, "resource 0 ", 11) == 0) {
        return rl_usage("NAME %s", error + 11);
    }
    return rl_fail(status == REDLOCK_ERR_INVALID ? RL_EXIT_USAGE : RL_EXIT_SYSTEM, "elect: %s",
                   error[0] != '\0' ? error : redlock_strerror(status));
}

static int open_election(struct elect *elect) {
    const struct rl_args *args = elect->args;
    redlock_election_options options = REDLOCK_ELECTION_OPTIONS_INIT;
    char error[REDLOCK_MESSAGE_MAX] = "";
    options.name = args->words[0];
    options.name_length = strlen(args->words[0]);
    options.candidate = args->id;
    options.ttl_ms = args->ttl_ms;
    options.fencing = args->fence;
    options.on_elected = on_elected;
    options.on_lost = on_lost;
    options.on_leader = on_leader;
    options.data = elect;
    int status = redlock_election_new(elect->session.client, &options, &elect->election, error,
                                      sizeof error);
    if (status != 0) {
        return refuse_election(status, error);
    }
    elect->work.plan = (struct rl_work_plan){.session = &elect->session,
                                             .report = &elect->report,
                                             .holder = redlock_election_candidate(elect->election),
                                             .on_due = on_due,
                                             .on_end = on_end,
                                             .data = elect};
    uv_timer_init(&elect->session.loop, &elect->look);
    elect->look.data = elect;
    int64_t look_ms = args->ttl_ms / LOOKS_PER_TTL;
    look_ms = look_ms > LOOK_MS_MIN ? look_ms : LOOK_MS_MIN;
    uv_timer_start(&elect->look, on_look, (uint64_t)look_ms, (uint64_t)look_ms);
    return 0;
}

static int check(const struct rl_args *args) {
    if (args->child == NULL && args->is_repeated) {
        return rl_usage("elect: --repeat needs a command; leave it out");
    }
    return args->child != NULL ? rl_plan_check_ttl(args) : 0;
}

int rl_cmd_elect(struct rl_args *args) {
    struct elect *elect = rl_must_alloc(1, sizeof *elect);
    bool has_command = args->child != NULL;
    int status = check(args);
    elect->args = args;
    elect->report = (struct rl_report){
        .args = args, .file = has_command ? stderr : stdout, .keys = args->words[0]};
    status = status == 0 ? rl_plan_begin(args) : status;
    status = status == 0 ? rl_session_open(&elect->session, args) : status;
    if (status == 0) {
        status = open_election(elect);
        if (status == 0) {
            status = campaign(elect);
            redlock_election_free(elect->election);
            uv_close((uv_handle_t *)&elect->look, NULL);
        }
        rl_session_close(&elect->session, status);
    }
    free(elect);
    return status;
}
