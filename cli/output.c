/* See output.h. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define BUFFER_BYTES 65536

static char buffer[BUFFER_BYTES]; /* glibc ignores the size if it is to make one itself */
static int first_error;

int rl_output_open(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) {
            continue;
        }
        int direction = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        if (open("/dev/null", direction | O_CLOEXEC) != fd) { /* the lowest that is free */
            return errno;
        }
    }
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    return 0;
}

int rl_output_flush(void) {
    if (fflush(stdout) != 0 && first_error == 0) {
        first_error = errno;
    }
    if (ferror(stdout) && first_error == 0) {
        first_error = EIO; /* more than the buffer was printed at once: the reason is gone */
    }
    return first_error;
}

void rl_output_drop(void) {
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && dup2(fd, STDOUT_FILENO) == STDOUT_FILENO) {
        fflush(stdout); /* what is in the buffer goes there */
        clearerr(stdout);
        first_error = 0;
    }
    if (fd >= 0) {
        close(fd);
    }
}

int rl_output_close(void) {
    int error = rl_output_flush();
    return error == 0 && fclose(stdout) != 0 ? errno : error;
}
