/* The start of the tests of a stream with TLS: an authority, certificates by it and by another one,
 * a folder with the authority's, and a pair whose client trusts it. */
#ifndef TLS_SCENE_H
#define TLS_SCENE_H

#include <openssl/ssl.h>

#include "tls/certs.h"
#include "tls/pair.h"

#define SCENE_HOST "node.example"

struct scene {
    struct tls_cert authority; /* trusted */
    struct tls_cert leaf;      /* for SCENE_HOST, by the authority */
    struct tls_cert stranger;  /* an authority that nobody trusts */
    struct tls_cert other;     /* for SCENE_HOST, by the stranger */
    char folder[64];
    char ca[128];
    struct pair pair;
};

/* Setup of the group, and of each test. */
int scene_begin(void **state);
int scene_end(void **state);
int scene_setup(void **state);
int scene_teardown(void **state);
struct pair *scene_pair(void **state);
#define SCENE_TEST(name) TEST_WITH(name, scene_setup, scene_teardown)
/* The same, with its pair. */
#define PAIR_TEST(name)                       \
    static void name##_on(struct pair *pair); \
    SCENE_TEST(name) {                        \
        name##_on(scene_pair(state));         \
    }                                         \
    static void name##_on(struct pair *pair)

/* The session that the next connection resumes. */
SSL_SESSION *scene_session(const struct pair *pair);

#endif
