/* A server that keeps the rules of TLS but costs too much: endless messages without data, answers
 * that it does not read, records and numbers that are too long. */

#include <openssl/objects.h>

#include "tls/pair.h"
#include "tls/scene.h"
#include "tls/state.h"

static void dial_and_run(struct pair *pair) {
    assert_true(pair_dial(pair));
    pair_run(pair);
    assert_int_equal(pair->ups, 1);
}

/* The server renews its keys and announces that; asks: it requests new ones from the client,
 * too. */
static void renew_keys(struct pair *pair, bool asks) {
    int how = asks ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED;
    assert_int_equal(SSL_key_update(pair->server, how), 1);
    assert_int_equal(SSL_do_handshake(pair->server), 1);
}

static void assert_ended(const struct pair *pair, const char *words) {
    assert_int_equal(pair->ends, 1);
    assert_int_equal(pair->error, RL_END_TLS);
    assert_contains(pair->detail, words);
}

/* Each message of 27 bytes costs a key derivation. */
PAIR_TEST(new_keys_without_end) {
    for (size_t piece = 0; piece < 2; piece++) { /* in one event, and in one event for each byte */
        pair->piece = piece;
        dial_and_run(pair);
        for (int i = 0; i < 100; i++) {
            renew_keys(pair, false);
        }
        pair_flush(pair);
        pair_run(pair);
        assert_ended(pair, "no data");
        assert_int_equal(pair->got.length, 0);
        assert_null(scene_session(pair));
        pair_hang_up(pair);
    }
    pair->piece = 0;
}

/* Between data the server may renew keys as often as a reasonable server would. */
PAIR_TEST(new_keys_between_data) {
    dial_and_run(pair);
    for (size_t i = 0; i < 20; i++) {
        for (int n = 0; n < 10; n++) {
            renew_keys(pair, true);
        }
        assert_int_equal(SSL_write(pair->server, "x", 1), 1);
        pair_flush(pair);
        pair_run(pair);
        assert_int_equal(pair->ends, 0);
        assert_int_equal(pair->got.length, i + 1);
    }
    pair_hang_up(pair);
}

/* It requests new keys and reads no answer: the unsent data is bounded. */
PAIR_TEST(answers_nobody_reads) {
    pair->room = 10000;
    dial_and_run(pair);
    pair->has_ended = true; /* the server reads no more */
    for (int i = 0; i < 10000 && pair->ends == 0; i++) {
        assert_int_equal(SSL_write(pair->server, "x", 1), 1);
        renew_keys(pair, true);
        pair_flush(pair);
        pair_run(pair);
    }
    assert_ended(pair, "does not read");
    pair->room = 0;
    pair_hang_up(pair);
}

/* The length alone ends the connection, without waiting for the rest. */
PAIR_TEST(a_record_is_too_long) {
    dial_and_run(pair);
    pair_say(pair, "\x17\x03\x03\xff\xff", 5);
    pair_run(pair);
    assert_ended(pair, "TLS");
    pair_hang_up(pair);
    assert_true(pair_dial(pair));
    pair_say(pair, "\x16\x03\x03\xff\xff", 5);
    pair_run(pair);
    assert_ended(pair, "TLS");
    pair_hang_up(pair);
}

/* The server cannot choose a costly key exchange. */
SCENE_TEST(keys_are_exchanged_by_curves) {
    struct scene *scene = *state;
    const STACK_OF(SSL_CIPHER) *ciphers = SSL_CTX_get_ciphers(scene->pair.tls->context);
    int of_1_2 = 0, of_1_3 = 0;
    for (int i = 0; i < sk_SSL_CIPHER_num(ciphers); i++) {
        int exchange = SSL_CIPHER_get_kx_nid(sk_SSL_CIPHER_value(ciphers, i));
        assert_true(exchange == NID_kx_ecdhe || exchange == NID_kx_any);
        of_1_2 += exchange == NID_kx_ecdhe;
        of_1_3 += exchange == NID_kx_any;
    }
    assert_true(of_1_2 > 0 && of_1_3 > 0);
}

TEST_GROUP(scene_begin, scene_end)
