/* What a reader sends that is alone, as random_commands.h: share.lua and release_shared.lua have
 * first lines of their own for it, which chance seldom meets. */
#ifndef SERVER_RANDOM_ALONE_H
#define SERVER_RANDOM_ALONE_H

#include "server/random_commands.h"

/* Deletes whatever there is of a resource, reads it, and gives it up; or some of that. */
void random_alone(struct random_commands *random, struct bytes *wire);

/* Reads one of the resources (random_keys); gives it up, as elsewhere and as at home. */
#define RANDOM_ALONE_KEY 2
void random_alone_plant(struct bytes *wire);
void random_alone_release(struct bytes *wire);

#endif
