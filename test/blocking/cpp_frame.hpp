// What the tests of redlock.hpp have in common: three nodes for each, and errors looked at.
#ifndef TEST_BLOCKING_CPP_FRAME_HPP
#define TEST_BLOCKING_CPP_FRAME_HPP

#include <string>
#include <thread>
#include <vector>

#include "redlock/redlock.hpp"

extern "C" {
#include "live/live.h"
}

// Fresh nodes, as in live.h.
inline redlock_client_options fresh() {
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    options.guard = REDLOCK_GUARD_OFF;
    return options;
}

inline struct live *live_of(void **state) {
    return static_cast<struct live *>(*state);
}

inline std::vector<std::string> urls(const struct live *live) {
    return {live->urls, live->urls + live->n};
}

// The status of the error that is thrown, 0 if none is.
template <class Function>
int thrown(Function function) {
    try {
        function();
    } catch (const redlock::error &error) {
        return error.status();
    }
    return 0;
}

template <class Function>
void in_a_thread(Function function) {
    std::thread(function).join();
}

#define STATUS(got, wanted) assert_string_equal(redlock_err_name(got), redlock_err_name(wanted))

extern "C" {

inline int start_three(void **state) {
    if (live_setup(state) != 0) {
        return -1;
    }
    live_start(live_of(state), 3, nullptr);
    return 0;
}

inline int stop_three(void **state) {
    live_end(live_of(state));
    return live_teardown(state);
}

// Fails if a key is left on a node. A semaphore leaves the number of its permits.
inline int stop_three_empty(void **state) {
    LIVE_POLL(live_of(state), live_no_keys(live_of(state)));
    return stop_three(state);
}

}  // extern "C"

#define ON_THREE_NODES(name) TEST_WITH(name, start_three, stop_three_empty)

#endif
