/* The order in which locks are shown. Pure. */
#ifndef RL_CLI_SCAN_SORT_H
#define RL_CLI_SCAN_SORT_H

#include "scan/list.h"

/* --sort has these, in this order (RL_ARGS_ORDERS). */
enum rl_list_order {
    RL_ORDER_NAME,
    RL_ORDER_HOLDER,
    RL_ORDER_VOTES,   /* the fewest first */
    RL_ORDER_FENCE,   /* the latest first */
    RL_ORDER_AGE,     /* the longest first */
    RL_ORDER_LEFT,    /* the shortest first */
    RL_ORDER_WAITING, /* the most first */
    RL_ORDER_LONGEST, /* the longest wait of a first client, first */
    RL_ORDERS
};

/* By class, then by order, then by name. */
void rl_list_sort(struct rl_list *list, enum rl_list_order order);

#endif
