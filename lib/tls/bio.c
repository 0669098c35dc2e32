/* See bio.h. */
#include "tls/bio.h"

#include <assert.h>
#include <limits.h>
#include <openssl/bio.h>
#include <string.h>

#include "base/mark.h"

static int pipe_write(BIO *bio, const char *bytes, int length) {
    struct rl_tls_pipe *pipe = BIO_get_data(bio);
    assert(pipe->in_left == 0 || pipe->in != NULL);
    assert(pipe->memory != NULL);
    BIO_clear_retry_flags(bio);
    if (length <= 0 || pipe->no_memory || pipe->is_clogged) {
        return -1;
    }
    size_t left = (size_t)length;
    if (pipe->under != NULL && rl_out_length(&pipe->out) == 0) {
        size_t taken = pipe->under->ops->write(pipe->under, bytes, left);
        assert(taken <= left);
        bytes += taken;
        left -= taken;
    }
    if (left > 0) {
        RL_MARK(TLS_PARTIAL);
        pipe->is_clogged = rl_out_length(&pipe->out) + left > RL_TLS_KEPT_MAX;
    }
    if (pipe->is_clogged) {
        return -1;
    }
    if (left > 0 && !rl_out_add(&pipe->out, pipe->memory, bytes, left)) {
        pipe->no_memory = true;
        return -1;
    }
    return length;
}

static int pipe_read(BIO *bio, char *out, int length) {
    struct rl_tls_pipe *pipe = BIO_get_data(bio);
    assert(pipe->in_left == 0 || pipe->in != NULL);
    BIO_clear_retry_flags(bio);
    if (length <= 0) {
        return 0;
    }
    pipe->is_starved = pipe->in_left == 0;
    if (pipe->is_starved) {
        BIO_set_retry_read(bio);
        return -1;
    }
    size_t n = pipe->in_left < (size_t)length ? pipe->in_left : (size_t)length;
    assert(n > 0 && n <= INT_MAX);
    memcpy(out, pipe->in, n);
    pipe->in += n;
    pipe->in_left -= n;
    return (int)n;
}

/* There is nothing to flush, and nothing else to report. */
static long pipe_ctrl(BIO *bio, int what, long number, void *pointer) {
    (void)bio;
    (void)number;
    (void)pointer;
    return what == BIO_CTRL_FLUSH || what == BIO_CTRL_DUP;
}

BIO_METHOD *rl_tls_bio_method(void) {
    /* Uses no index of its own: they are few, and last for the life of the process. */
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "libredlock");
    if (method != NULL) {
        BIO_meth_set_write(method, pipe_write);
        BIO_meth_set_read(method, pipe_read);
        BIO_meth_set_ctrl(method, pipe_ctrl);
    }
    return method;
}

BIO *rl_tls_bio_new(const BIO_METHOD *method, struct rl_tls_pipe *pipe) {
    BIO *bio = BIO_new(method);
    assert(pipe->under == NULL); /* nothing is written before it is up */
    assert(pipe->memory != NULL);
    if (bio != NULL) {
        BIO_set_data(bio, pipe);
        BIO_set_init(bio, 1);
    }
    return bio;
}

bool rl_tls_pipe_flush(struct rl_tls_pipe *pipe) {
    size_t length = rl_out_length(&pipe->out);
    if (length > 0 && pipe->under != NULL) {
        size_t taken =
            pipe->under->ops->write(pipe->under, pipe->out.bytes + pipe->out.from, length);
        assert(taken <= length);
        rl_out_took(&pipe->out, pipe->memory, taken);
    }
    return rl_out_length(&pipe->out) == 0;
}
