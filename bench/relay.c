/* Connections that take time: see relay.h for purpose, use and failure modes. */
#include "relay.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alarm.h"
#include "slice.h"
#include "tool/server/splitmix.h"

#define BACKLOG 1024

/* Bytes on their way. */
struct piece {
    struct piece *next;
    uint64_t due_ns;
    uv_write_t write;
    size_t length;
    char bytes[];
};

/* One direction of a connection. */
struct pipe {
    struct passage *passage;
    uv_tcp_t *to;
    struct piece *first;
    struct piece **last;
};

struct passage {
    struct rl_bench_relay *relay;
    struct passage *next;
    struct passage **link; /* what points to this one */
    uint64_t delay_ns;
    uv_tcp_t near; /* to the client */
    uv_tcp_t far;  /* to the node */
    uv_connect_t connect;
    struct pipe there;
    struct pipe back;
    int open; /* handles */
};

struct door {
    struct rl_bench_relay *relay;
    uv_tcp_t listener;
    struct sockaddr_in node;
    uint64_t delay_ns;
    char url[48];
};

struct rl_bench_relay {
    uv_loop_t *loop;
    struct rl_bench_alarm alarm; /* for the bytes that are due first */
    bool has_alarm;
    uint64_t due_ns; /* what it is set to; UINT64_MAX: nothing is on its way */
    struct rl_bench_hist *late;
    struct passage *passages;
    char buffer[65536]; /* of a read, until its bytes are a piece */
    const char **urls;
    size_t n;
    struct door doors[];
};

static void *take(size_t size) {
    void *block = calloc(1, size);
    if (block == NULL) {
        fputs("redlock-bench: out of memory\n", stderr);
        abort();
    }
    return block;
}

/* By the client and the node: clients.py of bench/peers draws the same. */
static uint64_t draw_delay_ns(uint64_t client, size_t node, uint64_t max_ms) {
    uint64_t state = SPLITMIX_STEP * (client * 64 + node);
    return next_random(&state) % (max_ms * 1000000 + 1);
}

/* -- The end of a connection -- */

static void drop_pieces(struct pipe *pipe) {
    while (pipe->first != NULL) {
        struct piece *piece = pipe->first;
        pipe->first = piece->next;
        free(piece);
    }
}

static void closed_cb(uv_handle_t *handle) {
    struct passage *passage = handle->data;
    assert(passage->open > 0);
    if (--passage->open == 0) {
        drop_pieces(&passage->there);
        drop_pieces(&passage->back);
        free(passage);
    }
}

static void end(struct passage *passage) {
    if (uv_is_closing((uv_handle_t *)&passage->near)) {
        return;
    }
    *passage->link = passage->next;
    if (passage->next != NULL) {
        passage->next->link = passage->link;
    }
    uv_handle_t *handles[] = {(uv_handle_t *)&passage->near, (uv_handle_t *)&passage->far};
    for (size_t i = 0; i < sizeof(handles) / sizeof(handles[0]); i++) {
        handles[i]->data = passage;
        uv_close(handles[i], closed_cb);
    }
}

/* -- Bytes -- */

static void written_cb(uv_write_t *write, int status) {
    (void)status; /* the read of that side reports it as well */
    free(write->data);
}

/* Passes on what is due. Returns when the next bytes are, or UINT64_MAX. */
static uint64_t pass_on(struct pipe *pipe, uint64_t now_ns) {
    while (pipe->first != NULL && pipe->first->due_ns <= now_ns) {
        struct piece *piece = pipe->first;
        uv_buf_t bytes = uv_buf_init(piece->bytes, (unsigned)piece->length);
        pipe->first = piece->next;
        piece->write.data = piece;
        rl_bench_hist_record(pipe->passage->relay->late, now_ns - piece->due_ns);
        if (uv_write(&piece->write, (uv_stream_t *)pipe->to, &bytes, 1, written_cb) != 0) {
            free(piece);
            end(pipe->passage);
            return UINT64_MAX;
        }
    }
    if (pipe->first != NULL) {
        return pipe->first->due_ns;
    }
    pipe->last = &pipe->first;
    return UINT64_MAX;
}

static void due_cb(void *data) {
    struct rl_bench_relay *relay = data;
    uint64_t due_ns = UINT64_MAX;
    struct passage *next;
    for (struct passage *passage = relay->passages; passage != NULL; passage = next) {
        next = passage->next;
        uint64_t there_ns = pass_on(&passage->there, rl_bench_now_ns());
        uint64_t back_ns = pass_on(&passage->back, rl_bench_now_ns());
        due_ns = there_ns < due_ns ? there_ns : due_ns;
        due_ns = back_ns < due_ns ? back_ns : due_ns;
    }
    relay->due_ns = due_ns;
    if (due_ns != UINT64_MAX) {
        rl_bench_alarm_set(&relay->alarm, due_ns);
    }
}

static void lend_cb(uv_handle_t *handle, size_t size, uv_buf_t *buffer) {
    (void)size;
    struct pipe *pipe = handle->data;
    struct rl_bench_relay *relay = pipe->passage->relay;
    *buffer = uv_buf_init(relay->buffer, sizeof(relay->buffer));
}

static void read_cb(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer) {
    struct pipe *pipe = stream->data;
    if (length < 0) {
        end(pipe->passage);
        return;
    }
    if (length == 0) {
        return;
    }
    struct piece *piece = take(sizeof(*piece) + (size_t)length);
    piece->due_ns = rl_bench_now_ns() + pipe->passage->delay_ns;
    piece->length = (size_t)length;
    memcpy(piece->bytes, buffer->base, (size_t)length);
    *pipe->last = piece;
    pipe->last = &piece->next;
    struct rl_bench_relay *relay = pipe->passage->relay;
    if (piece->due_ns < relay->due_ns) {
        relay->due_ns = piece->due_ns;
        rl_bench_alarm_set(&relay->alarm, piece->due_ns);
    }
}

/* -- Making -- */

static void open_pipe(struct passage *passage, struct pipe *pipe, uv_tcp_t *from, uv_tcp_t *to) {
    pipe->passage = passage;
    pipe->to = to;
    pipe->last = &pipe->first;
    from->data = pipe;
}

static void connected_cb(uv_connect_t *connect, int status) {
    struct passage *passage = connect->data;
    if (status == UV_ECANCELED) {
        return; /* it is being closed */
    }
    if (status != 0 || uv_read_start((uv_stream_t *)&passage->near, lend_cb, read_cb) != 0 ||
        uv_read_start((uv_stream_t *)&passage->far, lend_cb, read_cb) != 0) {
        end(passage);
    }
}

static void knock_cb(uv_stream_t *listener, int status) {
    struct door *door = listener->data;
    struct rl_bench_relay *relay = door->relay;
    if (status != 0) {
        return;
    }
    struct passage *passage = take(sizeof(*passage));
    passage->relay = relay;
    passage->delay_ns = door->delay_ns;
    passage->open = 2;
    passage->next = relay->passages;
    passage->link = &relay->passages;
    if (passage->next != NULL) {
        passage->next->link = &passage->next;
    }
    relay->passages = passage;
    uv_tcp_init(relay->loop, &passage->near);
    uv_tcp_init(relay->loop, &passage->far);
    open_pipe(passage, &passage->there, &passage->near, &passage->far);
    open_pipe(passage, &passage->back, &passage->far, &passage->near);
    passage->connect.data = passage;
    if (uv_accept(listener, (uv_stream_t *)&passage->near) != 0 ||
        uv_tcp_nodelay(&passage->near, 1) != 0 ||
        uv_tcp_connect(&passage->connect, &passage->far, (const struct sockaddr *)&door->node,
                       connected_cb) != 0) {
        end(passage);
        return;
    }
    uv_tcp_nodelay(&passage->far, 1);
}

static int open_door(struct door *door, int node_port) {
    struct sockaddr_in address;
    int length = sizeof(address);
    uv_tcp_init(door->relay->loop, &door->listener);
    door->listener.data = door;
    uv_ip4_addr("127.0.0.1", node_port, &door->node);
    uv_ip4_addr("127.0.0.1", 0, &address);
    int result = uv_tcp_bind(&door->listener, (const struct sockaddr *)&address, 0);
    result = result == 0 ? uv_listen((uv_stream_t *)&door->listener, BACKLOG, knock_cb) : result;
    result = result == 0 ? uv_tcp_getsockname(&door->listener, (struct sockaddr *)&address, &length)
                         : result;
    snprintf(door->url, sizeof(door->url), "redis://127.0.0.1:%d", ntohs(address.sin_port));
    return result;
}

int rl_bench_relay_open(struct rl_bench_relay **relay, uv_loop_t *loop,
                        const struct rl_local_nodes *nodes, uint64_t max_ms, uint64_t client,
                        struct rl_bench_hist *late, char *error, size_t error_size) {
    size_t n = rl_local_nodes_count(nodes);
    struct rl_bench_relay *made = take(sizeof(*made) + n * sizeof(made->doors[0]));
    *made = (struct rl_bench_relay){.loop = loop, .late = late, .due_ns = UINT64_MAX};
    made->urls = take(n * sizeof(*made->urls));
    *relay = made;
    made->has_alarm = rl_bench_alarm_open(&made->alarm, loop, due_cb, made) == 0;
    if (!made->has_alarm) {
        snprintf(error, error_size, "--distance-ms: no timer");
        return -1;
    }
    for (; made->n < n; made->n++) {
        struct door *door = &made->doors[made->n];
        door->relay = made;
        door->delay_ns = draw_delay_ns(client, made->n, max_ms);
        made->urls[made->n] = door->url;
        int result = open_door(door, rl_local_nodes_port(nodes, made->n));
        if (result != 0) {
            made->n++; /* to be closed, too */
            snprintf(error, error_size, "--distance-ms: no listener: %s", uv_strerror(result));
            return -1;
        }
    }
    return 0;
}

const char *const *rl_bench_relay_urls(const struct rl_bench_relay *relay) {
    return relay->urls;
}

void rl_bench_relay_close(struct rl_bench_relay *relay) {
    if (relay == NULL) {
        return;
    }
    while (relay->passages != NULL) {
        end(relay->passages);
    }
    for (size_t i = 0; i < relay->n; i++) {
        uv_close((uv_handle_t *)&relay->doors[i].listener, NULL);
    }
    if (relay->has_alarm) {
        rl_bench_alarm_close(&relay->alarm);
    }
}

void rl_bench_relay_free(struct rl_bench_relay *relay) {
    if (relay != NULL) {
        assert(relay->passages == NULL);
        free(relay->urls);
        free(relay);
    }
}
