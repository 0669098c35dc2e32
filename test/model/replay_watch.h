/* Tells replay_steps.h what happens in a history of the simulator: what the library sends, counts
 * and relies on, and what the nodes do with it, with true time and the nodes' keys and counters.
 *
 * This does not change the simulator or the library: with --wrap the linker replaces functions x()
 * by the __wrap_x() of replay_client.c and replay_node.c, which call the real ones, __real_x().
 *
 *     rl_node_send()         a command goes to a node: of which round it is, or of none
 *     rl_node_resend()       ... again, behind what was sent since
 *     sim_wire_read()        a node has run a lock's command
 *     sim_check_line_key()   a node's key is another one now, or gone
 *     rl_round_vote()        the client counts a vote
 *     rl_lock_step()         a lock relies on a validity
 *     sim_node_forget(), sim_node_fail_over(), sim_node_planted()
 *
 * One history at a time. */
#ifndef MODEL_REPLAY_WATCH_H
#define MODEL_REPLAY_WATCH_H

#include <stdbool.h>

#include "model/replay_steps.h"
#include "sim/world.h"

/* How a control breaks the library; others break its servers. */
enum watch_breaks {
    WATCH_BREAKS_NOTHING,
    WATCH_BREAKS_VOTES,   /* an extension counts votes of earlier rounds */
    WATCH_BREAKS_QUORUM,  /* one vote is enough */
    WATCH_BREAKS_START,   /* a pass is valid from the arrival of its message */
    WATCH_BREAKS_FENCE,   /* a lock takes another number for its fence */
    WATCH_BREAKS_VALIDITY /* a lock relies on more than its round gives */
};

void watch_begin(struct sim_world *world, enum watch_breaks broken, bool prints);

/* Returns the steps; the caller frees them. */
struct steps *watch_end(void);

/* "" while the rules allow each step; then the refusal. */
const char *watch_refused(void);

#endif
