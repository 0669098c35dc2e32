/* The spans of the trace hook: each acquire is submitted once and ends once, acquired or failed;
 * each hold ends once, released or lost; and when the client has closed none is open. Events in
 * between carry the number of an open span. Else: violation "once". */
#ifndef SIM_SPANS_H
#define SIM_SPANS_H

#include <stdint.h>

#include "redlock/redlock.h"

#define SIM_SPANS_MAX 64

struct sim_client;

struct sim_spans {
    uint64_t last;                /* number that was used */
    uint64_t open[SIM_SPANS_MAX]; /* 0: none */
    uint8_t holds[SIM_SPANS_MAX]; /* 1: it is held */
};

void sim_spans_traced(struct sim_client *client, const redlock_event *event);

/* The client has closed. */
void sim_spans_end(struct sim_client *client);

#endif
