/* See crew_nodes.h: the live fixture behind another name. */
#include "blocking/crew_nodes.h"

#include "live/live.h"

static struct live *live_of(const struct crew_nodes *nodes) {
    return (struct live *)(uintptr_t)nodes;
}

struct crew_nodes *crew_nodes_of(void **state) {
    return *state;
}

int crew_nodes_setup(void **state) {
    if (live_setup(state) != 0) {
        return -1;
    }
    live_start(*state, 3, NULL);
    return 0;
}

int crew_nodes_teardown(void **state) {
    struct live *live = *state;
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
    return live_teardown(state);
}

size_t crew_nodes_count(const struct crew_nodes *nodes) {
    return live_of(nodes)->n;
}

const char *crew_nodes_url(const struct crew_nodes *nodes, size_t i) {
    return live_of(nodes)->urls[i];
}

void crew_nodes_pause(struct crew_nodes *nodes) {
    for (size_t i = 0; i < live_of(nodes)->n; i++) {
        live_pause(live_of(nodes), i);
    }
}

void crew_nodes_resume(struct crew_nodes *nodes) {
    for (size_t i = 0; i < live_of(nodes)->n; i++) {
        live_resume(live_of(nodes), i);
    }
}
