/* See frame.h. */
#include "top/frame.h"

#include <locale.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

#include "tool/utf8.h"

static const char *code_of(const struct rl_frame *frame, enum rl_style style) {
    static const char *const codes[] = {
        [RL_STYLE_PLAIN] = "",  [RL_STYLE_BOLD] = "1",  [RL_STYLE_FAINT] = "2",
        [RL_STYLE_GOOD] = "32", [RL_STYLE_WARN] = "33", [RL_STYLE_BAD] = "31",
        [RL_STYLE_HEAD] = "7",
    };
    bool is_color = style == RL_STYLE_GOOD || style == RL_STYLE_WARN || style == RL_STYLE_BAD;
    return is_color && !frame->is_colored ? "" : codes[style];
}

static uint32_t code_point(const char *text, size_t bytes) {
    const unsigned char *b = (const unsigned char *)text;
    uint32_t code = bytes == 1 ? b[0] : b[0] & (0xffu >> (bytes + 1));
    for (size_t i = 1; i < bytes; i++) {
        code = code << 6 | (b[i] & 0x3f);
    }
    return code;
}

/* The bytes of the first character; *width: the columns that it takes. */
static size_t character(const char *text, int *width) {
    static bool has_locale;
    size_t bytes = tool_utf8_length(text, strlen(text));
    if (!has_locale) { /* for wcwidth(); texts are UTF-8 whatever the locale */
        setlocale(LC_CTYPE, "C.UTF-8");
        has_locale = true;
    }
    if (bytes <= 1) {
        *width = 1;
        return 1;
    }
    *width = wcwidth((wchar_t)code_point(text, bytes));
    *width = *width < 0 ? 1 : *width;
    return bytes;
}

int rl_frame_width(const char *text) {
    int sum = 0, width = 0;
    while (*text != '\0') {
        text += character(text, &width);
        sum += width;
    }
    return sum;
}

/* The bytes of text that fit into so many columns; *taken: these columns. */
static size_t fitting(const char *text, int columns, int *taken) {
    size_t bytes = 0;
    int width = 0;
    *taken = 0;
    while (text[bytes] != '\0') {
        size_t step = character(text + bytes, &width);
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
                  enum rl_style style, bool is_right) {
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

void rl_frame_fill(struct rl_frame *frame, int row, enum rl_style style) {
    if (row >= 0 && row < frame->rows) {
        fprintf(frame->out, "\033[%d;1H\033[%sm%*s\033[0m", row + 1, code_of(frame, style),
                frame->columns, "");
    }
}
