/* What the library sends for a semaphore, as random_commands.h. */
#ifndef SERVER_RANDOM_PERMITS_H
#define SERVER_RANDOM_PERMITS_H

#include "server/random_commands.h"

#define RANDOM_PERMITS_NAME "p"

void random_permits(struct random_commands *random, struct bytes *wire);

#endif
