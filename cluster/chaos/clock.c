/* A wall clock that a file moves: preloaded into one Redis server, so that chaos can step that
 * node's clock, or let it drift, without changing the machine's own clock.
 *
 * Happy path: LD_PRELOAD names this library and REDLOCK_CLOCK_FILE a file of 64 bytes
 * (cluster/chaos/clock.py writes it). gettimeofday(), time() and clock_gettime() of the real-time
 * clocks then answer
 *
 *     real + offset_ns + (real - base_ns) * rate_ppm / 1000000
 *
 * Monotonic clocks are left alone: a stepped wall clock does not step them either. Redis decides by
 * the wall clock when a key expires, and this is the fault to inject.
 *
 * The file holds two settings and the number of the one in use. The writer fills the other one and
 * then changes the number, so a reader never mixes an old offset with a new rate. (A reader that
 * sleeps in the middle of reading while two changes are made could mix them once; changes are
 * seconds apart.)
 *
 * Failure modes: without the variable, or if the file is missing or too short, the process ends at
 * once with a sentence: a node that silently keeps correct time would prove nothing. Time is read
 * by system call instead of through the C library's own function, since looking that one up
 * allocates memory, and jemalloc asks for the time while it starts: it would never return. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL
#define PPM 1000000LL

struct setting {
    int64_t base_ns;
    int64_t offset_ns;
    int64_t rate_ppm;
};

struct clock_file {
    uint64_t active; /* 0 or 1: which setting counts */
    struct setting settings[2];
    uint64_t unused;
};

_Static_assert(sizeof(struct clock_file) == 64, "clock.py writes this layout");

/* NULL until the constructor has run: before it a caller gets the real time. */
static const struct clock_file *moved;

static void refuse(const char *why, size_t length) {
    /* There is no remedy if this write fails, too. */
    ssize_t written = write(STDERR_FILENO, why, length);
    (void)written;
    _exit(1);
}

#define REFUSE(text) refuse("clock.c: " text "\n", sizeof("clock.c: " text "\n") - 1)

__attribute__((constructor)) static void map_file(void) {
    const char *path = getenv("REDLOCK_CLOCK_FILE");
    if (path == NULL) {
        REFUSE("REDLOCK_CLOCK_FILE is not set; it names the file that moves the clock");
    }
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0 || status.st_size != sizeof(struct clock_file)) {
        REFUSE("the file that REDLOCK_CLOCK_FILE names cannot be read, or is not 64 bytes long");
    }
    void *mapped = mmap(NULL, sizeof(struct clock_file), PROT_READ, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) {
        REFUSE("the file that REDLOCK_CLOCK_FILE names cannot be mapped");
    }
    (void)close(file);
    moved = mapped;
}

static int64_t moved_ns(int64_t real_ns) {
    if (moved == NULL) {
        return real_ns;
    }
    uint64_t active = __atomic_load_n(&moved->active, __ATOMIC_ACQUIRE) & 1;
    const struct setting *setting = &moved->settings[active];
    int64_t since_ns = real_ns - setting->base_ns;
    /* In two parts: nanoseconds of a day times a million do not fit. */
    int64_t drift_ns =
        since_ns / PPM * setting->rate_ppm + since_ns % PPM * setting->rate_ppm / PPM;
    return real_ns + setting->offset_ns + drift_ns;
}

static int is_wall_clock(clockid_t clock) {
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (syscall(SYS_clock_gettime, clock, time) != 0) {
        return -1;
    }
    if (is_wall_clock(clock)) {
        int64_t ns = moved_ns((int64_t)time->tv_sec * NS_PER_S + time->tv_nsec);
        time->tv_sec = (time_t)(ns / NS_PER_S);
        time->tv_nsec = (long)(ns % NS_PER_S);
    }
    return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone; /* obsolete, and Redis passes NULL */
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return -1;
    }
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return (time_t)-1;
    }
    if (result != NULL) {
        *result = now.tv_sec;
    }
    return now.tv_sec;
}
