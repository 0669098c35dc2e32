/* Messages in their own buffers, which last until the end of the enclosing block. */
#ifndef MESSAGES_H
#define MESSAGES_H

#include "redlock/redlock.h"

#define MESSAGE_BUFFER ((char[REDLOCK_MESSAGE_MAX]){""}), REDLOCK_MESSAGE_MAX
#define LOCK_MESSAGE(lock) redlock_lock_message(lock, MESSAGE_BUFFER)
#define CLIENT_MESSAGE(client) redlock_client_message(client, MESSAGE_BUFFER)
#define ELECTION_MESSAGE(election) redlock_election_message(election, MESSAGE_BUFFER)

#endif /* MESSAGES_H */
