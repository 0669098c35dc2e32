/* A stream with TLS and a server in memory: data in pieces of all sizes, cut, changed or stuck
 * connections, and failed allocations. */
#include <errno.h>
#include <unistd.h>

#include <openssl/err.h>

#include "marks.h"
#include "tls/pair.h"
#include "tls/scene.h"
#include "tls/state.h"

static const char question[] = "*1\r\n$4\r\nPING\r\n";
#define QUESTION (sizeof question - 1)

static void assert_got(const struct pair *pair, const void *bytes, size_t length) {
    assert_int_equal(pair->got.length, length);
    assert_memory_equal(pair->got.bytes, bytes, length);
}

/* -- As without TLS -- */

PAIR_TEST(answers_come_back) {
    assert_true(pair_dial(pair));
    assert_int_equal(pair->ups, 0); /* no event from inside a call */
    pair_run(pair);
    assert_int_equal(pair->ups, 1);
    pair_write(pair, question, QUESTION);
    assert_got(pair, question, QUESTION);
    assert_int_equal(pair->ends, 0);
    assert_false(pair->has_ended);
    pair_hang_up(pair);
}

PAIR_TEST(comes_byte_by_byte) {
    pair->piece = 1;
    assert_true(pair_dial(pair));
    pair_run(pair);
    pair_write(pair, question, QUESTION);
    assert_got(pair, question, QUESTION);
    pair_hang_up(pair);
}

/* Writes more than a record to a stream below that takes little at a time: nothing is lost, doubled
 * or reordered, and `room` comes whenever it was promised. */
PAIR_TEST(waits_for_room) {
    static char much[100000];
    static const size_t rooms[] = {1, 7, 1000, 16406, 50000};
    for (size_t i = 0; i < sizeof much; i++) {
        much[i] = (char)(i * 31 + i / 251);
    }
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        MARK_FROM(TLS_PARTIAL);
        size_t length = rooms[i] < 1000 ? 3000 : sizeof much;
        pair->room = rooms[i];
        assert_true(pair_dial(pair));
        pair_run(pair);
        assert_int_equal(pair->ups, 1);
        pair_write(pair, much, length);
        assert_got(pair, much, length);
        assert_true(length < 16000 || pair->rooms > 0);
        MARK_TO(TLS_PARTIAL);
        pair_hang_up(pair);
    }
}

/* -- The end -- */

PAIR_TEST(says_goodbye) {
    assert_true(pair_dial(pair));
    pair_run(pair);
    pair_close(pair);
    pair_run(pair);
    assert_true(pair->has_ended);
    assert_int_equal(SSL_get_shutdown(pair->server) & SSL_RECEIVED_SHUTDOWN, SSL_RECEIVED_SHUTDOWN);
    assert_int_equal(pair->ends, 0);
    pair_hang_up(pair);
}

PAIR_TEST(goodbye_is_the_end) {
    assert_true(pair_dial(pair));
    pair_run(pair);
    SSL_shutdown(pair->server);
    pair_flush(pair);
    pair_run(pair);
    assert_int_equal(pair->ends, 1);
    assert_int_equal(pair->error, 0);
    pair_hang_up(pair);
}

/* Wherever the connection is cut, `end` comes exactly once: with TLS's message until it is up, and
 * as any end afterwards. */
PAIR_TEST(is_cut_anywhere) {
    size_t whole = SIZE_MAX;
    for (size_t cut = 0; cut < whole; cut++) {
        pair->cut_after = SIZE_MAX;
        assert_true(pair_dial(pair));
        pair->cut_after = cut;
        pair_run(pair);
        if (pair->ends == 0) { /* the whole exchange fitted */
            whole = cut;
        } else {
            assert_int_equal(pair->ends, 1);
            assert_int_equal(pair->error, pair->ups == 0 ? RL_END_TLS : 0);
        }
        pair_hang_up(pair);
    }
    assert_true(whole > 500);
    pair->cut_after = SIZE_MAX;
}

/* The owner may close in every event. */
PAIR_TEST(is_closed_in_events) {
    static char much[40000];
    for (int event = PAIR_REACHED; event <= PAIR_END; event++) {
        pair->room = 1000;
        pair->close_in = event;
        assert_true(pair_dial(pair));
        if (event == PAIR_END) {
            pair_say(pair, "no TLS, that is for sure\r\n", 26);
        }
        pair_run(pair);
        if (event == PAIR_ROOM) {
            pair->is_mute = true;
        }
        if (pair->stream != NULL) {
            pair_write(pair, much, sizeof much);
        }
        assert_null(pair->stream);
        pair_hang_up(pair);
    }
}

/* -- What is not TLS -- */

PAIR_TEST(plain_is_no_tls) {
    static const char *const answers[] = {
        "-ERR unknown command '\x16\x03\x01', with args beginning with: \r\n",
        "+PONG\r\n+PONG\r\n",
        "HTTP/1.1 400 Bad Request\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n",
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        assert_true(pair_dial(pair));
        pair_say(pair, answers[i], strlen(answers[i]));
        pair_run(pair);
        assert_int_equal(pair->ups, 0);
        assert_int_equal(pair->ends, 1);
        assert_int_equal(pair->error, RL_END_TLS);
        assert_contains(pair->detail, "not TLS");
        /* Later bytes on the stream below cause no event of this one. */
        pair_say(pair, answers[i], strlen(answers[i]));
        pair_run(pair);
        pair->cut_after = pair->delivered;
        pair_run(pair);
        assert_int_equal(pair->ends, 1);
        pair->cut_after = SIZE_MAX;
        pair_hang_up(pair);
    }
}

static size_t bent_at;
static void bend(struct pair *pair, char *bytes, size_t length) {
    if (bent_at < length && pair->is_shaken && pair->ups == 1) {
        bytes[bent_at] ^= 0x20;
    }
}

/* Flips one bit in any byte of an answer: it is not delivered, and the connection ends. */
PAIR_TEST(a_changed_record_is_the_end) {
    pair->bend = bend;
    for (bent_at = 0; bent_at < QUESTION + 5; bent_at++) {
        assert_true(pair_dial(pair));
        pair_run(pair);
        assert_int_equal(pair->ups, 1);
        pair_write(pair, question, QUESTION);
        assert_int_equal(pair->got.length, 0);
        if (pair->ends == 0) { /* the record's length grew: it waits for the rest */
            assert_true(bent_at == 3 || bent_at == 4);
        } else {
            assert_int_equal(pair->error, RL_END_TLS);
        }
        pair_hang_up(pair);
    }
    pair->bend = NULL;
}

static void another_fails(void) {
    ERR_put_error(ERR_LIB_SSL, 0, SSL_R_CERTIFICATE_VERIFY_FAILED, __FILE__, __LINE__);
}

PAIR_TEST(errors_of_others_do_no_harm) {
    another_fails();
    assert_true(pair_dial(pair));
    do {
        another_fails();
    } while (pair_step(pair));
    assert_int_equal(pair->ups, 1);
    size_t taken = pair->stream->ops->write(pair->stream, question, QUESTION);
    assert_int_equal(taken, QUESTION);
    do {
        another_fails();
    } while (pair_step(pair));
    assert_int_equal(pair->ends, 0);
    assert_got(pair, question, QUESTION);
    another_fails();
    pair_hang_up(pair);
}

/* -- Versions and later handshakes -- */

PAIR_TEST(version_is_two_or_later) {
    static const int versions[] = {TLS1_1_VERSION, TLS1_2_VERSION, TLS1_3_VERSION};
    SSL_CTX_set_cipher_list(pair->server_context, "DEFAULT:@SECLEVEL=0");
    for (size_t i = 0; i < 3; i++) {
        SSL_CTX_set_min_proto_version(pair->server_context, 0);
        SSL_CTX_set_max_proto_version(pair->server_context, versions[i]);
        assert_true(pair_dial(pair));
        pair_run(pair);
        assert_int_equal(pair->ups, versions[i] >= TLS1_2_VERSION);
        if (pair->ups == 0) {
            assert_int_equal(pair->error, RL_END_TLS);
            assert_contains(pair->detail, "TLS 1.2");
        }
        pair_hang_up(pair);
    }
}

PAIR_TEST(does_not_shake_hands_anew) {
    SSL_CTX_set_max_proto_version(pair->server_context, TLS1_2_VERSION);
    assert_true(pair_dial(pair));
    pair_run(pair);
    assert_int_equal(SSL_renegotiate(pair->server), 1);
    SSL_do_handshake(pair->server); /* HelloRequest */
    pair_flush(pair);
    pair_run(pair);
    assert_false(SSL_is_init_finished(pair->server)); /* the client did not take part */
    assert_int_equal(pair->ups, 1);
    pair_hang_up(pair);
}

PAIR_TEST(keys_may_be_renewed) {
    assert_true(pair_dial(pair));
    pair_run(pair);
    assert_int_equal(SSL_key_update(pair->server, SSL_KEY_UPDATE_REQUESTED), 1);
    SSL_do_handshake(pair->server);
    pair_flush(pair);
    pair_run(pair);
    pair_write(pair, question, QUESTION);
    assert_got(pair, question, QUESTION);
    pair_hang_up(pair);
}

/* -- Names -- */

/* OpenSSL forgets which name to check, as 3.0 may without memory: the stream checks it, too. */
SCENE_TEST(a_forgotten_name_is_looked_at) {
    struct scene *scene = *state;
    static const char *const names[] = {SCENE_HOST, "127.0.0.1"};
    const struct rl_tls_settings settings = {.ca = scene->ca};
    struct tls_cert elsewhere;
    tls_cert_make(&elsewhere, &(struct tls_wish){.alt_names = "DNS:elsewhere.example",
                                                 .issuer = &scene->authority});
    for (size_t i = 0; i < 2; i++) {
        struct pair pair;
        pair_begin(&pair, &settings, names[i], &elsewhere);
        assert_true(pair_dial(&pair));
        struct rl_tls_stream *stream = (struct rl_tls_stream *)(void *)pair.stream;
        X509_VERIFY_PARAM *wanted = SSL_get0_param(stream->ssl);
        assert_int_equal(X509_VERIFY_PARAM_set1_host(wanted, NULL, 0), 1);
        assert_int_equal(X509_VERIFY_PARAM_set1_ip(wanted, NULL, 0), 1);
        pair_run(&pair);
        assert_int_equal(pair.ups, 0);
        assert_int_equal(pair.error, RL_END_CERTIFICATE);
        assert_string_equal(pair.detail, "the server has shown no certificate for its name");
        pair_hang_up(&pair);
        pair_end(&pair);
    }
    tls_cert_free(&elsewhere);
}

/* -- Sessions -- */

PAIR_TEST(is_resumed) {
    static const int versions[] = {TLS1_3_VERSION, TLS1_2_VERSION};
    for (size_t i = 0; i < 2; i++) {
        SSL_CTX_set_max_proto_version(pair->server_context, versions[i]);
        for (int n = 0; n < 5; n++) {
            MARK_FROM(TLS_RESUMED);
            bool dies = n == 2; /* like a server that is killed */
            assert_true(pair_dial(pair));
            pair_run(pair);
            assert_int_equal(pair->ups, 1);
            /* TLS 1.2 cannot resume a session of 1.3. */
            assert_int_equal(pair->resumed, n > 0);
            if (n > 0) {
                MARK_TO(TLS_RESUMED);
            }
            if (dies) {
                pair->cut_after = pair->delivered;
                pair_run(pair);
                assert_int_equal(pair->ends, 1);
                pair->cut_after = SIZE_MAX;
            }
            pair_hang_up(pair);
        }
    }
}

PAIR_TEST(a_ticket_of_1_3_is_used_once) {
    SSL_CTX_set_num_tickets(pair->server_context, 1);
    assert_true(pair_dial(pair));
    pair_run(pair);
    pair_hang_up(pair);
    SSL_CTX_set_num_tickets(pair->server_context, 0);
    for (int n = 0; n < 2; n++) {
        assert_true(pair_dial(pair));
        pair_run(pair);
        assert_int_equal(pair->resumed, n == 0);
        pair_hang_up(pair);
    }
}

/* The session may have made the handshake fail: the next one uses none. */
PAIR_TEST(a_failed_handshake_drops_them) {
    for (int cut = 0; cut < 2; cut++) {
        assert_true(pair_dial(pair));
        pair_run(pair);
        assert_int_equal(pair->ups, 1);
        assert_false(pair->resumed);
        assert_non_null(scene_session(pair));
        pair_hang_up(pair);
        assert_true(pair_dial(pair));
        if (cut) {
            pair->cut_after = 100;
        } else {
            pair_say(pair, "+PONG\r\n+PONG\r\n", 14);
        }
        pair_run(pair);
        assert_int_equal(pair->error, RL_END_TLS);
        assert_null(scene_session(pair));
        pair->cut_after = SIZE_MAX;
        pair_hang_up(pair);
    }
}

/* A server with another certificate does not know the ticket: its certificate is checked. */
SCENE_TEST(a_new_certificate_is_looked_at) {
    struct scene *scene = *state;
    struct pair *pair = &scene->pair;
    for (int n = 0; n < 3; n++) {
        assert_true(pair_dial(pair));
        pair_run(pair);
        assert_int_equal(pair->ups, n != 1);
        assert_false(pair->resumed);
        assert_int_equal(pair->error, n == 1 ? RL_END_CERTIFICATE : 0);
        pair_hang_up(pair);
        pair_serve(pair, n == 0 ? &scene->other : &scene->leaf);
    }
}

PAIR_TEST(a_session_ends_with_its_certificate) {
    assert_true(pair_dial(pair));
    pair_run(pair);
    pair_hang_up(pair);
    /* X509s are shared by reference count: this is the session's own. */
    SSL_SESSION *session = scene_session(pair);
    X509 *cert = SSL_SESSION_get0_peer(session);
    X509_gmtime_adj(X509_getm_notAfter(cert), -1);
    assert_true(pair_dial(pair));
    pair_run(pair);
    assert_false(pair->resumed);
    pair_hang_up(pair);
}

/* -- Memory -- */

PAIR_TEST(no_memory_is_an_end) {
    static char much[40000];
    bool struck = true;
    pair->room = 3000; /* so that part of a record must be kept */
    for (size_t nth = 1; struck; nth++) {
        pair->allocations = 0;
        pair->fail_at = nth;
        pair->and_later = nth % 2 == 0;
        bool begun = pair_dial(pair);
        if (begun) {
            pair_run(pair);
            if (pair->ends == 0) {
                pair_write(pair, much, sizeof much);
            }
        }
        struck = pair->allocations >= nth;
        assert_int_equal(begun && pair->ends == 0, !struck);
        assert_true(!begun || !struck || pair->error == ENOMEM);
        pair->fail_at = 0;
        pair_hang_up(pair);
        assert_true(nth < 100);
    }
}

TEST_GROUP(scene_begin, scene_end)
