/* Tools to parse a URL: spans of its text, and the first failure; and to show one in a message. A
 * span never extends beyond its text, which ends in a zero. Pure functions. */
#ifndef RL_REDIS_URL_TEXT_H
#define RL_REDIS_URL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rl_url;

struct rl_span { /* a part of the text */
    const char *begin;
    const char *end;
};

struct rl_url_parser {
    struct rl_url *url;
    const char *part; /* of the first failure */
    const char *why;
};

/* The C locale's, whatever the program's is. */
bool rl_url_is_digit(char c);
bool rl_url_is_alnum(char c);
char rl_url_lower(char c);

/* -1: not a hex digit. */
int rl_url_hex_value(char c);

size_t rl_span_length(struct rl_span s);

/* Where c is first found in s, or NULL. */
const char *rl_span_find(struct rl_span s, char c);

/* Where the first of the characters of set is found in s, or its end. */
const char *rl_span_find_any(struct rl_span s, const char *set);

/* True if s is the word, without regard to case; word is in lower case. */
bool rl_span_is(struct rl_span s, const char *word);

/* Reads all of s as a number up to max. False if it is empty, not digits only, or more. */
bool rl_span_number(struct rl_span s, uint32_t max, uint32_t *number);

/* Keeps the first failure, in constants that contain nothing of the text. Returns false, so that a
 * check can return it. */
bool rl_url_bad(struct rl_url_parser *p, const char *part, const char *why);

/* Percent-decodes s into out, which has room for size bytes, the zero included. */
bool rl_url_decode(struct rl_url_parser *p, const char *part, struct rl_span s, char *out,
                   size_t size);

/* -- A URL as a message may show it --
 *
 * Without its password, printable, bounded. It works on any text, parsed or not, because the URLs
 * that need showing are the broken ones. */

#define RL_URL_SHOWN_MAX 160 /* bytes that are enough for a message, the zero included */

/* Writes text to out with everything that may be a password replaced by ***:
 *   - if there is an '@': everything between the first ':' behind the scheme (or the beginning, if
 *     there is no ':') and the last '@'
 *   - if there is none: the text in the place of the port, unless it looks like a port
 *   - everything after '?' or '#', since its meaning is unknown
 * A byte that is not printable becomes '?'. A text that does not fit ends in "...".
 *
 * text: a string. out: receives at most size bytes, its zero included; size is 8 or more. */
void rl_url_show(const char *text, char *out, size_t size);

#endif
