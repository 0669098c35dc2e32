/* Reads the password for the nodes from a file or a descriptor, so that neither an argument nor the
 * environment contains it.
 *
 * Happy path: rl_password_read() after the arguments were parsed, rl_password_set() when there is a
 * client. A long-running command checks the file once a second (rl_password_look()) and sets a new
 * password in the client, without a restart.
 *
 * Failure modes: the file cannot be read, is empty, too long or has more than one line: an error
 * message, and RL_EXIT_CONFIG; while a command runs, a message, and the old password stays in use.
 * Other users can read the file: a warning, and it is used. The file is half written: the nodes
 * refuse that password, the old one stays in use, and the next check finds the complete one.
 *
 * Can it stay in memory? It is read without stdio, into the only buffer that keeps it: a guard
 * process may need it after this process was killed. The buffer is wiped when a new password is
 * read and when redlock ends; the library wipes its own copy. */
#ifndef RL_CLI_PASSWORD_H
#define RL_CLI_PASSWORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "redlock/redlock.h"

#define RL_PASSWORD_NO_FD (-1)

struct rl_password {
    char *path;                          /* owned; NULL: not from a file, or no password */
    char *user;                          /* owned, or NULL */
    bool is_watched;                     /* the path is a file: a pipe is read once */
    struct stat seen;                    /* the file's state when it was read */
    char text[REDLOCK_PASSWORD_MAX + 1]; /* "": none */
};

/* path: of --password-file, or NULL. fd: of --password-fd, closed when it is read, or
 * RL_PASSWORD_NO_FD. user: or NULL. Returns 0 or an exit status. */
int rl_password_read(struct rl_password *password, const char *path, int64_t fd, const char *user);

/* Wipes it. */
void rl_password_forget(struct rl_password *password);

/* Sets the password for all nodes of the client, if there is one. Returns a status. */
int rl_password_set(const struct rl_password *password, redlock_client *client);

/* Reads the file again if it has changed since it was read. True: there is a new password. */
bool rl_password_look(struct rl_password *password);

#endif
