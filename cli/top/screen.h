/* The terminal, while a full screen is shown on it: its modes, its size, and their restoration.
 *
 * Happy path: rl_screen_open() turns to the alternate screen, where keys come one by one and are
 * not echoed, and reads and writes do not block; rl_screen_close() turns back. O_NONBLOCK applies
 * to all processes that share the terminal: left behind, it would make the next cat(1) fail.
 *
 * Failure modes: stdin or stdout is no terminal, or one without sequences: false, and nothing was
 * changed. The program crashes (SIGSEGV, abort() and the like): handlers restore the terminal, and
 * the signal takes its default action. The caller handles the signals that end a program in good
 * order: Ctrl-C and Ctrl-Z are still signals. SIGKILL: the terminal is not restored; reset(1) does
 * it. The terminal accepts no output: drawing is given up after 2 s, restoring after 0.5 s. */
#ifndef RL_CLI_TOP_SCREEN_H
#define RL_CLI_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Typed input: single keys, and the sequences of arrow keys and the like. Pure.
 *
 * Failure mode: an unknown sequence is one RL_TYPED_NOTHING as a whole. */
enum rl_typed {
    RL_TYPED_NOTHING = 256, /* below: the byte itself */
    RL_TYPED_UP,
    RL_TYPED_DOWN,
    RL_TYPED_PAGE_UP,
    RL_TYPED_PAGE_DOWN,
    RL_TYPED_HOME,
    RL_TYPED_END
};

/* The key at the beginning of bytes (at least one); it takes *used of them. */
int rl_typed_read(const char *bytes, size_t length, size_t *used);

/* One screenful, made of texts at places, as the bytes that draw it on any terminal that knows
 * ANSI's sequences.
 *
 * Each text is put at a column of its own and cut to its width, so that a wide or an unknown
 * character in one does not shift another. Rows without text are empty.
 *
 * Why no curses? It would replace about 120 of these 260 lines. But its writes wait for a terminal
 * that takes nothing, with O_NONBLOCK in a busy loop, so that no signal could end redlock top; and
 * the program stays one file. */
enum rl_style {
    RL_STYLE_PLAIN,
    RL_STYLE_BOLD,
    RL_STYLE_FAINT,
    RL_STYLE_GOOD,
    RL_STYLE_WARN,
    RL_STYLE_BAD,
    RL_STYLE_HEAD /* reverse */
};

struct rl_frame {
    FILE *out;
    int columns, rows;
    bool is_colored;
};

/* Empties it: out gets this and all that follows. */
void rl_frame_begin(struct rl_frame *frame, int columns, int rows);

/* text, valid and printable UTF-8, in row and column (from 0) and `width` columns at most, to the
 * right end of them if is_right. What is cut ends with '~'. Outside of the screen: nothing. */
void rl_frame_put(struct rl_frame *frame, int row, int column, int width, const char *text,
                  enum rl_style style, bool is_right);

/* Fills a row with this style; texts may be put on it afterwards. */
void rl_frame_fill(struct rl_frame *frame, int row, enum rl_style style);

/* How many columns the text takes on a terminal: two for an ideogram, none for an accent. */
int rl_frame_width(const char *text);

bool rl_screen_is_possible(void);
bool rl_screen_open(void);
void rl_screen_close(void); /* also if it is not open */

void rl_screen_size(int *columns, int *rows);

/* False: the terminal is gone. */
bool rl_screen_write(const char *bytes, size_t length);

#endif
