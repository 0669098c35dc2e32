/* What replay_client.c and replay_node.c, which watch the two sides, share. */
#ifndef MODEL_REPLAY_STATE_H
#define MODEL_REPLAY_STATE_H

#include "model/replay_watch.h"

/* A command on its way to a node, until it runs. In the order of sending. */
struct watch_sent {
    struct watch_sent *next;
    uint32_t conn;
    uint32_t token;
    uint32_t round; /* number in the steps */
    uint32_t wants; /* resources, a mask */
    uint8_t command;
    uint8_t kind;    /* enum rl_command_kind */
    bool shared;     /* a reader's */
    bool is_refused; /* the node did not know the script; the client may send it again */
};

struct watch {
    struct sim_world *world;
    struct steps *steps;
    struct watch_sent *sent; /* within one connection in the order of its bytes */
    enum watch_breaks broken;
    bool prints;
};

/* With --wrap the linker replaces x() by __wrap_x(), and renames it __real_x(). */
#define WRAP(name) __typeof__(name) __real_##name, __wrap_##name

/* The history that is watched. */
extern struct watch watched;

/* Prints one line of the history, if it is to be printed. */
void watch_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The mask of a resource: "r1" is resource 0, bit 0; in a semaphore a slot's key is its number; 0:
 * no resource. */
uint32_t watch_resource(const char *name, size_t length);

/* -- replay_leases.c -- */

/* A node has run a command: called before and after the checks of replay_node.c. */
void watch_leases_before(uint32_t node, const struct sim_ran *what, uint32_t token,
                         uint64_t now_ms);
void watch_leases_behind(uint32_t node);
/* A reader's command has said yes. */
void watch_leases_put(uint32_t node, const struct watch_sent *sent, const struct sim_ran *what,
                      uint64_t now_ms);
/* A node's keys were replaced. */
void watch_leases_found(uint32_t node);

/* -- replay_client.c, replay_node.c -- */

void watch_clients_end(void);
void watch_nodes_end(void);

#endif
