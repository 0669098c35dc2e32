/* A token as redlock(1) prints and reads it: the 40 hex digits, a colon, and the holder's name that
 * was stored with it. Both are needed to extend or release it, since the nodes compare the whole
 * value. A token of permits begins with its slots, "0,3@", which the digits do not encode.
 *
 * Failure modes: a malformed token is refused with a message before anything is sent. */
#ifndef RL_CLI_TOKEN_H
#define RL_CLI_TOKEN_H

#include "args.h"
#include "redlock/redlock.h"

#define RL_HOLDER_ROOM (REDLOCK_HOLDER_MAX + 1)
#define RL_TOKEN_SLOTS_MAX (REDLOCK_TAKE_MAX * sizeof "1023") /* of their text */
#define RL_TOKEN_TEXT_MAX (RL_TOKEN_SLOTS_MAX + REDLOCK_TOKEN_LENGTH + 1 + REDLOCK_HOLDER_MAX + 1)

struct rl_token {
    char digits[REDLOCK_TOKEN_LENGTH + 1];
    char holder[RL_HOLDER_ROOM];     /* "": none */
    int32_t slots[REDLOCK_TAKE_MAX]; /* of a semaphore */
    size_t n_slots;                  /* 0: the token of a lock */
};

/* Whether the library takes it as a holder's name. */
bool rl_token_is_holder(const char *name);

/* Returns NULL, or why not: a clause. */
const char *rl_token_parse(struct rl_token *token, const char *text);

/* "digits:holder", or "digits" if holder is NULL or ""; of n permits "0,3@digits:holder". Valid as
 * long as an rl_text(). */
const char *rl_token_show(const int32_t *slots, size_t n, const char *digits, const char *holder);

/* "0,3": the separator is one character. Valid as long as an rl_text(). */
const char *rl_token_slots(const int32_t *slots, size_t n, const char *separator);

/* "KEY[,KEY...]", parsed. In a key, \, is a comma and \\ a backslash. */
struct rl_keys {
    char *text; /* what items point into */
    redlock_bytes items[REDLOCK_RESOURCES_MAX];
    int typed_lengths[REDLOCK_RESOURCES_MAX]; /* each with its backslashes */
    size_t count;
};

/* Returns NULL, or why not: a clause. rl_keys_free() in any case. */
const char *rl_keys_parse(struct rl_keys *keys, const char *text);
/* Parses the word of any command: for an election, it is a single name. */
const char *rl_keys_of(struct rl_keys *keys, const struct rl_args *args, const char *text);
void rl_keys_free(struct rl_keys *keys);

#endif
