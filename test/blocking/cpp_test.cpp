// redlock.hpp in use: with the standard's locks, as a guard, its errors, moves and ends. cmocka's
// assertions are for the main thread: others leave what they saw in variables.
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "blocking/cpp_frame.hpp"

using namespace std::chrono_literals;

// -- What can be said without running --

static_assert(!std::is_copy_constructible_v<redlock::client>);
static_assert(!std::is_copy_constructible_v<redlock::mutex>);
static_assert(!std::is_copy_constructible_v<redlock::guard>);
static_assert(!std::is_copy_assignable_v<redlock::guard>);
static_assert(std::is_nothrow_move_constructible_v<redlock::client>);
static_assert(std::is_nothrow_move_assignable_v<redlock::client>);
static_assert(std::is_nothrow_move_constructible_v<redlock::mutex>);
static_assert(std::is_nothrow_move_assignable_v<redlock::mutex>);
static_assert(std::is_nothrow_move_constructible_v<redlock::guard>);
static_assert(std::is_nothrow_move_assignable_v<redlock::guard>);
static_assert(std::is_nothrow_destructible_v<redlock::client>);
static_assert(std::is_nothrow_destructible_v<redlock::mutex>);
static_assert(std::is_nothrow_destructible_v<redlock::guard>);
static_assert(noexcept(std::declval<redlock::mutex &>().unlock()));
static_assert(std::is_base_of_v<std::system_error, redlock::error>);

namespace {

void pause_all(struct live *live) {
    for (size_t i = 0; i < live->n; i++) {
        live_pause(live, i);
    }
}

void resume_all(struct live *live) {
    for (size_t i = 0; i < live->n; i++) {
        live_resume(live, i);
    }
}

template <class Function>
int attempt_thrown(Function function) {
    try {
        function();
    } catch (const redlock::error &error) {
        return error.attempt().value();
    }
    return 1;
}

}  // namespace

extern "C" {

ON_THREE_NODES(as_a_standard_mutex) {
    redlock::client client(urls(live_of(state)), fresh());
    redlock::mutex a(client, "a");
    redlock::mutex b(client, "b");
    STATUS(client.opened().value(), 0);
    {
        std::lock_guard<redlock::mutex> lock(a);
        assert_true(a.valid());
        bool got = true;
        in_a_thread([&] { got = a.try_lock(); });
        assert_false(got);
    }
    assert_false(a.valid());
    {
        std::unique_lock<redlock::mutex> lock(a, 5s);
        assert_true(lock.owns_lock());
        int got = 0;
        in_a_thread([&] {
            std::unique_lock<redlock::mutex> other(a, std::try_to_lock);
            std::unique_lock<redlock::mutex> later(a, 100ms);
            std::unique_lock<redlock::mutex> until(a, std::chrono::steady_clock::now() + 50ms);
            got = other.owns_lock() + later.owns_lock() + until.owns_lock();
        });
        assert_int_equal(got, 0);
        lock.unlock();
        lock.lock();
        std::unique_lock<redlock::mutex> moved(std::move(lock));
        assert_true(moved.owns_lock());
    }
    assert_false(a.valid());
    {
        std::scoped_lock<redlock::mutex, redlock::mutex> both(a, b);
        assert_true(a.valid() && b.valid());
    }
    assert_true(!a.valid() && !b.valid());
    assert_true(a.try_lock_for(5s));
    assert_true(a.try_lock_until(std::chrono::system_clock::now() + 5s));  // again
    a.unlock();
    a.unlock();
    STATUS(a.release().value(), REDLOCK_ERR_NOT_HELD);
    assert_true(a.try_lock_for(std::chrono::hours::max()));  // cut, not wrapped around
    using long_clock = std::chrono::time_point<std::chrono::system_clock, std::chrono::hours>;
    bool got = true;
    in_a_thread([&] { got = a.try_lock_until(std::chrono::system_clock::time_point::min()); });
    assert_false(got);
    in_a_thread([&] { got = a.try_lock_until(long_clock::min()); });
    assert_false(got);
    assert_true(a.try_lock_until(long_clock::max()));
    a.unlock();
    a.unlock();
}

/* Busy is an answer, nodes that are away are an error, for both in the same way. */
ON_THREE_NODES(one_of_several) {
    redlock::client client(urls(live_of(state)), fresh());
    redlock::mutex a(client, "a"), b(client, "b"), c(client, "c");
    const std::vector<redlock::mutex *> any{&a, &b, &c};
    {
        redlock::guard held_a(a), held_c(c);
        redlock::mutex *free = redlock::try_lock_any(any); /* what we have locked is left out */
        assert_ptr_equal(free, &b);
        std::unique_lock<redlock::mutex> held_b(*free, std::adopt_lock);
        assert_true(b.valid());
        STATUS(thrown([&] { redlock::try_lock_any(any); }), REDLOCK_ERR_ALREADY_HELD);
        redlock::mutex *other = &a;
        redlock::mutex *late = nullptr;
        in_a_thread([&] { other = redlock::try_lock_any(any, 30ms); });
        assert_null(other);
        std::thread waiting([&] {
            late = redlock::try_lock_any(any, 1min);
            late->unlock();
        });
        held_b.unlock();
        waiting.join();
        assert_ptr_equal(late, &b);
    }
    redlock::mutex gone(std::move(a));
    STATUS(thrown([&] { redlock::try_lock_any(any); }), REDLOCK_ERR_INVALID);
    STATUS(thrown([] { redlock::try_lock_any({}); }), REDLOCK_ERR_INVALID);
    redlock_mutex *one = b.handle(), *got = one;
    for (int64_t timeout_ms : {INT64_C(-7), INT64_C(4294967295)}) {
        STATUS(redlock_mutex_lock_any(&one, 1, timeout_ms, &got), REDLOCK_ERR_INVALID);
        assert_null(got);
    }
    client.close();
    STATUS(thrown([&] { redlock::try_lock_any({&b, &c}, 1min); }), REDLOCK_ERR_CLOSED);
}

ON_THREE_NODES(what_is_an_exception) {
    struct live *live = live_of(state);
    redlock::client client(urls(live), fresh());
    redlock::mutex mutex(client, "a");
    assert_false(static_cast<bool>(mutex.last_attempt()));
    mutex.lock();
    in_a_thread([&] {
        STATUS(thrown([&] { assert_false(mutex.try_lock()); }), 0);
        STATUS(mutex.last_attempt().value(), REDLOCK_ERR_HELD);
        STATUS(thrown([&] { assert_false(mutex.try_lock_for(50ms)); }), 0);
        STATUS(mutex.last_attempt().value(), REDLOCK_ERR_HELD);
    });
    in_a_thread([&] {
        STATUS(thrown([&] { redlock::guard guard(mutex, 50ms); }), REDLOCK_ERR_DEADLINE);
        STATUS(attempt_thrown([&] { redlock::guard guard(mutex, 50ms); }), REDLOCK_ERR_HELD);
    });
    mutex.unlock();
    pause_all(live);
    STATUS(thrown([&] { (void)mutex.try_lock(); }), REDLOCK_ERR_NO_QUORUM);
    STATUS(thrown([&] { (void)mutex.try_lock_for(50ms); }), REDLOCK_ERR_NO_QUORUM);
    STATUS(mutex.last_attempt().value(), REDLOCK_ERR_NO_QUORUM);
    STATUS(thrown([&] { redlock::guard guard(mutex, 50ms); }), REDLOCK_ERR_DEADLINE);
    STATUS(attempt_thrown([&] { redlock::guard guard(mutex, 50ms); }), REDLOCK_ERR_NO_QUORUM);
    STATUS(attempt_thrown([&] { (void)mutex.try_lock(); }), REDLOCK_ERR_NO_QUORUM);
    STATUS(attempt_thrown([&] { mutex.extend(); }), 0);
    STATUS(thrown([&] { mutex.alive(); }), REDLOCK_ERR_NOT_HELD);
    resume_all(live);
    assert_true(mutex.try_lock_for(10s));
    mutex.unlock();
}

ON_THREE_NODES(as_a_guard) {
    redlock::client client(urls(live_of(state)), fresh());
    redlock::mutex_options options;
    options.ttl = 20s;
    options.holder = "test";
    options.linger = 1s;
    redlock::mutex lingers(client, "one", options);
    STATUS(thrown([&] { std::lock_guard<redlock::mutex> guard(lingers); }), 0);
    options.fencing = true;
    STATUS(thrown([&] { redlock::mutex none(client, "one", options); }), REDLOCK_ERR_INVALID);
    STATUS(thrown([&] { redlock::shared_mutex none(client, "one", options); }),
           REDLOCK_ERR_INVALID);
    options.linger = 0s;
    redlock::mutex mutex(client, {"one", "two"}, options);
    std::uint64_t fence = 0;
    std::optional<redlock::guard> kept;
    {
        redlock::guard guard(mutex);
        assert_true(guard.owns());
        assert_true(guard.valid());
        assert_true(static_cast<bool>(guard));
        assert_true(guard.remaining() > 10s && guard.remaining() <= 20s);
        assert_int_equal(guard.token().size(), REDLOCK_TOKEN_LENGTH);
        assert_string_equal(guard.token().c_str(), mutex.token().c_str());
        fence = guard.fence();
        assert_true(fence != 0 && fence == mutex.fence());
        guard.extend(60s);
        assert_true(guard.remaining() > 30s);
        guard.extend();
        guard.alive();
        STATUS(thrown([&] { guard.extend(0s); }), REDLOCK_ERR_INVALID);
        redlock::guard moved(std::move(guard));
        assert_false(guard.owns());
        assert_false(guard.valid());
        assert_int_equal(guard.fence(), 0);
        assert_int_equal(moved.fence(), fence);
        STATUS(guard.release().value(), REDLOCK_ERR_NOT_HELD);
        assert_true(moved.valid());
        kept.emplace(std::move(moved));
    }
    assert_true(kept->valid());
    bool got = true;
    int why = 0;
    in_a_thread([&] {
        redlock::guard other(mutex, std::try_to_lock);
        got = other.owns();
        why = thrown([&] { redlock::guard waits(mutex, 100ms); });
    });
    assert_false(got);
    STATUS(why, REDLOCK_ERR_DEADLINE);
    STATUS(kept->release().value(), 0);
    assert_false(kept->owns());
    assert_false(mutex.valid());
    mutex.lock();
    {
        redlock::guard adopted(mutex, std::adopt_lock);
        redlock::guard again(mutex, 5s);
        assert_true(again.fence() > fence);
        *kept = std::move(again);
    }
    assert_true(mutex.valid());
    kept.reset();
    assert_false(mutex.valid());
}

ON_THREE_NODES(errors) {
    std::string sentence;
    STATUS(thrown([] { redlock::client none({}); }), REDLOCK_ERR_INVALID);
    try {
        redlock::client bad({"http://x"});
    } catch (const std::system_error &error) {
        sentence = error.what();
        assert_true(error.code() == redlock::make_error_code(REDLOCK_ERR_URL));
        assert_string_equal(error.code().category().name(), "redlock");
        assert_string_equal(error.code().message().c_str(), redlock_strerror(REDLOCK_ERR_URL));
    }
    assert_non_null(std::strstr(sentence.c_str(), "http"));
    try {
        redlock::client zeroed({"redis://x"}, redlock_client_options());
        fail();
    } catch (const redlock::error &error) {
        assert_non_null(std::strstr(error.what(), "begin with REDLOCK_CLIENT_OPTIONS_INIT"));
    }
    redlock::client client(urls(live_of(state)), fresh());
    STATUS(thrown([&] { redlock::mutex none(client, ""); }), REDLOCK_ERR_INVALID);
    STATUS(thrown([&] { redlock::mutex twice(client, {"a", "a"}); }), REDLOCK_ERR_INVALID);
    redlock::mutex_options options;
    options.ttl = -1s;
    try {
        redlock::mutex none(client, "a", options);
        fail();
    } catch (const redlock::error &error) {
        assert_non_null(std::strstr(error.what(), "ttl_ms is -1000"));
        assert_false(error.is_retryable());
    }
    for (const int wrong : {0, 1, 2}) {
        options = {};
        options.max_hold = std::chrono::milliseconds(wrong == 0 ? -1 : 1000);
        options.renew = std::chrono::milliseconds(wrong == 1 ? -1 : 1000);
        options.holder.assign(wrong == 2 ? 3 : 0, '\0');
        STATUS(thrown([&] { redlock::mutex none(client, "a", options); }), REDLOCK_ERR_INVALID);
    }
    STATUS(thrown([] { redlock::client none({std::string("redis://a\0b", 11)}); }),
           REDLOCK_ERR_INVALID);
    redlock::mutex mutex(client, "a");
    STATUS(thrown([&] { (void)mutex.token(); }), REDLOCK_ERR_NOT_HELD);
    STATUS(thrown([&] { mutex.extend(); }), REDLOCK_ERR_NOT_HELD);
    assert_string_equal(mutex.message().c_str(), redlock_strerror(REDLOCK_ERR_NOT_HELD));
    redlock::mutex moved(std::move(mutex));
    STATUS(thrown([&] { mutex.lock(); }), REDLOCK_ERR_INVALID);
    assert_false(mutex.valid());
    assert_true(mutex.remaining() == 0ms);
    mutex.unlock();
}

static_assert(std::is_nothrow_copy_constructible_v<redlock::error>);

static bool is_connected(struct live *live, size_t i) {
    redisReply *reply = live_ask(live, i, "CLIENT LIST");
    const bool is = std::strstr(reply->str, " user=app ") != nullptr;
    freeReplyObject(reply);
    return is;
}

// Another password while a mutex is held: for all nodes, and for one; what is no password throws.
ON_THREE_NODES(another_password) {
    struct live *live = live_of(state);
    live_tell_all(live, "ACL SETUSER app reset on >old >new ~* &* +@all");
    std::vector<std::string> nodes;
    for (size_t i = 0; i < live->n; i++) {
        nodes.push_back("redis://app:old@127.0.0.1:" + std::to_string(live_port(live, i)));
    }
    {
        redlock::client client(nodes, fresh());
        redlock::mutex mutex(client, "key");
        std::lock_guard<redlock::mutex> lock(mutex);
        client.set_credentials(std::string("app"), std::string("new"));
        LIVE_POLL(live, client.stats().credentials_pending == 0);
        live_tell_all(live, "ACL SETUSER app <old");
        live_tell(live, 0, "CLIENT KILL USER app");
        LIVE_POLL(live, is_connected(live, 0));
        client.set_credentials("app", "other", 1);
        LIVE_POLL(live, client.message().find("new credentials refused") != std::string::npos);
        assert_int_equal(client.stats().credentials_pending, 1); /* of node 1 alone */
        int thrown = 0;
        try {
            client.set_credentials("app", std::string("a\0b", 3));
        } catch (const redlock::error &error) {
            thrown = error.code().value();
        }
        LIVE_STATUS(thrown, REDLOCK_ERR_INVALID);
        assert_true(mutex.valid());
    }
}

/* The status in words once, be it in the sentence or behind it. */
ON_THREE_NODES(says_it_once) {
    const std::string held = redlock_strerror(REDLOCK_ERR_HELD);
    assert_string_equal(redlock::error(REDLOCK_ERR_HELD).what(), held.c_str());
    assert_string_equal(redlock::error(REDLOCK_ERR_HELD, held + ": 1 of 3 granted").what(),
                        (held + ": 1 of 3 granted").c_str());
    assert_string_equal(
        redlock::error(REDLOCK_ERR_INVALID, "ttl_ms is 0").what(),
        (std::string("ttl_ms is 0: ") + redlock_strerror(REDLOCK_ERR_INVALID)).c_str());
    redlock::client client(urls(live_of(state)), fresh());
    redlock::mutex mutex(client, "a");
    try {
        mutex.extend();
        fail();
    } catch (const std::exception &error) {
        assert_string_equal(error.what(), redlock_strerror(REDLOCK_ERR_NOT_HELD));
    }
}

ON_THREE_NODES(lost) {
    struct live *live = live_of(state);
    redlock::client client(urls(live), fresh());
    std::mutex gate;
    std::condition_variable changed;
    int status = 0;
    redlock::mutex_options options;
    options.ttl = 1s;
    options.on_lost = [&](int why) {
        std::lock_guard<std::mutex> lock(gate);
        status = why;
        changed.notify_all();
    };
    std::optional<redlock::mutex> mutex;
    mutex.emplace(redlock::mutex(client, "one", options));  // moved: on_lost is not disturbed
    redlock::guard guard(*mutex);
    pause_all(live);
    {
        std::unique_lock<std::mutex> lock(gate);
        changed.wait(lock, [&] { return status != 0; });
    }
    STATUS(status, REDLOCK_ERR_EXPIRED);
    assert_false(guard.valid());
    assert_true(guard.remaining() == 0ms);
    resume_all(live);
    STATUS(guard.release().value(), REDLOCK_ERR_LOST);
}

ON_THREE_NODES(ends_in_any_order) {
    std::optional<redlock::client> client(std::in_place, urls(live_of(state)), fresh());
    redlock::mutex mutex(*client, "one");
    {
        redlock::guard guard(mutex);
        assert_int_equal(client->stats().held, 1);
        assert_non_null(std::strstr(client->message().c_str(), "3 of 3 nodes up"));
        redlock::client moved(std::move(*client));
        client.reset();
        assert_true(guard.valid());
        int why = 0;
        std::thread waits([&] { why = thrown([&] { mutex.lock(); }); });
        const std::string metrics = moved.metrics(REDLOCK_METRICS_OPENMETRICS);
        assert_true(metrics.size() > 6 && metrics.compare(metrics.size() - 6, 6, "# EOF\n") == 0);
        while (moved.stats().waiting == 0) {
            std::this_thread::yield();
        }
        moved.close();
        moved.close();
        waits.join();
        STATUS(why, REDLOCK_ERR_CANCELED);
        assert_false(guard.valid());
        STATUS(thrown([&] { mutex.lock(); }), REDLOCK_ERR_CLOSED);
        STATUS(thrown([&] { (void)moved.stats(); }), REDLOCK_ERR_INVALID);
        STATUS(thrown([&] { (void)moved.metrics(); }), REDLOCK_ERR_INVALID);
        STATUS(thrown([&] { redlock::mutex late(moved, "x"); }), REDLOCK_ERR_INVALID);
    }  // the guard unlocks in vain, the client is gone before the mutex
}

}  // extern "C"
