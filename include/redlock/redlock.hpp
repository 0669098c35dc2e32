// libredlock for C++17: a client, a mutex, a guard, a shared mutex and a semaphore over blocking.h,
// rwlock.h and semaphore_blocking.h, nothing but this header.
//
//     redlock::client client({"redis://10.0.0.1", "redis://10.0.0.2", "redis://10.0.0.3"});
//     redlock::mutex mutex(client, "nightly-report");
//     {
//         redlock::guard guard(mutex, std::chrono::seconds(10));
//         while (work_is_left() && guard.valid()) {
//             do_one_step();
//         }
//     }
//
// redlock::mutex has what the standard requires of a timed mutex, so std::unique_lock,
// std::lock_guard and std::scoped_lock work with it, and redlock::shared_mutex has what it requires
// of a shared timed mutex, for std::shared_lock. Each member function is the function of blocking.h,
// rwlock.h or semaphore_blocking.h of the same name, which says what it does, who may call it, what
// can go wrong.
//
// Errors: a function that fails throws redlock::error, whose code() is the status and whose what()
// is the text. Destructors and unlock() do not throw, since std::lock_guard unlocks in its
// destructor: the outcome of an unlock is returned by redlock::mutex::release() and
// redlock::guard::release(). Memory that runs out throws
// std::bad_alloc, from C++, or redlock::error with REDLOCK_ERR_NOMEM, from the library.
//
// Link with libredlock. Since 0.1.
#ifndef REDLOCK_REDLOCK_HPP
#define REDLOCK_REDLOCK_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "redlock/blocking.h"
#include "redlock/rwlock.h"
#include "redlock/semaphore_blocking.h"

namespace redlock {

// -- Errors --

namespace detail {

class status_category final : public std::error_category {
   public:
    const char *name() const noexcept override {
        return "redlock";
    }
    std::string message(int status) const override {
        return redlock_strerror(status);
    }
};

}  // namespace detail

// The category of all statuses of libredlock: code.value() is a REDLOCK_ERR_ number.
inline const std::error_category &category() noexcept {
    static const detail::status_category one;
    return one;
}

// A status as std::error_code; false if it is 0.
inline std::error_code make_error_code(int status) noexcept {
    return std::error_code(status, category());
}

// What is thrown. what(): the text, followed by that of the status unless it contains it.
class error : public std::system_error {
   public:
    // status: REDLOCK_ERR_... sentence: what happened. attempt: see attempt().
    error(int status, const std::string &sentence, int attempt = 0)
        : std::system_error(make_error_code(status)),
          text_(join(status, sentence)),
          attempt_(attempt) {
    }
    explicit error(int status) : error(status, std::string()) {
    }

    // The text.
    const char *what() const noexcept override {
        return text_.what();
    }

    // REDLOCK_ERR_...
    int status() const noexcept {
        return code().value();
    }
    // Of a lock that was not acquired: the outcome of its last attempt, REDLOCK_ERR_HELD (busy) or
    // REDLOCK_ERR_NO_QUORUM (an outage) and so on, which REDLOCK_ERR_DEADLINE does not say; false if
    // there was none. See redlock_mutex_attempt_status().
    std::error_code attempt() const noexcept {
        return make_error_code(attempt_);
    }
    // Whether the same call may succeed later, as redlock_is_retryable().
    bool is_retryable() const noexcept {
        return redlock_is_retryable(status()) != 0;
    }

   private:
    static std::string join(int status, const std::string &sentence) {
        const char *words = redlock_strerror(status);
        if (sentence.empty() || sentence.find(words) != std::string::npos) {
            return sentence.empty() ? words : sentence;
        }
        return sentence + ": " + words;
    }

    std::runtime_error text_;  // whose copies do not throw
    int attempt_;
};

namespace detail {

inline const char *c_str(const std::string &text) {
    if (text.find('\0') != std::string::npos) {
        throw error(REDLOCK_ERR_INVALID, "a zero byte in a text, which would end there");
    }
    return text.c_str();
}

// The functions that all kinds of locks have, by one name.
template <class Lock>
struct functions;

template <>
struct functions<redlock_mutex> {
    static constexpr auto message = redlock_mutex_message;
    static constexpr auto attempt = redlock_mutex_attempt_status;
    static constexpr auto extend = redlock_mutex_extend;
    static constexpr auto alive = redlock_mutex_alive;
    static constexpr auto unlock = redlock_mutex_unlock;
    static constexpr auto is_valid = redlock_mutex_is_valid;
    static constexpr auto remaining_ms = redlock_mutex_remaining_ms;
    static constexpr auto token = redlock_mutex_token;
    static constexpr auto fence = redlock_mutex_fence;
    static constexpr auto free = redlock_mutex_free;
};

template <>
struct functions<redlock_rwlock> {
    static constexpr auto message = redlock_rwlock_message;
    static constexpr auto attempt = redlock_rwlock_attempt_status;
    static constexpr auto extend = redlock_rwlock_extend;
    static constexpr auto alive = redlock_rwlock_alive;
    static constexpr auto unlock = redlock_rwlock_unlock;
    static constexpr auto is_valid = redlock_rwlock_is_valid;
    static constexpr auto remaining_ms = redlock_rwlock_remaining_ms;
    static constexpr auto token = redlock_rwlock_token;
    static constexpr auto fence = redlock_rwlock_fence;
    static constexpr auto free = redlock_rwlock_free;
};

template <>
struct functions<redlock_semaphore> {
    static constexpr auto message = redlock_semaphore_message;
    static constexpr auto attempt = redlock_semaphore_attempt_status;
    static constexpr auto extend = redlock_semaphore_extend;
    static constexpr auto alive = redlock_semaphore_alive;
    static constexpr auto unlock = redlock_semaphore_release;
    static constexpr auto is_valid = redlock_semaphore_is_valid;
    static constexpr auto remaining_ms = redlock_semaphore_remaining_ms;
    static constexpr auto token = redlock_semaphore_token;
    static constexpr auto fence = redlock_semaphore_fence;
    static constexpr auto free = redlock_semaphore_free;
};

template <class Lock>
std::string text_of(const Lock *lock) {
    char sentence[REDLOCK_MESSAGE_MAX];
    return functions<Lock>::message(lock, sentence, sizeof sentence);
}

// Of a call on a lock.
template <class Lock>
void check(Lock *lock, int status) {
    if (status != 0) {
        throw error(status, text_of(lock));
    }
}

// Of a call that locks it.
template <class Lock>
void check_lock(Lock *lock, int status) {
    if (status != 0) {
        throw error(status, text_of(lock), functions<Lock>::attempt(lock));
    }
}

// Of a call that tries to lock it, see mutex::try_lock().
template <class Lock>
bool is_locked(Lock *lock, int status) {
    if (status == REDLOCK_ERR_DEADLINE && functions<Lock>::attempt(lock) == REDLOCK_ERR_NO_QUORUM) {
        status = REDLOCK_ERR_NO_QUORUM;
    }
    if (status == REDLOCK_ERR_HELD || status == REDLOCK_ERR_DEADLINE ||
        status == REDLOCK_ERR_EXPIRED) {
        return false;
    }
    check_lock(lock, status);
    return true;
}

// A ttl of 0 is an error here: for the ttl of the options there is the function without one.
template <class Lock>
void extend(Lock *lock, std::chrono::milliseconds ttl) {
    check(lock, functions<Lock>::extend(lock, ttl.count() == 0 ? -1 : ttl.count()));
}

template <class Lock>
std::string token(Lock *lock) {
    char token[REDLOCK_TOKEN_LENGTH + 1] = "";
    const int status = functions<Lock>::token(lock, token, sizeof token);
    if (status != 0) {
        throw error(status);
    }
    return token;
}

// Rounded up, so that a wait is never shorter than requested; what does not fit is cut to
// the longest wait there is, 49 days. A time that is already over means one attempt.
template <class Rep, class Period>
std::int64_t to_timeout_ms(const std::chrono::duration<Rep, Period> &time) {
    constexpr std::int64_t longest = 4294967294;
    const double ms = std::chrono::duration<double, std::milli>(time).count();
    if (!(ms > 0)) {
        return 0;
    }
    if (ms >= static_cast<double>(longest)) {
        return longest;
    }
    const auto whole = static_cast<std::int64_t>(ms);
    return static_cast<double>(whole) < ms ? whole + 1 : whole;
}

// The time until then, in floating point, which has room for the first and last moment of any clock.
template <class Clock, class Duration>
std::chrono::duration<double> time_until(const std::chrono::time_point<Clock, Duration> &time) {
    const std::chrono::duration<double> now = Clock::now().time_since_epoch();
    return time.time_since_epoch() - now;
}

}  // namespace detail

// -- Client --

// redlock_blocking: N nodes and a thread. Every member may be called from every thread, except
// close(), moving and destruction, while another thread may begin to use the object.
class client {
   public:
    // nodes: URLs. options: as for redlock_blocking_open(); its nodes and error are not used.
    // Without a quorum it is still open, and opened() says so. Throws the errors that leave
    // no client behind.
    explicit client(const std::vector<std::string> &nodes,
                    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT) {
        char sentence[REDLOCK_MESSAGE_MAX] = "";
        std::vector<const char *> urls;
        urls.reserve(nodes.size());
        for (const std::string &node : nodes) {
            urls.push_back(detail::c_str(node));
        }
        options.nodes = urls.data();
        options.n_nodes = urls.size();
        options.error = sentence;
        options.error_size = sizeof sentence;
        opened_ = redlock_blocking_open(&blocking_, &options);
        if (blocking_ == nullptr) {
            throw error(opened_, sentence);
        }
    }

    client(const client &) = delete;
    client &operator=(const client &) = delete;
    client(client &&other) noexcept
        : blocking_(std::exchange(other.blocking_, nullptr)), opened_(other.opened_) {
    }
    client &operator=(client &&other) noexcept {
        if (this != &other) {
            close();
            blocking_ = std::exchange(other.blocking_, nullptr);
            opened_ = other.opened_;
        }
        return *this;
    }
    // Like close(). Not inside on_lost, where nothing may wait: the client would stay open for ever.
    ~client() {
        close();
    }

    // The outcome of opening: false for a quorum of nodes that may vote, REDLOCK_ERR_NO_QUORUM, or
    // REDLOCK_ERR_DUPLICATE if there is none because two of them turned out to be one server.
    std::error_code opened() const noexcept {
        return make_error_code(opened_);
    }

    // Ends what waits (with REDLOCK_ERR_CANCELED) and releases what is held. Mutexes may be
    // destroyed before or after. Once; later calls do nothing.
    void close() noexcept {
        if (blocking_ != nullptr) {
            redlock_blocking_close(std::exchange(blocking_, nullptr));
        }
    }

    // What is wrong with the nodes now.
    std::string message() const {
        char sentence[REDLOCK_MESSAGE_MAX];
        return redlock_blocking_message(blocking_, sentence, sizeof sentence);
    }

    // For all nodes, or the one with this index. user: nullptr for the user `default`. No copy is
    // made here; the caller's are the caller's to wipe. Throws.
    void set_credentials(const char *user, const char *password,
                         std::size_t node = REDLOCK_ALL_NODES) {
        const int status = redlock_blocking_set_credentials(blocking_, node, user, password);
        if (status != 0) {
            throw error(status);
        }
    }

    // The same. A string with a zero in it is refused.
    void set_credentials(const std::string &user, const std::string &password,
                         std::size_t node = REDLOCK_ALL_NODES) {
        set_credentials(detail::c_str(user), detail::c_str(password), node);
    }

    // Throws.
    redlock_stats stats() const {
        redlock_stats stats = REDLOCK_STATS_INIT;
        const int status = redlock_blocking_stats(blocking_, &stats);
        if (status != 0) {
            throw error(status);
        }
        return stats;
    }

    // The text of redlock_metrics_format(). Throws.
    std::string metrics(redlock_metrics_text text = REDLOCK_METRICS_PROMETHEUS) const {
        std::string all(32768, '\0');
        for (;;) {
            const int length = redlock_blocking_metrics(blocking_, text, &all[0], all.size());
            if (length < 0) {
                throw error(length);
            }
            const auto whole = static_cast<std::size_t>(length);
            const bool is_whole = whole < all.size();
            all.resize(is_whole ? whole : whole + 1024);  // it may have grown by the next call
            if (is_whole) {
                return all;
            }
        }
    }

    // For functions of blocking.h; NULL once it is closed or moved from.
    redlock_blocking *handle() const noexcept {
        return blocking_;
    }

   private:
    redlock_blocking *blocking_ = nullptr;
    int opened_ = 0;
};

// -- Options --

// As redlock_mutex_options (or redlock_rwlock_options) and redlock_lock_options, with the same
// defaults.
struct mutex_options {
    std::chrono::milliseconds ttl{10000};
    bool auto_extend = true;
    std::optional<std::chrono::milliseconds> renew;     // none: a third of the ttl
    std::optional<std::chrono::milliseconds> max_hold;  // none: no limit
    std::chrono::milliseconds max_silence{0};           // 0: no limit
    std::chrono::milliseconds linger{0};                // 0: none; mutexes only
    std::chrono::milliseconds delay{50};
    std::chrono::milliseconds jitter{100};
    std::chrono::milliseconds min_validity{1};
    std::uint64_t owner = REDLOCK_OWNER_THREAD;
    std::string holder;  // empty: none
    bool fencing = false;
    // Runs on the loop thread; it must be quick and must not throw (std::terminate).
    std::function<void(int status)> on_lost;
};

namespace detail {

// On the heap, since the library keeps its address.
template <class Lock>
struct state {
    Lock *lock = nullptr;
    std::function<void(int)> on_lost;
};

template <class Lock>
struct end {
    // A lock that another thread uses is not freed, and then on_lost may still run.
    void operator()(state<Lock> *state) const noexcept {
        if (functions<Lock>::free(state->lock) == 0) {
            delete state;
        }
    }
};

template <class Lock>
using owned = std::unique_ptr<state<Lock>, end<Lock>>;

template <class Lock>
void lost(Lock *, int status, void *data) noexcept {
    static_cast<state<Lock> *>(data)->on_lost(status);
}

// A time that is the C interface's word for none becomes 0: an error, as any other below 0.
inline std::int64_t count(const std::optional<std::chrono::milliseconds> &time, int none) {
    if (!time.has_value()) {
        return none;
    }
    return time->count() == none ? 0 : time->count();
}

template <class Options>
void set_owner(Options &to, std::uint64_t owner) {
    to.owner = owner;
}
inline void set_owner(redlock_semaphore_options &, std::uint64_t) {  // always the object
}

template <class Options>
void set_linger(Options &, std::chrono::milliseconds linger) {
    if (linger.count() != 0) {
        throw error(REDLOCK_ERR_INVALID, "linger is for mutexes; for others it must be 0");
    }
}
inline void set_linger(redlock_mutex_options &to, std::chrono::milliseconds linger) {
    to.linger_ms = linger.count();
}

// to, lock: the defaults. new_with: the function of blocking.h and its like.
template <class Lock, class Options>
owned<Lock> make(redlock_blocking *client, const std::vector<std::string_view> &resources,
                 const mutex_options &from, Options to,
                 int (*new_with)(redlock_blocking *, const redlock_lock_options *, const Options *,
                                 Lock **),
                 redlock_lock_options lock = redlock_lock_options REDLOCK_LOCK_OPTIONS_INIT) {
    char sentence[REDLOCK_MESSAGE_MAX] = "";
    std::vector<redlock_bytes> names;
    names.reserve(resources.size());
    for (const std::string_view &resource : resources) {
        names.push_back(redlock_bytes{resource.data(), resource.size()});
    }
    lock.resources = names.data();
    lock.n_resources = names.size();
    lock.holder = from.holder.empty() ? nullptr : c_str(from.holder);
    owned<Lock> made(new state<Lock>);
    made->on_lost = from.on_lost;
    to.ttl_ms = from.ttl.count();
    to.auto_extend = from.auto_extend ? 1 : 0;
    to.renew_ms = count(from.renew, REDLOCK_THIRD_OF_TTL);
    to.max_hold_ms = count(from.max_hold, REDLOCK_NO_LIMIT);
    to.max_silence_ms = from.max_silence.count();
    set_linger(to, from.linger);
    to.delay_ms = from.delay.count();
    to.jitter_ms = from.jitter.count();
    to.min_validity_ms = from.min_validity.count();
    set_owner(to, from.owner);
    to.fencing = from.fencing ? 1 : 0;
    if (made->on_lost) {
        to.on_lost = lost<Lock>;
        to.lost_data = made.get();
    }
    to.error = sentence;
    to.error_size = sizeof sentence;
    const int status = new_with(client, &lock, &to, &made->lock);
    if (status != 0) {
        throw error(status, sentence);
    }
    return made;
}

}  // namespace detail

// -- What all locks have --

// The base of mutex, shared_mutex and counting_semaphore: what a lock on other machines has besides
// what the standard asks for.
//
// It can be moved, and not copied. An object that was moved from can be destroyed or assigned to,
// and answers REDLOCK_ERR_INVALID to everything else. Destruction releases what the calling thread
// holds, or the permits. As with std::mutex, no other thread may hold it or use it then; if one
// does, the lock object underneath stays for it.
template <class Lock>
class lockable {
   public:
    // The outcome of the last attempt of this thread's last call that locks or acquires, if that was
    // on this object: false for 0, REDLOCK_ERR_HELD, and so on.
    std::error_code last_attempt() const noexcept {
        return make_error_code(detail::functions<Lock>::attempt(handle()));
    }

    // Unlocks once, or gives back the permits, and returns the outcome: REDLOCK_ERR_LOST if the work
    // may have been unprotected, REDLOCK_ERR_NOT_HELD, ...
    std::error_code release() noexcept {
        return make_error_code(detail::functions<Lock>::unlock(handle()));
    }

    // To the ttl of the options. Throws.
    void extend() {
        detail::check(handle(), detail::functions<Lock>::extend(handle(), 0));
    }
    // To this ttl from now; 0 is refused. Throws.
    void extend(std::chrono::milliseconds ttl) {
        detail::extend(handle(), ttl);
    }

    // A sign of life of the caller's work, see mutex_options::max_silence. Throws.
    void alive() {
        detail::check(handle(), detail::functions<Lock>::alive(handle()));
    }

    // Whether the caller holds it now. Ask before each step that must not be done twice.
    bool valid() const noexcept {
        return detail::functions<Lock>::is_valid(handle()) != 0;
    }

    // How much validity the caller has left now; 0 if none.
    std::chrono::milliseconds remaining() const noexcept {
        return std::chrono::milliseconds(detail::functions<Lock>::remaining_ms(handle()));
    }

    // The token of what the caller holds, as redlock_mutex_token(). Throws.
    std::string token() const {
        return detail::token(handle());
    }

    // Larger than those of all fenced grants before it, see redlock_mutex_fence() and
    // redlock_rwlock_fence(); 0 without mutex_options::fencing, and if the caller does not hold it.
    std::uint64_t fence() const noexcept {
        return detail::functions<Lock>::fence(handle());
    }

    // The last failure's sentence; "" if there was none.
    std::string message() const {
        return detail::text_of(handle());
    }

    // For functions of the C headers; NULL once it is moved from.
    Lock *handle() const noexcept {
        return state_ != nullptr ? state_->lock : nullptr;
    }
    // The type of native_handle().
    using native_handle_type = Lock *;
    // As handle(), by the standard's name.
    native_handle_type native_handle() const noexcept {
        return handle();
    }

   protected:
    explicit lockable(detail::owned<Lock> state) noexcept : state_(std::move(state)) {
    }

   private:
    detail::owned<Lock> state_;
};

// -- Mutex --

// redlock_mutex: a lock that threads use.
class mutex : public lockable<redlock_mutex> {
   public:
    // Throws.
    mutex(const client &client, std::string_view resource, const mutex_options &options = {})
        : mutex(client, std::vector<std::string_view>{resource}, options) {
    }

    // All of several resources or none.
    mutex(const client &client, std::initializer_list<std::string_view> resources,
          const mutex_options &options = {})
        : mutex(client, std::vector<std::string_view>(resources), options) {
    }

    mutex(const client &client, const std::vector<std::string_view> &resources,
          const mutex_options &options = {})
        : lockable(detail::make(client.handle(), resources, options,
                                redlock_mutex_options REDLOCK_MUTEX_OPTIONS_INIT,
                                redlock_mutex_new_with)) {
    }

    // -- As std::timed_mutex --

    // Waits without a limit. Throws.
    void lock() {
        detail::check_lock(handle(), redlock_mutex_lock(handle(), REDLOCK_NO_LIMIT));
    }

    // Both agree on what is an answer and what is an error. False: not locked, because another
    // holds it, or because it was granted too late to be of use; trying again may help. Everything
    // else that a call can end with is thrown. That includes REDLOCK_ERR_NO_QUORUM, which
    // try_lock_for() throws if the time is over and the last attempt failed because of the nodes:
    // then no client can get the lock, and a program that takes that for "busy" would wait in vain.
    // last_attempt() tells the answers apart.

    // One attempt.
    bool try_lock() {
        return detail::is_locked(handle(), redlock_mutex_lock(handle(), 0));
    }

    // Attempts until the time is over.
    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &time) {
        return detail::is_locked(handle(),
                                 redlock_mutex_lock(handle(), detail::to_timeout_ms(time)));
    }

    // The same, until that moment.
    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time) {
        return try_lock_for(detail::time_until(time));
    }

    // Unlocks; the outcome is not reported.
    void unlock() noexcept {
        redlock_mutex_unlock(handle());
    }
};

// One of several mutexes, whichever is free, as redlock_mutex_lock_any(); nullptr if that takes
// longer than this, 0 for one round. What is thrown and what not is as for mutex::try_lock_for().
//
//     std::unique_lock<redlock::mutex> held(*any, std::adopt_lock);
template <class Rep = std::int64_t, class Period = std::milli>
mutex *try_lock_any(const std::vector<mutex *> &mutexes,
                    const std::chrono::duration<Rep, Period> &time = {}) {
    redlock_mutex *locked = nullptr;
    std::vector<redlock_mutex *> handles;
    handles.reserve(mutexes.size());
    for (const mutex *one : mutexes) {
        handles.push_back(one->handle());
    }
    const int status = redlock_mutex_lock_any(handles.data(), handles.size(),
                                              detail::to_timeout_ms(time), &locked);
    if (!detail::is_locked(locked, status)) {
        return nullptr;
    }
    std::size_t at = 0;
    while (handles[at] != locked) {
        at++;
    }
    return mutexes[at];
}

// -- Guard --

// A lock for the time of a scope, with a look at how long it still holds. It belongs to the thread
// that made it, and the mutex must outlive it. Move it within that thread.
class guard {
   public:
    // Waits without a limit. Throws.
    explicit guard(mutex &mutex) : mutex_(mutex.handle()) {
        mutex.lock();
    }

    // Waits that long; throws, REDLOCK_ERR_DEADLINE if that is over: error::attempt() says why.
    template <class Rep, class Period>
    guard(mutex &mutex, const std::chrono::duration<Rep, Period> &time) : mutex_(mutex.handle()) {
        detail::check_lock(mutex_, redlock_mutex_lock(mutex_, detail::to_timeout_ms(time)));
    }

    // One attempt, see mutex::try_lock(); owns() says whether it succeeded. Throws.
    guard(mutex &mutex, std::try_to_lock_t) : mutex_(mutex.try_lock() ? mutex.handle() : nullptr) {
    }

    // Takes over what the thread has locked already.
    guard(mutex &mutex, std::adopt_lock_t) noexcept : mutex_(mutex.handle()) {
    }

    guard(const guard &) = delete;
    guard &operator=(const guard &) = delete;
    guard(guard &&other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {
    }
    guard &operator=(guard &&other) noexcept {
        if (this != &other) {
            (void)release();
            mutex_ = std::exchange(other.mutex_, nullptr);
        }
        return *this;
    }
    ~guard() {
        (void)release();
    }

    // Whether there is something that this guard will unlock; whether it is still valid is another
    // question.
    bool owns() const noexcept {
        return mutex_ != nullptr;
    }

    // Whether the lock is held now. Ask before each step that must not be done twice.
    bool valid() const noexcept {
        return redlock_mutex_is_valid(mutex_) != 0;
    }
    explicit operator bool() const noexcept {
        return valid();
    }

    std::chrono::milliseconds remaining() const noexcept {
        return std::chrono::milliseconds(redlock_mutex_remaining_ms(mutex_));
    }

    // As mutex::extend(). Throws.
    void extend() {
        detail::check(mutex_, redlock_mutex_extend(mutex_, 0));
    }
    void extend(std::chrono::milliseconds ttl) {
        detail::extend(mutex_, ttl);
    }

    // As mutex::alive(). Throws.
    void alive() {
        detail::check(mutex_, redlock_mutex_alive(mutex_));
    }

    // As redlock_mutex_token(). Throws.
    std::string token() const {
        return detail::token(mutex_);
    }

    // As mutex::fence().
    std::uint64_t fence() const noexcept {
        return redlock_mutex_fence(mutex_);
    }

    // Unlocks now, and returns the outcome: false for 0, REDLOCK_ERR_LOST if the work may have
    // been unprotected, and so on. The guard owns nothing after it; without anything to unlock it
    // returns REDLOCK_ERR_NOT_HELD.
    std::error_code release() noexcept {
        if (mutex_ == nullptr) {
            return make_error_code(REDLOCK_ERR_NOT_HELD);
        }
        return make_error_code(redlock_mutex_unlock(std::exchange(mutex_, nullptr)));
    }

   private:
    redlock_mutex *mutex_;
};

// -- Shared mutex --

// redlock_rwlock: readers hold it side by side, a writer holds it alone.
//
//     redlock::shared_mutex mutex(client, "settings");
//     {
//         std::shared_lock<redlock::shared_mutex> lock(mutex);
//         read();
//     }
//     std::unique_lock<redlock::shared_mutex> lock(mutex);
//     write();
class shared_mutex : public lockable<redlock_rwlock> {
   public:
    // Throws.
    shared_mutex(const client &client, std::string_view resource, const mutex_options &options = {})
        : shared_mutex(client, std::vector<std::string_view>{resource}, options) {
    }

    // All of several resources or none.
    shared_mutex(const client &client, std::initializer_list<std::string_view> resources,
                 const mutex_options &options = {})
        : shared_mutex(client, std::vector<std::string_view>(resources), options) {
    }

    shared_mutex(const client &client, const std::vector<std::string_view> &resources,
                 const mutex_options &options = {})
        : lockable(detail::make(client.handle(), resources, options,
                                redlock_rwlock_options REDLOCK_RWLOCK_OPTIONS_INIT,
                                redlock_rwlock_new_with)) {
    }

    // -- As std::shared_timed_mutex --

    // What is true, false or thrown is as for mutex. Beyond that, locking as a writer throws
    // REDLOCK_ERR_WOULD_DEADLOCK at once if the thread reads: it would wait for itself. Unlike a
    // standard mutex, a thread that reads may read, and one that writes may read and write.

    void lock() {
        detail::check_lock(handle(), redlock_rwlock_wrlock(handle(), REDLOCK_NO_LIMIT));
    }
    bool try_lock() {
        return detail::is_locked(handle(), redlock_rwlock_wrlock(handle(), 0));
    }
    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &time) {
        return detail::is_locked(handle(),
                                 redlock_rwlock_wrlock(handle(), detail::to_timeout_ms(time)));
    }

    // The same, until that moment.
    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time) {
        return try_lock_for(detail::time_until(time));
    }

    void lock_shared() {
        detail::check_lock(handle(), redlock_rwlock_rdlock(handle(), REDLOCK_NO_LIMIT));
    }
    bool try_lock_shared() {
        return detail::is_locked(handle(), redlock_rwlock_rdlock(handle(), 0));
    }
    template <class Rep, class Period>
    bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &time) {
        return detail::is_locked(handle(),
                                 redlock_rwlock_rdlock(handle(), detail::to_timeout_ms(time)));
    }

    // The same, until that moment.
    template <class Clock, class Duration>
    bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &time) {
        return try_lock_shared_for(detail::time_until(time));
    }

    // Each unlocks once what the thread holds, in whichever mode that is by now; the outcome is not
    // reported.
    void unlock() noexcept {
        redlock_rwlock_unlock(handle());
    }
    void unlock_shared() noexcept {
        redlock_rwlock_unlock(handle());
    }

    // -- From one mode to the other --

    // A std::unique_lock or a std::shared_lock that has locked it may stay, and unlocks it as well.

    // The thread that writes reads from now on, whatever is thrown but REDLOCK_ERR_INVALID,
    // REDLOCK_ERR_BUSY, and that it does not hold it. Throws.
    void downgrade() {
        detail::check(handle(), redlock_rwlock_downgrade(handle()));
    }

    // Whether the thread, which reads, writes now: false if others read. Tries once and does not
    // wait. Throws, also REDLOCK_ERR_WOULD_DEADLOCK: of two that would write one must unlock.
    bool try_upgrade() {
        const int status = redlock_rwlock_try_upgrade(handle());
        if (status == REDLOCK_ERR_HELD) {
            return false;
        }
        detail::check(handle(), status);
        return true;
    }
};

// -- Semaphore --

// As redlock_semaphore_options and redlock_lock_options. The owner is not looked at: it is the
// object.
struct semaphore_options : mutex_options {
    std::int32_t take = 1;  // permits that the object holds at once
};

// redlock_semaphore: a holder of one of k permits, which has a number that no other holder has.
//
//     redlock::counting_semaphore upload(client, "uploads", 5);
//     upload.acquire();
//     send(upload.slot());
//     upload.release();
//
// Unlike std::counting_semaphore, an object is one holder: each thread that is to hold a permit
// beside others has an object of its own. Any thread may release it.
class counting_semaphore : public lockable<redlock_semaphore> {
   public:
    // permits: how many there are, the same for all clients. Throws.
    counting_semaphore(const client &client, std::string_view resource, std::int32_t permits,
                       const semaphore_options &options = {})
        : lockable(detail::make(client.handle(), {resource}, options,
                                redlock_semaphore_options REDLOCK_SEMAPHORE_OPTIONS_INIT,
                                redlock_semaphore_new_with, permits_of(permits, options.take))) {
    }

    // -- As std::counting_semaphore --

    // What is true, false or thrown is as for mutex. To acquire what the object holds already
    // throws REDLOCK_ERR_ALREADY_HELD, and another number of permits REDLOCK_ERR_PERMITS.

    // Waits without a limit. Throws.
    void acquire() {
        detail::check_lock(handle(), redlock_semaphore_acquire(handle(), REDLOCK_NO_LIMIT));
    }

    // One attempt.
    bool try_acquire() {
        return detail::is_locked(handle(), redlock_semaphore_acquire(handle(), 0));
    }

    // Attempts until the time is over.
    template <class Rep, class Period>
    bool try_acquire_for(const std::chrono::duration<Rep, Period> &time) {
        return detail::is_locked(handle(),
                                 redlock_semaphore_acquire(handle(), detail::to_timeout_ms(time)));
    }

    // The same, until that moment.
    template <class Clock, class Duration>
    bool try_acquire_until(const std::chrono::time_point<Clock, Duration> &time) {
        return try_acquire_for(detail::time_until(time));
    }

    // -- What a permit on other machines has besides --

    // The number of its permit, from 0 to k - 1, of those that it takes; REDLOCK_NO_SLOT if it
    // holds none.
    std::int32_t slot(std::size_t index = 0) const noexcept {
        return redlock_semaphore_slot(handle(), index);
    }

   private:
    static redlock_lock_options permits_of(std::int32_t permits, std::int32_t take) {
        redlock_lock_options lock = REDLOCK_LOCK_OPTIONS_INIT;
        lock.permits = permits;
        lock.take = take;
        return lock;
    }
};

}  // namespace redlock

#endif  // REDLOCK_REDLOCK_HPP
