/* The rules of proof/exclusion.py, proof/fences.py and proof/modes.py as a machine: it refuses a
 * step that they do not allow, and with it the history.
 *
 * It knows rounds, tokens and values by number, and each party's time, but not its caller,
 * replay.c. Only the machine checks what a rule demands (`needs`); it uses the rules' names, and
 * docs/proof.md explains the correspondence.
 *
 * `over` is no step: it asks the clock of the round's client. Where a rule says "for all rounds",
 * the machine leaves out and forgets those that are over or given up: they never come back. */
#ifndef MODEL_REPLAY_STEPS_H
#define MODEL_REPLAY_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/options.h"

#define STEPS_NOTHING 0u              /* values: tokens are numbers from 1 */
#define STEPS_RESERVED UINT32_MAX     /* for whomever */
#define STEPS_SHARED (UINT32_MAX - 1) /* readers have leases */
#define STEPS_UNCOUNTED UINT32_MAX    /* no round */

enum steps_put { STEPS_SET, STEPS_TAKE, STEPS_EXTEND };

/* What is under a resource at a node. */
struct steps_value {
    uint32_t value;
    uint64_t ends_ms; /* by the node's clock */
};

/* A round, by its number; in the order of its sending, or of its first pass. */
struct steps_round {
    uint64_t until_ns;               /* ttl less drift after the sending, by its client's clock */
    uint64_t ends_ns[SIM_NODES_MAX]; /* of each vote; UINT64_MAX: a pass not counted yet */
    uint32_t token;
    uint32_t wants;  /* resources, a mask */
    uint32_t agreed; /* nodes, a mask, as the next two */
    uint32_t forgot;
    uint32_t counted;
    uint8_t client;
    bool attempt;
    bool told;
    bool reads;   /* what its commands ask for */
    bool lowered; /* a writer's, on which its client relies only as a reader */
};

struct steps;

/* Whether until_ns has come at the client's clock, at this true time. */
typedef bool steps_over(void *owner, uint8_t client, uint64_t until_ns, uint64_t true_ns);

struct steps *steps_new(uint32_t nodes, steps_over *is_over, void *owner);
void steps_free(struct steps *steps);

/* "" while all steps follow the rules; then the refusal. */
const char *steps_refused(const struct steps *steps);
void steps_refuse(struct steps *steps, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* How many steps of each kind were taken. Names end with NULL. */
extern const char *const steps_names[];
const uint64_t *steps_taken(const struct steps *steps);

const struct steps_round *steps_round(const struct steps *steps, uint32_t round);

/* The value that follows from the steps so far. */
struct steps_value steps_at(const struct steps *steps, uint32_t node, uint32_t resource);

/* -- Clients -- */

/* Returns the round's number. */
uint32_t steps_send(struct steps *steps, const struct steps_round *round);
/* ends_ns: when a pass ends by the client's clock; 0: the vote is an answer. */
void steps_count(struct steps *steps, uint32_t node, uint32_t round, uint64_t ends_ns,
                 uint64_t true_ns);
void steps_tell(struct steps *steps, uint32_t round, uint64_t true_ns);
void steps_give_up(struct steps *steps, uint32_t token);
/* When the first of the counted votes ends. */
uint64_t steps_until(const struct steps *steps, uint32_t round);

/* -- Nodes -- */

/* A command that says yes has put or prolonged the token under these resources; ends_ms: when the
 * keys end now; least_ms: they must not end before. round may be STEPS_UNCOUNTED. */
void steps_put(struct steps *steps, enum steps_put how, uint32_t node, uint32_t round,
               uint32_t token, uint32_t resources, const uint64_t ends_ms[SIM_RESOURCES_MAX],
               uint64_t least_ms, uint64_t true_ns);

/* A release of this token, or its LEAVE, or another command (0), has left another value, or none.
 * passes: the value is the next token, and its client is notified. */
void steps_leave(struct steps *steps, uint32_t node, uint32_t token, uint32_t resource,
                 struct steps_value left, bool passes, uint64_t true_ns);

void steps_expire(struct steps *steps, uint32_t node, uint32_t resource, uint64_t true_ns);
void steps_restart(struct steps *steps, uint32_t node,
                   const struct steps_value found[SIM_RESOURCES_MAX]);

/* Another library's client has stored this value, or removed its own. */
void steps_foreign(struct steps *steps, uint32_t node, uint32_t resource, struct steps_value now);

/* -- Readers: modes.py -- */

/* From now on the token's client only reads: a downgrade, or the end of an upgrade that has not
 * won. */
void steps_lower(struct steps *steps, uint32_t token);

/* A reader's command that says yes has given the token a lease, or prolonged it. `attempt`: it is a
 * SHARE; else an extension, which may turn the token into a lease. */
void steps_share(struct steps *steps, bool attempt, uint32_t node, uint32_t round, uint32_t token,
                 uint32_t resource, uint64_t ends_ms, uint64_t least_ms);

/* An UPGRADE that says yes has made the token the key. */
void steps_upgrade(struct steps *steps, uint32_t node, uint32_t round, uint32_t token,
                   uint32_t resource, uint64_t ends_ms, uint64_t least_ms);

/* The yes as a whole, after its resources. */
void steps_agreed(struct steps *steps, uint32_t node, uint32_t round, uint64_t true_ns);

/* The token's lease has been given up; or has ended by itself. */
void steps_unlease(struct steps *steps, uint32_t node, uint32_t resource, uint32_t token);
void steps_lease_ends(struct steps *steps, uint32_t node, uint32_t resource, uint32_t token,
                      uint64_t true_ns);

/* When the token's lease ends, or 0; the tokens of leases, by number. */
uint64_t steps_lease(const struct steps *steps, uint32_t node, uint32_t resource, uint32_t token);
bool steps_lease_at(const struct steps *steps, uint32_t node, uint32_t resource, uint32_t i,
                    uint32_t *token, uint64_t *ends_ms);

/* After steps_restart(): a lease that the node still has. */
void steps_found(struct steps *steps, uint32_t node, uint32_t resource, uint32_t token,
                 uint64_t ends_ms);

/* -- Counters -- */

/* A fenced command of the token that says yes. before, now: what the counter was and is; 0: there
 * is none. */
void steps_counter(struct steps *steps, uint32_t node, uint32_t token, bool raises, uint64_t fence,
                   uint64_t before, uint64_t now);
/* Another's command has written the token, where a counter is or was. */
void steps_counter_passed(struct steps *steps, uint32_t node, uint32_t token, uint64_t before,
                          uint64_t now);

/* The client was told of the token's fence. */
void steps_fence(struct steps *steps, uint32_t token, uint64_t fence);

#endif
