/* See secure.h. */
#include "live/secure.h"

#include <arpa/inet.h>
#include <ftw.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PORT_TRIES 20

static struct {
    char folder[64];
    pid_t owner;
} made;

/* -- Certificates -- */

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at) {
    (void)info, (void)kind, (void)at;
    return remove(path);
}

static void remove_folder(void) {
    if (made.owner == getpid()) {
        nftw(made.folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    }
}

/* certificates.sh COMMAND FOLDER [ARGUMENT]... */
static bool run(const char *folder, const char *const *args) {
    const char *script = getenv("REDLOCK_CERTIFICATES_SH");
    const char *argv[10] = {"sh", script, args[0], folder};
    int status = -1;
    for (size_t i = 1; args[i] != NULL; i++) {
        argv[3 + i] = args[i];
    }
    pid_t pid = script != NULL ? fork() : -1;
    if (pid == 0) {
        execvp("sh", (char *const *)(void *)argv);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool make_all(void) {
    static const char *const here[][6] = {
        {"authority"},
        {"make", "good", "IP:127.0.0.1"},
        {"make", "again", "IP:127.0.0.1"},
        {"make", "elsewhere", "DNS:redis.example"},
        {"make", "client", "DNS:client"},
        {"make", "expired", "IP:127.0.0.1", "20200101000000Z", "20210203040506Z"},
        {"make", "early", "IP:127.0.0.1", "20900102030405Z", "20910101000000Z"},
        {"self", "self", "IP:127.0.0.1"},
    };
    static const char *const there[][6] = {{"authority"}, {"make", "stranger", "IP:127.0.0.1"}};
    char other[80];
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof here / sizeof here[0]; i++) {
        ok = run(made.folder, here[i]);
    }
    snprintf(other, sizeof other, "%s/other", made.folder);
    for (size_t i = 0; ok && i < sizeof there / sizeof there[0]; i++) {
        ok = run(other, there[i]);
    }
    return ok;
}

static const char *folder(void) {
    if (made.folder[0] == '\0') {
        const char *temporary = getenv("TMPDIR");
        snprintf(made.folder, sizeof made.folder, "%.40s/live-tls.XXXXXX",
                 temporary != NULL ? temporary : "/tmp");
        assert_non_null(mkdtemp(made.folder));
        made.owner = getpid();
        atexit(remove_folder);
        assert_true(make_all());
    }
    return made.folder;
}

const char *secure_path(const char *name, const char *ending) {
    static char paths[5][128];
    static size_t next;
    char *path = paths[next++ % 5];
    bool is_other = strcmp(name, "stranger") == 0;
    snprintf(path, sizeof paths[0], "%s%s/%s.%s", folder(), is_other ? "/other" : "", name, ending);
    return path;
}

/* -- Nodes -- */

/* A port that was free a moment ago. */
static int some_port(void) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    close(fd);
    return ntohs(address.sin_port);
}

static bool set_port(const struct live *live, size_t i, int port) {
    redisReply *reply = live_ask(live, i, "CONFIG SET tls-port %d", port);
    bool done = reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    return done;
}

/* Both in one command: the new certificate does not fit the old key, nor the reverse. */
void secure_rotate(struct live *live, size_t i, const char *cert) {
    live_tell(live, i, "CONFIG SET tls-cert-file %s tls-key-file %s", secure_path(cert, "crt"),
              secure_path(cert, "key"));
}

void secure_node(struct live *live, size_t i, const char *cert) {
    int tries = PORT_TRIES;
    live_tell(live, i, "CONFIG SET tls-ca-cert-file %s", secure_path("ca", "crt"));
    live_tell(live, i, "CONFIG SET tls-auth-clients no");
    secure_rotate(live, i, cert);
    if (live->node[i].tls_port == 0) {
        do {
            live->node[i].tls_port = some_port();
            assert_true(tries-- > 0);
        } while (!set_port(live, i, live->node[i].tls_port));
    } else {
        assert_true(set_port(live, i, live->node[i].tls_port));
    }
    snprintf(live->node[i].url, sizeof live->node[i].url, "rediss://127.0.0.1:%d",
             live->node[i].tls_port);
    live->urls[i] = live->node[i].url;
    snprintf(live->ca, sizeof live->ca, "%s", secure_path("ca", "crt"));
}

void secure_demand(struct live *live, size_t i, bool demands) {
    live_tell(live, i, "CONFIG SET tls-auth-clients %s", demands ? "yes" : "no");
}

void secure_all(struct live *live) {
    for (size_t i = 0; i < live->n; i++) {
        secure_node(live, i, "good");
    }
}

void secure_again(struct live *live, size_t i) {
    bool is_silent = live->ca[0] == '\0';
    secure_node(live, i, "good");
    if (is_silent) {
        live->ca[0] = '\0';
    }
}

void secure_silently(struct live *live, size_t first) {
    for (size_t i = first; i < live->n; i++) {
        secure_node(live, i, "good");
    }
    assert_int_equal(setenv("SSL_CERT_FILE", live->ca, 1), 0);
    live->ca[0] = '\0';
}

bool secure_is_possible(void) {
    void *state = NULL;
    if (live_setup(&state) != 0 || system("command -v openssl >/dev/null 2>&1") != 0) {
        return false;
    }
    struct live *live = state;
    live_start(live, 1, NULL);
    redisReply *reply = live_ask(live, 0, "CONFIG GET tls-port");
    bool has = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2;
    freeReplyObject(reply);
    live_end(live);
    live_teardown(&state);
    return has;
}
