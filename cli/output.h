/* The standard descriptors, and stdout in particular: a script must not take an empty token for a
 * lock.
 *
 * Happy path: rl_output_open() first of all; what is printed to stdout is buffered until
 * rl_output_flush(), so that the errno of a failure is there when it is looked at.
 *
 * Failure modes: stdout cannot be written (closed, a full disk): rl_output_flush() returns the
 * first errno, from then on. One of 0, 1, 2 is closed: whatever is opened next would get its
 * number; libuv aborts when it closes one of these, and what is meant for stderr would go to a
 * node. So each is kept open on /dev/null in the direction that it is not used in: its use fails
 * with EBADF as if it were closed. The command that redlock runs finds it closed. */
#ifndef RL_CLI_OUTPUT_H
#define RL_CLI_OUTPUT_H

/* Returns 0 or an errno. */
int rl_output_open(void);

/* Writes what was printed to stdout. Returns 0, or the errno of the first failure. */
int rl_output_flush(void);

/* Whoever read stdout has gone, and that is no failure: what is printed from now on is dropped, and
 * so is what could not be written. */
void rl_output_drop(void);

/* As rl_output_flush(), and closes stdout, where a file server may say that its disk is full. */
int rl_output_close(void);

#endif
