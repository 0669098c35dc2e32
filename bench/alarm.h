/* An alarm on a libuv loop that is precise to some microseconds, unlike libuv's timers, which count
 * whole milliseconds of a rounded-down time: a hold of 1 ms would take 0 to 2.
 *
 * Happy path: open, set and clear as often as wanted, close; after rl_bench_alarm_close() the loop
 * must run once more. For a time that has passed it rings at once, from the loop.
 *
 * Failure modes: open() returns -1 if there is no descriptor left; do not close it then.
 *
 * Used for holds, and the distance of relay.h. Linux only, as local nodes are. */
#ifndef RL_BENCH_ALARM_H
#define RL_BENCH_ALARM_H

#include <stdint.h>
#include <uv.h>

struct rl_bench_alarm {
    uv_poll_t poll;
    int fd;
    void (*ring)(void *data);
    void *data;
};

int rl_bench_alarm_open(struct rl_bench_alarm *alarm, uv_loop_t *loop, void (*ring)(void *data),
                        void *data);

/* at_ns: by rl_bench_now_ns(). It replaces the earlier time. */
void rl_bench_alarm_set(struct rl_bench_alarm *alarm, uint64_t at_ns);
void rl_bench_alarm_close(struct rl_bench_alarm *alarm);

#endif /* RL_BENCH_ALARM_H */
