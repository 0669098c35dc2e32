/* The line, as nodes have it and users see it: checks that no later client is served first, and
 * that waiting clients are served at all.
 *
 * The guarantee (docs/waiting.md): while a waiter's place stands at the home that the others
 * use, and the waiter answers, no client that came later is granted before it. A missed turn, and
 * the first release of contention that no client had detected yet, cost one place each; between the
 * loss of a home and its detection by the waiter, others may overtake.
 *
 * Definitions:
 *   - A place *stands* at a node as long as it is in the node's line, or the key is reserved for
 *     it, and after that while the key has a token of its client. So a waiter whose turn it is
 *     stands.
 *   - A waiter *answers* if, ever since its place stands there, its process has not stalled, has
 *     been connected to that node and listening there, and no fault has been between them.
 *   - A grant is reported to V. V came *later* than W if V's user asked for it after W's place
 *     stood. Users are compared by true time; the clocks of nodes and clients do not matter. A
 *     place has the age of its client's longest wait: if that user gives up, the client's next
 *     grant counts as requested at that time.
 *   - The home that the others use: V had its turn at the same node; or it had none (a SET, or a
 *     TAKE without a turn), and no client stands at any other node.
 * Then W is *overtaken*, and since W's place stands there must be an excuse:
 *   - a missed turn at that node: the key's reservation expired, or the client that took the key
 *     gave up before the grant was reported;
 *   - a hold that ended without knowing of W: its key disappeared from a node and left it free, by
 *     a release that deletes, or by its ttl. One place for each hold, whatever the number of nodes;
 *     the last hold that ended so a moment before W stood counts, and so does a lock without a
 *     holder when W stands: another unknown client may be faster. A holder that has learned from
 *     home that others wait reserves the keys that it releases on the other nodes, if it is one
 *     resource: that is no excuse. Only one of V's own holds is an excuse: home's answer to the
 *     release says that W waits, and V then waits for W.
 * Each excuse counts once for each waiter. Locks of several resources are left out: they stand in
 * the line of one, and are granted all. So are grants to clients of other libraries, which do not
 * know the line.
 *
 * violation "order": W is overtaken without an excuse, in histories whose only disturbance is
 * clients of other libraries. Faults, and nodes that are too busy, excuse more than this check can
 * see: there it is only counted.
 *
 * Readers and writers have a line each, and take turns in phases. A *phase* is a time in which
 * there are readers; it continues with readers that asked, or had the turn, during it. Limits of
 * what may overtake a waiter that stands at home and answers:
 *   - a waiting reader is overtaken by two writers (the one that the lock is passed to when it
 *     comes, and the one that this writer knows as next), and by those that have waited longer;
 *   - a waiting writer is overtaken by one phase for each writer that is granted meanwhile, and one
 *     more;
 *   - a refused writer keeps new readers out: no reader that asked later is granted the lock in the
 *     current phase, except those that waited in a client when its turn came. (A writer that joined
 *     the line without being refused does not keep readers out yet.)
 * Excuses are as above. It is the same violation in histories without disturbance: no client of
 * another library, no lock of several resources; else it is only counted.
 *
 * A semaphore has one line, and in it a place of each client for each number of permits that its
 * locks take. A place is overtaken if a client that asked later, for any number, is granted
 * permits: free permits are kept for the first place, which may want several. Each slot released
 * without knowing of the waiter excuses one grant, and so does each slot that was free by then. A
 * client with reserved slots no longer stands: others may be faster at other slots.
 *
 * The same violation: of two locks of one client that want to write the same, the later one is
 * granted it first. And a JOIN runs at a node at which its process has never listened: the message
 * of its turn would be lost, and a live waiter overtaken.
 *
 * W *could have* what it has asked for if its process runs, and a quorum of nodes may vote for it,
 * answer, and have no token under its keys. violation "stall": this was so for longer than
 * sim_options_stall_ns() without interruption, so no other client was granted it either. An
 * obstacle (a key until its ttl, a node, a wire, a quarantine) is no stall. The longest one of all
 * histories is printed. (Locks of one client that share some of their resources wait for each
 * other: histories with such locks are not checked for stalls.)
 *
 * Right behind a command, a node's lines are as its script promises (check_left.c). A release that
 * serves, and a LEAVE that frees a key or empties the writers' line, leaves nobody who listens
 * without what is free: a "stall". So does an extension that makes a writer a reader. Who is first
 * in line from then on has been told so, and a JOIN drops what its client left at the head of the
 * line: violation "order". Who leaves is gone: "leftover". (A command that dropped dead waiters
 * need not have served those behind them, who ask again.)
 *
 * violation "spin": a user's acquire makes more than SPIN_MOST attempts in a quarter of a second. A
 * refused user must pause.
 *
 * When everything is over, and nothing could break a connection, no place may be left in a line,
 * and no connection that is subscribed: violation "leftover".
 *
 * Not checked: whether a turn that was not missed was slow. Attempts and commands per grant are
 * printed. */
#ifndef SIM_CHECK_LINE_H
#define SIM_CHECK_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/options.h"

struct sim_world;
struct sim_client;
struct sim_hold;
struct sim_fact;
struct sim_ran;
struct sim_node;
struct sim_seen;
struct sim_user;

/* A client's place at a node, in the line of writers or of readers; or in that of a semaphore, for
 * so many permits. */
struct sim_standing {
    uint64_t since_ns;      /* UINT64_MAX: it does not stand */
    uint64_t number;        /* of the place */
    uint32_t missed_before; /* turns at this node, when it came */
    uint32_t opened_before[SIM_CLIENTS_MAX + 1];
    uint32_t overtaken;
    uint32_t writers_before; /* that were granted it */
    uint32_t phases_before;
    bool is_seen; /* by the look that is taken just now */
};

#define SIM_KINDS SIM_TAKE_MAX /* of places of a client: one for writers, one for readers */

/* A time in which a resource has readers, without interruption. */
struct sim_reading {
    uint64_t since_ns;
    uint64_t until_ns;                 /* when somebody read last */
    uint64_t turn_ns[SIM_CLIENTS_MAX]; /* when a grant of the client was last reported in time */
    uint32_t count;                    /* of phases so far */
    uint32_t writers;                  /* that were granted it before this one */
};

struct sim_check_line {
    uint64_t ids[SIM_CLIENTS_MAX];                 /* of clients in their places; 0: none yet */
    bool listened[SIM_NODES_MAX][SIM_CLIENTS_MAX]; /* since its process began */
    struct sim_standing standing[SIM_NODES_MAX][SIM_RESOURCES_MAX][SIM_CLIENTS_MAX][SIM_KINDS];
    uint32_t missed[SIM_NODES_MAX][SIM_RESOURCES_MAX];
    uint32_t opened[SIM_RESOURCES_MAX][SIM_CLIENTS_MAX + 1]; /* holds, by whose; last: others' */
    uint64_t opened_ns[SIM_RESOURCES_MAX];                   /* the last of them */
    uint32_t writers[SIM_RESOURCES_MAX];                     /* that were granted it */
    struct sim_reading phases[SIM_RESOURCES_MAX];
    /* When users of a client that have given up since its grant had asked: its place may be as
     * old. */
    uint64_t left_ns[SIM_RESOURCES_MAX][SIM_CLIENTS_MAX][SIM_KINDS];
    uint64_t could_since_ns[SIM_CLIENTS_MAX][SIM_LOCKS_MAX]; /* UINT64_MAX: it could not */
    uint64_t spin_since_ns[SIM_CLIENTS_MAX][SIM_LOCKS_MAX];
    uint32_t spins[SIM_CLIENTS_MAX][SIM_LOCKS_MAX];
    uint64_t look_ns;
    char first[SIM_NODES_MAX][SIM_RESOURCES_MAX][2][40]; /* in line; of writers, of readers */
    char heirs[16][40]; /* who was told that it is, by the command that runs */
    uint32_t n_heirs;
    uint32_t served; /* by the command that runs: places that were told so */
    char last_served[40];
    uint32_t places[SIM_NODES_MAX]; /* in all lines there, before that command */
    uint32_t deleted;               /* keys, by the command that runs: as a mask */
};

/* Ever since then the client runs, is connected to the node, and listens there. */
bool sim_check_line_answers(const struct sim_world *world, uint32_t client, uint32_t node,
                            uint64_t since_ns);
void sim_check_line_start(struct sim_world *world);

/* A node has run a command of this client with this place. Returns whether its id is learnt anew.
 */
bool sim_check_line_place(struct sim_world *world, uint32_t client, const char *place);

/* A node has run a SUBSCRIBE, or a JOIN, of this client. */
void sim_check_line_listens(struct sim_world *world, uint32_t node, uint32_t client);
void sim_check_line_joins(struct sim_world *world, uint32_t node, uint32_t client);

/* A node's key of a resource is another one now, or gone: then now->token and now->reserved are 0.
 */
void sim_check_line_key(struct sim_world *world, uint32_t node, uint32_t resource,
                        const struct sim_seen *before, const struct sim_seen *now);

/* A node has run a TAKE for this token. */
void sim_check_line_takes(struct sim_world *world, uint32_t node, uint32_t token,
                          const struct sim_ran *ran);

/* A node has sent a message to a subscriber that is there: it may say who comes next. */
void sim_check_line_told(struct sim_world *world, uint32_t node, const char *bytes, size_t length);

/* A node has sent a message: it may tell a place that it is first in line. */
void sim_check_heir(struct sim_world *world, const char *bytes, size_t length);

/* A node has run a command of ours: it has served every waiter that it could, and told the first in
 * line. */
void sim_check_left(const struct sim_node *me, const struct sim_ran *ran);

/* Its lines are others now: restarted, or a replica's. ran: NULL. */
void sim_check_firsts(const struct sim_node *me, const struct sim_ran *ran);

/* A node has run a command: updates who stands in its lines. */
void sim_check_line_look(struct sim_world *world, uint32_t node);

/* A grant is reported, for a request of this time. */
void sim_check_line_grant(struct sim_world *world, uint32_t client, const struct sim_hold *hold,
                          uint64_t asked_ns);

/* A user has given up its request. */
void sim_check_line_left(struct sim_world *world, uint32_t client, const struct sim_fact *fact);

/* Somebody reads it now. */
void sim_check_line_reads(struct sim_world *world, uint32_t resource);

/* A client's place in a line of this node, of writers or of readers, or for so many permits. */
struct sim_standing *sim_check_line_standing(struct sim_world *world, uint32_t node,
                                             uint32_t resource, uint32_t client, uint32_t kind);

/* A user's lock asks for votes. */
void sim_check_line_attempt(struct sim_world *world, struct sim_user *user);

/* The owner of the place; false: no live client. */
bool sim_check_line_whose(const struct sim_world *world, const char *place, uint32_t *client,
                          uint64_t *number);

/* The token that a place of this number is. */
unsigned sim_check_line_token(const struct sim_world *world, uint64_t number);

/* A process ends: another one has its number from now on. */
void sim_check_line_gone(struct sim_world *world, uint32_t client);

/* What nodes have: keys and lines. */
void sim_check_line_print(const struct sim_world *world);

/* A client was granted some of these, a mask: clients that wait for them have not stalled until
 * then. */
void sim_check_line_served(struct sim_world *world, uint32_t resources);

void sim_check_line_step(struct sim_world *world);
void sim_check_line_over(struct sim_world *world);

#endif
