/* A query by the client of five.h, and the result in its callback.
 *
 *     struct asked asked;
 *     assert_int_equal(asked_once(&asked, f), 0);
 *
 * The callback asserts what holds for every result. */
#ifndef FAKE_ASK_H
#define FAKE_ASK_H

#include "fake/five.h"
#include "redlock/token.h"

#define ASK_QUICK_MS 1000    /* node_timeout where a test waits for it */
#define ASK_PATIENT_MS 20000 /* node_timeout where no test waits for it */
#define ASK_LISTED_MAX 8

struct asked { /* the result of a query */
    struct five *f;
    int calls, status;
    redlock_node_holder node_holders[FIVE];
    int has_quorum;
    char token[64], holder[128];
    int64_t remaining_ms;
    size_t waiting, n; /* in line, and listed */
    struct {
        char node[64], client[32], holder[128];
        int64_t waited_ms;
        enum redlock_mode mode;
    } waiters[ASK_LISTED_MAX];
    bool closes, asks_again; /* what the callback does besides */
};

/* Opens f's client, all nodes up. ASK_TEST() has done so, and is patient. */
void ask_open(struct five *f, int64_t node_timeout_ms);
void ask_start(struct five *f);
#define ASK_TEST(name) TEST_ON(name, struct five, f, ask_start, five_stop)
#define ASK_EACH(name, times) TEST_ON_EACH(name, times, struct five, f, ask_start, five_stop)

/* Submits a query of FIVE_RESOURCE with asked->f set; the counts in `asked` go on. Returns the
   call's status.
 */
int ask(struct asked *asked);

/* The callback that ask() submits. */
void on_asked(redlock_query *query, int status, void *data);

/* For five_run_until(): data is a struct asked. */
bool was_told(struct five *f, void *data);

/* Clears `asked`, submits, waits; returns the callback's status. */
int asked_once(struct asked *asked, struct five *f);

#endif /* FAKE_ASK_H */
