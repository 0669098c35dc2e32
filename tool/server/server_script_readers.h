/* What the library's scripts of readers do with leases and intents, in C: part_readers.lua,
 * part_hold.lua, part_intent.lua. Their keys are not declared, so a user may be refused each. */
#ifndef SERVER_SERVER_SCRIPT_READERS_H
#define SERVER_SERVER_SCRIPT_READERS_H

#include "server/server_script_line.h"

/* "libredlock:readers:{r}" and its like. */
struct text readers_name(const struct resp_arg *resource);
struct text intent_name(const struct resp_arg *resource);
struct text upgrade_name(const struct resp_arg *resource);

/* redis.call('time') in the first lines. */
void readers_time(struct script_run *run);
double readers_now_ms(const struct script_run *run);

/* When the value's lease ends, if it lives; else 0. */
double readers_lease(struct script_run *run, const struct resp_arg *resource,
                     const struct resp_arg *value);

/* The first lines of share.lua, where nothing is known of the resource: a lease of ARGV[1], for so
 * long. */
void readers_hold_alone(struct script_run *run, const struct resp_arg *resource,
                        const struct resp_arg *ms);

/* The lease of ARGV[1]. is: the resource is shared already. */
void readers_hold(struct script_run *run, const struct resp_arg *resource, double end, bool is);

/* Removes what has ended, and sets both keys' end anew; whether a lease is left. By pcall. */
bool readers_settle(struct script_run *run, const struct resp_arg *resource);

/* redis.call('pexpireat'). */
void readers_pexpireat(struct script_run *run, const char *at, const struct resp_arg *name,
                       double when_ms);

void intent_note(struct script_run *run, const struct resp_arg *resource,
                 const struct resp_arg *ms);

/* By pcall, as SET with PX and DEL; the life that is left, -2: there is no key, -3: it may not be
 * asked for. */
void far_set(struct script_run *run, const struct text *name, const struct resp_arg *value,
             const struct resp_arg *ms);
void far_del(struct script_run *run, const struct text *name);
double far_pttl(struct script_run *run, const struct text *name);

#endif
