/* The options of redlock-chaos-client: the clients, their resources and their workload.
 *
 * Every bad option ends the program with status 2 and a sentence that names it, before anything of
 * the run is touched. (A URL that the library refuses ends it too, slightly later.) */
#ifndef CHAOS_SETTINGS_H
#define CHAOS_SETTINGS_H

#include <stdint.h>

#include <stdbool.h>

#include "redlock/redlock.h"
#include "tool/list.h"

enum chaos_workload {
    CHAOS_REGISTER, /* a holder only writes records */
    CHAOS_LOCK_SET, /* and adds a number to a file: read all, pause, write all back */
    CHAOS_RWLOCK,   /* writers write records; most clients are readers, which hold together */
    CHAOS_PERMITS,  /* holders of one to three of k permits write records under their slots */
    CHAOS_EDGE      /* a holder renews up to three times, and acts until its validity ends */
};

/* The negative controls: each is a plausible but wrong implementation of a lock. */
#define CHAOS_CONTROLS "none|quorum1|blind-release|ignore-validity|from-reply|kept-slot"

enum chaos_control {
    CHAOS_CORRECT,
    CHAOS_QUORUM1,         /* each client asks one node only, not all of them the same */
    CHAOS_BLIND_RELEASE,   /* a holder deletes the key without checking its owner */
    CHAOS_IGNORE_VALIDITY, /* a holder goes on after its validity has ended */
    CHAOS_FROM_REPLY,      /* it counts its validity from the answer, not from the sending */
    CHAOS_KEPT_SLOT        /* permits: a client keeps using its first slots */
};

struct chaos_settings {
    struct tool_list nodes; /* URLs */
    const char *dir;
    int64_t process; /* 1 to 99999, no two of one run have the same */
    int64_t clients; /* in this process, 1 to 999 */
    int64_t resources;
    int64_t ttl_ms, wait_ms, work_ms;
    int64_t max_hold_ms; /* 0: no limit */
    int64_t permits;     /* of a resource, of the workload permits; see permits.h */
    int64_t seed;
    int64_t seconds; /* 0: until SIGTERM */
    int workload;    /* enum chaos_workload */
    int control;     /* enum chaos_control */
    int guard;       /* enum redlock_guard */
    bool is_under;   /* it is the command of a redlock run; see under.h */
};

/* Fills settings from the arguments. Returns 0; 1 if --help was shown; or -1 after a sentence on
 * stderr. chaos_settings_free() in any case. */
int chaos_settings_read(struct chaos_settings *settings, int argc, char **argv);
void chaos_settings_free(struct chaos_settings *settings);

#endif /* CHAOS_SETTINGS_H */
