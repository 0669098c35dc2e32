/* See place.h. */
#include "nodes/place.h"

#include "nodes/eligibility.h"

void rl_place_update(struct rl_client_node *place) {
    uint64_t at_ns = rl_node_deadline_ns(&place->node);
    if (rl_node_is_up(&place->node) && place->pending_releases.retry_ns < at_ns) {
        at_ns = place->pending_releases.retry_ns;
    }
    if (rl_eligibility_deadline_ns(place) < at_ns) {
        at_ns = rl_eligibility_deadline_ns(place);
    }
    rl_deadlines_set(&place->client->deadlines, &place->deadline, at_ns);
}
