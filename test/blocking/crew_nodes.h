/* Three real nodes for a program in C++, which cannot include live/live.h. */
#ifndef BLOCKING_CREW_NODES_H
#define BLOCKING_CREW_NODES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct crew_nodes;

int crew_nodes_setup(void **state);
int crew_nodes_teardown(void **state); /* fails if a key is left on a node */

#define CREW_NODES_TEST(function) \
    cmocka_unit_test_setup_teardown(function, crew_nodes_setup, crew_nodes_teardown)

struct crew_nodes *crew_nodes_of(void **state);
size_t crew_nodes_count(const struct crew_nodes *nodes);
const char *crew_nodes_url(const struct crew_nodes *nodes, size_t i);
void crew_nodes_pause(struct crew_nodes *nodes);
void crew_nodes_resume(struct crew_nodes *nodes);

#endif
