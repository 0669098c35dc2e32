/* The data of a world on libuv. The functions keep the loop from blocking while a turn is due, and
 * keep the world's memory while libuv refers to it; only after the world has started (world.c). */
#ifndef RL_UV_STATE_H
#define RL_UV_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/fork.h"
#include "base/world.h"
#include "redlock/redlock.h"

#define RL_UV_INPUT_BYTES 16384 /* read from one stream at once */

struct rl_uv_stream;

struct rl_uv_world {
    struct rl_world base;
    redlock_allocator memory;
    uv_loop_t *loop;
    struct rl_fork fork;  /* of the process that opened it */
    size_t random_left;   /* random bytes at the end of the page of fork */
    uint32_t open;        /* handles and requests that libuv will call back */
    uint32_t unread_runs; /* polls in a row that left bytes unread */
    bool is_started;      /* the handles below exist */
    bool is_unreferenced; /* its handles do not keep the loop running */
    bool is_closing;
    bool in_turn;
    bool is_woken;      /* a turn is due before the poll */
    bool is_due;        /* the armed time has come: the poll must not block */
    bool has_more;      /* a peer sent more than the last poll has read */
    bool has_failed;    /* a stream keeps an error for the next turn */
    uint64_t armed_ns;  /* when the timer will fire; RL_NEVER: not running */
    uint64_t wanted_ns; /* the argument of arm() */
    uint64_t poll_ns;   /* when the last poll began */
    uint64_t heard_ns;  /* everything that had arrived by then is delivered */
    uv_timer_t timer;
    uv_prepare_t prepare;
    uv_check_t check;
    uv_idle_t idle; /* active: the loop must not block */
    struct rl_uv_stream *streams;
    char input[RL_UV_INPUT_BYTES];
};

/* Requests one more turn before the loop blocks. */
void rl_uv_wake(struct rl_uv_world *w);

/* The loop does not block while a turn is due. */
void rl_uv_update_idle(struct rl_uv_world *w);

/* For a handle that was just initialized: does it keep the loop running? */
void rl_uv_refer(const struct rl_uv_world *w, uv_handle_t *handle);

/* libuv will call back for this many more handles and requests. */
void rl_uv_opened(struct rl_uv_world *w, uint32_t count);

/* libuv has called back for one of them. The last call in a callback: it may free the world. */
void rl_uv_closed(struct rl_uv_world *w);

void rl_uv_free(struct rl_uv_world *w);

#endif
