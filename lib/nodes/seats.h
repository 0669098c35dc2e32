/* Seats: the nodes that concern a lock, and their numbers in its core.
 *
 * A client may have many nodes, in many sets. Few of them concern one lock: the nodes that decide
 * about it, and those that may have its key from before a change. Each of these has a seat, and a
 * core's masks have a bit for each seat. Locks of one group (sets.h) have the same seats. If a
 * client has no more nodes than a core has seats, a node's seat is its number.
 *
 * Can a vote be counted for another node? No: when an answer arrives, the client looks up the seat
 * of the node that sent it. Seats change only when a configuration is adopted, between the steps of
 * locks; all masks of a core and its hold are renumbered then. A node whose vote a core still
 * counts, or to which it may send a release, keeps a seat. Only a node that has left the set, and
 * whose connection is closed, may lose its seat; no release is sent there.
 */
#ifndef RL_NODES_SEATS_H
#define RL_NODES_SEATS_H

#include "client/state.h"

uint32_t rl_seats_count_of(const redlock_lock *lock);

/* The client's number of the node at a seat; and the seat of a node, RL_SEATS_MAX: none. */
uint32_t rl_seats_node(const redlock_lock *lock, uint32_t seat);
uint32_t rl_seats_of(const redlock_lock *lock, uint32_t node);

/* The seats of these nodes. seats NULL: a node's seat is its number. */
uint32_t rl_seats_at(const struct rl_seats *seats, rl_mask nodes);

/* The nodes at these seats. */
rl_mask rl_seats_nodes(const redlock_lock *lock, uint32_t seats);

/* The nodes that decide about the lock. */
struct rl_sides rl_seats_sides(const redlock_lock *lock);

/* Room for an event's arrays. */
struct rl_seats_room {
    uint32_t duplicates[RL_SEATS_MAX];
    int16_t reasons[RL_SEATS_MAX];
};

/* Fills in the event's nodes, duplicates and reasons. */
void rl_seats_fill(const redlock_lock *lock, struct rl_event *event, struct rl_seats_room *room);

/* Gives a seat to each of these nodes, to each node to which the core still refers, and to each
 * node in the seats of `needed`. False: too many. */
bool rl_seats_make(const redlock_lock *lock, rl_mask nodes, uint32_t needed,
                   struct rl_seats *seats);

/* Makes room for n ballots in the lock. False: no memory. */
bool rl_seats_reserve(redlock_lock *lock, uint32_t n);

/* Gives the lock these rules and seats. seats NULL: a node's seat is its number. `to`: each seat's
 * new number, as for rl_lock_renumber(). */
void rl_seats_move(redlock_lock *lock, const struct rl_rules *rules, const struct rl_seats *seats,
                   uint8_t to[RL_SEATS_MAX]);

/* Gives a lock that neither asks nor holds the seats of another. False: no memory. */
bool rl_seats_share(redlock_lock *lock, const redlock_lock *with);

#endif
