/* See alarm.h. */
#include "alarm.h"

#include <assert.h>
#include <sys/timerfd.h>
#include <unistd.h>

static void poll_cb(uv_poll_t *poll, int status, int events) {
    struct rl_bench_alarm *alarm = poll->data;
    uint64_t rings;
    (void)status, (void)events;
    if (read(alarm->fd, &rings, sizeof(rings)) == (ssize_t)sizeof(rings)) {
        alarm->ring(alarm->data);
    }
}

int rl_bench_alarm_open(struct rl_bench_alarm *alarm, uv_loop_t *loop, void (*ring)(void *data),
                        void *data) {
    *alarm = (struct rl_bench_alarm){.ring = ring, .data = data};
    alarm->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (alarm->fd < 0) {
        return -1;
    }
    if (uv_poll_init(loop, &alarm->poll, alarm->fd) != 0) {
        close(alarm->fd);
        return -1;
    }
    alarm->poll.data = alarm;
    uv_poll_start(&alarm->poll, UV_READABLE, poll_cb);
    uv_unref((uv_handle_t *)&alarm->poll);
    return 0;
}

void rl_bench_alarm_set(struct rl_bench_alarm *alarm, uint64_t at_ns) {
    struct itimerspec time = {.it_value = {.tv_sec = (time_t)(at_ns / 1000000000),
                                           .tv_nsec = (long)(at_ns % 1000000000)}};
    assert(at_ns > 0);
    int result = timerfd_settime(alarm->fd, TFD_TIMER_ABSTIME, &time, NULL);
    assert(result == 0);
    (void)result;
}

static void closed_cb(uv_handle_t *handle) {
    struct rl_bench_alarm *alarm = handle->data;
    close(alarm->fd);
}

void rl_bench_alarm_close(struct rl_bench_alarm *alarm) {
    uv_close((uv_handle_t *)&alarm->poll, closed_cb);
}
