/* Dates a pass: maps the moment at which a node wrote a key, by the node's clock, to a lower bound
 * on the client's clock.
 *
 * A message may have been in transit for any time, so its arrival says nothing about when the key
 * was written. The node therefore reports its TIME, and the client maps that by a calibration: a
 * reply that carried the node's time N0, to a command sent at c0. The command ran after it was
 * sent, so when the node's clock showed N0, the client's showed c0 or more. A moment T after N0
 * came (T - N0) later by the node's clock, which is no less than (T - N0)(1 - drift) by the
 * client's; a moment before N0 came no more than (N0 - T)(1 + drift) earlier. Hence
 * start = c0 + (T - N0)(1 - drift), or c0 - (N0 - T)(1 + drift), is no later than the write.
 *
 * This relies on what Redlock requires of a node anyway: its clock does not step, and drifts by
 * less than the allowance. A bound in the future reveals a step, and is rejected. A bound costs
 * validity: the time that the command took to reach the node, and the drift since. So a calibration
 * expires after 10 s.
 *
 * Which server does a calibration describe? A calibration belongs to the connection that the guard
 * has checked, and ends with it. It applies only to messages of a subscription that was confirmed
 * before the command was sent. The server that answered the command was then up when the
 * subscription was confirmed. So both are one server; or the subscribed one is gone, and its
 * successor may not vote (guard.h). */
#ifndef RL_CORE_CALIBRATION_H
#define RL_CORE_CALIBRATION_H

#include <stdint.h>

struct rl_calibration {
    uint64_t sent_ns; /* 0: no calibration */
    uint64_t time_us;
};

/* Returns the lower bound; 0: unknown. subscribed_ns: when the subscription was confirmed. */
uint64_t rl_calibration_start_ns(const struct rl_calibration *calibration, uint64_t time_us,
                                 uint64_t now_ns, uint64_t subscribed_ns, uint32_t drift_ppm);

#endif
