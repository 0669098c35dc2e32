/* fork() as redlock(1) must be able to meet it, for guard_test.sh: put before libc by LD_PRELOAD.
 *
 *     REDLOCK_TEST_FORK=fail:N   from the Nth call on there is no process to be had
 *     REDLOCK_TEST_FORK=slow:N   the Nth call takes 500 ms
 *
 * It counts in redlock only, not in the commands that redlock runs. */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOW_MS 500

pid_t fork(void) {
    static int calls;
    static const char fail[] = "fail:", slow[] = "slow:";
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
    }
    return real();
}
