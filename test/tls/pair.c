/* See pair.h. */
#include "tls/pair.h"

#include <errno.h>
#include <openssl/err.h>

#define EVENTS_MAX 4000000

bool pair_at_server;

/* An assertion that NDEBUG does not remove. */
static void demand(bool truth) {
    if (!truth) {
        abort();
    }
}

static void add(struct pair_bytes *to, const void *bytes, size_t length) {
    demand(to->length + length <= PAIR_BYTES_MAX);
    if (to->bytes == NULL) {
        to->bytes = malloc(PAIR_BYTES_MAX);
        demand(to->bytes != NULL);
    }
    memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
}

static void drop(struct pair_bytes *from, size_t length) {
    demand(length <= from->length);
    from->length -= length;
    memmove(from->bytes, from->bytes + length, from->length);
}

static void empty(struct pair_bytes *bytes) {
    free(bytes->bytes);
    *bytes = (struct pair_bytes){NULL, 0};
}

/* -- Memory -- */

static void *pair_malloc(size_t size, void *data) {
    struct pair *pair = data;
    pair->allocations++;
    if (pair->fail_at != 0 && (pair->allocations == pair->fail_at ||
                               (pair->and_later && pair->allocations > pair->fail_at))) {
        return NULL;
    }
    pair->in_use++;
    return malloc(size);
}

static void pair_free(void *pointer, void *data) {
    struct pair *pair = data;
    pair->in_use -= pointer != NULL;
    free(pointer);
}

/* -- The stream below -- */

static size_t under_write(struct rl_stream *stream, const char *bytes, size_t length) {
    struct pair_under *under = (struct pair_under *)(void *)stream;
    struct pair *pair = under->pair;
    demand(under->is_up && !under->is_over && !under->is_closed);
    size_t room = pair->room == 0                       ? length
                  : pair->room > pair->to_server.length ? pair->room - pair->to_server.length
                                                        : 0;
    size_t taken = room < length ? room : length;
    if (under->error != 0) {
        return 0;
    }
    add(&pair->to_server, bytes, taken);
    under->wants_room = taken < length;
    return taken;
}

static void under_fail(struct rl_stream *stream, int error) {
    struct pair_under *under = (struct pair_under *)(void *)stream;
    demand(under->is_up && !under->is_over && !under->is_closed && error > 0);
    under->error = error;
}

static void under_close(struct rl_stream *stream) {
    struct pair_under *under = (struct pair_under *)(void *)stream;
    demand(!under->is_closed);
    under->is_closed = true;
}

static const struct rl_stream_ops under_ops = {.write = under_write,
                                               .fail = under_fail,
                                               .close = under_close};

static struct rl_stream *dial(struct rl_world *world, const struct rl_address *to,
                              const struct rl_stream_events *events, void *owner, int *error) {
    struct pair *pair = (struct pair *)(void *)world;
    (void)to;
    (void)error;
    pair->under = calloc(1, sizeof *pair->under);
    demand(pair->under != NULL);
    pair->under->stream = (struct rl_stream){&under_ops, events, owner};
    pair->under->pair = pair;
    return &pair->under->stream;
}

static const struct rl_world_ops world_ops = {.dial = dial};

/* -- The owner -- */

static void owner_saw(struct pair *pair, enum pair_event event) {
    if (pair->close_in == (int)event) {
        pair_close(pair);
    }
}

static void on_reached(void *owner) {
    struct pair *pair = owner;
    demand(pair->reached == 0 && pair->ups == 0 && pair->ends == 0 && pair->stream != NULL);
    pair->reached++;
    owner_saw(pair, PAIR_REACHED);
}

static void on_up(void *owner) {
    struct pair *pair = owner;
    demand(pair->reached == 1 && pair->ups == 0 && pair->ends == 0 && pair->stream != NULL);
    pair->ups++;
    owner_saw(pair, PAIR_UP);
}

static void on_bytes(void *owner, const char *bytes, size_t length) {
    struct pair *pair = owner;
    demand(pair->ups == 1 && pair->ends == 0 && pair->stream != NULL && length > 0);
    add(&pair->got, bytes, length);
    owner_saw(pair, PAIR_BYTES);
}

static void on_room(void *owner) {
    struct pair *pair = owner;
    demand(pair->ups == 1 && pair->ends == 0 && pair->stream != NULL);
    pair->rooms++;
    owner_saw(pair, PAIR_ROOM);
}

static void on_end(void *owner, int error, const char *detail) {
    struct pair *pair = owner;
    demand(pair->ends == 0 && pair->stream != NULL);
    demand(error >= 0 || detail[0] != '\0');
    for (const char *c = detail; *c != '\0'; c++) {
        demand(*c >= 0x20 && *c < 0x7f);
    }
    pair->ends++;
    pair->error = error;
    snprintf(pair->detail, sizeof pair->detail, "%s", detail);
    owner_saw(pair, PAIR_END);
}

static const struct rl_stream_events owner_events = {on_reached, on_up, on_bytes, on_room, on_end};

/* -- The server -- */

void pair_flush(struct pair *pair) {
    char *out;
    long length = BIO_get_mem_data(SSL_get_wbio(pair->server), &out);
    if (length > 0) {
        pair_say(pair, out, (size_t)length);
        demand(BIO_reset(SSL_get_wbio(pair->server)) == 1);
    }
}

static void server_step(struct pair *pair) {
    char bytes[4096];
    int n = 0;
    pair_at_server = true;
    ERR_clear_error();
    demand(BIO_write(SSL_get_rbio(pair->server), pair->to_server.bytes,
                     (int)pair->to_server.length) == (int)pair->to_server.length);
    drop(&pair->to_server, pair->to_server.length);
    if (!pair->is_shaken) {
        n = SSL_do_handshake(pair->server);
        pair->is_shaken = n == 1;
        pair->resumed = pair->is_shaken && SSL_session_reused(pair->server);
    }
    while (pair->is_shaken && (n = SSL_read(pair->server, bytes, sizeof bytes)) > 0) {
        add(&pair->heard, bytes, (size_t)n);
        demand(pair->is_mute || SSL_write(pair->server, bytes, n) == n);
    }
    pair->has_ended = n <= 0 && SSL_get_error(pair->server, n) != SSL_ERROR_WANT_READ;
    pair_flush(pair);
    ERR_clear_error();
    pair_at_server = false;
}

void pair_serve(struct pair *pair, const struct tls_cert *cert) {
    SSL_CTX_free(pair->server_context);
    pair->server_context = SSL_CTX_new(TLS_server_method());
    demand(pair->server_context != NULL);
    demand(SSL_CTX_use_certificate(pair->server_context, cert->x509) == 1);
    demand(SSL_CTX_use_PrivateKey(pair->server_context, cert->key) == 1);
    SSL_CTX_set_session_id_context(pair->server_context, (const unsigned char *)"pair", 4);
}

/* -- Turns -- */

void pair_say(struct pair *pair, const void *bytes, size_t length) {
    add(&pair->to_client, bytes, length);
    if (pair->bend != NULL) {
        pair->bend(pair, pair->to_client.bytes + pair->to_client.length - length, length);
    }
}

static void end_below(struct pair *pair, int error) {
    pair->under->is_over = true;
    pair->under->stream.events->end(pair->under->stream.owner, error, "");
}

static void deliver(struct pair *pair) {
    char bytes[16384];
    size_t n = pair->piece != 0 ? pair->piece : sizeof bytes;
    n = n < pair->to_client.length ? n : pair->to_client.length;
    n = n < sizeof bytes ? n : sizeof bytes;
    n = n < pair->cut_after - pair->delivered ? n : pair->cut_after - pair->delivered;
    memcpy(bytes, pair->to_client.bytes, n);
    drop(&pair->to_client, n);
    pair->delivered += n;
    pair->under->stream.events->bytes(pair->under->stream.owner, bytes, n);
}

bool pair_step(struct pair *pair) {
    struct pair_under *under = pair->under;
    if (under == NULL) {
        return false;
    }
    if (pair->to_server.length > 0 && !pair->has_ended) {
        server_step(pair);
        return true;
    }
    if (under->is_over || under->is_closed) {
        return false;
    }
    if (!under->is_up) {
        under->is_up = true;
        under->stream.events->up(under->stream.owner);
    } else if (under->error != 0) {
        end_below(pair, under->error);
    } else if (pair->delivered == pair->cut_after) {
        end_below(pair, 0);
    } else if (pair->to_client.length > 0) {
        deliver(pair);
    } else if (under->wants_room && pair->to_server.length < pair->room) {
        under->wants_room = false;
        under->stream.events->room(under->stream.owner);
    } else {
        return false;
    }
    return true;
}

void pair_run(struct pair *pair) {
    for (size_t i = 0; pair_step(pair); i++) {
        demand(i < EVENTS_MAX);
    }
}

void pair_write(struct pair *pair, const void *bytes, size_t length) {
    const char *from = bytes;
    size_t done = 0;
    while (done < length && pair->stream != NULL && pair->ends == 0) {
        int rooms = pair->rooms;
        size_t taken = pair->stream->ops->write(pair->stream, from + done, length - done);
        demand(taken <= length - done);
        done += taken;
        while (done < length && pair->rooms == rooms && pair->ends == 0 && pair->stream != NULL) {
            demand(pair_step(pair)); /* `room` or `end` was promised */
        }
    }
    pair_run(pair);
}

/* -- The whole -- */

void pair_begin(struct pair *pair, const struct rl_tls_settings *settings, const char *name,
                const struct tls_cert *cert) {
    static const struct rl_tls_settings none;
    char error[512] = "";
    memset(pair, 0, sizeof *pair);
    pair->memory = (redlock_allocator){pair_malloc, pair_free, pair};
    pair->world.ops = &world_ops;
    pair->cut_after = SIZE_MAX;
    if (rl_tls_new(&pair->tls, &pair->memory, settings != NULL ? settings : &none, error,
                   sizeof error) != 0) {
        fprintf(stderr, "%s\n", error);
        abort();
    }
    pair->dialer = rl_tls_peer_new(pair->tls, name);
    demand(pair->dialer != NULL);
    pair_serve(pair, cert);
}

bool pair_dial(struct pair *pair) {
    static const struct rl_address nowhere;
    int error = 0;
    demand(pair->stream == NULL && pair->under == NULL && pair->server == NULL);
    pair_at_server = true;
    pair->server = SSL_new(pair->server_context);
    demand(pair->server != NULL);
    SSL_set_bio(pair->server, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    BIO_set_mem_eof_return(SSL_get_rbio(pair->server), -1);
    SSL_set_accept_state(pair->server);
    pair_at_server = false;
    pair->reached = pair->ups = pair->ends = pair->rooms = pair->error = 0;
    pair->delivered = 0;
    pair->is_shaken = pair->has_ended = pair->resumed = false;
    pair->detail[0] = '\0';
    pair->stream =
        pair->dialer->dial(pair->dialer, &pair->world, &nowhere, &owner_events, pair, &error);
    demand(pair->stream != NULL || error == ENOMEM);
    return pair->stream != NULL;
}

void pair_close(struct pair *pair) {
    if (pair->stream != NULL) {
        struct rl_stream *stream = pair->stream;
        pair->stream = NULL;
        stream->ops->close(stream);
    }
}

void pair_hang_up(struct pair *pair) {
    pair_close(pair);
    if (pair->server != NULL && pair->to_server.length > 0 && !pair->has_ended) {
        server_step(pair);
    }
    demand(pair->under == NULL || pair->under->is_closed);
    free(pair->under);
    pair->under = NULL;
    SSL_free(pair->server);
    pair->server = NULL;
    empty(&pair->to_server);
    empty(&pair->to_client);
    empty(&pair->heard);
    empty(&pair->got);
}

void pair_end(struct pair *pair) {
    pair_hang_up(pair);
    rl_tls_peer_free(pair->dialer);
    rl_tls_free(pair->tls);
    SSL_CTX_free(pair->server_context);
    demand(pair->in_use == 0);
    demand(ERR_peek_error() == 0); /* this thread's error queue is left empty */
}
