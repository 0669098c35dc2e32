/* See rotating.h. */

#include "fake/rotating.h"

static char urls[FIVE][64];

void rotating_know(struct five *f, size_t index, const char *password) {
    server_add_user(fake_node_server(f->nodes[index]), "app", password);
}

void rotating_prepare(struct five *f, const char *password) {
    for (size_t i = 0; i < FIVE; i++) {
        server_set_password(fake_node_server(f->nodes[i]), "app", "old");
        snprintf(urls[i], sizeof urls[i], "redis://app:%s@%s", password,
                 fake_node_name(f->nodes[i]));
        f->urls[i] = urls[i];
    }
}

void rotating_open(struct five *f) {
    assert_int_equal(five_open(f), 0);
    five_wait_up(f, FIVE);
    assert_int_equal(five_acquire(f, f->lock), 0);
}

void rotating_start(struct five *f) {
    five_start(f);
    rotating_prepare(f, "old");
    rotating_open(f);
}

void rotating_check(struct five *f) {
    assert_int_equal(f->lost.calls, 0);
    assert_int_equal(five_extend(f, f->lock), 0);
    assert_int_equal(five_release(f, f->lock), 0);
}

void rotating_stop(struct five *f) {
    rotating_check(f);
    five_stop(f);
}

void rotating_set(struct five *f, size_t index, const char *password) {
    assert_int_equal(redlock_client_set_credentials(f->client, index, "app", password), 0);
}

struct wanted {
    size_t index;
    int credentials;
    uint64_t connects;
};

static bool is_so(struct five *f, void *data) {
    const struct wanted *wanted = data;
    redlock_node_info info = five_info(f, wanted->index);
    return info.up && info.credentials == wanted->credentials && info.connects >= wanted->connects;
}

void rotating_wait(struct five *f, size_t index, int credentials, uint64_t connects) {
    struct wanted wanted = {index, credentials, connects};
    assert_true(five_run_until(f, is_so, &wanted));
}
