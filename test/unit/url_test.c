/* Node URLs: every part of the grammar, every kind of error, and that no message shows a password.
 * Tables: each row is a text and its expected result. */
#include "redis/url.h"

#include "redis/url_text.h"
#include "redlock/redlock.h"
#include "testing.h"

struct good {
    const char *text;
    struct rl_url url; /* the expected result */
};

#define TCP(host, port, ...) \
    { RL_URL_TCP, host, port, "", __VA_ARGS__, false }
#define TLS(host, port, ...) \
    { RL_URL_TCP, host, port, "", __VA_ARGS__, true }
#define UNIX(path, ...) \
    { RL_URL_UNIX, "", 0, path, __VA_ARGS__, false }
#define NOBODY false, "", ""

static const struct good goods[] = {
    {"redis://localhost", TCP("localhost", 6379, NOBODY, 0, "localhost:6379")},
    {"redis://localhost/", TCP("localhost", 6379, NOBODY, 0, "localhost:6379")},
    {"redis://localhost:7001", TCP("localhost", 7001, NOBODY, 0, "localhost:7001")},
    {"redis://localhost:65535/0", TCP("localhost", 65535, NOBODY, 0, "localhost:65535")},
    {"redis://localhost:1/15", TCP("localhost", 1, NOBODY, 15, "localhost:1")},
    {"redis://h/2147483647", TCP("h", 6379, NOBODY, 2147483647, "h:6379")},
    {"redis://h/007", TCP("h", 6379, NOBODY, 7, "h:6379")},
    {"redis://h:00080", TCP("h", 80, NOBODY, 0, "h:80")},
    {"REDIS://Redis-1.Example.COM",
     TCP("redis-1.example.com", 6379, NOBODY, 0, "redis-1.example.com:6379")},
    {"redis://a_b.example.:80", TCP("a_b.example.", 80, NOBODY, 0, "a_b.example.:80")},
    {"redis://4you.x1/1", TCP("4you.x1", 6379, NOBODY, 1, "4you.x1:6379")},
    {"redis://0xcafe.net", TCP("0xcafe.net", 6379, NOBODY, 0, "0xcafe.net:6379")},
    {"redis://127.0.0.1:7001", TCP("127.0.0.1", 7001, NOBODY, 0, "127.0.0.1:7001")},
    {"redis://[::1]", TCP("::1", 6379, NOBODY, 0, "[::1]:6379")},
    {"redis://[2001:DB8:0:0:0:0:0:1]:7001/3",
     TCP("2001:db8::1", 7001, NOBODY, 3, "[2001:db8::1]:7001")},
    {"redis://[::FFFF:10.0.0.1]:1", TCP("::ffff:10.0.0.1", 1, NOBODY, 0, "[::ffff:10.0.0.1]:1")},
    {"redis://:pw@h", TCP("h", 6379, true, "", "pw", 0, "h:6379")},
    {"redis://u:pw@h:1/2", TCP("h", 1, true, "u", "pw", 2, "h:1")},
    {"rediss://localhost", TLS("localhost", 6379, NOBODY, 0, "localhost:6379")},
    {"REDISS://u:pw@[::1]:1/2?tls_ca=/x", TLS("::1", 1, true, "u", "pw", 2, "[::1]:1")},
    {"redis://u:pw@[::1]:1/2", TCP("::1", 1, true, "u", "pw", 2, "[::1]:1")},
    {"redis://u%3a%40%2F:p%40%3A%25%2f%23@h", TCP("h", 6379, true, "u:@/", "p@:%/#", 0, "h:6379")},
    {"redis://u:p:w:@h", TCP("h", 6379, true, "u", "p:w:", 0, "h:6379")},
    {"redis://u:%C3%A9%0a%20@h", TCP("h", 6379, true, "u", "\xc3\xa9\n ", 0, "h:6379")},
    {"unix:///run/redis.sock", UNIX("/run/redis.sock", NOBODY, 0, "/run/redis.sock")},
    {"UNIX:///x", UNIX("/x", NOBODY, 0, "/x")},
    {"unix:///run/R.sock?db=3", UNIX("/run/R.sock", NOBODY, 3, "/run/R.sock")},
    {"unix:///a%20b%3Fc%23%25/d@e:f", UNIX("/a b?c#%/d@e:f", NOBODY, 0, "/a b?c#%/d@e:f")},
    {"unix://u:pw@/run/r?db=1", UNIX("/run/r", true, "u", "pw", 1, "/run/r")},
};

static void assert_same_url(const struct rl_url *got, const struct rl_url *wanted) {
    assert_int_equal(got->kind, wanted->kind);
    assert_string_equal(got->host, wanted->host);
    assert_int_equal(got->port, wanted->port);
    assert_string_equal(got->path, wanted->path);
    assert_int_equal(got->has_password, wanted->has_password);
    assert_string_equal(got->user, wanted->user);
    assert_string_equal(got->password, wanted->password);
    assert_int_equal(got->db, wanted->db);
    assert_string_equal(got->name, wanted->name);
    assert_int_equal(got->is_tls, wanted->is_tls);
}

TEST(reads_every_part) {
    for (size_t i = 0; i < COUNT(goods); i++) {
        struct rl_url url;
        char error[REDLOCK_MESSAGE_MAX] = "left over";
        memset(&url, 0x5a, sizeof(url));
        int status = rl_url_parse(goods[i].text, &url, error, sizeof(error));
        if (status != 0) {
            print_error("%s: %s\n", goods[i].text, error);
        }
        assert_int_equal(status, 0);
        assert_string_equal(error, "");
        assert_same_url(&url, &goods[i].url);
        assert_int_equal(rl_url_parse(goods[i].text, &url, NULL, 0), 0);
    }
}

struct wrong {
    const char *text;
    const char *part; /* that the message must name */
    const char *hint; /* that it must contain */
};

static const struct wrong wrongs[] = {
    {NULL, "all of it", "empty"},
    {"", "all of it", "redis://HOST:PORT"},
    /* scheme */
    {"localhost", "scheme", "did you mean redis://HOST:PORT"},
    {"localhost:7001", "scheme", "did you mean redis://"},
    {"127.0.0.1:7001", "scheme", "did you mean redis://"},
    {"//localhost", "scheme", "missing"},
    {"://localhost", "scheme", "not known"},
    {"redis:localhost", "scheme", "missing"},
    {"redis:/localhost", "scheme", "missing"},
    {"/run/redis.sock", "scheme", "unix:///PATH"},
    {"http://localhost", "scheme", "use redis://, rediss:// or unix://"},
    {"redi://localhost", "scheme", "not known"},
    {"redisss://localhost", "scheme", "not known"},
    /* TLS */
    {"rediss://", "host", "missing"},
    {"redis://h?tls_ca=/x", "query", "redis:// takes none"},
    {"unix:///x?tls_ca=/x", "query", "?db="},
    {"rediss://h?db=1", "query", "tls_ca"},
    {"rediss://h?tls_ca", "query", "NAME=VALUE"},
    {"rediss://h?&tls_ca=/x", "query", "NAME=VALUE"},
    {"rediss://h?tls_ca=%", "tls_ca", "two hex digits"},
    {"rediss://h?tls_ca=%00", "tls_ca", "%00"},
    {"rediss://h?tls_key=%7f", "tls_key", "control"},
    {"rediss://h?tls_cert=", "tls_cert", "empty"},
    {"rediss://h?tls_ca=/x&tls_ca=/x", "tls_ca", "twice"},
    {"rediss://h?tls_insecure_skip_verify=", "tls_insecure_skip_verify", "0 or 1"},
    {"rediss://h?tls_insecure_skip_verify=2", "tls_insecure_skip_verify", "0 or 1"},
    {"rediss://h#tls_ca=/x", "query", "%23"},
    {"rediss://h/x?tls_ca=/x", "database", "not a number"},
    /* host */
    {"redis://", "host", "missing"},
    {"redis:///0", "host", "missing"},
    {"redis://:7001", "host", "missing"},
    {"redis://:pw@", "host", "missing"},
    {"redis://:pw@:7001", "host", "missing"},
    {"redis://a,b", "host", "consists of letters"},
    {"redis://a%41", "host", "consists of letters"},
    {"redis://a*b", "host", "consists of letters"},
    {"redis://.a", "host", "dot"},
    {"redis://a..b", "host", "dot"},
    {"redis://.", "host", "dot"},
    {"redis://127.1", "host", "IPv4"},
    {"redis://2130706433", "host", "IPv4"},
    {"redis://0x7f000001", "host", "IPv4"},
    {"redis://127.0.0.0X1", "host", "IPv4"},
    {"redis://1.2.3.0x", "host", "IPv4"},
    {"redis://256.1.1.1", "host", "IPv4"},
    {"redis://127.0.0.1.", "host", "IPv4"},
    {"redis://1.2.3.4.5", "host", "IPv4"},
    {"redis://[::1", "host", "]"},
    {"redis://[]", "host", "not an IPv6"},
    {"redis://[localhost]", "host", "not an IPv6"},
    {"redis://[127.0.0.1]", "host", "not an IPv6"},
    {"redis://[1:2:3:4:5:6:7:8:9]", "host", "not an IPv6"},
    {"redis://[0000:0000:0000:0000:0000:0000:0000:0000:0000]", "host", "not an IPv6"},
    {"redis://[fe80::1%25eth0]:1", "host", "zone"},
    {"redis://[::1]7001", "host", "]"},
    {"redis://[::1]]", "host", "]"},
    {"redis://::1:7001", "host", "missing"},
    {"redis://fe80::1", "port", "in brackets"},
    /* port */
    {"redis://h:", "port", "1 to 65535"},
    {"redis://h:/0", "port", "1 to 65535"},
    {"redis://h:0", "port", "1 to 65535"},
    {"redis://h:00000", "port", "1 to 65535"},
    {"redis://h:65536", "port", "1 to 65535"},
    {"redis://h:000080", "port", "1 to 65535"},
    {"redis://h:99999999999999999999", "port", "1 to 65535"},
    {"redis://h:-1", "port", "1 to 65535"},
    {"redis://h:+1", "port", "1 to 65535"},
    {"redis://h:70x", "port", "1 to 65535"},
    {"redis://h:1:2", "port", "1 to 65535"},
    {"redis://[::1]:", "port", "1 to 65535"},
    {"redis://[::1]:x", "port", "1 to 65535"},
    /* database */
    {"redis://h/a", "database", "0 to 2147483647"},
    {"redis://h/-1", "database", "0 to"},
    {"redis://h/1a", "database", "0 to"},
    {"redis://h/1/", "database", "0 to"},
    {"redis://h//", "database", "0 to"},
    {"redis://h/2147483648", "database", "0 to"},
    {"redis://h/18446744073709551616", "database", "0 to"},
    {"redis://h/%31", "database", "0 to"},
    {"unix:///p?db=", "database", "0 to"},
    {"unix:///p?db=x", "database", "0 to"},
    {"unix:///p?db=1&a=b", "database", "0 to"},
    {"unix:///p?db=1#", "database", "0 to"},
    {"unix:///p?db=2147483648", "database", "0 to"},
    /* query */
    {"redis://h?", "query", "/0"},
    {"redis://h?db=1", "query", "/0"},
    {"redis://h/1?db=1", "query", "/0"},
    {"redis://h#x", "query", "/0"},
    {"redis://h/0#", "query", "/0"},
    {"unix:///p?", "query", "?db="},
    {"unix:///p?db", "query", "?db="},
    {"unix:///p?DB=1", "query", "?db="},
    {"unix:///p?x=1&db=1", "query", "?db="},
    {"unix:///p#db=1", "query", "%23"},
    /* credentials */
    {"redis://user@h", "user", "user:password@"},
    {"redis://@h", "user", "user:password@"},
    {"redis://:@h", "password", "empty"},
    {"redis://u:@h", "password", "empty"},
    {"redis://u:p@w@h", "password", "%40"},
    {"redis://u:p/w@h", "password", "%2F"},
    {"redis://u:p?w@h", "password", "%3F"},
    {"redis://u:p#w@h", "password", "%23"},
    {"redis://u:p%@h", "password", "%25"},
    {"redis://u:p%4@h", "password", "%25"},
    {"redis://u:p%4g@h", "password", "%25"},
    {"redis://u:p%g4@h", "password", "%25"},
    {"redis://u:p%00@h", "password", "%00"},
    {"redis://u%zz:p@h", "user", "%25"},
    {"redis://u%00:p@h", "user", "%00"},
    {"unix://user@/p", "user", "user:password@"},
    /* path */
    {"unix://", "path", "three slashes"},
    {"unix://p", "path", "three slashes"},
    {"unix://run/p", "path", "three slashes"},
    {"unix://?db=1", "path", "three slashes"},
    {"unix:///", "path", "directory"},
    {"unix:///run/", "path", "directory"},
    {"unix:///a%0ab", "path", "control"},
    {"unix:///a%7f", "path", "control"},
    {"unix:///a%00", "path", "%00"},
    {"unix:///a%", "path", "%25"},
    /* characters */
    {" redis://h", "characters", "%20"},
    {"redis://h ", "characters", "%20"},
    {"redis://h\r\nSET", "characters", "percent"},
    {"redis://h\t", "characters", "percent"},
    {"redis://u:p w@h", "characters", "%20"},
    {"redis://h\x7f", "characters", "percent"},
    {"redis://u:p\xc3\xa9@h", "characters", "percent"},
    {"unix:///a b", "characters", "%20"},
};

static void assert_all_zero(const struct rl_url *url) {
    const unsigned char *bytes = (const unsigned char *)url;
    for (size_t i = 0; i < sizeof(*url); i++) {
        assert_int_equal(bytes[i], 0);
    }
}

/* The message is 'node URL "...": part: why'. */
TEST(refuses_and_says_why) {
    for (size_t i = 0; i < COUNT(wrongs); i++) {
        const struct wrong *w = &wrongs[i];
        struct rl_url url;
        char error[REDLOCK_MESSAGE_MAX] = "";
        char part[64];
        memset(&url, 0x5a, sizeof(url));
        int status = rl_url_parse(w->text, &url, error, sizeof(error));
        snprintf(part, sizeof(part), "\": %s: ", w->part);
        if (status != REDLOCK_ERR_URL || !strstr(error, part) || !strstr(error, w->hint)) {
            print_error("%s: status %d, \"%s\"\n", w->text, status, error);
        }
        assert_int_equal(status, REDLOCK_ERR_URL);
        assert_contains(error, part);
        assert_contains(error, w->hint);
        assert_null(strpbrk(error, "\r\n\t\x7f"));
        assert_all_zero(&url);
    }
}

/* The parameters for TLS, in addition to those of every URL. */
TEST(reads_what_is_said_of_tls) {
    static const struct {
        const char *text;
        struct rl_url_tls tls;
    } rows[] = {
        {"rediss://h", {.ca = ""}},
        {"redis://h", {.ca = ""}},
        {"rediss://h?tls_ca=/etc/ca.pem", {.ca = "/etc/ca.pem"}},
        {"rediss://h/0?TLS_CA=a%20b&tls_cert=c%26d&tls_key=e=f",
         {.ca = "a b", .cert = "c&d", .key = "e=f"}},
        {"rediss://h?tls_server_name=redis.example", {.server_name = "redis.example"}},
        {"rediss://h?tls_insecure_skip_verify=1", {.has_insecure = true, .insecure = true}},
        {"rediss://h?tls_insecure_skip_verify=0&tls_ca=x", {.ca = "x", .has_insecure = true}},
        {"rediss://h?", {.ca = ""}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rl_url url;
        struct rl_url_tls tls;
        memset(&tls, 0x5a, sizeof(tls));
        assert_int_equal(rl_url_parse_tls(rows[i].text, &url, &tls, NULL, 0), 0);
        assert_string_equal(tls.ca, rows[i].tls.ca);
        assert_string_equal(tls.cert, rows[i].tls.cert);
        assert_string_equal(tls.key, rows[i].tls.key);
        assert_string_equal(tls.server_name, rows[i].tls.server_name);
        assert_int_equal(tls.has_insecure, rows[i].tls.has_insecure);
        assert_int_equal(tls.insecure, rows[i].tls.insecure);
    }
}

/* Writes a URL in which one part has n bytes. */
static void write_long(char *text, size_t size, const char *before, size_t n, const char *after) {
    size_t used = (size_t)snprintf(text, size, "%s", before);
    assert_true(used + n + strlen(after) < size);
    memset(text + used, 'a', n);
    snprintf(text + used + n, size - used - n, "%s", after);
}

TEST(bounds_every_part) {
    static const struct {
        const char *before, *after, *part;
        size_t max;
    } parts[] = {
        {"redis://", ":80", "host", RL_URL_HOST_MAX},
        {"redis://", ":pw@h", "user", RL_URL_USER_MAX},
        {"redis://:", "@h", "password", RL_URL_PASSWORD_MAX},
        {"unix:///", "", "path", RL_URL_PATH_MAX - 1},
    };
    for (size_t i = 0; i < COUNT(parts); i++) {
        struct rl_url url;
        char error[REDLOCK_MESSAGE_MAX], text[5000];
        write_long(text, sizeof(text), parts[i].before, parts[i].max, parts[i].after);
        assert_int_equal(rl_url_parse(text, &url, error, sizeof(error)), 0);
        write_long(text, sizeof(text), parts[i].before, parts[i].max + 1, parts[i].after);
        assert_int_equal(rl_url_parse(text, &url, error, sizeof(error)), REDLOCK_ERR_URL);
        assert_contains(error, parts[i].part);
        assert_contains(error, "too long");
        write_long(text, sizeof(text), parts[i].before, 4900, parts[i].after);
        assert_int_equal(rl_url_parse(text, &url, error, sizeof(error)), REDLOCK_ERR_URL);
        assert_true(strlen(error) < RL_URL_SHOWN_MAX + 200);
    }
}

TEST(shows_no_password) {
    static const struct {
        const char *text, *shown;
    } rows[] = {
        {"redis://u:secret@h:x", "redis://u:***@h:x"},
        {"redis://:secret@h:x", "redis://:***@h:x"},
        {"redis://secret@h", "redis://***@h"},
        {"redis://u:sec@ret@h", "redis://u:***@h"},
        {"redis://u:sec/ret@h", "redis://u:***@h"},
        {"redis://u:sec?ret@h", "redis://u:***@h"},
        {"redis://u:secret/@", "redis://u:***@"},
        {"u:secret@h:1", "u:***@h:1"},
        {"//u:secret@h:1", "//u:***@h:1"},
        {"redis:u:secret@h", "redis:***@h"},
        {"x@y://u:secret@h", "x@y:***@h"},
        {"redis://u:secret", "redis://u:***"},
        {"redis://:secret/0", "redis://:***/0"},
        {"redis://[::1]:secret", "redis://[::1]:***"},
        {"redis://u:123456", "redis://u:***"},
        {"redis://h:99999/0", "redis://h:99999/0"},
        {"redis://h:/0", "redis://h:/0"},
        {"redis://[::1]7001", "redis://[::1]7001"},
        {"redis://h/0?password=secret", "redis://h/0?***"},
        {"redis://h#secret", "redis://h#***"},
        {"redis://u:@h", "redis://u:@h"},
        {"redis://h\r\n\x7f\xff", "redis://h????"},
        {"", ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char shown[RL_URL_SHOWN_MAX];
        rl_url_show(rows[i].text, shown, sizeof(shown));
        assert_string_equal(shown, rows[i].shown);
    }
}

TEST(shows_a_bounded_piece) {
    char text[1000], shown[32];
    write_long(text, sizeof(text), "redis://u:secret@", 900, "");
    rl_url_show(text, shown, sizeof(shown));
    assert_string_equal(shown, "redis://u:***@aaaaaaaaaaaaaa...");
    write_long(text, sizeof(text), "redis://", 23, "");
    rl_url_show(text, shown, sizeof(shown));
    assert_string_equal(shown, "redis://aaaaaaaaaaaaaaaaaaaa...");
}

TEST(tells_one_server_from_two) {
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {
        {"redis://h", "redis://h:6379", true},
        {"redis://h/0", "redis://u:p@H:6379/7", true},
        {"redis://a.b", "redis://A.B.", true},
        {"redis://h:1", "redis://h:2", false},
        {"redis://h", "redis://hh", false},
        {"redis://hh", "redis://h", false},
        {"redis://ha", "redis://hb", false},
        {"redis://localhost", "redis://127.0.0.1", false},
        {"redis://127.0.0.1", "redis://127.0.0.1", true},
        {"redis://127.0.0.1", "redis://127.0.0.2", false},
        {"redis://127.0.0.1:1", "redis://127.0.0.1:2", false},
        {"redis://[::1]", "redis://[0:0::0001]:6379", true},
        {"redis://[::1]", "redis://[::2]", false},
        {"redis://[::ffff:127.0.0.1]", "redis://127.0.0.1", true},
        {"redis://[::ffff:7f00:1]", "redis://127.0.0.1", true},
        {"redis://[::127.0.0.1]", "redis://127.0.0.1", false},
        {"redis://[::1]", "redis://localhost", false},
        {"unix:///a", "unix:///a?db=1", true},
        {"unix:///a", "unix:///%61", true},
        {"unix:///a", "unix:///A", false},
        {"unix:///a", "unix:///b", false},
        {"unix:///h", "redis://h", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rl_url a, b;
        assert_int_equal(rl_url_parse(rows[i].a, &a, NULL, 0), 0);
        assert_int_equal(rl_url_parse(rows[i].b, &b, NULL, 0), 0);
        assert_int_equal(rl_url_same_server(&a, &b), rows[i].same);
        assert_int_equal(rl_url_same_server(&b, &a), rows[i].same);
        assert_true(rl_url_same_server(&a, &a));
    }
}
