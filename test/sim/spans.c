/* See spans.h. */
#include "sim/spans.h"

#include <inttypes.h>
#include <string.h>

#include "sim/client.h"

static void fail(const struct sim_client *client, const redlock_event *event) {
    sim_check_fail(client->sim, SIM_ONCE,
                   "c%u: the event %s of acquire %" PRIu64 " is out of place", client->index + 1u,
                   redlock_event_name(event->type), event->acquire_id);
}

/* SIM_SPANS_MAX: there is none with this number. */
static uint32_t find(const struct sim_spans *spans, uint64_t id) {
    uint32_t i = 0;
    while (i < SIM_SPANS_MAX && spans->open[i] != id) {
        i++;
    }
    return i;
}

static void begin(struct sim_client *client, const redlock_event *event) {
    struct sim_spans *spans = &client->spans;
    const uint32_t i = find(spans, 0);
    if (event->acquire_id <= spans->last || i == SIM_SPANS_MAX) {
        fail(client, event);
        return;
    }
    spans->last = spans->open[i] = event->acquire_id;
    spans->holds[i] = 0;
}

/* One that is open goes on, or ends. */
static void follow(struct sim_client *client, const redlock_event *event) {
    struct sim_spans *spans = &client->spans;
    const uint32_t i = find(spans, event->acquire_id);
    const enum redlock_event_type type = event->type;
    const bool ends_hold = type == REDLOCK_EVENT_RELEASED || type == REDLOCK_EVENT_LOST;
    const bool waits = type == REDLOCK_EVENT_WAITING || type == REDLOCK_EVENT_PAUSE ||
                       type == REDLOCK_EVENT_FAILED;
    if (event->acquire_id == 0 || i == SIM_SPANS_MAX || (ends_hold && !spans->holds[i]) ||
        (waits && spans->holds[i])) {
        fail(client, event);
    } else if (type == REDLOCK_EVENT_ACQUIRED) {
        spans->holds[i] = 1;
    } else if (ends_hold || type == REDLOCK_EVENT_FAILED) {
        spans->open[i] = 0;
    }
}

void sim_spans_traced(struct sim_client *client, const redlock_event *event) {
    switch (event->type) {
        case REDLOCK_EVENT_SUBMITTED:
            begin(client, event);
            break;
        case REDLOCK_EVENT_ATTEMPT:
        case REDLOCK_EVENT_TAKE:
        case REDLOCK_EVENT_WAITING:
        case REDLOCK_EVENT_PAUSE:
        case REDLOCK_EVENT_ACQUIRED:
        case REDLOCK_EVENT_FAILED:
        case REDLOCK_EVENT_RELEASED:
        case REDLOCK_EVENT_LOST:
            follow(client, event);
            break;
        default: /* events that may follow the end, or belong to no acquire */
            break;
    }
}

void sim_spans_end(struct sim_client *client) {
    struct sim_spans *spans = &client->spans;
    for (uint32_t i = 0; i < SIM_SPANS_MAX; i++) {
        if (spans->open[i] != 0) {
            sim_check_fail(client->sim, SIM_ONCE, "c%u: acquire %" PRIu64 " has not ended: %s",
                           client->index + 1u, spans->open[i],
                           spans->holds[i] ? "its hold is open" : "nor has it failed");
        }
    }
    memset(spans, 0, sizeof *spans);
}
