/* See screen.h. */
#include "top/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define COLUMNS_DEFAULT 80
#define ROWS_DEFAULT 24
#define WRITE_MS 2000 /* a terminal that takes nothing for so long (Ctrl-S) misses a screenful */
#define LEAVE_MS 500  /* ... and what turns it back */

/* The alternate screen, no cursor, nothing wraps; and back. */
static const char turn_to[] = "\033[?1049h\033[?25l\033[?7l\033[2J";
static const char turn_back[] = "\033[0m\033[?7h\033[?25h\033[?1049l";

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

static struct termios before;
static int flags_before;
static volatile sig_atomic_t is_open;
static bool is_stuck; /* the last write was given up: the next one does not wait as well */

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* False: the terminal is gone. Bytes that it does not take in this time are left out. */
static bool write_within(int64_t ms, const char *bytes, size_t length) {
    const int64_t end_ms = now_ms() + ms;
    while (length > 0) {
        ssize_t written = write(STDOUT_FILENO, bytes, length);
        struct pollfd polled = {.fd = STDOUT_FILENO, .events = POLLOUT};
        if (written < 0 && errno == EAGAIN) {
            const int64_t left_ms = end_ms - now_ms();
            is_stuck = left_ms <= 0;
            if (is_stuck) {
                return true;
            }
            poll(&polled, 1, (int)left_ms);
        } else if (written < 0 && errno != EINTR) {
            return false;
        }
        bytes += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    is_stuck = false;
    return true;
}

/* Also in a handler: all that this calls may be called there. */
static void restore(void) {
    if (is_open) {
        is_open = 0;
        write_within(LEAVE_MS, turn_back, sizeof turn_back - 1);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
        fcntl(STDIN_FILENO, F_SETFL, flags_before);
    }
}

static void on_crash(int signal_number) {
    restore();
    raise(signal_number); /* its handler is reset */
}

static void watch_crashes(void) {
    struct sigaction action = {.sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND}, old;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++) {
        if (sigaction(crashes[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL) {
            sigaction(crashes[i], &action, NULL);
        }
    }
}

bool rl_screen_is_possible(void) {
    const char *terminal = getenv("TERM");
    bool is_dumb = terminal == NULL || terminal[0] == '\0' || strcmp(terminal, "dumb") == 0;
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && !is_dumb;
}

bool rl_screen_open(void) {
    struct termios now;
    flags_before = fcntl(STDIN_FILENO, F_GETFL);
    if (!rl_screen_is_possible() || flags_before < 0 || tcgetattr(STDIN_FILENO, &before) != 0) {
        return false;
    }
    now = before;
    now.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN);
    now.c_iflag &= ~(tcflag_t)(IXON | ICRNL);
    now.c_cc[VMIN] = 1;
    now.c_cc[VTIME] = 0;
    watch_crashes();
    atexit(restore); /* rl_must_alloc() ends the program where it is */
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &now) != 0) {
        return false;
    }
    is_open = 1;
    fcntl(STDIN_FILENO, F_SETFL, flags_before | O_NONBLOCK);
    return rl_screen_write(turn_to, sizeof turn_to - 1);
}

void rl_screen_close(void) {
    restore();
}

void rl_screen_size(int *columns, int *rows) {
    struct winsize window = {0};
    bool has_size = ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0;
    *columns = has_size && window.ws_col > 0 ? window.ws_col : COLUMNS_DEFAULT;
    *rows = has_size && window.ws_row > 0 ? window.ws_row : ROWS_DEFAULT;
}

bool rl_screen_write(const char *bytes, size_t length) {
    return write_within(is_stuck ? 0 : WRITE_MS, bytes, length);
}
