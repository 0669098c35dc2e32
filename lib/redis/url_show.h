/* A URL as a message may show it: without its password, printable, bounded. It works on any text,
 * parsed or not, because the URLs that need showing are the broken ones. */
#ifndef RL_REDIS_URL_SHOW_H
#define RL_REDIS_URL_SHOW_H

#include <stddef.h>

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

#endif /* RL_REDIS_URL_SHOW_H */
