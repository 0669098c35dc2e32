/* A worker with observable locks: it writes OpenTelemetry spans, as lines of OTLP's JSON, and
 * metrics for Prometheus.
 *
 *     otel SPANS METRICS JOBS redis://host:port ...
 *
 * SPANS is appended to: one line for each job, as a collector's file receiver reads it. METRICS is
 * replaced every second and at the end, as node_exporter's textfile collector wants it. Two workers
 * in one program want one lock and do JOBS jobs (0: until SIGINT or SIGTERM comes). Each job is a
 * trace of three spans:
 *
 *     job                       the program's own: in yours it is the request that is served
 *       redlock.acquire         from SUBMITTED to ACQUIRED or FAILED, with what came between
 *       redlock.hold            from ACQUIRED to RELEASED or LOST
 *
 * The trace hook runs inside the library's own work: it may call only getters of the library, and
 * here it only copies the event into the job. The files are written in callbacks.
 *
 * Failure modes: a file that cannot be written ends the program with a message; if there are too
 * many events, the span says how many were dropped. */
#include <inttypes.h>
#include <redlock/redlock.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#define WORKERS 2
#define EVENTS_MAX 32 /* of a span; a job without trouble has about ten */
#define WORK_MS 20

struct moment {
    enum redlock_event_type type;
    uint64_t at_ns;
    int status;
    char node[64]; /* "": none. An event's own is valid during the call only */
    uint32_t latency_us, rank;
};

struct span {
    uint64_t begin_ns, end_ns; /* 0: not yet */
    int status;
    unsigned n, dropped;
    struct moment events[EVENTS_MAX];
};

struct program;

struct worker {
    struct program *program;
    redlock_lock *lock;
    uv_timer_t work;
    uint64_t begin_ns, acquire_id;
    struct span acquire, hold;
};

struct program {
    uv_loop_t loop;
    redlock_client *client;
    struct worker workers[WORKERS];
    uv_timer_t each_second;
    uv_signal_t interrupt, terminate;
    FILE *spans;
    const char *metrics;
    uint64_t wall_ns; /* the offset of the time since 1970 from redlock_now_ns() */
    long jobs;        /* still to be begun; -1: no end */
    unsigned busy;
};

static void die(const char *what) {
    perror(what);
    exit(1);
}

/* -- The hook -- */

static void note(struct span *span, const redlock_event *event) {
    if (span->n == EVENTS_MAX) {
        span->dropped++;
        return;
    }
    struct moment *moment = &span->events[span->n++];
    *moment = (struct moment){.type = event->type,
                              .at_ns = event->now_ns,
                              .status = event->status,
                              .latency_us = event->latency_us,
                              .rank = event->rank};
    if (event->node != NULL) {
        snprintf(moment->node, sizeof moment->node, "%s", event->node);
    }
}

static void trace(const redlock_event *event, void *data) {
    struct worker *worker = event->lock != NULL ? redlock_lock_data(event->lock) : NULL;
    (void)data;
    if (worker == NULL || event->acquire_id == 0) {
        return; /* of a node, or of an acquire that is over */
    }
    switch (event->type) {
        case REDLOCK_EVENT_SUBMITTED:
            worker->acquire_id = event->acquire_id;
            worker->acquire = worker->hold = (struct span){.begin_ns = event->now_ns};
            worker->hold.begin_ns = 0;
            break;
        case REDLOCK_EVENT_ACQUIRED:
            worker->acquire.end_ns = worker->hold.begin_ns = event->now_ns;
            break;
        case REDLOCK_EVENT_FAILED:
            worker->acquire.end_ns = event->now_ns;
            worker->acquire.status = event->status;
            break;
        case REDLOCK_EVENT_RELEASED:
        case REDLOCK_EVENT_LOST:
            worker->hold.end_ns = event->now_ns;
            worker->hold.status = event->status;
            break;
        default:
            note(worker->hold.begin_ns != 0 ? &worker->hold : &worker->acquire, event);
            break;
    }
}

/* -- OTLP's JSON -- */

struct ids {
    char trace[33], job[17], acquire[17], hold[17];
};

static void make_id(char *text, size_t digits) {
    unsigned char bytes[16];
    if (uv_random(NULL, NULL, bytes, digits / 2, 0, NULL) != 0) {
        die("random bytes");
    }
    bytes[0] |= 1; /* an id of zeros is invalid */
    for (size_t i = 0; i < digits / 2; i++) {
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    }
}

/* A JSON string. */
static void put_text(FILE *file, const char *text) {
    fputc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            fprintf(file, "\\%c", *text);
        } else if ((unsigned char)*text < ' ') {
            fprintf(file, "\\u%04x", (unsigned)*text);
        } else {
            fputc(*text, file);
        }
    }
    fputc('"', file);
}

static void put_attribute(FILE *file, const char *comma, const char *key, const char *text) {
    fprintf(file, "%s{\"key\":\"%s\",\"value\":{\"stringValue\":", comma, key);
    put_text(file, text);
    fputs("}}", file);
}

static void put_number(FILE *file, const char *comma, const char *key, uint64_t number) {
    fprintf(file, "%s{\"key\":\"%s\",\"value\":{\"intValue\":\"%" PRIu64 "\"}}", comma, key,
            number);
}

static void put_events(const struct worker *worker, const struct span *span) {
    const struct program *program = worker->program;
    FILE *file = program->spans;
    fputs(",\"events\":[", file);
    for (unsigned i = 0; i < span->n; i++) {
        const struct moment *event = &span->events[i];
        fprintf(file, "%s{\"timeUnixNano\":\"%" PRIu64 "\",\"name\":\"%s\",\"attributes\":[",
                i > 0 ? "," : "", event->at_ns + program->wall_ns, redlock_event_name(event->type));
        put_attribute(file, "", "redlock.status", redlock_err_name(event->status));
        if (event->node[0] != '\0') {
            put_attribute(file, ",", "redlock.node", event->node);
        }
        if (event->type == REDLOCK_EVENT_VOTE || event->type == REDLOCK_EVENT_LATE_VOTE) {
            put_number(file, ",", "redlock.latency_us", event->latency_us);
        }
        if (event->type == REDLOCK_EVENT_PLACE) {
            put_number(file, ",", "redlock.rank", event->rank);
        }
        fputs("]}", file);
    }
    fprintf(file, "],\"droppedEventsCount\":%u", span->dropped);
}

/* parent: "" for the first of its trace. */
static void put_span(const struct worker *worker, const char *name, const struct ids *ids,
                     const char *id, const char *parent, const struct span *span) {
    const struct program *program = worker->program;
    FILE *file = program->spans;
    size_t length;
    const char *resource = redlock_lock_resource(worker->lock, &length);
    char key[64];
    snprintf(key, sizeof key, "%.*s", (int)length, resource);
    fprintf(file,
            "%s{\"traceId\":\"%s\",\"spanId\":\"%s\",\"parentSpanId\":\"%s\",\"name\":\"%s\","
            "\"kind\":%d,\"startTimeUnixNano\":\"%" PRIu64 "\",\"endTimeUnixNano\":\"%" PRIu64
            "\",\"attributes\":[",
            parent[0] != '\0' ? "," : "", ids->trace, id, parent, name, parent[0] != '\0' ? 3 : 1,
            span->begin_ns + program->wall_ns, span->end_ns + program->wall_ns);
    put_attribute(file, "", "redlock.resource", key);
    put_number(file, ",", "redlock.acquire_id", worker->acquire_id);
    fputc(']', file);
    put_events(worker, span);
    fprintf(file, ",\"status\":{\"code\":%d,\"message\":", span->status == 0 ? 1 : 2);
    put_text(file, span->status == 0 ? "" : redlock_strerror(span->status));
    fputs("}}", file);
}

static void write_job(struct worker *worker) {
    FILE *file = worker->program->spans;
    struct span job = {.begin_ns = worker->begin_ns, .end_ns = redlock_now_ns()};
    struct ids ids;
    make_id(ids.trace, 32);
    make_id(ids.job, 16);
    make_id(ids.acquire, 16);
    make_id(ids.hold, 16);
    job.status = worker->acquire.status != 0 ? worker->acquire.status : worker->hold.status;
    fputs("{\"resourceSpans\":[{\"resource\":{\"attributes\":[", file);
    put_attribute(file, "", "service.name", "redlock-otel-example");
    fputs("]},\"scopeSpans\":[{\"scope\":{\"name\":\"libredlock\",\"version\":", file);
    put_text(file, redlock_version());
    fputs("},\"spans\":[", file);
    put_span(worker, "job", &ids, ids.job, "", &job);
    put_span(worker, "redlock.acquire", &ids, ids.acquire, ids.job, &worker->acquire);
    if (worker->hold.begin_ns != 0) {
        put_span(worker, "redlock.hold", &ids, ids.hold, ids.job, &worker->hold);
    }
    fputs("]}]}]}\n", file);
    if (fflush(file) != 0) {
        die("the file of spans");
    }
}

/* -- Metrics -- */

/* Writes to another name first, so that readers never see half of it. */
static void write_metrics(struct program *program) {
    char path[4096];
    const int length = redlock_metrics_format(program->client, REDLOCK_METRICS_PROMETHEUS, NULL, 0);
    char *text = malloc((size_t)length + 1);
    if (text == NULL) {
        die("metrics");
    }
    redlock_metrics_format(program->client, REDLOCK_METRICS_PROMETHEUS, text, (size_t)length + 1);
    snprintf(path, sizeof path, "%s.new", program->metrics);
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) == EOF || fclose(file) != 0 ||
        rename(path, program->metrics) != 0) {
        die(program->metrics);
    }
    free(text);
}

static void on_second(uv_timer_t *timer) {
    write_metrics(timer->data);
}

/* -- Jobs -- */

static void begin_job(struct worker *worker);

static void on_close(redlock_client *client, int status, void *data) {
    struct program *program = data;
    (void)client;
    (void)status;
    for (int i = 0; i < WORKERS; i++) {
        uv_close((uv_handle_t *)&program->workers[i].work, NULL);
    }
    uv_close((uv_handle_t *)&program->each_second, NULL);
    uv_close((uv_handle_t *)&program->interrupt, NULL);
    uv_close((uv_handle_t *)&program->terminate, NULL);
}

static void close_if_done(struct program *program) {
    if (program->jobs == 0 && program->busy == 0) {
        write_metrics(program);
        redlock_client_close(program->client, on_close, program);
    }
}

static void end_job(struct worker *worker) {
    struct program *program = worker->program;
    write_job(worker);
    program->busy--;
    if (program->jobs != 0) {
        begin_job(worker);
    } else {
        close_if_done(program);
    }
}

static void on_release(redlock_lock *lock, int status, void *data) {
    (void)lock;
    (void)status; /* an unconfirmed release is retried, or the ttl ends */
    end_job(data);
}

static void on_worked(uv_timer_t *timer) {
    struct worker *worker = timer->data;
    if (redlock_release(worker->lock, on_release, worker) != 0) {
        end_job(worker);
    }
}

static void on_lost(redlock_lock *lock, int status, void *data) {
    (void)lock;
    fprintf(stderr, "lost: %s\n", redlock_strerror(status));
    (void)data; /* a worker that can stop its work does so here */
}

static void on_acquired(redlock_lock *lock, int status, void *data) {
    struct worker *worker = data;
    if (status == 0) {
        uv_timer_start(&worker->work, on_worked, WORK_MS, 0);
    } else {
        char sentence[REDLOCK_MESSAGE_MAX];
        fprintf(stderr, "%s\n", redlock_lock_message(lock, sentence, sizeof sentence));
        end_job(worker);
    }
}

static void begin_job(struct worker *worker) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    struct program *program = worker->program;
    options.ttl_ms = 3000;
    options.wait_ms = 5000;
    options.auto_extend = 1;
    options.on_lost = on_lost;
    program->jobs -= program->jobs > 0;
    program->busy++;
    worker->begin_ns = redlock_now_ns();
    if (redlock_acquire(worker->lock, &options, on_acquired, worker) != 0) {
        die("redlock_acquire");
    }
}

static void on_signal(uv_signal_t *signal, int number) {
    struct program *program = signal->data;
    (void)number;
    program->jobs = 0; /* current jobs are finished */
}

static void on_open(redlock_client *client, int status, void *data) {
    struct program *program = data;
    char sentence[REDLOCK_MESSAGE_MAX];
    if (status != 0) {
        fprintf(stderr, "%s\n", redlock_client_message(client, sentence, sizeof sentence));
    }
    for (int i = 0; i < WORKERS && program->jobs != 0; i++) {
        begin_job(&program->workers[i]);
    }
    close_if_done(program); /* a signal has come before */
}

/* One label for all of this program's locks; there could be more. */
static const char *label(const void *resource, size_t length, void *data) {
    (void)data;
    return length >= 4 && memcmp(resource, "otel", 4) == 0 ? "example" : NULL;
}

static void start(struct program *program) {
    for (int i = 0; i < WORKERS; i++) {
        struct worker *worker = &program->workers[i];
        worker->program = program;
        uv_timer_init(&program->loop, &worker->work);
        worker->work.data = worker;
        if (redlock_lock_new(program->client, "otel-example", 12, &worker->lock) != 0) {
            die("redlock_lock_new");
        }
        redlock_lock_set_data(worker->lock, worker);
    }
    uv_timer_init(&program->loop, &program->each_second);
    uv_signal_init(&program->loop, &program->interrupt);
    uv_signal_init(&program->loop, &program->terminate);
    program->each_second.data = program->interrupt.data = program->terminate.data = program;
    uv_timer_start(&program->each_second, on_second, 0, 1000);
    uv_signal_start(&program->interrupt, on_signal, SIGINT);
    uv_signal_start(&program->terminate, on_signal, SIGTERM);
}

int main(int argc, char **argv) {
    static struct program program;
    char error[REDLOCK_MESSAGE_MAX] = "";
    char *end = NULL;
    struct timespec now;
    program.jobs = argc > 4 ? strtol(argv[3], &end, 10) : -1;
    if (argc < 5 || *argv[3] == '\0' || *end != '\0' || program.jobs < 0) {
        fprintf(stderr, "usage: otel SPANS METRICS JOBS redis://host:port ...\n");
        return 2;
    }
    program.jobs = program.jobs > 0 ? program.jobs : -1;
    program.metrics = argv[2];
    program.spans = fopen(argv[1], "a");
    if (program.spans == NULL) {
        die(argv[1]);
    }
    clock_gettime(CLOCK_REALTIME, &now);
    program.wall_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - redlock_now_ns();

    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    options.nodes = (const char *const *)&argv[4];
    options.n_nodes = (size_t)(argc - 4);
    options.guard = REDLOCK_GUARD_OBSERVED; /* for new nodes; without it they vote after 30 s */
    options.client_name = "otel-example";
    options.trace = trace;
    options.metrics = 1;
    options.metrics_label = label;
    options.error = error;
    options.error_size = sizeof error;
    uv_loop_init(&program.loop);
    if (redlock_client_open(&program.client, &program.loop, &options, on_open, &program) != 0) {
        fprintf(stderr, "%s\n", error);
        return 2;
    }
    start(&program);
    uv_run(&program.loop, UV_RUN_DEFAULT);
    const bool is_left = uv_loop_close(&program.loop) != 0;
    return fclose(program.spans) != 0 || is_left ? 1 : 0;
}
