/* Which certificates are accepted, and with which message the others are refused: a table. */
#include <time.h>

#include "tls/pair.h"
#include "tls/scene.h"

enum signer { BY_AUTHORITY, BY_STRANGER, BY_ITSELF, BY_EXPIRED };

struct row {
    const char *name; /* that the client expects */
    struct tls_wish wish;
    enum signer signer;
    const char *words; /* the refusal's; NULL: accepted */
};

static const struct row rows[] = {
    /* names */
    {"a.example", {.alt_names = "DNS:b.example,DNS:a.example"}, BY_AUTHORITY, NULL},
    {"a.example.", {.alt_names = "DNS:a.example"}, BY_AUTHORITY, NULL},
    {"a.example", {.alt_names = "DNS:A.Example"}, BY_AUTHORITY, NULL},
    {"a.b.example", {.alt_names = "DNS:*.b.example"}, BY_AUTHORITY, NULL},
    {"a.a.b.example",
     {.alt_names = "DNS:*.b.example"},
     BY_AUTHORITY,
     "name mismatch: the certificate is for *.b.example, not for a.a.b.example"},
    {"a1.b.example", {.alt_names = "DNS:a*.b.example"}, BY_AUTHORITY, "name mismatch"},
    {"a.example",
     {.alt_names = "DNS:b.example,IP:10.0.0.1"},
     BY_AUTHORITY,
     "name mismatch: the certificate is for b.example, 10.0.0.1, not for a.example"},
    {"a.example",
     {.common_name = "a.example"},
     BY_AUTHORITY,
     "name mismatch: the certificate has no host in its subjectAltName"},
    {"a.example",
     {.common_name = "a.example", .alt_names = "email:a@a.example"},
     BY_AUTHORITY,
     "no host in its subjectAltName"},
    {"a.example",
     {.alt_names = "DNS:a-rather-long-name.of-some-machine.example,DNS:another.machine.example"},
     BY_AUTHORITY,
     "for a-rather-long-name.of-some-machine.example, ..., not for a.example"},
    /* addresses: neither a name nor sent as SNI */
    {"127.0.0.1", {.alt_names = "IP:127.0.0.1"}, BY_AUTHORITY, NULL},
    {"::1", {.alt_names = "IP:::1"}, BY_AUTHORITY, NULL},
    {"127.0.0.1", {.alt_names = "DNS:127.0.0.1"}, BY_AUTHORITY, "name mismatch"},
    {"127.0.0.1",
     {.common_name = "127.0.0.1", .alt_names = "IP:127.0.0.2"},
     BY_AUTHORITY,
     "is for 127.0.0.2, not for 127.0.0.1"},
    /* time */
    {"a.example",
     {.alt_names = "DNS:a.example", .from_days = -20, .until_days = -10},
     BY_AUTHORITY,
     "certificate expired on %1"},
    {"a.example",
     {.alt_names = "DNS:a.example", .from_days = 10, .until_days = 20},
     BY_AUTHORITY,
     "certificate is not valid before %2"},
    {"a.example",
     {.alt_names = "DNS:a.example"},
     BY_EXPIRED,
     "the authority Was good once expired on %1"},
    /* authorities */
    {"a.example",
     {.alt_names = "DNS:a.example"},
     BY_STRANGER,
     "unknown authority: Stranger is not in tls_ca"},
    {"a.example",
     {.alt_names = "DNS:a.example"},
     BY_ITSELF,
     "self-signed certificate that is not in tls_ca"},
};

static void expand(const char *words, char *text, size_t size) {
    time_t now = time(NULL);
    const char *mark = strchr(words, '%');
    if (mark == NULL) {
        snprintf(text, size, "%s", words);
        return;
    }
    time_t when = now + (mark[1] == '1' ? -10 : 10) * 24L * 60 * 60;
    struct tm tm;
    char day[32];
    strftime(day, sizeof day, "%Y-%m-%d", gmtime_r(&when, &tm)); /* seconds may have passed */
    snprintf(text, size, "%.*s%s", (int)(mark - words), words, day);
}

static void check_row(struct scene *scene, const struct row *row, const struct tls_cert *expired,
                      bool insecure) {
    struct rl_tls_settings settings = {.ca = insecure ? NULL : scene->ca, .insecure = insecure};
    struct tls_wish wish = row->wish;
    struct tls_cert cert;
    char words[256];
    wish.issuer = row->signer == BY_AUTHORITY  ? &scene->authority
                  : row->signer == BY_STRANGER ? &scene->stranger
                  : row->signer == BY_EXPIRED  ? expired
                                               : NULL;
    tls_cert_make(&cert, &wish);
    struct pair pair;
    pair_begin(&pair, &settings, row->name, &cert);
    if (row->signer == BY_EXPIRED) { /* the server must send the chain */
        X509 *chain = X509_dup(expired->x509);
        assert_int_equal(SSL_CTX_add_extra_chain_cert(pair.server_context, chain), 1);
    }
    assert_true(pair_dial(&pair));
    pair_run(&pair);
    if (insecure || row->words == NULL) {
        if (pair.ups != 1) {
            print_error("%s: %s\n", row->name, pair.detail);
        }
        assert_int_equal(pair.ups, 1);
    } else {
        expand(row->words, words, sizeof words);
        assert_int_equal(pair.ups, 0);
        assert_int_equal(pair.error, RL_END_CERTIFICATE);
        assert_contains(pair.detail, words);
    }
    pair_end(&pair);
    tls_cert_free(&cert);
}

TEST(is_verified) {
    struct scene *scene = *state;
    struct tls_cert expired;
    tls_cert_make(&expired, &(struct tls_wish){.common_name = "Was good once",
                                               .is_authority = true,
                                               .issuer = &scene->authority,
                                               .from_days = -20,
                                               .until_days = -10});
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_row(scene, &rows[i], &expired, false);
        check_row(scene, &rows[i], &expired, true);
    }
    tls_cert_free(&expired);
}

/* A client that names no authority trusts only the system's. */
TEST(without_a_ca_the_system_decides) {
    struct scene *scene = *state;
    static const char *const words[] = {"unknown authority Authority: set tls_ca",
                                        "self-signed certificate: set tls_ca to it"};
    for (size_t i = 0; i < 2; i++) {
        struct tls_cert cert;
        struct pair pair;
        tls_cert_make(&cert, &(struct tls_wish){.alt_names = "DNS:a.example",
                                                .issuer = i == 0 ? &scene->authority : NULL});
        pair_begin(&pair, NULL, "a.example", &cert);
        assert_true(pair_dial(&pair));
        pair_run(&pair);
        assert_int_equal(pair.error, RL_END_CERTIFICATE);
        assert_contains(pair.detail, words[i]);
        pair_end(&pair);
        tls_cert_free(&cert);
    }
}

/* tls_ca may name the certificate itself, or an intermediate authority. */
TEST(the_certificate_itself_may_be_trusted) {
    struct scene *scene = *state;
    char path[160];
    tls_cert_write(&scene->other, scene->folder, "itself", path, sizeof path);
    struct rl_tls_settings settings = {.ca = path};
    struct pair pair;
    pair_begin(&pair, &settings, SCENE_HOST, &scene->other);
    assert_true(pair_dial(&pair));
    pair_run(&pair);
    assert_int_equal(pair.ups, 1);
    pair_end(&pair);
    remove(path);
}

/* Names come from a stranger: messages escape their bytes and limit their length. */
TEST(what_is_shown_is_printable) {
    struct scene *scene = *state;
    static const char *const names[] = {"\x1b[2J\r\n\x7f", "%s%n%s%n",
                                        "0123456789012345678901234567890123456789012345678901234"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct tls_cert authority, cert;
        struct rl_tls_settings settings = {.ca = scene->ca};
        struct pair pair;
        tls_cert_make(&authority,
                      &(struct tls_wish){.common_name = names[i], .is_authority = true});
        tls_cert_make(&cert,
                      &(struct tls_wish){.alt_names = "DNS:a.example", .issuer = &authority});
        pair_begin(&pair, &settings, "a.example", &cert);
        assert_true(pair_dial(&pair));
        pair_run(&pair); /* it checks each byte */
        assert_int_equal(pair.error, RL_END_CERTIFICATE);
        assert_true(strlen(pair.detail) < 128);
        pair_end(&pair);
        tls_cert_free(&cert);
        tls_cert_free(&authority);
    }
}

/* -- The client's certificate -- */

static void run_with_client_cert(struct scene *scene, const struct tls_cert *cert, int version,
                                 bool must, const char *words) {
    char cert_path[160] = "", key_path[160] = "";
    struct rl_tls_settings settings = {.ca = scene->ca};
    struct pair pair;
    if (cert != NULL) {
        tls_cert_write(cert, scene->folder, "own", cert_path, sizeof cert_path);
        tls_key_write(cert, scene->folder, "own", key_path, sizeof key_path);
        settings.cert = cert_path;
        settings.key = key_path;
    }
    pair_begin(&pair, &settings, SCENE_HOST, &scene->leaf);
    SSL_CTX_set_max_proto_version(pair.server_context, version);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(pair.server_context), scene->authority.x509);
    SSL_CTX_set_verify(pair.server_context,
                       SSL_VERIFY_PEER | (must ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), NULL);
    assert_true(pair_dial(&pair));
    pair_run(&pair);
    if (words == NULL) {
        assert_int_equal(pair.ups, 1);
        pair_write(&pair, "PING", 4);
        assert_int_equal(pair.got.length, 4);
    } else { /* with TLS 1.3 it is up before the server checks */
        assert_int_equal(pair.ends, 1);
        assert_int_equal(pair.error, RL_END_TLS);
        assert_contains(pair.detail, words);
    }
    pair_end(&pair);
    remove(cert_path);
    remove(key_path);
}

TEST(shows_its_own) {
    struct scene *scene = *state;
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    struct tls_cert expired;
    tls_cert_make(&expired, &(struct tls_wish){
                                .issuer = &scene->authority, .from_days = -20, .until_days = -10});
    for (size_t i = 0; i < 2; i++) {
        run_with_client_cert(scene, &scene->leaf, versions[i], true, NULL);
        run_with_client_cert(scene, NULL, versions[i], false, NULL);
        run_with_client_cert(scene, NULL, versions[i], true, "client certificate");
        run_with_client_cert(scene, &expired, versions[i], true, "for expired");
        run_with_client_cert(scene, &scene->other, versions[i], true, "authority of our");
    }
    tls_cert_free(&expired);
}

TEST_GROUP(scene_begin, scene_end)
