/* Replies as bytes: where one ends, whether two are equal, how to print them.
 *
 * Happy path: frames_count() of our server's replies tells how many the real one must send;
 * frames_same() compares them byte for byte. INFO is the exception: every line of ours must be in
 * the real one's, in the same section and order; other lines of the real one do not count, and of
 * numbers and ids that must differ only the form is compared. */
#ifndef SERVER_FRAMES_H
#define SERVER_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* The length of the first reply; 0: incomplete; -1: not a reply. */
ssize_t frame_length(const char *data, size_t length);

/* The length of the first n; -1: there are fewer, or something is not a reply. */
ssize_t frames_length(const char *data, size_t length, size_t n);

/* The number of complete replies. */
size_t frames_count(const char *data, size_t length);

bool frames_same(const char *real, size_t real_length, const char *ours, size_t our_length);

/* Prints them as one line, with \r and the like escaped; long ones are cut. */
void frames_show(FILE *out, const char *data, size_t length);

#endif
