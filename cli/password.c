/* See password.h. */
#include "password.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "say.h"

/* -- Reading -- */

/* Reads until the end or until out is full. Returns the length, or -1. */
static ssize_t read_all(int fd, char *out, size_t room) {
    size_t length = 0;
    while (length < room) {
        ssize_t got = read(fd, out + length, room - length);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -1;
        }
        if (got == 0) {
            break;
        }
        length += (size_t)got;
    }
    return (ssize_t)length;
}

/* Strips the line end. Returns NULL, or why the text is no password. */
static const char *take_line(char *text, size_t length) {
    if (length > 0 && text[length - 1] == '\n') {
        length -= length > 1 && text[length - 2] == '\r' ? 2 : 1;
    }
    text[length] = '\0';
    if (length == 0) {
        return "it is empty";
    }
    if (length > REDLOCK_PASSWORD_MAX) {
        return rl_text("it is longer than %d bytes", REDLOCK_PASSWORD_MAX);
    }
    if (strlen(text) < length) {
        return "there is a zero byte in it";
    }
    return strchr(text, '\n') != NULL ? "it has more than one line" : NULL;
}

/* Reads into password->text, which is unchanged on failure. Returns NULL, or why not. */
static const char *read_from(struct rl_password *password, int fd) {
    /* Room for the longest password, a line end, and one byte more to notice a longer one. */
    char text[REDLOCK_PASSWORD_MAX + 4];
    const ssize_t length = read_all(fd, text, sizeof text - 1);
    const char *problem =
        length < 0 ? rl_text("%s", strerror(errno)) : take_line(text, (size_t)length);
    if (problem == NULL) {
        explicit_bzero(password->text, sizeof password->text);
        memcpy(password->text, text, strlen(text));
    }
    explicit_bzero(text, sizeof text);
    return problem;
}

/* Returns the mode for chmod if others can read the file. (We may have access only as a member of
 * its group.) */
static const char *who_can_read(const struct stat *file) {
    bool is_ours = file->st_uid == geteuid();
    if (!S_ISREG(file->st_mode) || (file->st_mode & (is_ours ? S_IRGRP | S_IROTH : S_IROTH)) == 0) {
        return NULL;
    }
    return is_ours ? "600" : "o-rwx";
}

/* flags: O_NONBLOCK where waiting for a pipe's writer would stop the watchdog. *mode: the mode for
 * chmod, or NULL. */
static const char *read_file(struct rl_password *password, int flags, const char **mode) {
    struct stat file;
    int fd = open(password->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | flags);
    if (fd < 0 || fstat(fd, &file) != 0) {
        const char *why = rl_text("%s", strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return why;
    }
    password->is_watched = S_ISREG(file.st_mode);
    password->seen = file;
    *mode = who_can_read(&file);
    const char *problem = read_from(password, fd);
    close(fd);
    return problem;
}

/* -- The interface -- */

static int read_descriptor(struct rl_password *password, int64_t fd) {
    const char *problem = read_from(password, (int)fd);
    if (problem != NULL) {
        return rl_fail(RL_EXIT_CONFIG, "--password-fd %" PRId64 ": %s", fd, problem);
    }
    if (fd > STDERR_FILENO) {
        close((int)fd); /* the command must not inherit it */
    }
    return 0;
}

int rl_password_read(struct rl_password *password, const char *path, int64_t fd, const char *user) {
    const char *mode = NULL;
    memset(password, 0, sizeof *password);
    password->path = path != NULL ? rl_must_print("%s", path) : NULL;
    password->user = user != NULL ? rl_must_print("%s", user) : NULL;
    if (fd != RL_PASSWORD_NO_FD) {
        return read_descriptor(password, fd);
    }
    if (path == NULL) {
        return 0;
    }
    const char *problem = read_file(password, 0, &mode);
    if (problem != NULL) {
        return rl_fail(RL_EXIT_CONFIG, "--password-file %s: %s", path, problem);
    }
    if (mode != NULL) {
        rl_say("--password-file %s: others can read it; chmod %s %s", path, mode, path);
    }
    return 0;
}

void rl_password_forget(struct rl_password *password) {
    free(password->path);
    free(password->user);
    explicit_bzero(password, sizeof *password);
}

int rl_password_set(const struct rl_password *password, redlock_client *client) {
    assert(client != NULL);
    if (password->text[0] == '\0') {
        return 0;
    }
    return redlock_client_set_credentials(client, REDLOCK_ALL_NODES, password->user,
                                          password->text);
}

bool rl_password_look(struct rl_password *password) {
    const char *mode;
    struct stat file;
    if (!password->is_watched || stat(password->path, &file) != 0) {
        return false; /* missing: just being replaced, or removed; keep the password */
    }
    const struct stat *seen = &password->seen;
    if (file.st_dev == seen->st_dev && file.st_ino == seen->st_ino &&
        file.st_size == seen->st_size && file.st_mtim.tv_sec == seen->st_mtim.tv_sec &&
        file.st_mtim.tv_nsec == seen->st_mtim.tv_nsec) {
        return false;
    }
    const char *problem = read_file(password, O_NONBLOCK, &mode);
    if (problem != NULL) {
        password->seen = file; /* once for each change */
        rl_say("--password-file %s: %s; the password before stays in use", password->path, problem);
    }
    password->is_watched = true;
    return problem == NULL;
}
