/* Parses the URL of one node.
 *
 *     redis://[[user]:password@]host[:port][/db]     port 6379, db 0; IPv6 in brackets
 *     rediss://...[?NAME=VALUE[&NAME=VALUE ...]]     the same with TLS, each name at most once:
 *         tls_ca, tls_cert, tls_key      paths, percent-encoded
 *         tls_server_name                a host name or an IP address
 *         tls_insecure_skip_verify       0 or 1
 *     unix://[[user]:password@]/path[?db=n]          usually unix:///path
 *
 * rl_url_parse() turns the text that an operator wrote into fixed-size fields; nothing is
 * allocated, resolved or looked up. What it accepts is exactly the grammar above:
 *   - The scheme is case-insensitive, the host is too and is stored in lower case. An IP address is
 *     stored as inet_ntop() writes it. A host is letters, digits, '-', '.', '_', one dot at its end
 *     included; it is not percent-decoded. A host that looks like an IPv4 address (its last label
 *     is a number) must be one: resolvers read "127.1" and "0x7f000001" as addresses, and a server
 *     with two spellings would get two votes.
 *   - An IPv6 zone ("[fe80::1%25eth0]") is refused: it means something on one machine only.
 *   - User, password and path are percent-decoded; %00 is refused, and in the path every control
 *     character is. Raw spaces, control characters and bytes outside ASCII are refused everywhere.
 *   - '@', '/', '?' and '#' in a user or password must be percent-encoded; a ':' in a password need
 *     not be. Which '@' ends the password is never guessed.
 *   - The password may not be empty and a user needs one: "redis://:$PASSWORD@host" with an unset
 *     variable is a mistake to be reported, not a connection without authentication.
 *   - "redis://host/" is database 0. Queries and fragments other than ?db=n, and those of
 *     rediss://, are refused.
 *
 * Failure: one sentence that names the part, the reason and what to write instead. It shows the URL
 * with everything that could be a password replaced by ***, even if the URL is so broken that this
 * is a guess.
 *
 * Thread rules: pure functions. */
#ifndef RL_REDIS_URL_H
#define RL_REDIS_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RL_URL_HOST_MAX 255     /* bytes of each field without its zero */
#define RL_URL_PATH_MAX 107     /* what fits into sun_path of struct sockaddr_un */
#define RL_URL_USER_MAX 128     /* ours; Redis has no limit */
#define RL_URL_PASSWORD_MAX 512 /* Redis's own limit of requirepass */
#define RL_URL_PORT_DEFAULT 6379
#define RL_URL_DB_MAX 2147483647 /* Redis reads an int */
#define RL_URL_TLS_PATH_MAX 1023
#define RL_URL_TLS_NAME_MAX 255

enum rl_url_kind { RL_URL_TCP, RL_URL_UNIX };

struct rl_url {
    enum rl_url_kind kind;
    char host[RL_URL_HOST_MAX + 1]; /* TCP: a name or a numeric address, without brackets */
    uint16_t port;                  /* TCP */
    char path[RL_URL_PATH_MAX + 1]; /* UNIX: absolute */
    bool has_password;              /* false: no AUTH is sent */
    char user[RL_URL_USER_MAX + 1]; /* "" for the default user */
    char password[RL_URL_PASSWORD_MAX + 1];
    uint32_t db;
    char name[RL_URL_HOST_MAX + sizeof("[]:65535")]; /* for messages: "host:port" or the path */
    bool is_tls;                                     /* TCP */
};

/* What a rediss:// URL sets, for its node alone: it takes precedence over the client's options.
 * Nothing is opened or looked up here. "": not set. */
struct rl_url_tls {
    char ca[RL_URL_TLS_PATH_MAX + 1];
    char cert[RL_URL_TLS_PATH_MAX + 1];
    char key[RL_URL_TLS_PATH_MAX + 1];
    char server_name[RL_URL_TLS_NAME_MAX + 1];
    bool has_insecure; /* insecure is set */
    bool insecure;
};

/* Parses text into *url.
 *
 * text: any string, or NULL. url: not NULL; all zero after an error, so that no password remains.
 * error: receives the sentence of a failure, cut to error_size, or "" on success; may be NULL if
 * error_size is 0. REDLOCK_MESSAGE_MAX bytes are always enough.
 *
 * Returns 0 or REDLOCK_ERR_URL. It does not check whether the library supports TLS. */
int rl_url_parse(const char *text, struct rl_url *url, char *error, size_t error_size);

/* The same, with the URL's TLS settings; none, if it is not a rediss:// URL. */
int rl_url_parse_tls(const char *text, struct rl_url *url, struct rl_url_tls *tls, char *error,
                     size_t error_size);

/* True if both name one server as far as the text can tell: the same host and port, or the same
 * path. Names are compared without regard to case and to a dot at the end, addresses as addresses
 * (::ffff:127.0.0.1 is 127.0.0.1). User, password and database are ignored: two databases of one
 * server are one server. Nothing is resolved: "localhost" and "127.0.0.1" are different here, and
 * so are "/tmp/a" and "/tmp/./a".
 *
 * a, b: results of a successful rl_url_parse(). */
bool rl_url_same_server(const struct rl_url *a, const struct rl_url *b);

#endif /* RL_REDIS_URL_H */
