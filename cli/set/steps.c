/* What `redlock set` reports while it works: a line for each step that is done, and what it waits
 * for: on a terminal a status line that is kept up to date, otherwise a line when it begins. With
 * --json the steps are part of the one object at the end.
 *
 * SIGINT, SIGTERM and SIGHUP end the waiting; what is done so far stays, for `resume`. */
#include "set/room.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "say.h"

#define PAUSE_MS 50 /* a signal is noticed after this time */
#define TEXT_MAX 2048

void rl_steps_done(struct rl_steps *steps, const char *name, const char *format, ...) {
    char text[TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    steps->items = rl_must_grow(steps->items, steps->n, &steps->room, sizeof steps->items[0]);
    steps->items[steps->n++] = (struct rl_step){name, rl_must_print("%s", text), rl_when_now_ms()};
    steps->is_waiting = false;
    rl_say_line(NULL);
    if (!steps->json) {
        printf("%s\n", text);
        rl_output_flush();
    }
}

void rl_steps_free(struct rl_steps *steps) {
    for (size_t i = 0; i < steps->n; i++) {
        free(steps->items[i].text);
    }
    free(steps->items);
    steps->items = NULL;
}

void rl_steps_wait(struct rl_steps *steps, int64_t ms, const char *format, ...) {
    char text[TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (rl_say_has_line()) {
        rl_say_line(text);
    } else if (!steps->json && !steps->is_waiting) {
        printf("%s\n", text);
        rl_output_flush();
    }
    steps->is_waiting = true;
    for (; ms > 0 && rl_steps_caught(steps) == 0; ms -= PAUSE_MS) {
        const int64_t part_ms = ms < PAUSE_MS ? ms : PAUSE_MS;
        const struct timespec pause = {0, (long)part_ms * 1000000};
        nanosleep(&pause, NULL);
    }
}

int rl_steps_caught(struct rl_steps *steps) {
    const int caught = atomic_load(&steps->caught);
    return caught != 0 ? RL_EXIT_SIGNAL + caught : 0;
}
