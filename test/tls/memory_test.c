/* OpenSSL's own allocations fail, one by one: while a client opens, and while a connection is made,
 * used and closed. Each failure is reported, nothing crashes, and no other certificate becomes
 * trusted. */
#include <errno.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include "redlock/status.h"
#include "seed.h"
#include "tls/context.h"
#include "tls/pair.h"
#include "tls/scene.h"
#include "tls/state.h"

/* Each failure costs a handshake, or reading certificates: a run lets one in so many allocations
 * fail, with a different start each time. Odd, so that every second failure lasts (and_later). */
#define OPENING_STEP 7
#define CONNECTING_STEP 31

static size_t first(size_t step) {
    return 1 + (size_t)(random_seed() % step);
}

static struct {
    size_t calls, fail_at; /* the allocation that fails, from 1 */
    bool and_later;
    bool is_armed;
} memory;

static bool strikes(void) {
    if (!memory.is_armed || pair_at_server) {
        return false;
    }
    memory.calls++;
    return memory.calls == memory.fail_at || (memory.and_later && memory.calls > memory.fail_at);
}

static void *hooked_malloc(size_t size, const char *file, int line) {
    (void)file, (void)line;
    return strikes() ? NULL : malloc(size);
}

static void *hooked_realloc(void *pointer, size_t size, const char *file, int line) {
    (void)file, (void)line;
    return strikes() ? NULL : realloc(pointer, size);
}

static void hooked_free(void *pointer, const char *file, int line) {
    (void)file, (void)line;
    free(pointer);
}

static void arm(size_t nth) {
    memory.calls = 0;
    memory.fail_at = nth;
    memory.and_later = nth % 2 == 0;
    memory.is_armed = true;
}

/* Whether the failure struck. */
static bool disarm(void) {
    memory.is_armed = false;
    return memory.calls >= memory.fail_at;
}

static void *plain_malloc(size_t size, void *data) {
    return malloc(size);
}

static void plain_free(void *pointer, void *data) {
    free(pointer);
}

/* A client that opens is complete. */
TEST(opening) {
    struct scene *scene = *state;
    static const redlock_allocator ours = {plain_malloc, plain_free, NULL};
    char cert[160], key[160], error[512];
    tls_cert_write(&scene->leaf, scene->folder, "leaf", cert, sizeof cert);
    tls_key_write(&scene->leaf, scene->folder, "leaf", key, sizeof key);
    const struct rl_tls_settings settings = {.ca = scene->ca, .cert = cert, .key = key};
    /* OpenSSL initializes itself once in a process, here; if that lacks memory, it fails for
     * good. */
    struct rl_tls *before;
    assert_int_equal(rl_tls_new(&before, &ours, &settings, error, sizeof error), 0);
    rl_tls_free(before);
    bool struck = true;
    size_t failures = 0;
    for (size_t nth = first(OPENING_STEP); struck; nth += OPENING_STEP) {
        struct rl_tls *tls = NULL;
        error[0] = '\0';
        arm(nth);
        int status = rl_tls_new(&tls, &ours, &settings, error, sizeof error);
        struck = disarm();
        failures += status != 0;
        assert_int_equal(status == 0, tls != NULL);
        assert_int_equal(status == 0, error[0] == '\0');
        assert_true(status == 0 || struck);
        if (status == 0) {
            X509_STORE *store = SSL_CTX_get_cert_store(tls->context);
            assert_int_equal(sk_X509_OBJECT_num(X509_STORE_get0_objects(store)), 1);
            assert_int_equal(SSL_CTX_check_private_key(tls->context), 1);
            assert_true(SSL_CTX_get_min_proto_version(tls->context) >= TLS1_2_VERSION);
            assert_true((SSL_CTX_get_options(tls->context) & SSL_OP_NO_RENEGOTIATION) != 0);
        }
        rl_tls_free(tls);
        assert_int_equal(ERR_peek_error(), 0);
    }
    assert_true(failures > 10);
    remove(cert);
    remove(key);
}

/* A connection to a server with this certificate. */
static void connecting(struct scene *scene, const struct tls_cert *cert, bool is_good) {
    struct rl_tls_settings settings = {.ca = scene->ca};
    struct pair pair;
    bool struck = true;
    size_t failures = 0;
    pair_begin(&pair, &settings, SCENE_HOST, cert);
    for (size_t nth = first(CONNECTING_STEP); struck; nth += CONNECTING_STEP) {
        arm(nth);
        bool begun = pair_dial(&pair);
        pair_run(&pair);
        if (pair.ups == 1 && pair.ends == 0) {
            pair_write(&pair, "PING", 4);
        }
        pair_close(&pair);
        struck = disarm();
        failures += !begun || pair.ends == 1;
        assert_true(begun || struck);
        assert_true(is_good || pair.ups == 0);
        assert_true(!is_good || struck || (pair.ups == 1 && pair.ends == 0));
        pair_hang_up(&pair);
    }
    assert_true(failures > 10);
    pair_end(&pair);
}

TEST(connecting_to_the_node) {
    struct scene *scene = *state;
    connecting(scene, &scene->leaf, true);
}

TEST(connecting_to_another) {
    struct scene *scene = *state;
    connecting(scene, &scene->other, false);
}

TEST(connecting_to_another_name) {
    struct scene *scene = *state;
    struct tls_cert cert;
    tls_cert_make(&cert, &(struct tls_wish){.alt_names = "DNS:elsewhere.example",
                                            .issuer = &scene->authority});
    connecting(scene, &cert, false);
    tls_cert_free(&cert);
}

int main(void) {
    /* Must come before OpenSSL's first allocation. */
    if (CRYPTO_set_mem_functions(hooked_malloc, hooked_realloc, hooked_free) != 1) {
        return 1;
    }
    return test_run(0);
}

TEST_GROUP(scene_begin, scene_end)
