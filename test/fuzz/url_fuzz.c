/* libFuzzer: any text given as a node's URL.
 *
 * Two runs of each input. First the input as it is: success gives bounded, consistent fields, from
 * which a URL can be written that parses to the same; failure gives a message and empty fields.
 * Then the input with ":SENTINEL@" inserted in the middle: no message may contain the sentinel. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/url.h"
#include "redis/url_text.h"
#include "redlock/redlock.h"

#define TEXT_MAX 4096
#define SENTINEL "S3cr3t"

/* An assertion that NDEBUG does not remove. */
static void demand(int truth) {
    if (!truth) {
        abort();
    }
}

static int is_terminated(const char *field, size_t size) {
    return memchr(field, '\0', size) != NULL;
}

/* Writes bytes so that parsing gives them back: all of them percent-encoded. */
static size_t encode(char *out, const char *in, char keep) {
    size_t used = 0;
    for (; *in != '\0'; in++) {
        if (*in == keep) {
            out[used++] = *in;
        } else {
            used += (size_t)snprintf(out + used, 4, "%%%02X", (unsigned)(unsigned char)*in);
        }
    }
    out[used] = '\0';
    return used;
}

/* Writes the URL that the fields came from, in one canonical form. */
static void write_url(const struct rl_url *url, char *text, size_t size) {
    char user[3 * RL_URL_USER_MAX + 1], password[3 * RL_URL_PASSWORD_MAX + 1];
    char path[3 * RL_URL_PATH_MAX + 1];
    int tcp = url->kind == RL_URL_TCP;
    encode(user, url->user, '\0');
    encode(password, url->password, '\0');
    encode(path, url->path, '/');
    snprintf(text, size, "%s://%s%s%s%s%s%s%" PRIu32,
             tcp ? url->is_tls ? "rediss" : "redis" : "unix", user, url->has_password ? ":" : "",
             password, url->has_password ? "@" : "", tcp ? url->name : path,
             tcp ? "/" : "?db=", url->db);
}

static void check_success(const struct rl_url *url, const char *error) {
    struct rl_url again;
    char text[TEXT_MAX], again_error[REDLOCK_MESSAGE_MAX];
    demand(error[0] == '\0');
    demand(is_terminated(url->host, sizeof(url->host)));
    demand(is_terminated(url->path, sizeof(url->path)));
    demand(is_terminated(url->user, sizeof(url->user)));
    demand(is_terminated(url->password, sizeof(url->password)));
    demand(is_terminated(url->name, sizeof(url->name)));
    demand(url->name[0] != '\0');
    demand(url->kind == RL_URL_TCP || !url->is_tls);
    demand(url->has_password == (url->password[0] != '\0'));
    demand(url->has_password || url->user[0] == '\0');
    demand(url->db <= RL_URL_DB_MAX);
    demand((url->kind == RL_URL_TCP) == (url->host[0] != '\0'));
    demand((url->kind == RL_URL_TCP) == (url->port != 0));
    demand((url->kind == RL_URL_UNIX) == (url->path[0] == '/'));
    write_url(url, text, sizeof(text));
    demand(rl_url_parse(text, &again, again_error, sizeof(again_error)) == 0);
    demand(memcmp(url, &again, sizeof(again)) == 0);
    demand(rl_url_same_server(url, &again));
}

static void check_failure(int status, const struct rl_url *url, const char *error) {
    static const struct rl_url zero;
    demand(status == REDLOCK_ERR_URL);
    demand(strlen(error) > strlen("node URL"));
    for (const char *c = error; *c != '\0'; c++) {
        demand(*c >= 0x20 && *c < 0x7f);
    }
    demand(memcmp(url, &zero, sizeof(zero)) == 0);
}

static void check(const char *text) {
    struct rl_url url;
    char error[REDLOCK_MESSAGE_MAX];
    memset(error, 'x', sizeof(error));
    int status = rl_url_parse(text, &url, error, sizeof(error));
    demand(is_terminated(error, sizeof(error)));
    if (status == 0) {
        check_success(&url, error);
    } else {
        check_failure(status, &url, error);
    }
}

static void check_secret(const char *before, size_t n, const char *after) {
    struct rl_url url;
    char text[TEXT_MAX], error[REDLOCK_MESSAGE_MAX], shown[RL_URL_SHOWN_MAX];
    snprintf(text, sizeof(text), "%.*s:" SENTINEL "@%s", (int)n, before, after);
    rl_url_parse(text, &url, error, sizeof(error));
    demand(strstr(error, SENTINEL) == NULL);
    rl_url_show(text, shown, sizeof(shown));
    demand(strstr(shown, SENTINEL) == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char text[TEXT_MAX / 2];
    if (size >= sizeof(text)) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    check(text);
    if (strstr(text, SENTINEL) == NULL) { /* else the input itself contains it */
        size_t half = strlen(text) / 2;
        check_secret(text, half, text + half);
    }
    return 0;
}
