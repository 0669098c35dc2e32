/* What chance seldom meets, as random_commands.h: a reader that is alone, for which take.lua and
 * release_line.lua have first lines of their own, and a writer that becomes a reader. */
#ifndef SERVER_RANDOM_ALONE_H
#define SERVER_RANDOM_ALONE_H

#include "server/random_commands.h"

/* Deletes whatever there is of a resource, reads it, and gives it up, or becomes a reader; or some
 * of that. */
void random_alone(struct random_commands *random, struct bytes *wire);

/* Reads one of the resources (random_keys); gives it up, as elsewhere and as at home. */
#define RANDOM_ALONE_KEY 2
void random_alone_plant(struct bytes *wire);
void random_alone_release(struct bytes *wire);

#endif
