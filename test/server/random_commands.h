/* Commands as they come: all that the library sends, and what is nearly that, on a handful of keys.
 *
 * Happy path: random_command() appends one, as RESP, again and again; the same seed gives the same
 * ones, but for PEXPIREAT, which names the time. What the library sends is written by the library's
 * own functions. */
#ifndef SERVER_RANDOM_COMMANDS_H
#define SERVER_RANDOM_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/bytes.h"
#include "server/resp.h"

struct random_commands {
    uint64_t state;
    uint64_t now_ms;
    const struct random_user *users; /* whom AUTH names; NULL: nobody */
    bool is_bare;    /* UNSUBSCRIBE may come without a channel: there is one at most */
    bool is_plain;   /* no AUTH */
    bool listens;    /* SUBSCRIBE is not rare */
    bool is_line;    /* lines for the most part */
    bool is_permits; /* ... or a semaphore */
    bool calls;      /* ... or what scripts call */
};

struct random_user {
    const char *name, *password;
    const char *acl; /* for ACL SETUSER, words between spaces */
};

uint32_t random_pick(uint64_t *state, uint32_t count);

void random_command(struct random_commands *random, struct bytes *wire);

/* Bytes that are no command. */
void random_garbage(struct random_commands *random, struct bytes *wire);

/* The keys that may be there, in the databases 0 and 1; NULL behind the last. That is a node's own:
 * its value is any number. */
#define RANDOM_SECRET "libredlock:secret"
const struct resp_arg *random_key(size_t index);

/* Sets all resources as a lock does. */
void random_plant(struct bytes *wire);

/* What the holder of these sends, one command each: extensions, a fence, a release; false behind
 * the last. */
bool random_hold(size_t index, struct bytes *wire);

/* Loads all scripts, one command each; false behind the last. */
bool random_load(size_t index, struct bytes *wire);

#endif
