/* What redlock top shows, as texts in a frame: a line about all, the nodes, the locks, the keys. No
 * terminal is touched.
 *
 * What does not fit is left out: of the columns fence and age first, of the nodes as many as leave
 * the locks half of the screen. */
#ifndef RL_CLI_TOP_VIEW_H
#define RL_CLI_TOP_VIEW_H

#include "scan/order.h"
#include "scan/scan.h"
#include "top/frame.h"
#include "top/rates.h"

struct rl_view {
    enum rl_list_order order;
    bool waiting; /* only locks that clients wait for */
    bool hides_nodes;
    size_t offset; /* the first lock on the screen, of those that are shown */
    size_t rows;   /* how many fit, by the last drawing */
    size_t locks;  /* how many there are */
};

/* sweep: sorted; NULL: there is none yet. It moves the offset into what there is. */
void rl_view_draw(struct rl_view *view, struct rl_frame *frame, const struct rl_sweep *sweep,
                  const struct rl_rates *rates);

#endif
