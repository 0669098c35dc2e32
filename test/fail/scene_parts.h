/* What the chapters of the story share: the loops and the time, and the operations of locks. Tests
 * include scene.h only. */
#ifndef FAIL_SCENE_PARTS_H
#define FAIL_SCENE_PARTS_H

#include <uv.h>

#include "fail/scene.h"
#include "server/fake_node.h"

#define SCENE_PATIENCE_NS UINT64_C(20000000000)

struct scene {
    const struct scene_options *options;
    struct scene_result *result;
    uv_loop_t loop;       /* the client's */
    uv_loop_t nodes_loop; /* the nodes' */
    struct fake_node *nodes[SCENE_NODES];
    char urls[SCENE_NODES][64];
    redlock_client *client;
    redlock_lock *a;
    redlock_lock *b;
    bool shielded; /* nothing fails */
    size_t failed; /* failed allocations between the last scene_enter() and scene_leave() */
};

/* From scene_enter() on the library is at work, and calls may fail; from scene_leave() on the test
 * is. */
void scene_enter(struct scene *s);
void scene_leave(struct scene *s);

/* What the call between them must have returned: REDLOCK_ERR_NOMEM or 0. */
int scene_expected(const struct scene *s);

/* -- Turning the loops -- */

typedef bool scene_condition(const struct scene *s, const void *data);

/* Turns the loops until they would wait, even if bytes come one by one. */
void scene_turn(struct scene *s);

/* Turns the loops until the condition holds; false: patience has ended. */
bool scene_run_until(struct scene *s, scene_condition *holds, const void *data,
                     uint64_t patience_ns);

/* Conditions: a callback has come (data: a struct scene_told); no release or request is pending. */
bool scene_was_told(const struct scene *s, const void *data);
bool scene_nothing_owed(const struct scene *s, const void *data);

redlock_stats scene_stats(const struct scene *s);

/* -- Operations -- */

/* A callback; data: a struct scene_told. */
void scene_on_lock(redlock_lock *lock, int status, void *data);

struct scene_told *scene_told_of(struct scene *s, enum scene_op op);
bool scene_succeeded(struct scene *s, enum scene_op op);

/* Waits for its callback, if it was submitted. */
void scene_wait_for(struct scene *s, enum scene_op op);

/* NULL: no memory. */
redlock_lock *scene_new_lock(struct scene *s, const void *name, size_t length);

/* Submit, and do not wait. A NULL lock is skipped. */
void scene_acquire(struct scene *s, redlock_lock *lock, enum scene_op op, int64_t wait_ms);
void scene_release(struct scene *s, redlock_lock *lock, enum scene_op op);

/* Cancels this acquire, unless it has ended, and waits for its callback. */
void scene_cancel(struct scene *s, redlock_lock *lock, enum scene_op op);

/* -- Chapters -- */

/* scene_line.c */
void scene_wait_in_line(struct scene *s);

/* scene_permit.c */
void scene_hold_permits(struct scene *s);

#endif /* FAIL_SCENE_PARTS_H */
