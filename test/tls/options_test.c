/* The options of TLS: which go together, and which message refuses the others when a client
 * opens. */
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <uv.h>

#include "redlock/redlock.h"
#include "tls/scene.h"

#define PATH 160

static char ca[PATH], cert[PATH], key[PATH], other_cert[PATH], other_key[PATH], locked_key[PATH],
    folder[PATH], empty_folder[PATH], nothing[PATH], empty_file[PATH];

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void name(char *path, const struct scene *scene, const char *what) {
    assert_true(snprintf(path, PATH, "%s/%s", scene->folder, what) < PATH);
}

static int make_files(void **state) {
    char link[PATH + 16];
    if (scene_begin(state) != 0) {
        return -1;
    }
    struct scene *scene = *state;
    snprintf(ca, sizeof ca, "%s", scene->ca);
    tls_cert_write(&scene->leaf, scene->folder, "leaf", cert, sizeof cert);
    tls_key_write(&scene->leaf, scene->folder, "leaf", key, sizeof key);
    tls_cert_write(&scene->other, scene->folder, "other", other_cert, sizeof other_cert);
    tls_key_write(&scene->other, scene->folder, "other", other_key, sizeof other_key);
    name(locked_key, scene, "locked.key");
    name(folder, scene, "folder");
    name(empty_folder, scene, "empty");
    name(nothing, scene, "nothing");
    name(empty_file, scene, "empty.crt");
    write_file(empty_file, "nothing of PEM in it\n");
    FILE *file = fopen(locked_key, "w");
    if (file == NULL ||
        PEM_write_PKCS8PrivateKey(file, scene->leaf.key, EVP_aes_128_cbc(), "secret", 6, NULL,
                                  NULL) != 1 ||
        fclose(file) != 0 || mkdir(folder, 0700) != 0 || mkdir(empty_folder, 0700) != 0) {
        return -1;
    }
    /* Not a name that c_rehash gives, and another kind of file beside it. */
    snprintf(link, sizeof link, "%s/some.pem", folder);
    if (symlink(ca, link) != 0) {
        return -1;
    }
    snprintf(link, sizeof link, "%s/README", folder);
    write_file(link, "not a certificate\n");
    return 0;
}

static int remove_files(void **state) {
    char link[PATH + 16];
    snprintf(link, sizeof link, "%s/some.pem", folder);
    remove(link);
    snprintf(link, sizeof link, "%s/README", folder);
    remove(link);
    const char *const paths[] = {cert,       key,    other_cert,   other_key,
                                 locked_key, folder, empty_folder, empty_file};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        remove(paths[i]);
    }
    return scene_end(state);
}

/* Opens a client and closes it; returns the status, and the message in error. */
static int try_options(const redlock_client_options *options, char error[REDLOCK_MESSAGE_MAX]) {
    uv_loop_t loop;
    redlock_client *client = NULL;
    redlock_client_options o = *options;
    assert_int_equal(uv_loop_init(&loop), 0);
    o.error = error;
    o.error_size = REDLOCK_MESSAGE_MAX;
    error[0] = '\0';
    int status = redlock_client_open(&client, &loop, &o, NULL, NULL);
    assert_int_equal(status == 0, client != NULL);
    assert_int_equal(status == 0, error[0] == '\0');
    if (client != NULL) {
        assert_int_equal(redlock_client_close(client, NULL, NULL), 0);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    return status;
}

#define NODE "rediss://127.0.0.1:1"

struct row {
    const char *ca, *cert, *key, *server_name;
    int insecure;
    const char *query;    /* in the node's URL; NULL: the node has no TLS */
    const char *words[2]; /* the refusal's; NULL: accepted */
};

static void check_row(const struct row *row) {
    char error[REDLOCK_MESSAGE_MAX], url[1024];
    const char *nodes[] = {url};
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    snprintf(url, sizeof url, "%s%s", row->query != NULL ? NODE : "redis://127.0.0.1:1",
             row->query != NULL ? row->query : "");
    options.nodes = nodes;
    options.n_nodes = 1;
    options.tls_ca = row->ca;
    options.tls_cert = row->cert;
    options.tls_key = row->key;
    options.tls_server_name = row->server_name;
    options.tls_insecure_skip_verify = row->insecure;
    int status = try_options(&options, error);
    if ((status == 0) != (row->words[0] == NULL)) {
        print_error("%s: \"%s\"\n", url, error);
    }
    assert_int_equal(status == 0, row->words[0] == NULL);
    for (size_t i = 0; status != 0 && i < 2; i++) {
        assert_contains(error, row->words[i]);
    }
}

TEST(go_together) {
    char said_ca[300], said_pair[600], said_other[600], said_bad[64], both[300], long_name[257];
    snprintf(said_ca, sizeof said_ca, "?tls_ca=%s", ca);
    snprintf(both, sizeof both, "?tls_insecure_skip_verify=1&tls_ca=%s", ca);
    snprintf(said_pair, sizeof said_pair, "/0?tls_cert=%s&tls_key=%s", cert, key);
    snprintf(said_other, sizeof said_other, "/0?tls_cert=%s&tls_key=%s", cert, other_key);
    snprintf(said_bad, sizeof said_bad, "?tls_ca=%s", "/nowhere");
    memset(long_name, 'a', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    const struct row rows[] = {
        {NULL, NULL, NULL, NULL, 0, "", {NULL}},
        {ca, NULL, NULL, NULL, 0, "", {NULL}},
        {folder, cert, key, "a.example", 0, "", {NULL}},
        {NULL, NULL, NULL, "10.0.0.1", 1, "", {NULL}},
        {NULL, NULL, NULL, NULL, 0, said_ca, {NULL}},
        {NULL, NULL, NULL, NULL, 0, said_pair, {NULL}},
        {NULL, NULL, NULL, NULL, 1, said_ca, {NULL}},
        {ca, NULL, NULL, NULL, 0, "?tls_insecure_skip_verify=1", {NULL}},
        {ca, NULL, NULL, NULL, 0, "?tls_insecure_skip_verify=0&tls_server_name=b", {NULL}},
        {empty_file, cert, other_key, NULL, 0, NULL, {"tls_ca is set", "rediss://"}},
        /* combinations */
        {ca, NULL, NULL, NULL, 0, NULL, {"tls_ca is set", "rediss://"}},
        {NULL, cert, key, NULL, 0, NULL, {"tls_cert is set", "rediss://"}},
        {NULL, NULL, NULL, "a", 0, NULL, {"tls_server_name is set", "rediss://"}},
        {NULL, NULL, NULL, NULL, 1, NULL, {"tls_insecure_skip_verify is set", "rediss://"}},
        {NULL, cert, NULL, NULL, 0, "", {"tls_cert is set and tls_key is not", "both"}},
        {NULL, NULL, key, NULL, 0, "", {"tls_key is set and tls_cert is not", "both"}},
        {NULL, cert, key, NULL, 0, "?tls_cert=/x", {"tls_cert is set and tls_key", "127.0.0.1:1"}},
        {ca, NULL, NULL, NULL, 1, "", {"tls_ca and tls_insecure_skip_verify", "leave one"}},
        {NULL, NULL, NULL, NULL, 0, both, {"tls_ca and tls_insecure_skip_verify", "leave one"}},
        {NULL, NULL, NULL, NULL, 2, "", {"tls_insecure_skip_verify is 2", "0 or 1"}},
        {"", NULL, NULL, NULL, 0, "", {"tls_ca is empty", "unset variable"}},
        {NULL, NULL, NULL, "", 0, "", {"tls_server_name is empty", "unset variable"}},
        {NULL, NULL, NULL, "fd00::7", 0, "", {NULL}},
        {NULL, NULL, NULL, ".example", 0, "", {"tls_server_name is no host name", "127.0.0.1:1"}},
        {NULL, NULL, NULL, "*.example", 0, "", {"tls_server_name is no host name", "letters"}},
        {NULL, NULL, NULL, "a\x1b.example", 0, "", {"tls_server_name is no host", "letters"}},
        {NULL, NULL, NULL, long_name, 0, "", {"tls_server_name is no host name", "at most 255"}},
        {NULL, NULL, NULL, long_name, 0, "?tls_server_name=b", {"tls_server_name is no", "255"}},
        {NULL, NULL, NULL, NULL, 0, "?tls_server_name=%2Eb", {"tls_server_name is", "IP address"}},
        /* files */
        {nothing, NULL, NULL, NULL, 0, "", {"tls_ca is \"", "No such file"}},
        {NULL, NULL, NULL, NULL, 0, said_bad, {"node 127.0.0.1:1: tls_ca is", "No such file"}},
        {empty_file, NULL, NULL, NULL, 0, "", {"tls_ca is \"", "no readable PEM certificate"}},
        {key, NULL, NULL, NULL, 0, "", {"tls_ca is \"", "no readable PEM certificate"}},
        {empty_folder, NULL, NULL, NULL, 0, "", {"tls_ca is \"", "no readable PEM certificate"}},
        {NULL, nothing, key, NULL, 0, "", {"tls_cert is \"", "No such file"}},
        {NULL, key, key, NULL, 0, "", {"tls_cert is \"", "no PEM certificate"}},
        {NULL, cert, nothing, NULL, 0, "", {"tls_key is \"", "No such file"}},
        {NULL, cert, cert, NULL, 0, "", {"tls_key is \"", "no PEM private key"}},
        {NULL, cert, other_key, NULL, 0, "", {"tls_key is \"", "does not fit"}},
        {NULL, NULL, NULL, NULL, 0, said_other, {"tls_key is \"", "does not fit"}},
        {NULL, cert, locked_key, NULL, 0, "", {"tls_key is \"", "passphrase"}},
        /* URLs */
        {NULL, NULL, NULL, NULL, 0, "?tls_insecure=1", {"query", "tls_insecure_skip_verify"}},
        {NULL, NULL, NULL, NULL, 0, "?tls_ca", {"query", "NAME=VALUE"}},
        {NULL, NULL, NULL, NULL, 0, "?tls_ca=", {"tls_ca", "empty"}},
        {NULL, NULL, NULL, NULL, 0, "?tls_ca=/a&tls_ca=/a", {"tls_ca", "twice"}},
        {NULL, NULL, NULL, NULL, 0, "?tls_key=%0a", {"tls_key", "control"}},
        {NULL, NULL, NULL, NULL, 0, "?tls_insecure_skip_verify=yes", {"skip_verify", "0 or 1"}},
        {NULL, NULL, NULL, NULL, 0, "#tls_ca=/a", {"query", "%23"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_row(&rows[i]);
    }
}

/* Nodes that name the same files share them. A node's own certificate or key is read, and does not
 * fit. */
TEST(each_pair_is_read) {
    char first[600], second[600], error[REDLOCK_MESSAGE_MAX];
    const char *const nodes[] = {first, second};
    const struct { const char *cert, *key; } rows[] = {{cert, other_key}, {other_cert, key}};
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    options.nodes = nodes;
    options.n_nodes = 2;
    snprintf(first, sizeof first, NODE "?tls_cert=%s&tls_key=%s", cert, key);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(second, sizeof second, "rediss://127.0.0.1:2?tls_cert=%s&tls_key=%s", rows[i].cert,
                 rows[i].key);
        assert_int_equal(try_options(&options, error), REDLOCK_ERR_INVALID);
        assert_contains(error, "node 127.0.0.1:2: tls_key is");
        assert_contains(error, "does not fit");
    }
}

TEST(unreadable_files_are_named) {
    const struct row rows[] = {
        {ca, NULL, NULL, NULL, 0, "", {"tls_ca is \"", "Permission denied"}},
        {NULL, cert, key, NULL, 0, "", {"tls_key is \"", "Permission denied"}},
    };
    if (geteuid() == 0) { /* root may read everything */
        return;
    }
    const char *const paths[] = {ca, key};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(chmod(paths[i], 0), 0);
        check_row(&rows[i]);
        assert_int_equal(chmod(paths[i], 0600), 0);
    }
}

/* Every allocation of opening fails in turn: each failure is reported, and nothing leaks
 * (sanitizers and the counter check that). */
struct counter {
    size_t calls, fail_at, in_use;
};

static void *count_malloc(size_t size, void *data) {
    struct counter *counter = data;
    if (++counter->calls == counter->fail_at) {
        return NULL;
    }
    counter->in_use++;
    return malloc(size);
}

static void count_free(void *pointer, void *data) {
    struct counter *counter = data;
    counter->in_use -= pointer != NULL;
    free(pointer);
}

TEST(opening_without_memory) {
    char error[REDLOCK_MESSAGE_MAX], two[300];
    struct counter counter = {0, 0, 0};
    redlock_allocator allocator = {count_malloc, count_free, &counter};
    const char *nodes[] = {NODE, "redis://127.0.0.1:2", two};
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    snprintf(two, sizeof two, "rediss://127.0.0.1:3?tls_ca=%s", folder);
    options.nodes = nodes;
    options.n_nodes = 3;
    options.allocator = &allocator;
    options.tls_ca = ca;
    options.tls_cert = cert;
    options.tls_key = key;
    bool struck = true;
    for (size_t nth = 1; struck; nth++) {
        counter.calls = 0;
        counter.fail_at = nth;
        int status = try_options(&options, error);
        struck = counter.calls >= nth;
        assert_true(status == 0 || status == REDLOCK_ERR_NOMEM);
        assert_int_equal(counter.in_use, 0);
        assert_true(nth < 1000);
    }
    assert_int_equal(redlock_has_tls(), 1);
}

TEST_GROUP(make_files, remove_files)
