/* Failures of fork() and of the resolver that redlock(1) must handle, and a kill() that detects
 * wrong use, for guard_test.sh: loaded before libc by LD_PRELOAD.
 *
 *     REDLOCK_TEST_FORK=fail:N   from the Nth call on there is no process to be had
 *     REDLOCK_TEST_FORK=slow:N   the Nth call takes 500 ms
 *     REDLOCK_TEST_FORK=stop:N   the process of the Nth call stops at once
 *     REDLOCK_TEST_STRAY=FILE    makes FILE if a process is signalled that is not there
 *
 * The name slow.invalid takes ten minutes.
 *
 * It counts in redlock only, not in the commands that redlock runs. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOW_MS 500
#define SLOW_NAME_MS 600000

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **found) {
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    void *symbol = dlsym(RTLD_NEXT, "getaddrinfo");
    memcpy(&real, &symbol, sizeof real);
    if (name != NULL && strcmp(name, "slow.invalid") == 0) {
        poll(NULL, 0, SLOW_NAME_MS);
    }
    return real(name, service, hints, found);
}

pid_t fork(void) {
    static int calls;
    static const char fail[] = "fail:", slow[] = "slow:", stop[] = "stop:";
    const char *wanted = getenv("REDLOCK_TEST_FORK");
    pid_t (*real)(void);
    void *symbol = dlsym(RTLD_NEXT, "fork");
    memcpy(&real, &symbol, sizeof real);
    if (wanted != NULL && strcmp(program_invocation_short_name, "redlock") == 0) {
        calls++;
        if (strncmp(wanted, fail, strlen(fail)) == 0 && calls >= wanted[strlen(fail)] - '0') {
            errno = EAGAIN;
            return -1;
        }
        if (strncmp(wanted, slow, strlen(slow)) == 0 && calls == wanted[strlen(slow)] - '0') {
            poll(NULL, 0, SLOW_MS);
        }
        if (strncmp(wanted, stop, strlen(stop)) == 0 && calls == wanted[strlen(stop)] - '0') {
            pid_t pid = real();
            return pid == 0 ? raise(SIGSTOP) : pid; /* 0 when it is continued */
        }
    }
    return real();
}

int kill(pid_t pid, int signal_number) {
    const char *file = getenv("REDLOCK_TEST_STRAY");
    int (*real)(pid_t, int);
    void *symbol = dlsym(RTLD_NEXT, "kill");
    memcpy(&real, &symbol, sizeof real);
    int result = real(pid, signal_number), error = errno;
    if (file != NULL && pid > 0 && result != 0 && error == ESRCH &&
        strcmp(program_invocation_short_name, "redlock") == 0) {
        close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    }
    errno = error;
    return result;
}
