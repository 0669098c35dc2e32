// redlock::shared_mutex in use: with the standard's locks, its errors, and from one mode to the other.
// cmocka's assertions are for the main thread: others leave what they saw in variables.
#include <atomic>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "blocking/cpp_frame.hpp"

extern "C" {
#include "live/readers.h"
}

using namespace std::chrono_literals;

// -- What can be said without running --

static_assert(!std::is_copy_constructible_v<redlock::shared_mutex>);
static_assert(!std::is_copy_assignable_v<redlock::shared_mutex>);
static_assert(std::is_nothrow_move_constructible_v<redlock::shared_mutex>);
static_assert(std::is_nothrow_move_assignable_v<redlock::shared_mutex>);
static_assert(std::is_nothrow_destructible_v<redlock::shared_mutex>);
static_assert(noexcept(std::declval<redlock::shared_mutex &>().unlock()));
static_assert(noexcept(std::declval<redlock::shared_mutex &>().unlock_shared()));

namespace {

using reader = std::shared_lock<redlock::shared_mutex>;
using writer = std::unique_lock<redlock::shared_mutex>;

// Whether another thread gets in, which goes at once.
bool reads(redlock::shared_mutex &mutex) {
    bool got = false;
    in_a_thread([&] { got = reader(mutex, std::try_to_lock).owns_lock(); });
    return got;
}
bool writes(redlock::shared_mutex &mutex) {
    bool got = false;
    in_a_thread([&] { got = writer(mutex, std::try_to_lock).owns_lock(); });
    return got;
}

}  // namespace

extern "C" {

ON_THREE_NODES(as_a_standard_shared_mutex) {
    redlock::client client(urls(live_of(state)), fresh());
    redlock::shared_mutex mutex(client, "a");
    {
        reader lock(mutex);
        assert_true(mutex.valid());
        assert_true(mutex.remaining() > 0s);
        assert_true(reads(mutex));
        assert_false(writes(mutex));
        reader again(mutex, 5s);  // a standard mutex need not allow it
        reader until(mutex, std::chrono::system_clock::now() + 5s);
        assert_true(again.owns_lock() && until.owns_lock());
        reader moved(std::move(lock));
        assert_true(moved.owns_lock());
    }
    assert_false(mutex.valid());
    {
        writer lock(mutex, 30s);
        assert_true(lock.owns_lock());
        assert_false(reads(mutex));
        assert_false(writes(mutex));
        bool late = true;
        in_a_thread([&] {
            late = mutex.try_lock_shared_for(50ms) || mutex.try_lock_for(50ms) ||
                   mutex.try_lock_shared_until(std::chrono::steady_clock::now() + 50ms) ||
                   mutex.try_lock_until(std::chrono::steady_clock::now() + 50ms);
        });
        assert_false(late);
        std::scoped_lock<redlock::shared_mutex> again(mutex);
        reader below(mutex, std::try_to_lock);
        assert_true(below.owns_lock());
    }
    assert_false(mutex.valid());
    STATUS(mutex.release().value(), REDLOCK_ERR_NOT_HELD);
}

ON_THREE_NODES(what_would_wait_for_itself) {
    redlock::client client(urls(live_of(state)), fresh());
    redlock::shared_mutex mutex(client, {"a", "b"});
    redlock::mutex exclusive(client, {"b", "a"});
    reader lock(mutex);
    STATUS(thrown([&] { mutex.lock(); }), REDLOCK_ERR_WOULD_DEADLOCK);
    STATUS(thrown([&] { (void)mutex.try_lock(); }), REDLOCK_ERR_WOULD_DEADLOCK);
    STATUS(thrown([&] { exclusive.lock(); }), REDLOCK_ERR_WOULD_DEADLOCK);
    assert_non_null(std::strstr(mutex.message().c_str(), "wait for itself"));
    assert_true(mutex.valid());
}

ON_THREE_NODES(from_one_mode_to_the_other) {
    redlock::client client(urls(live_of(state)), fresh());
    redlock::shared_mutex mutex(client, "a");
    writer lock(mutex);
    const std::string token = mutex.token();
    STATUS(thrown([&] { (void)mutex.try_upgrade(); }), REDLOCK_ERR_INVALID);
    mutex.downgrade();
    STATUS(thrown([&] { mutex.downgrade(); }), REDLOCK_ERR_INVALID);
    assert_true(reads(mutex));
    assert_false(writes(mutex));
    assert_true(mutex.try_upgrade());
    assert_false(reads(mutex));
    assert_string_equal(mutex.token().c_str(), token.c_str());
    mutex.downgrade();
    std::atomic<bool> is_in{false};
    std::atomic<bool> goes{false};
    int why = 0;
    std::thread other([&] {
        reader second(mutex);
        is_in = true;
        while (!goes) {
            std::this_thread::yield();
        }
        why = thrown([&] { (void)mutex.try_upgrade(); });
    });
    LIVE_POLL(live_of(state), is_in && readers_count(live_of(state), "a") == 6);
    assert_false(mutex.try_upgrade());
    goes = true;
    other.join();
    STATUS(why, REDLOCK_ERR_WOULD_DEADLOCK);
    assert_true(mutex.try_upgrade());
    lock.unlock();
    assert_false(mutex.valid());
    STATUS(thrown([&] { mutex.downgrade(); }), REDLOCK_ERR_NOT_HELD);
}

ON_THREE_NODES(errors_and_moves) {
    redlock::client client(urls(live_of(state)), fresh());
    STATUS(thrown([&] { redlock::shared_mutex none(client, ""); }), REDLOCK_ERR_INVALID);
    redlock::shared_mutex mutex(client, "a");
    STATUS(thrown([&] { mutex.extend(); }), REDLOCK_ERR_NOT_HELD);
    STATUS(thrown([&] { (void)mutex.token(); }), REDLOCK_ERR_NOT_HELD);
    mutex.lock_shared();
    mutex.extend(20s);
    assert_true(mutex.remaining() > 10s);
    bool got = true;
    std::error_code last;
    in_a_thread([&] {
        got = mutex.try_lock();
        last = mutex.last_attempt();
    });
    assert_false(got);
    STATUS(last.value(), REDLOCK_ERR_HELD);
    redlock::shared_mutex moved(std::move(mutex));
    assert_true(moved.valid());
    moved.unlock_shared();
    assert_true(mutex.handle() == nullptr);
    STATUS(thrown([&] { mutex.lock_shared(); }), REDLOCK_ERR_INVALID);
    STATUS(thrown([&] { mutex.downgrade(); }), REDLOCK_ERR_INVALID);
    assert_false(mutex.valid());
    mutex.unlock();
}

ON_THREE_NODES(lost) {
    struct live *live = live_of(state);
    redlock::client client(urls(live), fresh());
    std::atomic<int> status{0};
    redlock::mutex_options options;
    options.on_lost = [&](int why) { status = why; };
    redlock::shared_mutex mutex(client, "a", options);
    mutex.lock_shared();
    LIVE_POLL(live, readers_count(live, "a") == 3);
    live_tell_all(live, "FLUSHALL");
    STATUS(thrown([&] { mutex.extend(); }), REDLOCK_ERR_LOST);
    STATUS(status, REDLOCK_ERR_LOST);
    assert_false(mutex.valid());
    STATUS(mutex.release().value(), REDLOCK_ERR_LOST);
}

}  // extern "C"
