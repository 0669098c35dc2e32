/* A client that waits in line behind a stranger, on five fake nodes.
 *
 *     WAITER_TEST(is_served) {                the stranger has the key on all nodes
 *         ... script the nodes; w->order[0] is home, w->order[1] the next one ...
 *         waiter_ask(w);
 *         waiter_until_at(w, 0);
 *         waiter_serve(w);                    it is given its turn, and holds
 *     }
 *
 * The stranger is only keys, and the test releases them by hand: it deletes them, sets home's key
 * to the waiter's token and publishes the turn. So a test decides when and how often a turn comes,
 * and which other messages do.
 *
 * waiter_stop() asserts, besides what five_stop() does: each callback came once, and no node has a
 * member of a line, or a key that is not a short reservation. */
#ifndef FAKE_WAITER_H
#define FAKE_WAITER_H

#include "core/place.h"
#include "fake/five.h"

#define WAITER_QUICK_MS 200     /* node_timeout where a test waits for it */
#define WAITER_PATIENT_MS 20000 /* node_timeout where no test waits for it */
#define WAITER_STRANGER "a stranger's"

struct waiter {
    struct five f;
    struct five_done done; /* of the acquire */
    size_t order[FIVE];    /* the nodes in the order in which they become home */
    char channel[64];      /* the client's own */
    uint64_t served;       /* the place that got the last turn */
    int asked;
};

#define WAITER_TEST(name) TEST_ON(name, struct waiter, w, waiter_start_patient, waiter_stop)
#define WAITER_EACH(name, times) \
    TEST_ON_EACH(name, times, struct waiter, w, waiter_start_patient, waiter_stop)

void waiter_start(struct waiter *w, int64_t node_timeout_ms);
void waiter_start_patient(struct waiter *w);
void waiter_stop(struct waiter *w);

/* Submits an acquire without a limit. */
void waiter_ask(struct waiter *w);

/* Cancels it, and waits for its callback. */
void waiter_cancel(struct waiter *w);

/* Waits once at home, and leaves: the client's channel stays confirmed there. */
void waiter_hear(struct waiter *w);

/* Waits for the acquire's callback, which must come once; returns its status. */
int waiter_wait(struct waiter *w);

/* -- The line -- */

const struct rl_place *waiter_line(const struct waiter *w);
/* Waits until it stands in line at the node of this rank, or at any but the first. */
void waiter_until_at(struct waiter *w, size_t rank);
void waiter_until_elsewhere(struct waiter *w);

struct fake_node *waiter_node(struct waiter *w, size_t rank);
size_t waiter_count(struct waiter *w, size_t rank, const char *command);
size_t waiter_count_all(struct waiter *w, const char *command);

/* -- The stranger -- */

/* The stranger's keys are deleted, without a message. */
void waiter_let_go(struct waiter *w);

/* The token by which nodes know a place. Valid until the next call. */
const char *waiter_token(const struct waiter *w, uint64_t place);

/* The node of this rank publishes "turn" or "heir" for a place. */
void waiter_tell(struct waiter *w, size_t rank, const char *word, uint64_t place);

/* Releases only home, so that the other nodes refuse the turn, which is in the socket when this
 * returns. */
void waiter_turn_in_vain(struct waiter *w);

/* Releases to the current place, until the acquire ends, which must be granted. */
void waiter_serve(struct waiter *w);

#endif /* FAKE_WAITER_H */
