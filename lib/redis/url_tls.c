/* See url_tls.h. */
#include "redis/url_tls.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static const char why_other[] =
    "a rediss:// URL takes tls_ca, tls_cert, tls_key, tls_server_name and tls_insecure_skip_verify,"
    " each as NAME=VALUE, with & between";

static const struct {
    const char *name;
    size_t at, size;
} texts[] = {
    {"tls_ca", offsetof(struct rl_url_tls, ca), sizeof(((struct rl_url_tls *)0)->ca)},
    {"tls_cert", offsetof(struct rl_url_tls, cert), sizeof(((struct rl_url_tls *)0)->cert)},
    {"tls_key", offsetof(struct rl_url_tls, key), sizeof(((struct rl_url_tls *)0)->key)},
    {"tls_server_name", offsetof(struct rl_url_tls, server_name),
     sizeof(((struct rl_url_tls *)0)->server_name)},
};

static bool read_text(struct rl_url_parser *p, const char *part, struct rl_span value, char *out,
                      size_t size) {
    assert(size > 1);
    assert(memchr(out, 0, size) != NULL);
    if (out[0] != '\0') {
        return rl_url_bad(p, part, "it is given twice");
    }
    if (rl_span_length(value) == 0) {
        return rl_url_bad(p, part, "it is empty (an unset variable?); leave it out");
    }
    if (!rl_url_decode(p, part, value, out, size)) {
        return false;
    }
    for (const char *c = out; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) { /* it would garble every message */
            return rl_url_bad(p, part, "control characters are not allowed");
        }
    }
    return true;
}

static bool read_insecure(struct rl_url_parser *p, struct rl_span value, struct rl_url_tls *tls) {
    static const char part[] = "tls_insecure_skip_verify";
    uint32_t number = 0;
    assert(tls->has_insecure || !tls->insecure);
    if (tls->has_insecure) {
        return rl_url_bad(p, part, "it is given twice");
    }
    if (!rl_span_number(value, 1, &number)) {
        return rl_url_bad(p, part, "it is 0 or 1");
    }
    assert(number <= 1);
    tls->has_insecure = true;
    tls->insecure = number == 1;
    return true;
}

static bool read_one(struct rl_url_parser *p, struct rl_span name, struct rl_span value,
                     struct rl_url_tls *tls) {
    assert(name.end < value.end || name.end + 1 == value.begin);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (rl_span_is(name, texts[i].name)) {
            return read_text(p, texts[i].name, value, (char *)tls + texts[i].at, texts[i].size);
        }
    }
    if (rl_span_is(name, "tls_insecure_skip_verify")) {
        return read_insecure(p, value, tls);
    }
    return rl_url_bad(p, "query", why_other);
}

bool rl_url_tls_read(struct rl_url_parser *p, struct rl_span s, struct rl_url_tls *tls) {
    assert(p->why == NULL);
    assert(s.begin <= s.end);
    while (s.begin < s.end) {
        const char *end = rl_span_find_any(s, "&");
        const char *equals = rl_span_find_any((struct rl_span){s.begin, end}, "=");
        if (equals == end) {
            return rl_url_bad(p, "query", why_other);
        }
        if (!read_one(p, (struct rl_span){s.begin, equals}, (struct rl_span){equals + 1, end},
                      tls)) {
            return false;
        }
        s.begin = end < s.end ? end + 1 : end;
    }
    return true;
}
