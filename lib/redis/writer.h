/* RESP for a command, written into a buffer of a fixed size.
 *
 * Failure mode: what does not fit sets `overflow`, and nothing more of it is written.
 */
#ifndef RL_REDIS_WRITER_H
#define RL_REDIS_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rl_writer {
    char *at;
    size_t left; /* more than what is written: a zero follows */
    bool overflow;
};

void rl_put_bytes(struct rl_writer *w, const void *bytes, size_t length);

/* "*5\r\n" or "$40\r\n" */
void rl_put_count(struct rl_writer *w, char prefix, size_t count);

/* An argument. */
void rl_put_bulk(struct rl_writer *w, const void *bytes, size_t length);
void rl_put_text(struct rl_writer *w, const char *text);
void rl_put_number(struct rl_writer *w, uint64_t number);

#endif
