/* Future events in order: a binary heap.
 *
 * The order: by time; at equal times facts announced by a process come first
 * (sim_queue_add_first()), then everything else in the order of scheduling. An event that has to
 * wait (its target is paused, its link is cut) is put back with its old place among its equals, so
 * waiting never reorders one connection.
 *
 * Nothing here fails: out of memory ends the program. */
#ifndef SIM_QUEUE_H
#define SIM_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

enum sim_event_kind {
    SIM_EV_DIAL,     /* a connection reaches its node */
    SIM_EV_UP,       /* ... is accepted */
    SIM_EV_DELIVER,  /* bytes reach a node */
    SIM_EV_REPLY,    /* bytes reach a process */
    SIM_EV_BREAK,    /* a process notices that a connection is gone */
    SIM_EV_ROOM,     /* a stream takes more */
    SIM_EV_RESOLVED, /* a name has been looked up */
    SIM_EV_WAKE,     /* a process's timer fires */
    SIM_EV_TURN,     /* the part of a loop's turn that follows the polling */
    SIM_EV_CLOSED,   /* nothing is left of a process's world */
    SIM_EV_OPEN,     /* a process starts again */
    SIM_EV_FACT,     /* a fact that a process announced earlier, by its own time */
    SIM_EV_USER,     /* the user of a lock does something */
    SIM_EV_NODE,     /* a paused node resumes, or a stopped one is started */
    SIM_EV_FAULT,    /* a fault strikes */
    SIM_EV_PLAIN,    /* a client of another library does something */
    SIM_EV_MEMBERS   /* an administrator does something */
};

struct sim_event {
    uint64_t at_ns;
    uint64_t order; /* among events of one time; 0: to be given by sim_queue_add() */
    void *what;     /* a piece, a connection, a look-up or a fact */
    uint32_t arg;   /* a generation: the event is void if it is no longer the present one */
    uint8_t kind;   /* enum sim_event_kind */
    uint8_t client;
    uint8_t node; /* or slot */
};

struct sim_queue {
    struct sim_event *events;
    uint32_t count;
    uint32_t capacity;
    uint64_t scheduled;
};

#define SIM_LATER (UINT64_C(1) << 62) /* added to the order of all events except the first ones */

void sim_queue_add(struct sim_queue *queue, const struct sim_event *event);
void sim_queue_add_first(struct sim_queue *queue, const struct sim_event *event);

/* False if nothing is scheduled. */
bool sim_queue_take(struct sim_queue *queue, struct sim_event *out);

#endif
