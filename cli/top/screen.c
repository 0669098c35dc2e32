/* The terminal while it shows a full screen: its modes, its size, and their restoration.
 *
 * Happy path: rl_screen_open() switches to the alternate screen, where keys arrive one by one
 * without echo, and reads and writes do not block; rl_screen_close() switches back. O_NONBLOCK
 * applies to all processes that share the terminal: if it stayed set, the next cat(1) would fail.
 *
 * Failure modes: stdin or stdout is not a terminal, or does not support sequences: false, and
 * nothing was changed. The program crashes (SIGSEGV, abort() and the like): handlers restore the
 * terminal, and the signal takes its default action. The caller handles the signals that end a
 * program normally: Ctrl-C and Ctrl-Z are still signals. SIGKILL: the terminal is not restored;
 * reset(1) does it. The terminal accepts no output: drawing is given up after 2 s, restoring after
 * 0.5 s. */
#include "top/room.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "redlock/redlock.h"
#include "say.h"

#define ESCAPE '\033'

static const struct {
    const char *ends; /* the rest after ESC [ or ESC O */
    int typed;
} sequences[] = {
    {"A", RL_TYPED_UP},         {"B", RL_TYPED_DOWN}, {"5~", RL_TYPED_PAGE_UP},
    {"6~", RL_TYPED_PAGE_DOWN}, {"H", RL_TYPED_HOME}, {"1~", RL_TYPED_HOME},
    {"7~", RL_TYPED_HOME},      {"F", RL_TYPED_END},  {"4~", RL_TYPED_END},
    {"8~", RL_TYPED_END},
};

int rl_typed_read(const char *bytes, size_t length, size_t *used) {
    assert(length > 0);
    *used = 1;
    if (bytes[0] != ESCAPE) {
        return (unsigned char)bytes[0];
    }
    if (length == 1 || (bytes[1] != '[' && bytes[1] != 'O')) {
        return RL_TYPED_NOTHING;
    }
    size_t end = 2; /* parameters, then one byte from '@' to '~' */
    while (end < length && (bytes[end] < '@' || bytes[end] > '~')) {
        end++;
    }
    *used = end < length ? end + 1 : length;
    for (size_t i = 0; i < sizeof sequences / sizeof sequences[0]; i++) {
        size_t tail = strlen(sequences[i].ends);
        if (*used == 2 + tail && memcmp(bytes + 2, sequences[i].ends, tail) == 0) {
            return sequences[i].typed;
        }
    }
    return RL_TYPED_NOTHING;
}

static const char *code_of(const struct rl_frame *frame, enum rl_paint style) {
    const char *code = rl_paint_codes[style];
    const bool is_color = code[0] == '3';
    return is_color && !frame->is_colored ? "" : code;
}

/* The number of bytes of text that fit into the columns; *taken: the columns they take. */
static size_t fitting(const char *text, int columns, int *taken) {
    size_t bytes = 0;
    int width = 0;
    *taken = 0;
    while (text[bytes] != '\0') {
        size_t step = rl_say_character(text + bytes, &width);
        if (*taken + width > columns) {
            break;
        }
        *taken += width;
        bytes += step;
    }
    return bytes;
}

void rl_frame_begin(struct rl_frame *frame, int columns, int rows) {
    frame->columns = columns;
    frame->rows = rows;
    fprintf(frame->out, "\033[0m\033[H");
    for (int row = 0; row < rows; row++) {
        fprintf(frame->out, "\033[%d;1H\033[K", row + 1);
    }
}

void rl_frame_put(struct rl_frame *frame, int row, int column, int width, const char *text,
                  enum rl_paint style, bool is_right) {
    int taken = 0;
    width = width < frame->columns - column ? width : frame->columns - column;
    if (row < 0 || row >= frame->rows || column < 0 || width <= 0 || text[0] == '\0') {
        return;
    }
    size_t bytes = fitting(text, width, &taken);
    bool is_cut = text[bytes] != '\0';
    if (is_cut) {
        bytes = fitting(text, width - 1, &taken);
    }
    int shift = is_right && !is_cut ? width - taken : 0;
    fprintf(frame->out, "\033[%d;%dH\033[%sm%.*s%s\033[0m", row + 1, column + shift + 1,
            code_of(frame, style), (int)bytes, text, is_cut ? "~" : "");
}

void rl_frame_fill(struct rl_frame *frame, int row, enum rl_paint style) {
    if (row >= 0 && row < frame->rows) {
        fprintf(frame->out, "\033[%d;1H\033[%sm%*s\033[0m", row + 1, code_of(frame, style),
                frame->columns, "");
    }
}

#define COLUMNS_DEFAULT 80
#define ROWS_DEFAULT 24
#define WRITE_MS 2000 /* then a stopped terminal (Ctrl-S) misses a screenful */
#define LEAVE_MS 500  /* then it is not restored */

/* Switches to the alternate screen, without cursor and wrapping; and back. */
static const char turn_to[] = "\033[?1049h\033[?25l\033[?7l\033[2J";
static const char turn_back[] = "\033[0m\033[?7h\033[?25h\033[?1049l";

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

static struct termios before;
static int flags_before;
static volatile sig_atomic_t is_open;
static bool is_stuck; /* the last write timed out: the next one does not wait */

static int64_t now_ms(void) {
    return (int64_t)(redlock_now_ns() / 1000000);
}

/* False: the terminal is gone. Bytes that it does not accept in this time are dropped. */
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

/* Signal handlers call it, too: everything it calls is async-signal-safe. */
void rl_screen_close(void) {
    if (is_open) {
        is_open = 0;
        write_within(LEAVE_MS, turn_back, sizeof turn_back - 1);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
        fcntl(STDIN_FILENO, F_SETFL, flags_before);
    }
}

static void on_crash(int signal_number) {
    rl_screen_close();
    raise(signal_number); /* the handler has been reset */
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
    atexit(rl_screen_close); /* rl_must_alloc() ends the program anywhere */
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &now) != 0) {
        return false;
    }
    is_open = 1;
    fcntl(STDIN_FILENO, F_SETFL, flags_before | O_NONBLOCK);
    return rl_screen_write(turn_to, sizeof turn_to - 1);
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
