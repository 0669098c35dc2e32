/* The screen of redlock top, and its contents. */
#ifndef RL_CLI_TOP_ROOM_H
#define RL_CLI_TOP_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "say.h"
#include "scan/room.h"

/* -- screen.c -- */

/* Parses typed input: single keys, and the sequences of arrow keys and the like. Pure.
 *
 * Failure mode: an unknown sequence counts as one RL_TYPED_NOTHING. */
enum rl_typed {
    RL_TYPED_NOTHING = 256, /* below: the byte itself */
    RL_TYPED_UP,
    RL_TYPED_DOWN,
    RL_TYPED_PAGE_UP,
    RL_TYPED_PAGE_DOWN,
    RL_TYPED_HOME,
    RL_TYPED_END
};

/* The key at the beginning of bytes (at least one); it uses *used of them. */
int rl_typed_read(const char *bytes, size_t length, size_t *used);

/* One screenful of positioned texts, as the bytes that draw it on any terminal that supports ANSI
 * sequences.
 *
 * Each text is put at its own column and cut to its width, so that a wide or an unknown character
 * in one does not shift another. Rows without text are empty.
 *
 * Why no curses? It would replace about 120 of these 220 lines. But its writes block on a stopped
 * terminal (with O_NONBLOCK, in a busy loop), so that no signal could end redlock top. Without
 * curses, the program also stays one file. */
struct rl_frame {
    FILE *out;
    int columns, rows;
    bool is_colored;
};

/* Begins an empty frame: `out` collects the bytes. */
void rl_frame_begin(struct rl_frame *frame, int columns, int rows);

/* Puts text, valid and printable UTF-8, at row and column (from 0), in at most `width` columns,
 * aligned to the right if is_right. A text that is cut ends with '~'. Outside of the screen, it
 * does nothing. */
void rl_frame_put(struct rl_frame *frame, int row, int column, int width, const char *text,
                  enum rl_paint style, bool is_right);

/* Fills a row with this style; texts may be put on it later. */
void rl_frame_fill(struct rl_frame *frame, int row, enum rl_paint style);

bool rl_screen_is_possible(void);
bool rl_screen_open(void);
void rl_screen_close(void); /* it need not be open */

void rl_screen_size(int *columns, int *rows);

/* False: the terminal is gone. */
bool rl_screen_write(const char *bytes, size_t length);

/* -- view.c -- */

/* Figures that need two or more sweeps: the nodes' commands per second (without ours), the number
 * of hand-overs, and long-term latencies. Pure.
 *
 * Hand-overs are made by the nodes, of locks and to readers: they are the calls of ZPOPMIN, by
 * which home removes the first client from the line. The number does not include semaphores, or a
 * lock passed to a waiter that is no longer the first. It includes ZPOPMIN by other programs on
 * these nodes.
 *
 * Failure modes: a node restarted, or was not read: it has no rate until it has been read twice
 * more. */

#define RL_RATES_LATENCIES 256 /* the latest of each node */

struct rl_rates {
    struct rl_rate {
        char run_id[RL_WIRE_TEXT_MAX]; /* of the server at the last sweep; "": none */
        int64_t commands, turns, asked;
        uint64_t at_ns;
        double commands_per_s, turns_per_s; /* negative: unknown */
        double latencies_ms[RL_RATES_LATENCIES];
        size_t n_latencies; /* in total */
    } nodes[REDLOCK_NODES_MAX];
    double turns_per_s; /* of all nodes; negative: unknown */
};

/* rates: zeroed at first. */
void rl_rates_add(struct rl_rates *rates, const struct rl_sweep *sweep, uint64_t now_ns);

struct rl_view {
    enum rl_list_order order;
    bool waiting; /* only locks that clients wait for */
    bool hides_nodes;
    size_t offset; /* index of the first lock on the screen */
    size_t rows;   /* how many fit, as last drawn */
    size_t locks;  /* how many there are */
};

/* sweep: sorted; NULL: there is none yet. Limits the offset to the existing locks. */
void rl_view_draw(struct rl_view *view, struct rl_frame *frame, const struct rl_sweep *sweep,
                  const struct rl_rates *rates);

#endif
