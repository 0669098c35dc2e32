/* The line, as nodes have it and users meet it: who came later and was served first, and whether
 * somebody is served at all.
 *
 * The promise (docs/guarantees.md): while a waiter's place stands at the home that the others use,
 * and the waiter answers, nobody who came later is granted before it. A missed turn, and the first
 * release of a contention that nobody knew of, cost one place each; between the loss of a home and
 * the moment at which the waiter notices, others may go by.
 *
 * What is looked at:
 *   - A place *stands* at a node from the moment at which it is in the node's line, or has the key
 *     reserved for it, until it is neither in the line, nor has the key reserved for it, nor has
 *     the key a token of its client. So a waiter whose turn it is stands.
 *   - A waiter *answers* if its process has not stood still, is connected to that node and listens
 *     there, and no fault has been between them, all since its place stands there.
 *   - A grant is told to V. V came *later* than W if V's user asked for it after W's place stood.
 *     Users are compared by true time; what nodes and clients think of time is of no matter. A
 *     place has the age of whoever of its client waits longest: if that one gives up, the next
 *     grant of the client counts as asked for then.
 *   - The home that the others use: V had its turn at the same node; or it had none (a SET, or a
 *     TAKE that was tried without), and nobody stands at any other node.
 * Then W is *overtaken*, and there must be something that paid for it since W's place stands:
 *   - a turn at that node that was missed: the key's reservation ended by itself, or who took the
 *     key gave up before it was told;
 *   - a hold that ended where nobody knew of W: its key went from a node and left it free, by a
 *     release that deletes, or by its ttl. One place for each hold, whatever the number of nodes;
 *     the last one that ended so a moment before W stood counts, and so does a lock that nobody has
 *     when W stands: somebody who asks as well, and is known to nobody, may be faster. Who was told
 *     by home that others wait reserves what it releases on the other nodes, if it is one resource:
 *     nothing pays there.
 *     Of V's own holds one pays, and no more: home's answer to the release says that W waits, and
 *     who has released waits for it.
 * Each pays once for each waiter. Locks of several resources are left out: they stand in the line
 * of one, and are granted all. So are grants to clients of other libraries, which know of no line.
 *
 * violation "order": W is overtaken, and nothing paid for it, where nothing is wrong but clients of
 * other libraries. Faults, and nodes that are too busy to be asked, excuse more than can be told
 * from here: there it is counted.
 *
 * Readers and writers have a line each, and take turns in phases. A *phase* is a time in which
 * somebody reads; it goes on with who asked, or had the turn, while it did. Of what passes a waiter
 * that stands at home and answers:
 *   - a reader that waits is passed by two writers (the one that the lock is passed to when it
 *     comes, and the one that this one has been told of by then), and those that have waited
 *     longer than it;
 *   - a writer that waits is passed by one phase for each writer that is granted meanwhile, and one
 *     more;
 *   - a writer that was refused keeps new readers out: nobody who asked later is granted it in the
 *     phase that there is, but for those of a client whose turn came and who waited by then. (A
 *     writer that went into the line without being refused keeps nobody out yet.)
 * What is paid for is excused, as above. The same violation, where nothing goes wrong: no client of
 * another library, no lock of several resources; else it is counted.
 *
 * Of a semaphore there is one line, and in it a place of each client for each number of permits
 * that its locks take. Who stands in it was gone by if somebody who asked later, for however many,
 * is granted permits: what is free is kept for the first, who may want several. Each slot that was
 * given up where nobody knew of the waiter pays for one, and so does each that was free by then.
 * Who has his slots reserved does not stand any more: others may be faster at others.
 *
 * The same violation: a JOIN runs at a node at which its process has never listened. A turn
 * would be told to nobody, and a waiter that lives passed by.
 *
 * W *could have* what it has asked for if its process runs, and a quorum of nodes may vote for it,
 * answer, and have no token under its keys. violation "stall": that was so for longer than
 * sim_options_stall_ns() without a break, so nobody else was granted it either. What stands in the
 * way of a client (a key until its ttl, a node, a wire, a quarantine) is no stall. The longest one
 * of all histories is printed. (Locks of one client that share a part of their resources wait for
 * each other: where there are such, it is not looked for stalls.)
 *
 * violation "spin": a user's acquire makes more than SPIN_MOST attempts in a quarter of a second.
 * Who is refused pauses.
 *
 * When everything is over, and nothing could break a connection, no place may be left in a line,
 * and no connection that is subscribed: violation "leftover".
 *
 * Not looked at: whether a turn that nobody missed was slow. Attempts and commands for a grant are
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

/* A time in which somebody reads a resource, without a break. */
struct sim_reading {
    uint64_t since_ns;
    uint64_t until_ns;                 /* when somebody read last */
    uint64_t turn_ns[SIM_CLIENTS_MAX]; /* when one of the client was told that was not late */
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
    /* When those of a client asked who gave up since it was granted: its place may be as old. */
    uint64_t left_ns[SIM_RESOURCES_MAX][SIM_CLIENTS_MAX][SIM_KINDS];
    uint64_t could_since_ns[SIM_CLIENTS_MAX][SIM_LOCKS_MAX]; /* UINT64_MAX: it could not */
    uint64_t spin_since_ns[SIM_CLIENTS_MAX][SIM_LOCKS_MAX];
    uint32_t spins[SIM_CLIENTS_MAX][SIM_LOCKS_MAX];
    uint64_t look_ns;
};

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

/* A node has run something: who stands in its lines now. */
void sim_check_line_look(struct sim_world *world, uint32_t node);

/* A grant is told, for what was asked for at this time. */
void sim_check_line_grant(struct sim_world *world, uint32_t client, const struct sim_hold *hold,
                          uint64_t asked_ns);

/* A user has given up what it asked for. */
void sim_check_line_left(struct sim_world *world, uint32_t client, const struct sim_fact *fact);

/* Somebody reads it now. */
void sim_check_line_reads(struct sim_world *world, uint32_t resource);

/* A client's place in a line of this node, of writers or of readers, or for so many permits. */
struct sim_standing *sim_check_line_standing(struct sim_world *world, uint32_t node,
                                             uint32_t resource, uint32_t client, uint32_t kind);

/* A user's lock asks for votes. */
void sim_check_line_attempt(struct sim_world *world, struct sim_user *user);

/* Whose place it is; false: of nobody who is there now. */
bool sim_check_line_whose(const struct sim_world *world, const char *place, uint32_t *client,
                          uint64_t *number);

/* The token that a place of this number is. */
unsigned sim_check_line_token(const struct sim_world *world, uint64_t number);

/* A process ends: another one has its number from now on. */
void sim_check_line_gone(struct sim_world *world, uint32_t client);

/* What nodes have: keys and lines. */
void sim_check_line_print(const struct sim_world *world);

/* Somebody was granted some of these, a mask: who waits for them has not stalled until then. */
void sim_check_line_served(struct sim_world *world, uint32_t resources);

void sim_check_line_step(struct sim_world *world);
void sim_check_line_over(struct sim_world *world);

#endif
