/* The nodes that concern a lock, and the numbers by which its core knows them.
 *
 * A client may have many nodes, in many sets. Few of them concern one lock: those that decide about
 * it, and those that may have its key from before a change. Each of these has a seat, and a core's
 * masks have a bit for each seat. Locks of one group (sets.h) have the same seats. While a client
 * has no more nodes than a core has seats, a node's seat is its number.
 *
 * Can a vote be counted for another node? An answer comes from a node of the client, whose seat is
 * looked up when it arrives. Seats change only when a configuration is adopted, between the steps
 * of locks, and all that a core and its hold remember by seats is renumbered then. A node whose
 * vote a core still counts, or to which it may send a release, keeps a seat. Only a node that has
 * left the set, and whose connection was closed, may lose it, and no release is sent there.
 */
#ifndef RL_NODES_SEATS_H
#define RL_NODES_SEATS_H

#include "client/state.h"

uint32_t rl_seats_count_of(const redlock_lock *lock);

/* The client's number of the node at a seat; and the seat of a node, RL_SEATS_MAX: it has none. */
uint32_t rl_seats_node(const redlock_lock *lock, uint32_t seat);
uint32_t rl_seats_of(const redlock_lock *lock, uint32_t node);

/* The seats of these nodes. seats NULL: a node's seat is its number. */
uint32_t rl_seats_at(const struct rl_seats *seats, rl_mask nodes);

/* The nodes at these seats. */
rl_mask rl_seats_nodes(const redlock_lock *lock, uint32_t seats);

/* Who decides about the lock. */
struct rl_sides rl_seats_sides(const redlock_lock *lock);

/* What an event says of nodes. */
struct rl_seats_room {
    uint32_t duplicates[RL_SEATS_MAX];
    int16_t reasons[RL_SEATS_MAX];
};

/* Fills it in, and what else an event says of nodes. */
void rl_seats_fill(const redlock_lock *lock, struct rl_event *event, struct rl_seats_room *room);

/* Gives a seat to each of these nodes, to those that the core still refers to, and to those in the
 * seats of `needed`. False: there are too many. */
bool rl_seats_make(const redlock_lock *lock, rl_mask nodes, uint32_t needed,
                   struct rl_seats *seats);

/* The lock has a ballot for each seat. False: no memory. */
bool rl_seats_reserve(redlock_lock *lock, uint32_t n);

/* The lock has these rules and seats from now on. seats NULL: a node's seat is its number. `to`
 * says where each seat has gone, as rl_lock_renumber() has it. */
void rl_seats_move(redlock_lock *lock, const struct rl_rules *rules, const struct rl_seats *seats,
                   uint8_t to[RL_SEATS_MAX]);

/* A lock that neither asks nor holds has the seats of another. False: no memory. */
bool rl_seats_share(redlock_lock *lock, const redlock_lock *with);

#endif
