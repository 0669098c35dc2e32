/* When a node wrote what it tells of: a lower bound, on the client's clock, of a moment that a
 * message names on the node's.
 *
 * A message cannot be timed by who receives it, as it may have been on its way for any time. So the
 * node says its TIME, and the client maps it by a calibration: an answer that carried the node's
 * time N0, to a command that was sent at c0. The command ran after it was sent, so when the node's
 * clock showed N0 the client's showed c0 or more. A moment T behind N0 came (T - N0) of the node's
 * time later, which is no less than (T - N0)(1 - drift) of the client's; one before N0 came no more
 * than (N0 - T)(1 + drift) earlier. Hence start = c0 + (T - N0)(1 - drift), or
 * c0 - (N0 - T)(1 + drift), is no later than the writing.
 *
 * It rests on what Redlock needs of a node anyway: its clock does not step, and drifts by less
 * than the allowance. A bound in the future shows a step, and is none. What a bound costs is
 * validity, as much as the command's way to the node and the drift since: so one is used for 10
 * s.
 *
 * Whose time was it? A calibration is of the connection that the guard has looked at, and ends with
 * it. It counts for messages alone that come by a subscription that was confirmed before the
 * command was sent: the server that answered then was up when the other one was subscribed at, so
 * they are one, or the one that speaks here is gone, and its successor may not vote (guard.h). */
#ifndef RL_CORE_CALIBRATION_H
#define RL_CORE_CALIBRATION_H

#include <stdint.h>

struct rl_calibration {
    uint64_t sent_ns; /* 0: there is none */
    uint64_t time_us;
};

/* 0: it cannot be said. subscribed_ns: when the subscription was confirmed. */
uint64_t rl_calibration_start_ns(const struct rl_calibration *calibration, uint64_t time_us,
                                 uint64_t now_ns, uint64_t subscribed_ns, uint32_t drift_ppm);

#endif
