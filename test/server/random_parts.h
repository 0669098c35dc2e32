/* What the files of random commands share. Others include random_commands.h only. */
#ifndef SERVER_RANDOM_PARTS_H
#define SERVER_RANDOM_PARTS_H

#include "server/random_commands.h"

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

/* Resources, then their counters; a list; the lines; the readers' lines, leases, intents and
 * upgrades of the first two; a semaphore's keys. */
#define RANDOM_KEYS 33
#define RESOURCES 4
#define LIST 8
#define LINE 9
#define UPGRADE 20
extern const struct resp_arg random_keys[RANDOM_KEYS];

#define RANDOM_TOKENS 5
extern const char *const random_tokens[RANDOM_TOKENS];

uint32_t pick(struct random_commands *random, uint32_t count);
bool chance(struct random_commands *random, uint32_t percent);

void put_arg(struct bytes *wire, const void *data, size_t length);
void put_word(struct bytes *wire, const char *word);
void put_key_at(struct bytes *wire, uint32_t index);
void put_number(struct bytes *wire, long long number);

uint32_t any_key(struct random_commands *random);
const char *odd_arg(struct random_commands *random);

/* -- random_odd.c: commands similar to ours -- */

void random_odd_script(struct random_commands *random, struct bytes *wire);
void random_scripts(struct random_commands *random, struct bytes *wire);
void random_odd_set(struct random_commands *random, struct bytes *wire);
void random_key_command(struct random_commands *random, struct bytes *wire);
void random_plain(struct random_commands *random, struct bytes *wire);
void random_connection_command(struct random_commands *random, struct bytes *wire);
void random_odd_count(struct random_commands *random, struct bytes *wire); /* of arguments */

/* -- random_alone.c -- */

/* Some of these: deletes all keys of a resource, takes it as a reader, releases it, or becomes a
 * reader. */
void random_alone(struct random_commands *random, struct bytes *wire);

/* The resource (in random_keys) that it reads; it is released as at home and as elsewhere. */
#define RANDOM_ALONE_KEY 2
void random_alone_plant(struct bytes *wire);
void random_alone_release(struct bytes *wire);

/* -- random_permits.c -- */

#define RANDOM_PERMITS_NAME "p"

void random_permits(struct random_commands *random, struct bytes *wire);

#endif
