/* One screenful, made of texts at places, as the bytes that draw it on any terminal that knows
 * ANSI's sequences.
 *
 * Each text is put at a column of its own and cut to its width, so that a wide or an unknown
 * character in one shifts nothing in another. Rows that nothing was put into are empty.
 *
 * Why no curses? What it has more than this (a minimal update, windows, a database of terminals)
 * is not needed for a screen every other second, and the program stays one file. */
#ifndef RL_CLI_TOP_FRAME_H
#define RL_CLI_TOP_FRAME_H

#include <stdbool.h>
#include <stdio.h>

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

/* A whole row of this style, for what is put on it afterwards. */
void rl_frame_fill(struct rl_frame *frame, int row, enum rl_style style);

/* How many columns the text takes on a terminal: two for an ideogram, none for an accent. */
int rl_frame_width(const char *text);

#endif
