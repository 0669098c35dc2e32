/* The terminal, while a full screen is shown on it: its modes, its size, and that it gets back what
 * it was.
 *
 * Happy path: rl_screen_open() turns to the alternate screen, where keys come one by one and are
 * not echoed, and reads and writes do not block; rl_screen_close() turns back. O_NONBLOCK is set
 * for all who share the terminal with us: left behind, it would make the next cat(1) fail.
 *
 * Failure modes: stdin or stdout is no terminal, or one without sequences: false, and nothing was
 * changed. The program crashes (SIGSEGV, abort() and their like): the handlers of these turn back,
 * and the signal does what it would. Signals that end a program in good order are the caller's:
 * Ctrl-C and Ctrl-Z are signals still. SIGKILL: nobody can turn back; reset(1) does. The terminal
 * takes nothing: what is drawn is left out after 2 s, what turns it back after 0.5 s. */
#ifndef RL_CLI_TOP_SCREEN_H
#define RL_CLI_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

bool rl_screen_is_possible(void);
bool rl_screen_open(void);
void rl_screen_close(void); /* also if it is not open */

void rl_screen_size(int *columns, int *rows);

/* False: the terminal is gone. */
bool rl_screen_write(const char *bytes, size_t length);

#endif
