/* See orphan.h. */
#include "orphan.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redlock/semaphore.h"
#include "say.h"
#include "session.h"
#include "token.h"
#include "tool/utf8.h"

void rl_orphan_init(struct rl_orphan *orphan, const struct rl_args *args, bool is_name) {
    assert(args->n_words == 1);
    *orphan = (struct rl_orphan){
        .args = args, .keys = rl_must_print("%s", args->words[0]), .is_name = is_name};
}

void rl_orphan_free(struct rl_orphan *orphan) {
    free(orphan->keys);
    orphan->keys = NULL;
}

void rl_orphan_set(struct rl_orphan *orphan, const char *holder) {
    snprintf(orphan->holder, sizeof orphan->holder, "%s", holder);
}

/* The lock object that has the same keys on the nodes, or NULL. */
static redlock_lock *same_lock(const struct rl_orphan *orphan, struct rl_session *session) {
    redlock_lock *lock = NULL;
    struct rl_keys keys = {.count = 1};
    keys.items[0] = (redlock_bytes){orphan->keys, strlen(orphan->keys)};
    if (orphan->is_name || rl_keys_parse(&keys, orphan->keys) == NULL) {
        redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
        options.resources = keys.items;
        options.n_resources = keys.count;
        options.holder = orphan->holder;
        options.mode = orphan->args->shared ? REDLOCK_SHARED : REDLOCK_EXCLUSIVE;
        options.permits = (int32_t)orphan->args->permits;
        options.take = (int32_t)orphan->args->take;
        redlock_lock_new_with(session->client, &options, &lock, NULL, 0);
    }
    rl_keys_free(&keys);
    return lock;
}

/* redlock_release_token(), of a semaphore for the token's slots. */
static int release(redlock_lock *lock, const struct rl_args *args, const struct rl_guard_word *word,
                   struct rl_session *session) {
    int status =
        args->permits != 0 ? redlock_lock_set_slots(lock, word->slots, (size_t)args->take) : 0;
    return status == 0 ? redlock_release_token(lock, word->token, rl_session_lock_cb, session)
                       : status;
}

void rl_orphan_release(const struct rl_guard_word *word, void *data) {
    char sentence[REDLOCK_MESSAGE_MAX];
    static struct rl_session session;
    const struct rl_orphan *orphan = data;
    struct rl_args args = *orphan->args;
    char shown[128];
    assert(strlen(word->token) == REDLOCK_TOKEN_LENGTH);
    args.guard = REDLOCK_GUARD_OFF; /* to release, a node need not be trusted */
    args.verbose = false;
    rl_password_look(&args.password); /* this process has not looked since it began */
    int status = REDLOCK_ERR_SYSTEM;
    /* This process ignores all signals, so the session watches none: libuv's signal descriptors
     * have been closed with the others. */
    if (rl_session_open(&session, &args) != 0) {
        explicit_bzero(&args.password, sizeof args.password);
        return;
    }
    redlock_lock *lock = same_lock(orphan, &session);
    if (lock != NULL) {
        status = release(lock, &args, word, &session);
        status = status == 0 ? rl_session_wait(&session) : status;
    }
    tool_utf8_clean(orphan->keys, strlen(orphan->keys), shown, sizeof shown);
    if (status == 0) {
        rl_say("%s: the lock is released", shown);
    } else {
        rl_say("%s: the lock is not released: %s; it ends with its ttl", shown,
               lock != NULL ? redlock_lock_message(lock, sentence, sizeof sentence)
                            : redlock_strerror(status));
    }
    rl_session_close(&session);
    explicit_bzero(&args.password, sizeof args.password); /* a copy; the path belongs to the
                                                             original */
}
