/* See url_text.h. */
#include "redis/url_text.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

bool rl_url_is_digit(char c) {
    return c >= '0' && c <= '9';
}

char rl_url_lower(char c) {
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

bool rl_url_is_alnum(char c) { /* the C locale's, whatever the program's is */
    return rl_url_is_digit(c) || (rl_url_lower(c) >= 'a' && rl_url_lower(c) <= 'z');
}

int rl_url_hex_value(char c) {
    if (rl_url_is_digit(c)) {
        return c - '0';
    }
    return rl_url_lower(c) >= 'a' && rl_url_lower(c) <= 'f' ? rl_url_lower(c) - 'a' + 10 : -1;
}

size_t rl_span_length(struct rl_span s) {
    assert(s.begin != NULL);
    assert(s.begin <= s.end);
    return (size_t)(s.end - s.begin);
}

const char *rl_span_find(struct rl_span s, char c) {
    assert(c != '\0'); /* it ends the text */
    return memchr(s.begin, c, rl_span_length(s));
}

const char *rl_span_find_any(struct rl_span s, const char *set) {
    assert(rl_span_length(s) <= strlen(s.begin));
    const char *p = s.begin;
    while (p < s.end && strchr(set, *p) == NULL) {
        p++;
    }
    return p;
}

bool rl_span_is(struct rl_span s, const char *word) {
    assert(word[0] != '\0');
    size_t length = strlen(word);
    if (rl_span_length(s) != length) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        assert(word[i] == rl_url_lower(word[i]));
        if (rl_url_lower(s.begin[i]) != word[i]) {
            return false;
        }
    }
    return true;
}

bool rl_span_number(struct rl_span s, uint32_t max, uint32_t *number) {
    assert(number != NULL);
    uint64_t value = 0;
    for (const char *p = s.begin; p < s.end; p++) {
        if (!rl_url_is_digit(*p)) {
            return false;
        }
        value = value * 10 + (uint64_t)(*p - '0');
        if (value > max) {
            return false;
        }
    }
    *number = (uint32_t)value;
    return rl_span_length(s) > 0;
}

bool rl_url_bad(struct rl_url_parser *p, const char *part, const char *why) {
    assert(p->why == NULL);
    assert(part != NULL && why != NULL);
    assert(why[0] != '\0');
    p->part = part;
    p->why = why;
    return false;
}

bool rl_url_decode(struct rl_url_parser *p, const char *part, struct rl_span s, char *out,
                   size_t size) {
    assert(size > 0);
    size_t used = 0;
    for (const char *in = s.begin; in < s.end; in++) {
        char c = *in;
        if (c == '%') {
            int high = s.end - in > 2 ? rl_url_hex_value(in[1]) : -1;
            int low = s.end - in > 2 ? rl_url_hex_value(in[2]) : -1;
            if (high < 0 || low < 0) {
                return rl_url_bad(p, part,
                                  "a % needs two hex digits after it; for a plain % write %25");
            }
            assert(high < 16 && low < 16);
            c = (char)(high * 16 + low);
            in += 2;
        }
        if (c == '\0') {
            return rl_url_bad(p, part, "%00 is not allowed");
        }
        if (used + 1 >= size) {
            return rl_url_bad(p, part, "too long");
        }
        out[used++] = c;
    }
    assert(used < size);
    out[used] = '\0';
    return true;
}

/* -- Showing --
 *
 * secret_of() finds the span that may be a password; the text before and after it is copied. The
 * password in a broken URL is uncertain, so the guess errs towards hiding: if there is an '@', only
 * the last one can be trusted to end the password; without an '@', "redis://user:secret" has lost
 * its "@host". */

#define PORT_DIGITS_MAX 5

struct shown {
    char *out;
    size_t size;
    size_t used; /* below size */
};

/* Where the text after the scheme begins; text itself if it has no scheme. */
static const char *skip_scheme(const char *text, const char *end) {
    const char *scheme_end = rl_span_find_any((struct rl_span){text, end}, ":/?#@");
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
        const char *colon = rl_span_find_any((struct rl_span){rest, at}, ":");
        *secret_end = at;
        return colon < at ? colon + 1 : rest;
    }
    const char *host_end =
        rest < end && *rest == '[' ? rl_span_find_any((struct rl_span){rest, end}, "]") : rest;
    const char *authority_end = rl_span_find_any((struct rl_span){host_end, end}, "/?#");
    const char *port = rl_span_find_any((struct rl_span){host_end, authority_end}, ":");
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
    const char *query = rl_span_find_any((struct rl_span){secret_end, end}, "?#");
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
