/* Operations on a held lock, a part of its step: see lock_hold.c. Each function takes the event of
 * the step and adds to its actions. */
#ifndef RL_CORE_LOCK_HOLD_H
#define RL_CORE_LOCK_HOLD_H

#include "core/lock_data.h"

/* -- Events -- */

void rl_lock_on_extend(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);
void rl_lock_on_upgrade(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);
void rl_lock_on_release(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);
void rl_lock_on_alive(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);
void rl_lock_on_disown(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);

/* Why validity ends when it does. */
enum rl_result rl_lock_end_of_validity(const struct rl_lock *lock);

/* Sets when the watchdog extends next. */
void rl_lock_plan_renewal(struct rl_lock *lock, const struct rl_event *event, bool unknown);

/* The watchdog's step: extends, or stops if the user of the hold was silent for too long. */
void rl_lock_renew(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);

void rl_lock_begin_extend(struct rl_lock *lock, const struct rl_event *event,
                          struct rl_actions *out, uint32_t ttl_ms);

void rl_lock_extend_decided(struct rl_lock *lock, const struct rl_event *event,
                            struct rl_actions *out);

void rl_lock_upgrade_decided(struct rl_lock *lock, const struct rl_event *event,
                             struct rl_actions *out);

/* Whether an upgrade is pending: its round is open, or is won and the fence's counters are being
 * raised. */
bool rl_lock_is_upgrading(const struct rl_lock *lock);

/* Cancels the pending upgrade; keys that it may have converted to the writer's are converted
 * back. */
void rl_lock_cancel_upgrade(struct rl_lock *lock, const struct rl_event *event,
                            struct rl_actions *out);

void rl_lock_release_decided(struct rl_lock *lock, struct rl_actions *out);

/* Cancels a pending extension or upgrade. */
void rl_lock_stop_extend(struct rl_lock *lock, struct rl_actions *out);

void rl_lock_lose(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out,
                  enum rl_result why);

/* Sets the key again on nodes that answered that they do not have it. */
void rl_lock_repair(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out,
                    uint32_t gone);

#endif
