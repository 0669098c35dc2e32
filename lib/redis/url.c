/* The URL of one node: see url.h for the grammar.
 *
 * Happy path: rl_url_parse() checks the bytes, splits off the scheme, and hands what follows to
 * parse_tcp() or parse_unix(). Each part has one function that reads a span of the text and fills
 * its field.
 *
 * Failure modes: the first wrong part ends the parsing. Its function leaves the part's name and the
 * reason in the parser and returns false; report() puts them after the URL. Reasons are constants:
 * the text reaches a message only through rl_url_show(), the one place that keeps passwords out. */
#include "redis/url.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/memory.h"
#include "redis/url_text.h"
#include "redlock/redlock.h"

_Static_assert(sizeof(((struct rl_url *)0)->path) <= sizeof(((struct sockaddr_un *)0)->sun_path),
               "a path that we accept must fit into a socket address");
_Static_assert(sizeof(((struct rl_url *)0)->host) >= INET6_ADDRSTRLEN, "an address fits");

/* [user]:password */
static bool parse_credentials(struct rl_url_parser *p, struct rl_span s) {
    struct rl_url *url = p->url;
    assert(!url->has_password);
    const char *colon = rl_span_find(s, ':');
    if (colon == NULL) {
        return rl_url_bad(p, "user", "no password follows; write user:password@ or :password@");
    }
    struct rl_span user = {s.begin, colon};
    struct rl_span password = {colon + 1, s.end};
    if (rl_span_length(password) == 0) {
        return rl_url_bad(p, "password",
                          "it is empty (an unset variable?); without authentication leave out"
                          " everything up to the @");
    }
    url->has_password = true;
    return rl_url_decode(p, "user", user, url->user, sizeof(url->user)) &&
           rl_url_decode(p, "password", password, url->password, sizeof(url->password));
}

/* Splits "credentials@rest", reads the credentials if there are any, and sets *rest. */
static bool parse_userinfo(struct rl_url_parser *p, struct rl_span authority,
                           struct rl_span *rest) {
    assert(rest != NULL);
    *rest = authority;
    const char *at = rl_span_find(authority, '@');
    if (at == NULL) {
        return true;
    }
    rest->begin = at + 1;
    if (rl_span_find(*rest, '@') != NULL) {
        return rl_url_bad(p, "password", "more than one @; inside a user or password write %40");
    }
    return parse_credentials(p, (struct rl_span){authority.begin, at});
}

/* An IPv6 address without its brackets. */
static bool parse_ipv6(struct rl_url_parser *p, struct rl_span s) {
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;
    assert(p->url->host[0] == '\0');
    if (rl_span_find(s, '%') != NULL) {
        return rl_url_bad(p, "host", "IPv6 zones are not supported; give an address without one");
    }
    if (rl_span_length(s) >= sizeof(text)) {
        return rl_url_bad(p, "host", "not an IPv6 address");
    }
    memcpy(text, s.begin, rl_span_length(s));
    text[rl_span_length(s)] = '\0';
    if (inet_pton(AF_INET6, text, &address) != 1) {
        return rl_url_bad(p, "host", "not an IPv6 address");
    }
    const char *done = inet_ntop(AF_INET6, &address, p->url->host, sizeof(p->url->host));
    assert(done == p->url->host); /* the field has room, see the static assertion */
    (void)done;
    return true;
}

/* True if resolvers may take the name for an IPv4 address: its last label is a number, perhaps
 * hex. */
static bool looks_like_ipv4(const char *host, size_t length) {
    size_t end = length > 0 && host[length - 1] == '.' ? length - 1 : length;
    size_t begin = end;
    assert(end > 0); /* parse_name() lets no lone dot through */
    while (begin > 0 && host[begin - 1] != '.') {
        begin--;
    }
    bool hex = end - begin >= 2 && host[begin] == '0' && host[begin + 1] == 'x';
    for (size_t i = begin + (hex ? 2 : 0); i < end; i++) {
        if (hex ? rl_url_hex_value(host[i]) < 0 : !rl_url_is_digit(host[i])) {
            return false;
        }
    }
    assert(begin < end);
    return true;
}

/* A host name or an IPv4 address. */
static bool parse_name(struct rl_url_parser *p, struct rl_span s) {
    char *host = p->url->host;
    struct in_addr address;
    assert(host[0] == '\0');
    if (rl_span_length(s) == 0) {
        return rl_url_bad(p, "host", "it is missing; write redis://HOST:PORT");
    }
    if (rl_span_length(s) > RL_URL_HOST_MAX) {
        return rl_url_bad(p, "host", "too long");
    }
    for (size_t i = 0; i < rl_span_length(s); i++) {
        char c = rl_url_lower(s.begin[i]);
        if (!rl_url_is_alnum(c) && strchr("-._", c) == NULL) {
            return rl_url_bad(p, "host", "a name consists of letters, digits, '-', '.' and '_'");
        }
        if (c == '.' && (i == 0 || host[i - 1] == '.')) {
            return rl_url_bad(p, "host", "a dot needs a letter or digit before it");
        }
        host[i] = c;
    }
    assert(strlen(host) == rl_span_length(s)); /* the field was zeroed */
    if (looks_like_ipv4(host, rl_span_length(s)) && inet_pton(AF_INET, host, &address) != 1) {
        return rl_url_bad(p, "host",
                          "an IPv4 address is four numbers from 0 to 255 with dots between");
    }
    return true;
}

static bool parse_port(struct rl_url_parser *p, struct rl_span s) {
    uint32_t port = 0;
    assert(p->url->port == RL_URL_PORT_DEFAULT);
    if (rl_span_length(s) > 5 || !rl_span_number(s, UINT16_MAX, &port) || port == 0) {
        return rl_url_bad(
            p, "port",
            "not a number from 1 to 65535 (a password is followed by @, an IPv6 address is"
            " in brackets)");
    }
    assert(port <= UINT16_MAX);
    p->url->port = (uint16_t)port;
    return true;
}

/* host[:port] */
static bool parse_host_port(struct rl_url_parser *p, struct rl_span s) {
    assert(p->url->port == RL_URL_PORT_DEFAULT);
    if (s.begin < s.end && *s.begin == '[') {
        const char *close = rl_span_find(s, ']');
        if (close == NULL) {
            return rl_url_bad(p, "host", "the ] is missing");
        }
        if (!parse_ipv6(p, (struct rl_span){s.begin + 1, close})) {
            return false;
        }
        s.begin = close + 1;
        if (s.begin < s.end && *s.begin != ':') {
            return rl_url_bad(p, "host", "only a colon and the port can follow the ]");
        }
    } else {
        const char *end = rl_span_find_any(s, ":");
        if (!parse_name(p, (struct rl_span){s.begin, end})) {
            return false;
        }
        s.begin = end;
    }
    assert(s.begin == s.end || *s.begin == ':');
    return s.begin == s.end || parse_port(p, (struct rl_span){s.begin + 1, s.end});
}

static bool parse_db(struct rl_url_parser *p, struct rl_span s) {
    assert(p->url->db == 0);
    if (!rl_span_number(s, RL_URL_DB_MAX, &p->url->db)) {
        return rl_url_bad(p, "database", "not a number from 0 to 2147483647");
    }
    return true;
}

/* -- The TLS settings of a rediss:// URL -- */

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

/* Decodes what a message may show. */
static bool decode_shown(struct rl_url_parser *p, const char *part, struct rl_span value, char *out,
                         size_t size) {
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
    return decode_shown(p, part, value, out, size);
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

/* Reads what follows the '?'. */
static bool read_tls(struct rl_url_parser *p, struct rl_span s, struct rl_url_tls *tls) {
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

/* -- Schemes -- */

/* What follows "redis://" or "rediss://". */
static bool parse_tcp(struct rl_url_parser *p, struct rl_span s, struct rl_url_tls *tls) {
    struct rl_url *url = p->url;
    struct rl_span authority = {s.begin, rl_span_find_any(s, "/?#")};
    struct rl_span tail = {authority.end, s.end};
    struct rl_span host;
    url->kind = RL_URL_TCP;
    url->port = RL_URL_PORT_DEFAULT;
    if (rl_span_find(tail, '@') != NULL) {
        return rl_url_bad(p, "password",
                          "inside a user or password write %2F for /, %3F for ?, %23 for #");
    }
    if (!parse_userinfo(p, authority, &host) || !parse_host_port(p, host)) {
        return false;
    }
    const char *query = rl_span_find_any(tail, "?#");
    if (query < tail.end && !(url->is_tls && *query == '?')) {
        return rl_url_bad(p, "query",
                          url->is_tls ? "a # has no meaning here; inside a value write %23"
                                      : "redis:// takes none; the database is written as /0");
    }
    if (query < tail.end && !read_tls(p, (struct rl_span){query + 1, tail.end}, tls)) {
        return false;
    }
    tail.end = query;
    assert(rl_span_length(tail) == 0 || *tail.begin == '/');
    if (rl_span_length(tail) > 1 && !parse_db(p, (struct rl_span){tail.begin + 1, tail.end})) {
        return false;
    }
    bool ipv6 = strchr(url->host, ':') != NULL;
    int length = snprintf(url->name, sizeof(url->name), ipv6 ? "[%s]:%u" : "%s:%u", url->host,
                          (unsigned)url->port);
    assert(length > 0);
    assert((size_t)length < sizeof(url->name));
    (void)length;
    return true;
}

/* "?db=n" or nothing. */
static bool parse_unix_query(struct rl_url_parser *p, struct rl_span s) {
    static const char key[] = "?db=";
    if (rl_span_length(s) == 0) {
        return true;
    }
    assert(*s.begin == '?' || *s.begin == '#');
    if (rl_span_length(s) < strlen(key) || memcmp(s.begin, key, strlen(key)) != 0) {
        return rl_url_bad(p, "query",
                          "only ?db=NUMBER can follow the path; inside it write %3F, %23");
    }
    return parse_db(p, (struct rl_span){s.begin + strlen(key), s.end});
}

/* What follows "unix://". */
static bool parse_unix(struct rl_url_parser *p, struct rl_span s) {
    struct rl_url *url = p->url;
    struct rl_span authority = {s.begin, rl_span_find_any(s, "/?#")};
    struct rl_span path = {authority.end,
                           rl_span_find_any((struct rl_span){authority.end, s.end}, "?#")};
    struct rl_span host;
    url->kind = RL_URL_UNIX;
    if (!parse_userinfo(p, authority, &host)) {
        return false;
    }
    if (rl_span_length(host) > 0 || rl_span_length(path) == 0) {
        return rl_url_bad(p, "path", "it is absolute, so there are three slashes: unix:///PATH");
    }
    assert(*path.begin == '/');
    if (!decode_shown(p, "path", path, url->path, sizeof(url->path))) {
        return false;
    }
    if (url->path[strlen(url->path) - 1] == '/') {
        return rl_url_bad(p, "path",
                          "it ends in a slash, so it names a directory; name the socket");
    }
    _Static_assert(sizeof(url->name) >= sizeof(url->path), "a path fits into a name");
    memcpy(url->name, url->path, sizeof(url->path));
    return parse_unix_query(p, (struct rl_span){path.end, s.end});
}

/* Writes 'node URL "...": part: why'. */
static void report(const struct rl_url_parser *p, const char *text, char *error,
                   size_t error_size) {
    char shown[RL_URL_SHOWN_MAX];
    assert(p->why != NULL);
    if (error_size == 0) {
        return;
    }
    rl_url_show(text, shown, sizeof(shown));
    snprintf(error, error_size, "node URL \"%s\": %s: %s", shown, p->part, p->why);
    assert(strlen(error) < error_size);
}

/* -- Entry points -- */

/* A text without "://": says what was probably meant. */
static bool reject_without_scheme(struct rl_url_parser *p, const char *text) {
    if (text[0] == '/') {
        return rl_url_bad(p, "scheme", "it is missing; for a socket write unix:///PATH");
    }
    return rl_url_bad(p, "scheme", "it is missing; did you mean redis://HOST:PORT ?");
}

static bool check_bytes(struct rl_url_parser *p, const char *text) {
    assert(text != NULL);
    if (text[0] == '\0') {
        return rl_url_bad(p, "all of it", "it is empty; write redis://HOST:PORT or unix:///PATH");
    }
    for (const char *c = text; *c != '\0'; c++) {
        if (*c <= 0x20 || *c >= 0x7f) {
            return rl_url_bad(
                p, "characters",
                "a space, control or non-ASCII character; write it percent-encoded, a space"
                " as %20");
        }
    }
    return true;
}

/* Returns 0 or a status; a failure is left in p. */
static int parse(struct rl_url_parser *p, const char *text, struct rl_url_tls *tls) {
    assert(p->why == NULL);
    if (!check_bytes(p, text)) {
        return REDLOCK_ERR_URL;
    }
    struct rl_span all = {text, text + strlen(text)};
    const char *scheme_end = rl_span_find_any(all, ":/?#@");
    if (strncmp(scheme_end, "://", 3) != 0) {
        reject_without_scheme(p, text);
        return REDLOCK_ERR_URL;
    }
    struct rl_span scheme = {text, scheme_end};
    struct rl_span rest = {scheme_end + 3, all.end};
    assert(rest.begin <= rest.end);
    p->url->is_tls = rl_span_is(scheme, "rediss");
    if (p->url->is_tls || rl_span_is(scheme, "redis")) {
        return parse_tcp(p, rest, tls) ? 0 : REDLOCK_ERR_URL;
    }
    if (rl_span_is(scheme, "unix")) {
        return parse_unix(p, rest) ? 0 : REDLOCK_ERR_URL;
    }
    rl_url_bad(p, "scheme", "not known; use redis://, rediss:// or unix://");
    return REDLOCK_ERR_URL;
}

int rl_url_parse_tls(const char *text, struct rl_url *url, struct rl_url_tls *tls, char *error,
                     size_t error_size) {
    assert(url != NULL);
    assert(error != NULL || error_size == 0);
    struct rl_url_parser p = {url, NULL, NULL};
    memset(url, 0, sizeof(*url));
    if (error_size > 0) {
        error[0] = '\0';
    }
    memset(tls, 0, sizeof(*tls));
    int status = parse(&p, text != NULL ? text : "", tls);
    assert((status == 0) == (p.why == NULL));
    if (status != 0) {
        report(&p, text != NULL ? text : "", error, error_size);
        rl_wipe(url, sizeof(*url));
    }
    return status;
}

int rl_url_parse(const char *text, struct rl_url *url, char *error, size_t error_size) {
    struct rl_url_tls tls;
    return rl_url_parse_tls(text, url, &tls, error, error_size);
}

/* Writes the host's address as an IPv6 one, an IPv4 address mapped. False if it is a name. */
static bool address_of(const char *host, struct in6_addr *address) {
    static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    assert(host[0] != '\0');
    assert(address != NULL);
    if (inet_pton(AF_INET6, host, address) == 1) {
        return true;
    }
    memcpy(address, mapped, sizeof(mapped));
    return inet_pton(AF_INET, host, (unsigned char *)address + sizeof(mapped)) == 1;
}

static size_t length_without_dot(const char *host) {
    size_t length = strlen(host);
    assert(length > 0);
    return host[length - 1] == '.' ? length - 1 : length;
}

bool rl_url_same_server(const struct rl_url *a, const struct rl_url *b) {
    assert(a->name[0] != '\0');
    assert(b->name[0] != '\0');
    if (a->kind != b->kind) {
        return false;
    }
    if (a->kind == RL_URL_UNIX) {
        return strcmp(a->path, b->path) == 0;
    }
    struct in6_addr a_address, b_address;
    if (a->port != b->port) {
        return false;
    }
    if (address_of(a->host, &a_address) && address_of(b->host, &b_address)) {
        return memcmp(&a_address, &b_address, sizeof(a_address)) == 0;
    }
    size_t length = length_without_dot(a->host); /* parsing has lowered the case */
    return length == length_without_dot(b->host) && memcmp(a->host, b->host, length) == 0;
}
