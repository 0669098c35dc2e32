/* The commands of a semaphore: the names of its keys, and what its scripts have behind them.
 *
 * A slot is a key, "libredlock:slot:3:{r}", which commands on locks find as they find a resource.
 * Those that choose slots, or know how many there are, have scripts of their own (scripts/
 * *permit*.lua). Behind their arguments stand the number of permits and the resource, of which the
 * scripts make the names of the other keys.
 *
 * A place in the line of a semaphore says how many permits it is for: the first two hex digits of
 * its number do.
 */
#ifndef RL_REDIS_PERMIT_COMMAND_H
#define RL_REDIS_PERMIT_COMMAND_H

#include "redis/command_data.h"
#include "redis/writer.h"

/* The key of slot number i of the command's; prefix: in front of it. */
void rl_permit_put_slot(struct rl_writer *w, const struct rl_command *command, const char *prefix,
                        uint32_t i);

/* Key and arguments of JOIN, LEAVE, SET_PERMITS and SLOT, and how many arguments those are. */
void rl_permit_put_one(struct rl_writer *w, const struct rl_command *command);
size_t rl_permit_count_args(enum rl_command_kind kind);

/* The last arguments of TAKE and RELEASE_LINE. */
void rl_permit_put_end(struct rl_writer *w, const struct rl_target *target);

/* Room that the commands of a semaphore need beyond those of a lock. */
size_t rl_permit_room(const struct rl_target *target);

#endif
