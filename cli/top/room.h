/* A screen, and what is drawn on it. */
#ifndef RL_CLI_TOP_ROOM_H
#define RL_CLI_TOP_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "say.h"
#include "scan/room.h"

/* -- screen.c -- */

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
                  enum rl_paint style, bool is_right);

/* Fills a row with this style; texts may be put on it afterwards. */
void rl_frame_fill(struct rl_frame *frame, int row, enum rl_paint style);

/* How many columns the text takes on a terminal: two for an ideogram, none for an accent. */
int rl_frame_width(const char *text);

bool rl_screen_is_possible(void);
bool rl_screen_open(void);
void rl_screen_close(void); /* also if it is not open */

void rl_screen_size(int *columns, int *rows);

/* False: the terminal is gone. */
bool rl_screen_write(const char *bytes, size_t length);

/* -- view.c -- */

/* Figures that need two or more sweeps: the nodes' commands per second (without ours), the number
 * of hand-overs, and long-term latencies. Pure.
 *
 * Hand-overs are those that nodes have made, of locks and to readers: the calls of ZPOPMIN, by
 * which home takes the first client out of the line. It does not count those of semaphores, nor a
 * lock passed to a waiter that is no longer the first. It does count ZPOPMIN by other programs on
 * these nodes.
 *
 * Failure modes: a node restarted, or was not read: it has no rate until it has been read twice
 * more. */

#define RL_RATES_LATENCIES 256 /* the last ones of each node */

struct rl_rates {
    struct rl_rate {
        char run_id[RL_WIRE_TEXT_MAX]; /* of the server that this was: "" none */
        int64_t commands, turns, asked;
        uint64_t at_ns;
        double commands_per_s, turns_per_s; /* below 0: not known */
        double latencies_ms[RL_RATES_LATENCIES];
        size_t n_latencies; /* ever */
    } nodes[REDLOCK_NODES_MAX];
    double turns_per_s; /* of all; below 0: not known */
};

/* rates: zero at first. */
void rl_rates_add(struct rl_rates *rates, const struct rl_sweep *sweep, uint64_t now_ns);

struct rl_view {
    enum rl_list_order order;
    bool waiting; /* only locks that clients wait for */
    bool hides_nodes;
    size_t offset; /* the first lock on the screen, of those that are shown */
    size_t rows;   /* how many fit, by the last drawing */
    size_t locks;  /* how many there are */
};

/* sweep: sorted; NULL: there is none yet. It moves the offset into what there is. */
void rl_view_draw(struct rl_view *view, struct rl_frame *frame, const struct rl_sweep *sweep,
                  const struct rl_rates *rates);

#endif
