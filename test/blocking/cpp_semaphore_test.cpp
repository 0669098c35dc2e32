// redlock::counting_semaphore in use. cmocka's assertions are for the main thread: others leave what
// they saw in variables.
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "blocking/cpp_frame.hpp"

// At the end the number of permits is still there.
#define ON_THREE_NODES_WITH_KEYS(name) TEST_WITH(name, start_three, stop_three)

using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<redlock::counting_semaphore>);
static_assert(!std::is_copy_assignable_v<redlock::counting_semaphore>);
static_assert(std::is_nothrow_move_constructible_v<redlock::counting_semaphore>);
static_assert(std::is_nothrow_move_assignable_v<redlock::counting_semaphore>);
static_assert(std::is_nothrow_destructible_v<redlock::counting_semaphore>);
static_assert(noexcept(std::declval<redlock::counting_semaphore &>().release()));

namespace {

// How many stand in the line of the semaphore, on all nodes together.
long long in_line(const struct live *live) {
    long long count = 0;
    for (std::size_t i = 0; i < live->n; i++) {
        count += live_integer(live, i, "ZCARD libredlock:line:permits:{s}");
    }
    return count;
}

}  // namespace

extern "C" {

ON_THREE_NODES_WITH_KEYS(as_a_standard_semaphore) {
    redlock::client client(urls(live_of(state)), fresh());
    redlock::counting_semaphore a(client, "s", 2);
    redlock::counting_semaphore b(client, "s", 2);
    redlock::counting_semaphore c(client, "s", 2);
    assert_int_equal(a.slot(), REDLOCK_NO_SLOT);
    a.acquire();
    assert_true(b.try_acquire_for(30s));
    assert_int_equal(a.slot() + b.slot(), 1);  // 0 and 1
    assert_true(a.valid() && b.valid() && a.remaining() > 0s);
    assert_true(a.token() != b.token());
    assert_false(c.try_acquire());
    STATUS(c.last_attempt().value(), REDLOCK_ERR_HELD);
    assert_false(c.try_acquire_for(50ms));
    assert_false(c.try_acquire_until(std::chrono::steady_clock::now() + 50ms));
    assert_int_equal(c.slot(), REDLOCK_NO_SLOT);
    LIVE_POLL(live_of(state), in_line(live_of(state)) == 0);
    const std::int32_t freed = a.slot();
    std::int32_t got = REDLOCK_NO_SLOT;
    std::thread other([&] {
        c.acquire();
        got = c.slot();
    });
    LIVE_POLL(live_of(state), in_line(live_of(state)) == 1);
    STATUS(a.release().value(), 0);
    other.join();
    assert_int_equal(got, freed);
    STATUS(c.release().value(), 0);  // by another thread than the one that acquired
    STATUS(c.release().value(), REDLOCK_ERR_NOT_HELD);
}

ON_THREE_NODES_WITH_KEYS(errors_and_moves) {
    redlock::client client(urls(live_of(state)), fresh());
    STATUS(thrown([&] { redlock::counting_semaphore none(client, "s", 0); }), REDLOCK_ERR_INVALID);
    redlock::semaphore_options options;
    options.take = 2;
    options.fencing = true;
    redlock::counting_semaphore two(client, "s", 3, options);
    STATUS(thrown([&] { two.extend(); }), REDLOCK_ERR_NOT_HELD);
    two.acquire();
    assert_true(two.fence() > 0);
    assert_int_not_equal(two.slot(0), two.slot(1));
    assert_int_equal(two.slot(2), REDLOCK_NO_SLOT);
    two.extend(20s);
    assert_true(two.remaining() > 10s);
    STATUS(thrown([&] { two.acquire(); }), REDLOCK_ERR_ALREADY_HELD);
    assert_non_null(std::strstr(two.message().c_str(), "another object"));
    redlock::counting_semaphore others(client, "s", 4);
    STATUS(thrown([&] { (void)others.try_acquire(); }), REDLOCK_ERR_PERMITS);
    redlock::counting_semaphore moved(std::move(two));
    assert_true(moved.valid());
    assert_true(two.handle() == nullptr);
    STATUS(thrown([&] { two.acquire(); }), REDLOCK_ERR_INVALID);
    assert_int_equal(two.slot(), REDLOCK_NO_SLOT);
}

ON_THREE_NODES_WITH_KEYS(lost) {
    struct live *live = live_of(state);
    redlock::client client(urls(live), fresh());
    std::atomic<int> status{0};
    redlock::semaphore_options options;
    options.ttl = 30s;
    options.auto_extend = false;
    options.on_lost = [&](int why) { status = why; };
    redlock::counting_semaphore semaphore(client, "s", 1, options);
    semaphore.acquire();
    LIVE_POLL(live, live_count_keys(live, "libredlock:slot:0:{s}", semaphore.token().c_str()) == 3);
    live_tell_all(live, "FLUSHALL");
    STATUS(thrown([&] { semaphore.extend(); }), REDLOCK_ERR_LOST);
    STATUS(status, REDLOCK_ERR_LOST);
    assert_false(semaphore.valid());
    STATUS(semaphore.release().value(), REDLOCK_ERR_LOST);
}

}  // extern "C"
