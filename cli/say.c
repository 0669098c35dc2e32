/* Texts on the terminal: see say.h. */
#include "say.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "tool/number.h"
#include "tool/utf8.h"

#define MS_PER_S 1000

int64_t rl_when_now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t rl_when_now_ms(void) {
    return rl_when_now_us() / 1000;
}

const char *rl_text(const char *format, ...) {
    static _Thread_local char texts[RL_TEXTS][RL_TEXT_MAX];
    static _Thread_local unsigned made;
    char *text = texts[made++ % RL_TEXTS];
    va_list args;
    va_start(args, format);
    vsnprintf(text, RL_TEXT_MAX, format, args);
    va_end(args);
    return text;
}

const char *rl_text_bytes(const char *bytes, size_t length, size_t max) {
    char shown[RL_TEXT_MAX];
    assert(max <= sizeof shown);
    return rl_text("%s", tool_utf8_clean(bytes, length, shown, max));
}

const char *rl_text_clean(const char *text, size_t max) {
    return rl_text_bytes(text, strlen(text), max);
}

/* parts: separates date and time. end: follows the ms; NULL: no ms. */
static const char *show(const struct tm *moment, char parts, int64_t at_ms, const char *end) {
    char text[40];
    if (moment == NULL || strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", moment) == 0) {
        return "?";
    }
    *strchr(text, ' ') = parts;
    return end == NULL ? rl_text("%s", text)
                       : rl_text("%s.%03" PRId64 "%s", text, at_ms % MS_PER_S, end);
}

const char *rl_when_show(int64_t at_ms, bool with_ms) {
    const time_t seconds = (time_t)(at_ms / MS_PER_S);
    struct tm moment;
    return show(at_ms >= 0 ? localtime_r(&seconds, &moment) : NULL, ' ', at_ms,
                with_ms ? "" : NULL);
}

const char *rl_when_utc(int64_t at_ms) {
    const time_t seconds = (time_t)(at_ms / MS_PER_S);
    struct tm moment;
    return show(at_ms >= 0 ? gmtime_r(&seconds, &moment) : NULL, 'T', at_ms, "Z");
}

#define COLUMNS_DEFAULT 80
#define COLUMNS_MIN 40
#define COLUMNS_MAX 120

static bool has_line; /* a status line is shown, and the cursor is at its beginning */

static bool is_dumb(void) {
    const char *terminal = getenv("TERM");
    return terminal == NULL || strcmp(terminal, "dumb") == 0;
}

bool rl_say_has_line(void) {
    return isatty(STDERR_FILENO) && !is_dumb() && tcgetpgrp(STDERR_FILENO) == getpgrp();
}

static int columns_on(int fd) {
    struct winsize window;
    return ioctl(fd, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 ? window.ws_col
                                                                    : COLUMNS_DEFAULT;
}

void rl_say_line(const char *text) {
    if ((text == NULL && !has_line) || !rl_say_has_line()) {
        return;
    }
    int left = columns_on(STDERR_FILENO) - 1; /* a full line would wrap */
    size_t bytes = 0;
    while (text != NULL && text[bytes] != '\0') {
        int width = 0;
        size_t step = rl_say_character(text + bytes, &width);
        left -= width;
        if (left < 0) {
            break;
        }
        bytes += step;
    }
    has_line = bytes > 0;
    /* Clears to the end of the screen: the terminal may have been narrowed, and the line
     * wrapped. */
    fprintf(stderr, "\r\033[J%.*s%s", (int)bytes, text != NULL ? text : "", has_line ? "\r" : "");
}

int rl_fail(int status, const char *format, ...) {
    va_list args;
    rl_say_line(NULL);
    rl_output_flush(); /* keeps the two streams in order */
    fputs("redlock: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputs("\n", stderr);
    return status;
}

bool rl_say_is_yes(void) {
    char answer[16] = "";
    if (fgets(answer, sizeof answer, stdin) == NULL) {
        return false;
    }
    answer[strcspn(answer, "\r\n")] = '\0';
    return strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0;
}

void *rl_must_alloc(size_t n, size_t size) {
    void *memory = calloc(n, size);
    if (memory == NULL) {
        exit(rl_fail(RL_EXIT_SYSTEM, "out of memory"));
    }
    return memory;
}

char *rl_must_print(const char *format, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0) {
        exit(rl_fail(RL_EXIT_SYSTEM, "out of memory"));
    }
    va_end(args);
    return text;
}

char *rl_must_join(char *text, const char *separator, const char *more) {
    char *longer = rl_must_print("%s%s%s", text, text[0] != '\0' ? separator : "", more);
    free(text);
    return longer;
}

void rl_must_draw(char *out, size_t digits) {
    unsigned char random[32];
    assert(digits / 2 <= sizeof random);
    if (getrandom(random, digits / 2, 0) != (ssize_t)(digits / 2)) {
        exit(rl_fail(RL_EXIT_SYSTEM, "no random bytes"));
    }
    for (size_t i = 0; i < digits / 2; i++) {
        snprintf(out + 2 * i, 3, "%02x", random[i]);
    }
}

void *rl_must_grow(void *items, size_t used, size_t *room, size_t size) {
    if (used < *room) {
        return items;
    }
    *room = 2 * *room + 64;
    items = realloc(items, *room * size);
    if (items == NULL) {
        exit(rl_fail(RL_EXIT_SYSTEM, "out of memory"));
    }
    return items;
}

size_t rl_say_character(const char *text, int *width) {
    static bool has_locale;
    const bool is_ascii = (unsigned char)text[0] < 0x80;
    const size_t bytes = is_ascii ? 1 : tool_utf8_length(text, strlen(text));
    wchar_t wide = 0;
    *width = 1;
    if (bytes <= 1) {
        return 1;
    }
    if (!has_locale) { /* texts are UTF-8 in any locale of the user */
        setlocale(LC_CTYPE, "C.UTF-8");
        has_locale = true;
    }
    if (mbtowc(&wide, text, bytes) > 0 && wcwidth(wide) >= 0) {
        *width = wcwidth(wide);
    }
    return bytes;
}

int rl_say_columns(const char *text) {
    int columns = 0, width = 0;
    while (*text != '\0') {
        text += rl_say_character(text, &width);
        columns += width;
    }
    return columns;
}

int rl_say_widen(int width, const char *text, int max) {
    int columns = rl_say_columns(text);
    columns = columns > width ? columns : width;
    return columns < max ? columns : max;
}

const char *rl_say_count(uint64_t number, const char *noun) {
    return rl_text("%" PRIu64 " %s%s", number, noun, number == 1 ? "" : "s");
}

bool rl_say_is_colored(FILE *file) {
    const char *off = getenv("NO_COLOR");
    return (off == NULL || off[0] == '\0') && !is_dumb() && isatty(fileno(file));
}

const char *const rl_paint_codes[] = {"", "32", "33", "31", "2", "1", "7"};

void rl_say_painted(enum rl_paint paint, const char *text, int width) {
    bool colored = paint != RL_PAINT_NONE && rl_say_is_colored(stdout);
    int padding = width - rl_say_columns(text);
    printf("%s%s%s%*s", colored ? rl_text("\033[%sm", rl_paint_codes[paint]) : "", text,
           colored ? "\033[0m" : "", padding > 0 ? padding : 0, "");
}

/* -- Tables -- */

#define GAP 2 /* between two columns */
#define TABLE_COLUMNS_MAX 12

static size_t count_columns(const struct rl_table *table) {
    size_t n = 1;
    for (const char *at = table->heads; (at = strchr(at, '\t')) != NULL; at++) {
        n++;
    }
    assert(n <= TABLE_COLUMNS_MAX);
    return n;
}

static void add_row(struct rl_table *table, char *text) {
    const size_t n = count_columns(table);
    char *rest = text; /* the first cell owns the text */
    for (size_t i = 0; i < n; i++) {
        table->cells =
            rl_must_grow(table->cells, table->used, &table->room, sizeof table->cells[0]);
        table->cells[table->used++] = strsep(&rest, "\t");
    }
}

void rl_table_add(struct rl_table *table, char *row) {
    if (table->used == 0) {
        add_row(table, rl_must_print("%s", table->heads));
    }
    add_row(table, row);
}

static enum rl_paint paint_of(const char *cell) {
    static_assert(RL_PAINT_WARN == 2 && RL_PAINT_BAD == 3, "as RL_CELL_WARN and _BAD have it");
    return *cell == RL_PAINT_WARN || *cell == RL_PAINT_BAD ? (enum rl_paint) * cell : RL_PAINT_NONE;
}

/* The column's width without the gap; 0: it is left out. */
static int width_of(const struct rl_table *table, size_t column, size_t n) {
    const char *head = table->cells[column];
    int width = head[0] == '?' ? 0 : rl_say_columns(head);
    for (size_t i = column + n; i < table->used; i += n) {
        const char *cell = table->cells[i];
        const bool is_rest = column + 1 < n && table->cells[i + 1] == NULL;
        if (cell != NULL && !is_rest) {
            width = rl_say_widen(width, cell + (paint_of(cell) != RL_PAINT_NONE), table->max);
        }
    }
    return head[0] == '?' && width > 0 ? rl_say_widen(width, head + 1, table->max) : width;
}

void rl_table_print(struct rl_table *table) {
    const size_t n = count_columns(table);
    int widths[TABLE_COLUMNS_MAX], space = 0;
    for (size_t i = 0; i < n; i++) {
        char *head = table->cells[i];
        widths[i] = width_of(table, i, n);
        for (size_t length = strlen(head); length > 0 && head[length - 1] == ' '; length--) {
            head[length - 1] = '\0';
        }
    }
    for (size_t i = 0; i < table->used; i++) {
        const int width = widths[i % n];
        const char *cell = table->cells[i] != NULL ? table->cells[i] : "";
        const enum rl_paint paint = paint_of(cell);
        const char *text = cell + (paint != RL_PAINT_NONE || (i < n && cell[0] == '?'));
        const int left = width - rl_say_columns(text);
        space = i % n == 0 ? table->indent : space;
        if (width > 0 && text[0] != '\0') {
            printf("%*s", space, "");
            rl_say_painted(paint, text, 0);
            space = left > 0 ? left + GAP : GAP;
        } else {
            space += width > 0 ? width + GAP : 0;
        }
        printf("%s", i % n == n - 1 ? "\n" : "");
    }
    for (size_t i = 0; i < table->used; i += n) {
        free(table->cells[i]);
    }
    free(table->cells);
}

void rl_say_wrapped(const char *text, int indent) {
    int columns = columns_on(STDOUT_FILENO);
    columns = columns < COLUMNS_MIN ? COLUMNS_MIN : columns > COLUMNS_MAX ? COLUMNS_MAX : columns;
    int at = indent;
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        char word[512];
        tool_utf8_clean(text, length, word, sizeof word);
        int width = rl_say_columns(word);
        if (at > indent && at + 1 + width > columns) {
            printf("\n%*s", indent, "");
            at = indent;
        }
        at += printf("%s", at > indent ? " " : "");
        fputs(word, stdout);
        at += width;
        text += length;
        text += strspn(text, " ");
    }
    fputs("\n", stdout);
}

const char *rl_say_duration(double ms) {
    static const struct {
        double ms;
        const char *name;
    } units[] = {{86400e3, "d"}, {3600e3, "h"}, {60e3, "min"}, {1e3, "s"}, {1, "ms"}};
    size_t i = 0;
    /* Minutes and longer units are used from two on, so that 90 s is not "1.5 min". */
    while (i + 1 < sizeof units / sizeof units[0] && ms < units[i].ms * (i < 3 ? 2 : 1)) {
        i++;
    }
    double value = ms / units[i].ms;
    assert(value >= 0);
    int digits = value >= 10 ? 0 : value >= 1 ? 1 : 2;
    return rl_text("%.*f %s", value > 0 ? digits : 0, value, units[i].name);
}

const char *rl_say_ms(int64_t ms) {
    return ms < 0 ? "for ever" : rl_say_duration((double)ms);
}

const char *rl_say_exact(int64_t ms) {
    char text[TOOL_DURATION_TEXT_MAX];
    return rl_text("%s", tool_duration_show(ms, text, sizeof text));
}

#define BUFFER_BYTES 65536

static char buffer[BUFFER_BYTES]; /* glibc ignores the size if it allocates the buffer itself */
static int first_error;

static void on_pipe(int signal_number) {
    (void)signal_number;
}

int rl_output_open(void) {
    if (signal(SIGPIPE, on_pipe) == SIG_IGN) {
        signal(SIGPIPE, SIG_IGN);
    }
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) {
            continue;
        }
        int direction = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        if (open("/dev/null", direction | O_CLOEXEC) != fd) { /* the lowest free descriptor */
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
        first_error = EIO; /* a write larger than the buffer failed, and its errno is lost */
    }
    return first_error;
}

void rl_output_drop(void) {
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && dup2(fd, STDOUT_FILENO) == STDOUT_FILENO) {
        fflush(stdout); /* the buffered output goes to /dev/null */
        clearerr(stdout);
        first_error = 0;
    }
    if (fd >= 0) {
        close(fd);
    }
}

int rl_output_close(int exit_status) {
    int error = rl_output_flush();
    error = error == 0 && fclose(stdout) != 0 ? errno : error;
    return error == 0 || exit_status == RL_EXIT_SYSTEM /* the command has already reported why */
               ? exit_status
               : rl_fail(RL_EXIT_SYSTEM, "cannot write the output: %s", strerror(error));
}
