/* The password for the nodes from a file or a descriptor, so that it is in no argument and no
 * environment.
 *
 * Happy path: rl_password_read() when the arguments are known, rl_password_set() when there is a
 * client. A long-running command checks the file once a second (rl_password_look()) and sets a new
 * password in the client: a password changes without a restart.
 *
 * Failure modes: the file cannot be read, is empty, too long or has more than one line: a sentence,
 * and RL_EXIT_CONFIG; while a command runs, a sentence, and the old password stays. A file that
 * other users can read: a sentence, and it is used. Half a password, since the file is just being
 * written: the nodes refuse it, the old one stays in use, and the next look finds the rest.
 *
 * Can it stay in memory? It is read without stdio, into the one place where it is kept: a guard
 * process may need it after this one was killed. That place is wiped when a new one is read and
 * when redlock ends; the library wipes its own copy. */
#ifndef RL_CLI_PASSWORD_H
#define RL_CLI_PASSWORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "redlock/redlock.h"

#define RL_PASSWORD_NO_FD (-1)

struct rl_password {
    char *path;                          /* owned; NULL: it is not from a file, or there is none */
    char *user;                          /* owned, or NULL */
    bool is_watched;                     /* the path is a file: a pipe is read once */
    struct stat seen;                    /* the file, as it was when it was read */
    char text[REDLOCK_PASSWORD_MAX + 1]; /* "": none */
};

/* path: of --password-file, or NULL. fd: of --password-fd, closed when it is read, or
 * RL_PASSWORD_NO_FD. user: or NULL. Returns 0 or an exit status. */
int rl_password_read(struct rl_password *password, const char *path, int64_t fd, const char *user);

/* Wipes it. */
void rl_password_forget(struct rl_password *password);

/* For all nodes of the client; without one nothing happens. Returns a status. */
int rl_password_set(const struct rl_password *password, redlock_client *client);

/* Reads the file again if it has changed since it was read. True: there is a new password. */
bool rl_password_look(struct rl_password *password);

#endif
