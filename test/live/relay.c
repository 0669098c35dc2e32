/* See relay.h. */
#include "live/relay.h"

#define QUEUE_MAX 65536

struct relay_pair {
    struct relay *relay;
    struct relay_pair *next;
    uv_tcp_t client, server;
    uv_connect_t connecting;
    size_t passed; /* from the server */
    char *queue;   /* from the server, while it drips */
    size_t queued;
    unsigned open; /* of its two handles */
    bool is_up;
    bool is_closed;
};

struct relay_write {
    uv_write_t request;
    char bytes[];
};

static void alloc_cb(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer) {
    static char bytes[65536];
    (void)handle, (void)wanted;
    *buffer = uv_buf_init(bytes, sizeof bytes);
}

static void closed_cb(uv_handle_t *handle) {
    struct relay_pair *pair = handle->data;
    pair->relay->handles--;
    if (--pair->open == 0) {
        free(pair->queue);
        free(pair);
    }
}

static void pair_close(struct relay_pair *pair) {
    struct relay_pair **at = &pair->relay->pairs;
    if (pair->is_closed) {
        return;
    }
    while (*at != pair) {
        at = &(*at)->next;
    }
    *at = pair->next;
    pair->is_closed = true;
    uv_close((uv_handle_t *)&pair->client, closed_cb);
    uv_close((uv_handle_t *)&pair->server, closed_cb);
}

static void wrote_cb(uv_write_t *request, int status) {
    free(request->data);
}

static void pass(uv_tcp_t *to, const char *bytes, size_t length) {
    struct relay_write *write = malloc(sizeof *write + length);
    assert_non_null(write);
    memcpy(write->bytes, bytes, length);
    write->request.data = write;
    uv_buf_t buffer = uv_buf_init(write->bytes, (unsigned)length);
    assert_int_equal(uv_write(&write->request, (uv_stream_t *)to, &buffer, 1, wrote_cb), 0);
}

/* To the client, as the mode has it. */
static void pass_back(struct relay_pair *pair, const char *bytes, size_t length) {
    struct relay *relay = pair->relay;
    bool ends = relay->mode == RELAY_STOPS || relay->mode == RELAY_CUTS;
    size_t left = relay->after > pair->passed ? relay->after - pair->passed : 0;
    size_t n = ends && left < length ? left : length;
    if (n > 0) {
        pass(&pair->client, bytes, n);
    }
    pair->passed += n;
    relay->from_server = pair->passed;
    if (relay->mode == RELAY_CUTS && pair->passed == relay->after) {
        pair_close(pair);
    }
}

static void read_cb(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer) {
    struct relay_pair *pair = stream->data;
    bool from_server = stream == (uv_stream_t *)&pair->server;
    if (n < 0) {
        pair_close(pair);
    } else if (n > 0 && !from_server) {
        pass(&pair->server, buffer->base, (size_t)n);
    } else if (n > 0 && pair->relay->mode == RELAY_DRIPS) {
        assert_true(pair->queued + (size_t)n <= QUEUE_MAX);
        memcpy(pair->queue + pair->queued, buffer->base, (size_t)n);
        pair->queued += (size_t)n;
    } else if (n > 0) {
        pass_back(pair, buffer->base, (size_t)n);
    }
}

static void drip_cb(uv_idle_t *idle) {
    struct relay *relay = idle->data;
    for (struct relay_pair *pair = relay->pairs; pair != NULL; pair = pair->next) {
        if (pair->queued > 0) {
            pass_back(pair, pair->queue, 1);
            pair->queued--;
            memmove(pair->queue, pair->queue + 1, pair->queued);
        }
    }
}

static void connected_cb(uv_connect_t *request, int status) {
    struct relay_pair *pair = request->data;
    if (pair->is_closed) {
        return;
    }
    if (status < 0) {
        pair_close(pair);
        return;
    }
    pair->is_up = true;
    uv_read_start((uv_stream_t *)&pair->client, alloc_cb, read_cb);
    uv_read_start((uv_stream_t *)&pair->server, alloc_cb, read_cb);
}

static void connection_cb(uv_stream_t *listener, int status) {
    struct relay *relay = listener->data;
    struct sockaddr_in address;
    struct relay_pair *pair = calloc(1, sizeof *pair);
    assert_int_equal(status, 0);
    assert_non_null(pair);
    pair->queue = malloc(QUEUE_MAX);
    assert_non_null(pair->queue);
    pair->relay = relay;
    pair->next = relay->pairs;
    relay->pairs = pair;
    relay->connections++;
    relay->handles += 2;
    pair->open = 2;
    pair->client.data = pair->server.data = pair->connecting.data = pair;
    uv_tcp_init(listener->loop, &pair->client);
    uv_tcp_init(listener->loop, &pair->server);
    pair->client.data = pair->server.data = pair;
    assert_int_equal(uv_accept(listener, (uv_stream_t *)&pair->client), 0);
    uv_tcp_nodelay(&pair->client, 1);
    uv_ip4_addr("127.0.0.1", relay->target, &address);
    assert_int_equal(uv_tcp_connect(&pair->connecting, &pair->server,
                                    (const struct sockaddr *)&address, connected_cb),
                     0);
}

void relay_begin(struct live *live, struct relay *relay, int target) {
    struct sockaddr_in address;
    int length = sizeof address;
    *relay = (struct relay){.target = target, .handles = 2};
    uv_tcp_init(&live->loop, &relay->listener);
    uv_idle_init(&live->loop, &relay->idle);
    relay->listener.data = relay->idle.data = relay;
    uv_idle_start(&relay->idle, drip_cb);
    uv_ip4_addr("127.0.0.1", 0, &address);
    assert_int_equal(uv_tcp_bind(&relay->listener, (const struct sockaddr *)&address, 0), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&relay->listener, 16, connection_cb), 0);
    assert_int_equal(uv_tcp_getsockname(&relay->listener, (struct sockaddr *)&address, &length), 0);
    relay->port = ntohs(address.sin_port);
}

static void own_closed_cb(uv_handle_t *handle) {
    ((struct relay *)handle->data)->handles--;
}

void relay_end(struct live *live, struct relay *relay) {
    while (relay->pairs != NULL) {
        pair_close(relay->pairs);
    }
    uv_close((uv_handle_t *)&relay->listener, own_closed_cb);
    uv_close((uv_handle_t *)&relay->idle, own_closed_cb);
    LIVE_POLL(live, relay->handles == 0);
}
