/* Replies as bytes: where one ends, whether two are the same, how they are shown.
 *
 * Happy path: frames_count() of what the server in memory says tells how many a real one owes;
 * frames_same() compares them byte for byte. INFO is the exception: every line of ours has to be in
 * the real one's, in the same section and order; what only the real one has does not count, and of
 * numbers and ids that cannot be the same it has to be the form. */
#ifndef SERVER_FRAMES_H
#define SERVER_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* The length of the first reply; 0: it is not whole yet; -1: it is none. */
ssize_t frame_length(const char *data, size_t length);

/* The length of the first n; -1: there are not so many, or what is there is no reply. */
ssize_t frames_length(const char *data, size_t length, size_t n);

/* How many there are; what is behind the last whole one does not count. */
size_t frames_count(const char *data, size_t length);

bool frames_same(const char *real, size_t real_length, const char *ours, size_t our_length);

/* As one line of printable text, with \r and the like; cut where it gets long. */
void frames_show(FILE *out, const char *data, size_t length);

#endif
