/* See scene.h. */
#include "tls/scene.h"

#include <unistd.h>

#include "tls/state.h"

int scene_begin(void **state) {
    struct scene *scene = calloc(1, sizeof *scene);
    const char *temporary = getenv("TMPDIR");
    if (scene == NULL) {
        return -1;
    }
    snprintf(scene->folder, sizeof scene->folder, "%.40s/tls.XXXXXX",
             temporary != NULL ? temporary : "/tmp");
    if (mkdtemp(scene->folder) == NULL) {
        free(scene);
        return -1;
    }
    tls_cert_make(&scene->authority,
                  &(struct tls_wish){.common_name = "Authority", .is_authority = true});
    tls_cert_make(&scene->leaf,
                  &(struct tls_wish){.alt_names = "DNS:" SCENE_HOST, .issuer = &scene->authority});
    tls_cert_make(&scene->stranger,
                  &(struct tls_wish){.common_name = "Stranger", .is_authority = true});
    tls_cert_make(&scene->other,
                  &(struct tls_wish){.alt_names = "DNS:" SCENE_HOST, .issuer = &scene->stranger});
    tls_cert_write(&scene->authority, scene->folder, "ca", scene->ca, sizeof scene->ca);
    *state = scene;
    return 0;
}

int scene_end(void **state) {
    struct scene *scene = *state;
    tls_cert_free(&scene->authority);
    tls_cert_free(&scene->leaf);
    tls_cert_free(&scene->stranger);
    tls_cert_free(&scene->other);
    unlink(scene->ca);
    rmdir(scene->folder);
    free(scene);
    return 0;
}

int scene_setup(void **state) {
    struct scene *scene = *state;
    struct rl_tls_settings settings = {.ca = scene->ca};
    pair_begin(&scene->pair, &settings, SCENE_HOST, &scene->leaf);
    return 0;
}

int scene_teardown(void **state) {
    struct scene *scene = *state;
    pair_end(&scene->pair);
    return 0;
}

struct pair *scene_pair(void **state) {
    return &((struct scene *)*state)->pair;
}

SSL_SESSION *scene_session(const struct pair *pair) {
    const struct rl_tls_peer *peer = (const struct rl_tls_peer *)(const void *)pair->dialer;
    return peer->n_sessions > 0 ? peer->sessions[peer->n_sessions - 1] : NULL;
}
