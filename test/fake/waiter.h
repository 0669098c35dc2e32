/* A client that waits in line behind a stranger, on five fake nodes.
 *
 *     WAITER_TEST(is_served) {                the stranger has the key on all nodes
 *         ... script the nodes; w->order[0] is home, w->order[1] the next one ...
 *         waiter_ask(w);
 *         waiter_until_at(w, 0);
 *         waiter_serve(w);                    it is given its turn, and holds
 *     }
 *
 * The stranger is nothing but keys, and its release is done by hand: no key anywhere but
 * home's, which is the waiter's, and it is told. So a test decides when a turn
 * comes, how often, and what is told besides.
 *
 * waiter_stop() asserts, besides what five_stop() does: each callback came once, and on no node is
 * a member of a line, or a key, but for reservations that end by themselves. */
#ifndef FAKE_WAITER_H
#define FAKE_WAITER_H

#include "core/place.h"
#include "fake/five.h"

#define WAITER_QUICK_MS 200     /* node_timeout where it is waited for */
#define WAITER_PATIENT_MS 20000 /* ... and where it is not */
#define WAITER_STRANGER "a stranger's"

struct waiter {
    struct five f;
    struct five_done done; /* of the acquire */
    size_t order[FIVE];    /* the nodes, as they are home one after the other */
    char channel[64];      /* the client's own */
    uint64_t served;       /* the place that was told its turn last */
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

/* Waits once at home, and leaves: the client's channel is confirmed there, and stays so. */
void waiter_hear(struct waiter *w);

/* The acquire's callback has come, once; its status. */
int waiter_wait(struct waiter *w);

/* -- The line -- */

const struct rl_place *waiter_line(const struct waiter *w);
/* It stands in line at a node of this rank, or at any but the first. */
void waiter_until_at(struct waiter *w, size_t rank);
void waiter_until_elsewhere(struct waiter *w);

struct fake_node *waiter_node(struct waiter *w, size_t rank);
size_t waiter_count(struct waiter *w, size_t rank, const char *command);
size_t waiter_count_all(struct waiter *w, const char *command);

/* -- The stranger -- */

/* The stranger has left its key, without a word. */
void waiter_let_go(struct waiter *w);

/* What a place is to the nodes: the token of an attempt. Valid until the next one. */
const char *waiter_token(const struct waiter *w, uint64_t place);

/* Home says so of a place: "turn" or "heir". */
void waiter_tell(struct waiter *w, size_t rank, const char *word, uint64_t place);

/* Releases, but another stranger has the key on all nodes but home: the turn, which is in the
 * socket when this returns, is refused. */
void waiter_turn_in_vain(struct waiter *w);

/* Releases to whatever place stands until the acquire ends; it must be granted. */
void waiter_serve(struct waiter *w);

#endif /* FAKE_WAITER_H */
