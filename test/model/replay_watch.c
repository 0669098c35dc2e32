/* See replay_watch.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/replay_state.h"
#include "sim/key.h"

#define ROUNDING_NS 1000 /* in mapping local to true time, as in the simulator's checker */

struct watch watched;

void watch_say(const char *format, ...) {
    if (watched.prints) {
        va_list args;
        va_start(args, format);
        printf("%11.3f ", (double)watched.world->now_ns / 1e6);
        vprintf(format, args);
        printf("\n");
        va_end(args);
    }
}

uint32_t watch_resource(const char *name, size_t length) {
    uint32_t r = watched.world->options.permits > 0 ? sim_key_slot(name, length)
                                                    : sim_key_number(name, length);
    return r < SIM_RESOURCES_MAX ? UINT32_C(1) << r : 0;
}

static bool is_over(void *owner, uint8_t client, uint64_t until_ns, uint64_t true_ns) {
    const struct sim_world *world = owner;
    return sim_clock_read(&world->clients[client].clock, true_ns) + ROUNDING_NS >= until_ns;
}

void watch_begin(struct sim_world *world, enum watch_breaks broken, bool prints) {
    watched = (struct watch){.world = world,
                             .steps = steps_new(world->options.nodes, is_over, world),
                             .broken = broken,
                             .prints = prints};
}

const char *watch_refused(void) {
    return steps_refused(watched.steps);
}

struct steps *watch_end(void) {
    while (watched.sent != NULL) {
        struct watch_sent *sent = watched.sent;
        watched.sent = sent->next;
        free(sent);
    }
    watch_clients_end();
    watch_nodes_end();
    return watched.steps;
}
