/* What each script of the library does to a server, and which one it is. */
#ifndef SERVER_SERVER_EFFECTS_H
#define SERVER_SERVER_EFFECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EFFECTS_MAX 29
#define EFFECT_WIRE_MAX 8192

struct resp_arg;
struct script_run;

/* server_effects_line.c */
void effect_join(struct script_run *run);
void effect_join_shared(struct script_run *run);
void effect_take(struct script_run *run);
void effect_take_fenced(struct script_run *run);
void effect_leave(struct script_run *run);
void effect_leave_shared(struct script_run *run);
void effect_waiter(struct script_run *run);

/* server_effects_release.c */
void effect_release_line(struct script_run *run);
void effect_release_shared(struct script_run *run);

/* server_effects_shared.c */
void effect_share(struct script_run *run);
void effect_extend_shared(struct script_run *run);
void effect_raise_shared(struct script_run *run);
void effect_upgrade(struct script_run *run);
void effect_readers(struct script_run *run);

/* What TAKE does: whether each of the first n keys may be taken (if not, the answer is there), and
 * takes one. place_at: which argument the place is. */
bool script_may_take(struct script_run *run, double n, size_t place_at);
void script_take_key(struct script_run *run, const struct resp_arg *name);

/* server_effects_permit.c */
void effect_take_permit(struct script_run *run);
void effect_take_permit_fenced(struct script_run *run);
void effect_join_permit(struct script_run *run);
void effect_release_permit(struct script_run *run);
void effect_leave_permit(struct script_run *run);
void effect_set_permits(struct script_run *run);
void effect_slots(struct script_run *run);

/* Writes the command that has this script in it, as the library does: EVAL and the text. Returns
 * its length. */
size_t effect_format(uint32_t script, char wire[EFFECT_WIRE_MAX]);

/* "release" */
const char *effect_name(uint32_t script);

/* Runs it, and replies. */
void effect_run(uint32_t script, struct script_run *run);

#endif
