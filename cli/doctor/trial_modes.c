/* See trial_modes.h. */
#include "doctor/trial_modes.h"

#include <assert.h>
#include <stdio.h>

/* A command, and what the node has to answer. */
struct step {
    struct rl_command command;
    enum rl_verdict verdict;
    uint32_t waiting; /* of the answer; how many read */
    uint8_t which;
};

/* Whether each is answered as it should be. */
static bool play(struct rl_trials *trials, enum rl_trial about, const struct step *steps,
                 size_t n) {
    bool is_good = true;
    for (size_t i = 0; is_good && i < n; i++) {
        const struct step *step = &steps[i];
        struct redisReply *reply = rl_attempt_run(trials, step->command);
        const struct rl_answer answer = rl_attempt_judge(&step->command, reply);
        const bool is_answer = answer.verdict != RL_NOT_REDIS;
        is_good = answer.verdict == step->verdict && answer.line.waiting == step->waiting &&
                  answer.line.which == step->which;
        if (rl_attempt_note(trials, about, reply, is_answer) && !is_good) {
            snprintf(trials->facts->trials[about], RL_FACT_MAX,
                     "NOPERM one of its commands is forbidden");
        }
    }
    return is_good;
}

static bool may_try(const struct rl_trials *trials) {
    return trials->facts->trials[RL_TRIAL_SET][0] == '\0' &&
           trials->facts->trials[RL_TRIAL_RELEASE][0] == '\0';
}

/* number: behind the client. */
static void make_token(const struct rl_trials *trials, const char *number,
                       char token[RL_COMMAND_TOKEN_LEN + 1]) {
    int length = snprintf(token, RL_COMMAND_TOKEN_LEN + 1, "%.*s%s", RL_CLIENT_ID_LEN,
                          trials->token, number);
    assert(length == RL_COMMAND_TOKEN_LEN);
    (void)length;
}

/* Two read; neither can become the writer while the other reads, and the second is told that they
 * would wait for each other; a writer notes that it waits, and new readers are kept out; the one
 * that is left becomes the writer, another waits to read and leaves; it reads again, releases. */
void rl_doctor_try_readers(struct rl_trials *trials) {
    char other[RL_COMMAND_TOKEN_LEN + 1], waiter[RL_COMMAND_TOKEN_LEN + 1];
    if (!may_try(trials)) {
        return;
    }
    snprintf(other, sizeof other, "%c%s", trials->token[0] == '0' ? '1' : '0', trials->token + 1);
    make_token(trials, "0123456789abcdef01234567", waiter);
    const struct rl_command share = {.kind = RL_COMMAND_TAKE, .lock_mode = RL_SHARED};
    const struct rl_command upgrade = {.kind = RL_COMMAND_UPGRADE, .lock_mode = RL_SHARED};
    const struct rl_command extend = {.kind = RL_COMMAND_EXTEND, .lock_mode = RL_SHARED};
    const struct rl_command release = {
        .kind = RL_COMMAND_RELEASE_LINE, .lock_mode = RL_SHARED, .mode = RL_RELEASE_SERVE};
    const struct rl_command intend = {.kind = RL_COMMAND_RELEASE_LINE, .token = other};
    struct rl_command share_other = share, upgrade_other = upgrade, release_other = release,
                      convert = extend, note = intend, drop = intend;
    share_other.token = upgrade_other.token = release_other.token = other;
    convert.converts = true;
    note.intent_ms = RL_ATTEMPT_TTL_MS;
    drop.intent_ms = RL_INTENT_DROP;
    const struct step steps[] = {
        {share, RL_YES, 0, 0},
        {share_other, RL_YES, 0, 0},
        {extend, RL_YES, 0, 0},
        {{.kind = RL_COMMAND_READER}, RL_YES, 2, 0},
        {upgrade, RL_NO, 0, RL_UPGRADE_OTHERS},
        {upgrade_other, RL_NO, 0, RL_UPGRADE_MEETS_UPGRADE},
        {release_other, RL_YES, 0, 0},
        {note, RL_NO, 0, 0},
        {share_other, RL_NO, 0, 1},
        {drop, RL_NO, 0, 0},
        {share_other, RL_YES, 0, 0},
        {release_other, RL_YES, 0, 0},
        {upgrade, RL_YES, 0, 0},
        {{.kind = RL_COMMAND_JOIN, .lock_mode = RL_SHARED, .token = waiter}, RL_NO, 0, 0},
        {{.kind = RL_COMMAND_LEAVE, .lock_mode = RL_SHARED, .token = waiter}, RL_YES, 0, 0},
        {convert, RL_YES, 0, 0},
        {release, RL_YES, 0, 0},
    };
    if (!play(trials, RL_TRIAL_READERS, steps, sizeof steps / sizeof steps[0])) {
        rl_attempt_forget(trials, "DEL %s");
        rl_attempt_forget(trials, "DEL " RL_COMMAND_READERS_PREFIX "{%s}");
        rl_attempt_forget(trials, "DEL " RL_COMMAND_INTENT_PREFIX "{%s}");
        rl_attempt_forget(trials, "DEL " RL_COMMAND_UPGRADE_PREFIX "{%s}");
        rl_attempt_forget(trials, "DEL " RL_COMMAND_LINE_SHARED_PREFIX "{%s}");
    }
}

/* A semaphore of one permit: the first client gets it, the second waits, leaves, waits again, and
 * is not there when the permit is released; then the number is set, and asked for. */
void rl_doctor_try_permits(struct rl_trials *trials) {
    static const struct rl_slots slot = {.at = {0}, .n = 1};
    char first[RL_COMMAND_TOKEN_LEN + 1], second[RL_COMMAND_TOKEN_LEN + 1];
    if (!may_try(trials)) {
        return;
    }
    make_token(trials, "010000000000000000000001", first); /* for one permit each */
    make_token(trials, "010000000000000000000002", second);
    const struct rl_command join = {
        .kind = RL_COMMAND_JOIN, .lock_mode = RL_PERMIT, .token = second, .from = RL_NO_SLOT};
    const struct rl_command take = {.kind = RL_COMMAND_TAKE,
                                    .lock_mode = RL_PERMIT,
                                    .token = first,
                                    .has_turn = true,
                                    .slots = &slot};
    const struct step steps[] = {
        {{.kind = RL_COMMAND_JOIN,
          .lock_mode = RL_PERMIT,
          .token = first,
          .from = RL_NO_SLOT,
          .join = RL_JOIN_PEEK},
         RL_YES,
         0,
         0},
        {take, RL_YES, 0, 0},
        {join, RL_NO, 0, 0},
        {{.kind = RL_COMMAND_LEAVE, .lock_mode = RL_PERMIT, .token = second}, RL_YES, 0, 0},
        {join, RL_NO, 0, 0},
        {take, RL_YES, 1, 0}, /* as when its answer was lost; now it counts who waits */
        {{.kind = RL_COMMAND_RELEASE_PERMIT,
          .lock_mode = RL_PERMIT,
          .token = first,
          .mode = RL_RELEASE_SERVE,
          .slots = &slot},
         RL_YES,
         0,
         0},
        {{.kind = RL_COMMAND_SET_PERMITS, .lock_mode = RL_PERMIT}, RL_YES, 0, 0},
        {{.kind = RL_COMMAND_SLOT, .lock_mode = RL_PERMIT, .index = RL_NO_SLOT}, RL_YES, 1, 0},
        {{.kind = RL_COMMAND_SLOT, .lock_mode = RL_PERMIT, .index = 0}, RL_NO, 0, 0},
    };
    play(trials, RL_TRIAL_PERMITS, steps, sizeof steps / sizeof steps[0]);
    /* The number lives for a day. */
    rl_attempt_forget(trials, "DEL " RL_COMMAND_PERMITS_PREFIX "{%s}");
    rl_attempt_forget(trials, "DEL " RL_COMMAND_SLOT_PREFIX "0:{%s}");
    rl_attempt_forget(trials, "DEL " RL_COMMAND_LINE_PREFIX "permits:{%s}");
}
