/* The parts of a lock's step function, for lock.c, lock_acquire.c and lock_hold.c alone. Each takes
 * the event of the step and adds to its actions. */
#ifndef RL_CORE_LOCK_PARTS_H
#define RL_CORE_LOCK_PARTS_H

#include "core/lock_state.h"

/* -- lock.c -- */

/* Everything that ends an attempt or a hold comes through here: what may be on the nodes is
 * released or owed, the round under way is over. */
void rl_lock_release_all(struct rl_lock *lock, const struct rl_event *event,
                         struct rl_actions *out);

/* `asked`: the nodes that take part; the others have failed. They are also those to send to now. */
void rl_lock_begin_round(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out,
                         enum rl_round_kind kind, uint32_t asked);

/* Moves on if the round under way is decided. */
void rl_lock_after_votes(struct rl_lock *lock, const struct rl_event *event,
                         struct rl_actions *out);

/* -- lock_acquire.c -- */

void rl_lock_on_acquire(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);
void rl_lock_on_turn(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);
void rl_lock_on_notice(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);
void rl_lock_on_adopt(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);
void rl_lock_on_attempt(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);
void rl_lock_on_tell(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);

/* In line: each pause costs a try, as if the nodes had been asked and had refused. */
void rl_lock_wait(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);

/* A vote of an attempt's SETs, counted already, that leaves the round open. */
void rl_lock_alone_voted(struct rl_lock *lock, const struct rl_event *event,
                         struct rl_actions *out);

/* The node that was asked alone did not answer in time: now the others are asked. */
void rl_lock_ask_others(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);

void rl_lock_attempt_decided(struct rl_lock *lock, const struct rl_event *event,
                             struct rl_actions *out);
void rl_lock_attempt_failed(struct rl_lock *lock, const struct rl_event *event,
                            struct rl_actions *out, enum rl_result why);
void rl_lock_end_acquire(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out,
                         enum rl_result why);
/* When the validity ends that this attempt could win. */
uint64_t rl_lock_attempt_ends_ns(const struct rl_lock *lock);
bool rl_lock_too_late(const struct rl_lock *lock);

/* -- lock_hold.c -- */

void rl_lock_on_extend(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);
void rl_lock_on_release(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);
void rl_lock_on_disown(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);

/* Sets the end of validity, and the moment before it at which a holder is told. */
void rl_lock_set_validity(struct rl_lock *lock, uint64_t until_ns);
/* Why validity ends when it does. */
enum rl_result rl_lock_end_of_validity(const struct rl_lock *lock);
/* When the watchdog is to extend next. */
void rl_lock_plan_renewal(struct rl_lock *lock, const struct rl_event *event, bool unknown);
void rl_lock_begin_extend(struct rl_lock *lock, const struct rl_event *event,
                          struct rl_actions *out, uint32_t ttl_ms);
void rl_lock_extend_decided(struct rl_lock *lock, const struct rl_event *event,
                            struct rl_actions *out);
void rl_lock_release_decided(struct rl_lock *lock, struct rl_actions *out);
/* A holder ends its hold, or an extension: what is under way is cancelled. */
void rl_lock_stop_extend(struct rl_lock *lock, struct rl_actions *out);
void rl_lock_lose(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out,
                  enum rl_result why);
/* Gives the key back to nodes that answered that they do not have it. */
void rl_lock_repair(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out,
                    uint32_t gone);

#endif
