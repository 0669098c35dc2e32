/* The URL of one node: see url.h for the grammar.
 *
 * Happy path: rl_url_parse() checks the bytes, splits off the scheme, and hands what follows to
 * parse_tcp() or parse_unix(). Each part has one function that reads a span of the text and fills
 * its field.
 *
 * Failure modes: the first part that is wrong ends it. Its function leaves the part's name and the
 * reason in the parser and returns false; report() puts them behind the URL. Reasons are constants:
 * nothing of the text reaches a message but through rl_url_show(), the one place that keeps
 * passwords out. */
#include "redis/url.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/memory.h"
#include "redis/url_show.h"
#include "redlock/redlock.h"

_Static_assert(sizeof(((struct rl_url *)0)->path) <= sizeof(((struct sockaddr_un *)0)->sun_path),
               "a path that we accept must fit into a socket address");
_Static_assert(sizeof(((struct rl_url *)0)->host) >= INET6_ADDRSTRLEN, "an address fits");

struct span { /* a part of the text */
    const char *begin;
    const char *end;
};

struct parser {
    struct rl_url *url;
    const char *part; /* of the first failure */
    const char *why;
};

/* -- Small readers -- */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static char lower(char c) {
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static bool is_alnum(char c) { /* the C locale's, whatever the program's is */
    return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z');
}

static int hex_value(char c) {
    if (is_digit(c)) {
        return c - '0';
    }
    return lower(c) >= 'a' && lower(c) <= 'f' ? lower(c) - 'a' + 10 : -1;
}

static size_t length_of(struct span s) {
    assert(s.begin != NULL);
    assert(s.begin <= s.end);
    return (size_t)(s.end - s.begin);
}

/* Where c is first found in s, or NULL. */
static const char *find(struct span s, char c) {
    return memchr(s.begin, c, length_of(s));
}

/* Where the first of the characters of set is found in s, or its end. */
static const char *find_any(struct span s, const char *set) {
    assert(length_of(s) <= strlen(s.begin));
    const char *p = s.begin;
    while (p < s.end && strchr(set, *p) == NULL) {
        p++;
    }
    return p;
}

/* True if s is the word, without regard to case; word is in lower case. */
static bool is_word(struct span s, const char *word) {
    size_t length = strlen(word);
    if (length_of(s) != length) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        assert(word[i] == lower(word[i]));
        if (lower(s.begin[i]) != word[i]) {
            return false;
        }
    }
    return true;
}

/* Reads all of s as a number up to max. False if it is empty, not digits only, or more. */
static bool read_number(struct span s, uint32_t max, uint32_t *number) {
    assert(number != NULL);
    uint64_t value = 0;
    for (const char *p = s.begin; p < s.end; p++) {
        if (!is_digit(*p)) {
            return false;
        }
        value = value * 10 + (uint64_t)(*p - '0');
        if (value > max) {
            return false;
        }
    }
    *number = (uint32_t)value;
    return length_of(s) > 0;
}

/* Remembers the first failure. Returns false, so that a check can end with it. */
static bool bad(struct parser *p, const char *part, const char *why) {
    assert(p->why == NULL);
    assert(why != NULL);
    p->part = part;
    p->why = why;
    return false;
}

/* -- Parts -- */

/* Percent-decodes s into out, which has room for size bytes, the zero included. */
static bool decode(struct parser *p, const char *part, struct span s, char *out, size_t size) {
    assert(size > 0);
    size_t used = 0;
    for (const char *in = s.begin; in < s.end; in++) {
        char c = *in;
        if (c == '%') {
            int high = s.end - in > 2 ? hex_value(in[1]) : -1;
            int low = s.end - in > 2 ? hex_value(in[2]) : -1;
            if (high < 0 || low < 0) {
                return bad(p, part, "a % needs two hex digits after it; for a plain % write %25");
            }
            c = (char)(high * 16 + low);
            in += 2;
        }
        if (c == '\0') {
            return bad(p, part, "%00 is not allowed");
        }
        if (used + 1 >= size) {
            return bad(p, part, "too long");
        }
        out[used++] = c;
    }
    assert(used < size);
    out[used] = '\0';
    return true;
}

/* [user]:password */
static bool parse_credentials(struct parser *p, struct span s) {
    struct rl_url *url = p->url;
    assert(!url->has_password);
    const char *colon = find(s, ':');
    if (colon == NULL) {
        return bad(p, "user", "no password follows; write user:password@ or :password@");
    }
    struct span user = {s.begin, colon};
    struct span password = {colon + 1, s.end};
    if (length_of(password) == 0) {
        return bad(p, "password",
                   "it is empty (an unset variable?); without authentication leave out"
                   " everything up to the @");
    }
    url->has_password = true;
    return decode(p, "user", user, url->user, sizeof(url->user)) &&
           decode(p, "password", password, url->password, sizeof(url->password));
}

/* Splits "credentials@rest", reads the credentials if there are any, and sets *rest. */
static bool parse_userinfo(struct parser *p, struct span authority, struct span *rest) {
    assert(rest != NULL);
    *rest = authority;
    const char *at = find(authority, '@');
    if (at == NULL) {
        return true;
    }
    rest->begin = at + 1;
    if (find(*rest, '@') != NULL) {
        return bad(p, "password", "more than one @; inside a user or password write %40");
    }
    return parse_credentials(p, (struct span){authority.begin, at});
}

/* An IPv6 address without its brackets. */
static bool parse_ipv6(struct parser *p, struct span s) {
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;
    assert(p->url->host[0] == '\0');
    if (find(s, '%') != NULL) {
        return bad(p, "host", "IPv6 zones are not supported; give an address without one");
    }
    if (length_of(s) >= sizeof(text)) {
        return bad(p, "host", "not an IPv6 address");
    }
    memcpy(text, s.begin, length_of(s));
    text[length_of(s)] = '\0';
    if (inet_pton(AF_INET6, text, &address) != 1) {
        return bad(p, "host", "not an IPv6 address");
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
        if (hex ? hex_value(host[i]) < 0 : !is_digit(host[i])) {
            return false;
        }
    }
    assert(begin < end);
    return true;
}

/* A host name or an IPv4 address. */
static bool parse_name(struct parser *p, struct span s) {
    char *host = p->url->host;
    struct in_addr address;
    assert(host[0] == '\0');
    if (length_of(s) == 0) {
        return bad(p, "host", "it is missing; write redis://HOST:PORT");
    }
    if (length_of(s) > RL_URL_HOST_MAX) {
        return bad(p, "host", "too long");
    }
    for (size_t i = 0; i < length_of(s); i++) {
        char c = lower(s.begin[i]);
        if (!is_alnum(c) && strchr("-._", c) == NULL) {
            return bad(p, "host", "a name consists of letters, digits, '-', '.' and '_'");
        }
        if (c == '.' && (i == 0 || host[i - 1] == '.')) {
            return bad(p, "host", "a dot needs a letter or digit before it");
        }
        host[i] = c;
    }
    assert(strlen(host) == length_of(s)); /* the field was zeroed */
    if (looks_like_ipv4(host, length_of(s)) && inet_pton(AF_INET, host, &address) != 1) {
        return bad(p, "host", "an IPv4 address is four numbers from 0 to 255 with dots between");
    }
    return true;
}

static bool parse_port(struct parser *p, struct span s) {
    uint32_t port = 0;
    assert(p->url->port == RL_URL_PORT_DEFAULT);
    if (length_of(s) > 5 || !read_number(s, UINT16_MAX, &port) || port == 0) {
        return bad(p, "port",
                   "not a number from 1 to 65535 (a password is followed by @, an IPv6 address is"
                   " in brackets)");
    }
    assert(port <= UINT16_MAX);
    p->url->port = (uint16_t)port;
    return true;
}

/* host[:port] */
static bool parse_host_port(struct parser *p, struct span s) {
    assert(p->url->port == RL_URL_PORT_DEFAULT);
    if (s.begin < s.end && *s.begin == '[') {
        const char *close = find(s, ']');
        if (close == NULL) {
            return bad(p, "host", "the ] is missing");
        }
        if (!parse_ipv6(p, (struct span){s.begin + 1, close})) {
            return false;
        }
        s.begin = close + 1;
        if (s.begin < s.end && *s.begin != ':') {
            return bad(p, "host", "only a colon and the port can follow the ]");
        }
    } else {
        const char *end = find_any(s, ":");
        if (!parse_name(p, (struct span){s.begin, end})) {
            return false;
        }
        s.begin = end;
    }
    assert(s.begin == s.end || *s.begin == ':');
    return s.begin == s.end || parse_port(p, (struct span){s.begin + 1, s.end});
}

static bool parse_db(struct parser *p, struct span s) {
    assert(p->url->db == 0);
    if (!read_number(s, RL_URL_DB_MAX, &p->url->db)) {
        return bad(p, "database", "not a number from 0 to 2147483647");
    }
    return true;
}

/* -- Schemes -- */

/* What follows "redis://". */
static bool parse_tcp(struct parser *p, struct span s) {
    struct rl_url *url = p->url;
    struct span authority = {s.begin, find_any(s, "/?#")};
    struct span tail = {authority.end, s.end};
    struct span host;
    url->kind = RL_URL_TCP;
    url->port = RL_URL_PORT_DEFAULT;
    if (find(tail, '@') != NULL) {
        return bad(p, "password",
                   "inside a user or password write %2F for /, %3F for ?, %23 for #");
    }
    if (!parse_userinfo(p, authority, &host) || !parse_host_port(p, host)) {
        return false;
    }
    if (find(tail, '?') != NULL || find(tail, '#') != NULL) {
        return bad(p, "query", "redis:// takes none; the database is written as /0");
    }
    assert(length_of(tail) == 0 || *tail.begin == '/');
    if (length_of(tail) > 1 && !parse_db(p, (struct span){tail.begin + 1, tail.end})) {
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
static bool parse_unix_query(struct parser *p, struct span s) {
    static const char key[] = "?db=";
    if (length_of(s) == 0) {
        return true;
    }
    assert(*s.begin == '?' || *s.begin == '#');
    if (length_of(s) < strlen(key) || memcmp(s.begin, key, strlen(key)) != 0) {
        return bad(p, "query", "only ?db=NUMBER can follow the path; inside it write %3F, %23");
    }
    return parse_db(p, (struct span){s.begin + strlen(key), s.end});
}

/* What follows "unix://". */
static bool parse_unix(struct parser *p, struct span s) {
    struct rl_url *url = p->url;
    struct span authority = {s.begin, find_any(s, "/?#")};
    struct span path = {authority.end, find_any((struct span){authority.end, s.end}, "?#")};
    struct span host;
    url->kind = RL_URL_UNIX;
    if (!parse_userinfo(p, authority, &host)) {
        return false;
    }
    if (length_of(host) > 0 || length_of(path) == 0) {
        return bad(p, "path", "it is absolute, so there are three slashes: unix:///PATH");
    }
    assert(*path.begin == '/');
    if (!decode(p, "path", path, url->path, sizeof(url->path))) {
        return false;
    }
    for (const char *c = url->path; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) { /* it would garble every message */
            return bad(p, "path", "control characters are not allowed");
        }
    }
    if (url->path[strlen(url->path) - 1] == '/') {
        return bad(p, "path", "it ends in a slash, so it names a directory; name the socket");
    }
    _Static_assert(sizeof(url->name) >= sizeof(url->path), "a path fits into a name");
    memcpy(url->name, url->path, sizeof(url->path));
    return parse_unix_query(p, (struct span){path.end, s.end});
}

/* Writes 'node URL "...": part: why'. */
static void report(const struct parser *p, const char *text, char *error, size_t error_size) {
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
static bool reject_without_scheme(struct parser *p, const char *text) {
    if (text[0] == '/') {
        return bad(p, "scheme", "it is missing; for a socket write unix:///PATH");
    }
    return bad(p, "scheme", "it is missing; did you mean redis://HOST:PORT ?");
}

static bool check_bytes(struct parser *p, const char *text) {
    assert(text != NULL);
    if (text[0] == '\0') {
        return bad(p, "all of it", "it is empty; write redis://HOST:PORT or unix:///PATH");
    }
    for (const char *c = text; *c != '\0'; c++) {
        if (*c <= 0x20 || *c >= 0x7f) {
            return bad(p, "characters",
                       "a space, control or non-ASCII character; write it percent-encoded, a space"
                       " as %20");
        }
    }
    return true;
}

/* Returns 0 or a status; a failure is left in p. */
static int parse(struct parser *p, const char *text) {
    assert(p->why == NULL);
    if (!check_bytes(p, text)) {
        return REDLOCK_ERR_URL;
    }
    struct span all = {text, text + strlen(text)};
    const char *scheme_end = find_any(all, ":/?#@");
    if (strncmp(scheme_end, "://", 3) != 0) {
        reject_without_scheme(p, text);
        return REDLOCK_ERR_URL;
    }
    struct span scheme = {text, scheme_end};
    struct span rest = {scheme_end + 3, all.end};
    assert(rest.begin <= rest.end);
    if (is_word(scheme, "rediss")) {
        bad(p, "scheme", "rediss:// needs TLS, and this library was built without; use redis://");
        return REDLOCK_ERR_NO_TLS;
    }
    if (is_word(scheme, "redis")) {
        return parse_tcp(p, rest) ? 0 : REDLOCK_ERR_URL;
    }
    if (is_word(scheme, "unix")) {
        return parse_unix(p, rest) ? 0 : REDLOCK_ERR_URL;
    }
    bad(p, "scheme", "not known; use redis:// or unix://");
    return REDLOCK_ERR_URL;
}

int rl_url_parse(const char *text, struct rl_url *url, char *error, size_t error_size) {
    assert(url != NULL);
    assert(error != NULL || error_size == 0);
    struct parser p = {url, NULL, NULL};
    memset(url, 0, sizeof(*url));
    if (error_size > 0) {
        error[0] = '\0';
    }
    int status = parse(&p, text != NULL ? text : "");
    assert((status == 0) == (p.why == NULL));
    if (status != 0) {
        report(&p, text != NULL ? text : "", error, error_size);
        rl_wipe(url, sizeof(*url));
    }
    return status;
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
