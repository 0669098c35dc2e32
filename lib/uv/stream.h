/* Streams: one non-blocking socket and one poll handle each.
 *
 *     dial -> connecting -> up -> over (`end` was called) -> closed
 *              \___________________/^          close() comes from everywhere
 *
 * It polls for readability all the time, and for writability only while connecting and after a
 * partial write: the steady state needs no epoll_ctl(). One read for each event, into the world's
 * one input buffer.
 *
 * Can SIGPIPE be raised? No: send() with MSG_NOSIGNAL. Can a program that another thread starts
 * inherit a socket? No: it is close-on-exec from socket() on. Can an owner be called back inside
 * its own call? No: an error of a write is kept for the world's next turn, which first delivers the
 * peer's last bytes. Can an event of a closed stream reach its owner after another socket got the
 * same number? No: each event checks whether its stream is closed, and the memory stays until libuv
 * has released it. */
#ifndef RL_UV_STREAM_H
#define RL_UV_STREAM_H

#include "uv/state.h"

/* As dial() of the world. */
struct rl_stream *rl_uv_dial(struct rl_uv_world *w, const struct rl_address *to,
                             const struct rl_stream_events *events, void *owner, int *error);

/* `end` for every stream that keeps an error. In a turn. */
void rl_uv_end_failed(struct rl_uv_world *w);

/* In a child after fork(): closes the descriptors. */
void rl_uv_abandon(struct rl_uv_world *w);

#endif
