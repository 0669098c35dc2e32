/* Random commands: all that the library sends, and similar ones, on a handful of keys.
 *
 * Happy path: random_command() appends one, as RESP, again and again; a seed always gives the same
 * commands, but for PEXPIREAT, which names the time. The library's own functions write its
 * commands. */
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
    bool is_bare;    /* UNSUBSCRIBE may come without a channel: there is at most one */
    bool is_plain;   /* no AUTH */
    bool listens;    /* SUBSCRIBE is not rare */
    bool is_line;    /* mostly commands of lines */
    bool is_permits; /* mostly a semaphore's */
    bool calls;      /* mostly the commands that scripts call */
};

struct random_user {
    const char *name, *password;
    const char *acl; /* for ACL SETUSER, words between spaces */
};

uint32_t random_pick(uint64_t *state, uint32_t count);

void random_command(struct random_commands *random, struct bytes *wire);

/* Appends bytes that are not a command. */
void random_garbage(struct random_commands *random, struct bytes *wire);

/* The keys that may be there, in the databases 0 and 1; NULL behind the last. RANDOM_SECRET is the
 * node's own: its value is any number. */
#define RANDOM_SECRET "libredlock:secret"
const struct resp_arg *random_key(size_t index);

/* Sets all resources as a lock does. */
void random_plant(struct bytes *wire);

/* The commands of these keys' holder, one per call: extensions, a fence, a release; false after the
 * last. */
bool random_hold(size_t index, struct bytes *wire);

/* The commands that load all scripts, one per call; false after the last. */
bool random_load(size_t index, struct bytes *wire);

#endif
