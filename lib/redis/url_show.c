/* A URL without its password, for messages.
 *
 * Happy path: secret_of() finds the span that may be a password; the text before and after it is
 * copied, the span itself is not.
 *
 * Failure modes: the password in a broken URL is uncertain, so the guess errs towards hiding: if
 * there is an '@', only the last one can be trusted to end the password; without an '@',
 * "redis://user:secret" has lost its "@host". */
#include "redis/url_show.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#define PORT_DIGITS_MAX 5

struct shown {
    char *out;
    size_t size;
    size_t used; /* below size */
};

/* The position of the first of the characters of set from begin on, or end. */
static const char *find_any(const char *begin, const char *end, const char *set) {
    assert(begin <= end);
    assert(set[0] != '\0');
    while (begin < end && strchr(set, *begin) == NULL) {
        begin++;
    }
    return begin;
}

/* Where the text after the scheme begins; text itself if it has no scheme. */
static const char *skip_scheme(const char *text, const char *end) {
    const char *scheme_end = find_any(text, end, ":/?#@");
    assert(scheme_end <= end);
    return strncmp(scheme_end, "://", 3) == 0 ? scheme_end + 3 : text;
}

static bool looks_like_port(const char *begin, const char *end) {
    assert(begin <= end);
    return strspn(begin, "0123456789") >= (size_t)(end - begin) && end - begin <= PORT_DIGITS_MAX;
}

/* The last '@' of what follows the scheme, or NULL. */
static const char *last_at(const char *rest, const char *end) {
    const char *at = NULL;
    assert(rest <= end);
    for (const char *c = rest; c < end; c++) {
        at = *c == '@' ? c : at;
    }
    return at;
}

/* Where the secret begins; *secret_end receives its end. Empty if there is none. */
static const char *secret_of(const char *rest, const char *end, const char **secret_end) {
    const char *at = last_at(rest, end);
    if (at != NULL) {
        const char *colon = find_any(rest, at, ":");
        *secret_end = at;
        return colon < at ? colon + 1 : rest;
    }
    const char *host_end = rest < end && *rest == '[' ? find_any(rest, end, "]") : rest;
    const char *authority_end = find_any(host_end, end, "/?#");
    const char *port = find_any(host_end, authority_end, ":");
    assert(port <= authority_end);
    port += port < authority_end ? 1 : 0;
    *secret_end = authority_end;
    return looks_like_port(port, authority_end) ? authority_end : port;
}

static void show(struct shown *s, const char *begin, const char *end) {
    assert(begin <= end);
    assert(s->used < s->size);
    for (const char *c = begin; c < end && s->used + 1 < s->size; c++) {
        s->out[s->used++] = (char)(*c < 0x20 || *c >= 0x7f ? '?' : *c);
    }
    s->out[s->used] = '\0';
}

static void show_stars(struct shown *s) {
    static const char stars[] = "***";
    show(s, stars, stars + strlen(stars));
}

void rl_url_show(const char *text, char *out, size_t size) {
    static const char cut[] = "...";
    assert(text != NULL);
    assert(size >= 2 * sizeof(cut));
    struct shown s = {out, size, 0};
    const char *end = text + strlen(text);
    const char *secret_end = NULL;
    const char *secret = secret_of(skip_scheme(text, end), end, &secret_end);
    const char *query = find_any(secret_end, end, "?#");
    show(&s, text, secret);
    if (secret < secret_end) {
        show_stars(&s);
    }
    show(&s, secret_end, query);
    if (query < end) {
        show(&s, query, query + 1);
        show_stars(&s);
    }
    if (s.used + 1 == size) {
        memcpy(out + size - sizeof(cut), cut, sizeof(cut));
    }
    assert(strlen(out) == s.used);
}
