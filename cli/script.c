/* redlock acquire, extend and release: a lock that a script handles in three processes.
 *
 * Happy path: acquire waits until all nodes have answered, prints the token (and, with --fence, the
 * fence), and disowns the lock, so that its keys stay when the process ends. extend adopts the lock
 * by its token, which renews it on every node, waits in the same way, and disowns it again. release
 * deletes the keys that still contain the token.
 *
 * Failure modes: the lock is not renewed between these commands, so it may be gone: extend and
 * release then end with RL_EXIT_LOST. A malformed token is refused before anything is sent. If
 * acquire cannot print the token (a closed pipe), the lock is released again. */
#include "commands.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "redlock/semaphore.h"
#include "say.h"
#include "session/room.h"
#include "tool/json.h"

struct script {
    struct rl_session session;
    struct rl_token token;
    redlock_lock *lock;
    const char *keys;
};

/* -- Arguments -- */

/* A token of permits lists its slots. Only an extension needs the number of permits, since it may
 * have to take a permit again on a node; a release uses the number that the nodes keep. */
static int check_slots(const struct script *script, struct rl_args *args) {
    const struct rl_token *token = &script->token;
    const char *command = rl_commands[args->command].name;
    if (token->n_slots == 0) {
        return args->permits == 0 ? 0
                                  : rl_usage(
                                        "%s: TOKEN: it names no slot; give what acquire --permits "
                                        "printed, SLOT@...",
                                        command);
    }
    if (args->shared || (args->permits == 0 && args->command == RL_CMD_EXTEND)) {
        return rl_usage("%s: TOKEN is of a permit: %s", command,
                        args->shared ? "leave --shared out" : "add --permits K");
    }
    int32_t most = 0;
    for (size_t i = 0; i < token->n_slots; i++) {
        most = token->slots[i] > most ? token->slots[i] : most;
    }
    if (args->permits != 0 && most >= args->permits) {
        return rl_usage("%s: TOKEN: --permits %" PRId64 " have no slot %" PRId32, command,
                        args->permits, most);
    }
    args->permits = args->permits != 0 ? args->permits : most + 1;
    args->take = (int64_t)token->n_slots;
    return 0;
}

static int check_words(struct script *script, struct rl_args *args, bool takes_token) {
    const char *command = rl_commands[args->command].name;
    script->keys = args->words[0];
    if (!takes_token) {
        return 0;
    }
    const char *text = args->n_words == 2 ? args->words[1] : getenv("REDLOCK_TOKEN");
    if (text == NULL) {
        return rl_usage("%s: which token? Give what acquire printed, or set REDLOCK_TOKEN",
                        command);
    }
    const char *why = rl_token_parse(&script->token, text);
    return why == NULL ? check_slots(script, args) : rl_usage("%s: TOKEN: %s", command, why);
}

static int begin(struct script *script, struct rl_args *args) {
    const struct rl_token *token = &script->token;
    int status = rl_session_open(&script->session, args);
    const char *holder = token->holder[0] != '\0' ? token->holder : NULL;
    status = status != 0 ? status
                         : rl_session_lock(&script->session, script->keys, holder, &script->lock);
    if (status == 0 && token->n_slots > 0) {
        int set = redlock_lock_set_slots(script->lock, token->slots, token->n_slots);
        status = set != 0 ? rl_session_refused(script->lock, script->keys, set) : 0;
    }
    return status;
}

/* The granted token, with its slots. */
static const char *show_token(struct script *script, const struct rl_args *args) {
    struct rl_token *token = &script->token;
    const char *digits = redlock_lock_token(script->lock);
    for (size_t i = 0; args->permits != 0 && i < (size_t)args->take; i++) {
        token->slots[i] = redlock_lock_slot(script->lock, i);
        token->n_slots = i + 1;
    }
    return rl_token_show(token->slots, token->n_slots, digits, token->holder);
}

/* -- Output -- */

/* Prints the outcome as one line of JSON. message: NULL for the lock's own. */
static void print_json(struct script *script, int status, const char *token, const char *message) {
    const bool is_held = token != NULL;
    const uint64_t fence = redlock_lock_fence(script->lock);
    const size_t n_slots = script->token.n_slots;
    tool_json_line(
        stdout, JSON_TEXT("key", script->keys), JSON_TEXT("status", redlock_err_name(status)),
        JSON_IF(is_held, JSON_TEXT("token", token)),
        JSON_IF(is_held && fence != 0, JSON_INT("fence", fence)),
        JSON_IF(is_held && n_slots > 0, JSON_INTS("slots", script->token.slots, n_slots)),
        JSON_IF(is_held, JSON_INT("valid_ms", redlock_lock_remaining_ms(script->lock))),
        JSON_TEXT("message", message != NULL ? message : rl_session_message(script->lock)));
}

static int release_own(struct script *script) {
    int status = redlock_release(script->lock, rl_session_lock_cb, &script->session);
    status = status == 0 ? rl_session_wait(&script->session) : status;
    return rl_fail(RL_EXIT_SYSTEM, "cannot write the token (%s); the lock %s",
                   strerror(rl_output_flush()), status == 0 ? "is released" : "ends with its ttl");
}

/* The lock was not granted or not renewed, or it has expired since because this process was stopped
 * for too long. */
static int not_held(struct script *script, const struct rl_args *args, int status) {
    if (args->json) {
        print_json(script, status, NULL, NULL);
    }
    return rl_session_refused(script->lock, script->keys, status);
}

static void say_message(const struct script *script) {
    if (script->session.args->verbose) {
        rl_say("%s", rl_session_message(script->lock));
    }
}

/* From now on only the token gives access to the lock. */
static int disown(struct script *script) {
    say_message(script);
    const int status = redlock_disown(script->lock);
    return status == 0 ? 0 : rl_session_refused(script->lock, script->keys, status);
}

/* -- Commands -- */

static int not_acquired(struct script *script, const struct rl_args *args, int exit_status) {
    if (args->json) {
        print_json(script, script->session.outcome, NULL, script->session.why_not);
    }
    return exit_status;
}

static int acquire(struct script *script, struct rl_args *args) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    int status;
    if (!rl_acquire(&script->session, &script->lock, 1, script->keys, &options, &status)) {
        return not_acquired(script, args, status);
    }
    /* Settle before the token is printed: its reader may release the lock. */
    rl_session_settle(&script->session, script->lock);
    if (script->session.caught != 0) {
        return not_acquired(script, args, rl_acquire_give_back(&script->session, script->lock));
    }
    if (!redlock_lock_is_valid(script->lock)) {
        return not_held(script, args, REDLOCK_ERR_EXPIRED);
    }
    const char *token = show_token(script, args);
    if (args->json) {
        print_json(script, 0, token, NULL);
    } else if (args->fence) {
        printf("%s %" PRIu64 "\n", token, redlock_lock_fence(script->lock));
    } else {
        printf("%s\n", token);
    }
    if (rl_output_flush() != 0) {
        return release_own(script);
    }
    return disown(script);
}

static int extend(struct script *script, struct rl_args *args) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.ttl_ms = args->ttl_ms;
    int status = redlock_adopt(script->lock, script->token.digits, &options, rl_session_lock_cb,
                               &script->session);
    status = status == 0 ? rl_session_wait(&script->session) : status;
    if (status == 0) {
        rl_session_settle(&script->session, script->lock);
        status = redlock_lock_is_valid(script->lock) ? 0 : REDLOCK_ERR_LOST;
    }
    if (status != 0) {
        return not_held(script, args, status);
    }
    if (args->json) {
        print_json(script, 0, show_token(script, args), NULL);
    }
    return disown(script);
}

/* The outcome of a release: 0: a quorum had the token; LOST: no quorum can have had it; UNKNOWN:
 * too few nodes answered to decide. */
static int judge_release(struct script *script) {
    size_t n = 0, deleted = 0, gone = 0;
    redlock_node_outcome outcome = REDLOCK_NODE_OUTCOME_INIT;
    for (size_t i = 0; redlock_lock_outcome(script->lock, i, &outcome) == 0; i++) {
        n += outcome.vote != REDLOCK_VOTE_NONE; /* of another set */
        deleted += outcome.vote == REDLOCK_VOTE_GRANTED;
        gone += outcome.vote == REDLOCK_VOTE_REFUSED;
    }
    const size_t quorum = n / 2 + 1;
    assert(deleted + gone <= n);
    return deleted >= quorum ? 0 : gone > n - quorum ? REDLOCK_ERR_LOST : REDLOCK_ERR_UNKNOWN;
}

static int release(struct script *script, struct rl_args *args) {
    int status = redlock_release_token(script->lock, script->token.digits, rl_session_lock_cb,
                                       &script->session);
    status = status == 0 ? rl_session_wait(&script->session) : status;
    if (status == 0) {
        if (judge_release(script) == REDLOCK_ERR_UNKNOWN) {
            rl_session_settle(&script->session, NULL); /* the release may need one more answer */
        }
        status = judge_release(script) == REDLOCK_ERR_LOST ? REDLOCK_ERR_LOST : 0;
    }
    if (args->json) {
        print_json(script, status, NULL, NULL);
    }
    if (status == REDLOCK_ERR_LOST) {
        return rl_fail_of(RL_EXIT_LOST, script->keys, "it was not held by this token any more");
    }
    if (status != 0) {
        return rl_session_refused(script->lock, script->keys, status);
    }
    say_message(script);
    return 0;
}

static int run(struct rl_args *args, bool takes_token,
               int (*work)(struct script *, struct rl_args *)) {
    struct script *script = rl_must_alloc(1, sizeof *script);
    int status = check_words(script, args, takes_token);
    if (status == 0 && !takes_token) {
        /* The script outlives this process. */
        snprintf(script->token.holder, sizeof script->token.holder, "%s",
                 args->holder != NULL ? args->holder : rl_session_holder((long)getppid()));
    }
    status = status == 0 ? begin(script, args) : status;
    status = status == 0 ? work(script, args) : status;
    rl_session_close(&script->session, status);
    free(script);
    return status;
}

int rl_cmd_acquire(struct rl_args *args) {
    return run(args, false, acquire);
}

int rl_cmd_extend(struct rl_args *args) {
    return run(args, true, extend);
}

int rl_cmd_release(struct rl_args *args) {
    return run(args, true, release);
}
