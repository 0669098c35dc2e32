/* RESP for a command, written into a buffer of a fixed size.
 *
 * Inline: every command of a lock is written here, five small pieces for each argument.
 *
 * Failure mode: a piece that does not fit sets `overflow`, and nothing more is written.
 */
#ifndef RL_REDIS_WRITER_H
#define RL_REDIS_WRITER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct rl_writer {
    char *at;
    size_t left; /* always more than what is written: a zero follows */
    bool overflow;
};

static inline void rl_put_bytes(struct rl_writer *w, const void *bytes, size_t length) {
    assert(w->left > 0);
    if (length >= w->left) {
        w->overflow = true;
        return;
    }
    memcpy(w->at, bytes, length);
    w->at += length;
    w->left -= length;
}

/* "*5\r\n" or "$40\r\n" */
static inline void rl_put_count(struct rl_writer *w, char prefix, size_t count) {
    assert(prefix == '*' || prefix == '$');
    char digits[24];
    char *at = digits + sizeof digits;
    *--at = '\n';
    *--at = '\r';
    do {
        *--at = (char)('0' + count % 10);
        count /= 10;
    } while (count > 0);
    *--at = prefix;
    rl_put_bytes(w, at, (size_t)(digits + sizeof digits - at));
}

/* An argument. */
static inline void rl_put_bulk(struct rl_writer *w, const void *bytes, size_t length) {
    assert(bytes != NULL);
    rl_put_count(w, '$', length);
    rl_put_bytes(w, bytes, length);
    rl_put_bytes(w, "\r\n", 2);
}

static inline void rl_put_text(struct rl_writer *w, const char *text) {
    assert(text != NULL);
    rl_put_bulk(w, text, strlen(text));
}

static inline void rl_put_number(struct rl_writer *w, uint64_t number) {
    char digits[24];
    char *at = digits + sizeof digits;
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    assert(at > digits);
    rl_put_bulk(w, at, (size_t)(digits + sizeof digits - at));
}

#endif
