/* The options of redlock-chaos-client: who the clients are, what they lock, what they do with it.
 *
 * Every bad option ends the program with status 2 and a sentence that names it, before anything of
 * the run is touched. (A URL that the library refuses does so too, a little later.)
 */
#ifndef CHAOS_SETTINGS_H
#define CHAOS_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "redlock/redlock.h"

enum chaos_workload {
    CHAOS_REGISTER, /* a holder writes records, and nothing else */
    CHAOS_LOCK_SET  /* ... and adds a number to a file: read all, pause, write all back */
};

/* The negative controls: each is a lock that somebody could have written, and each is wrong. */
enum chaos_control {
    CHAOS_CORRECT,
    CHAOS_QUORUM1,        /* each client asks one node only, not all of them the same */
    CHAOS_BLIND_RELEASE,  /* a holder deletes the key without looking whose it is */
    CHAOS_IGNORE_VALIDITY /* a holder goes on after its validity has ended */
};

struct chaos_settings {
    const char *nodes[REDLOCK_NODES_MAX]; /* URLs, parts of text */
    size_t n_nodes;
    char *text; /* owned */
    const char *dir;
    int process; /* 1 to 99999, no two of one run have the same */
    int clients; /* in this process, 1 to 999 */
    int resources;
    int64_t ttl_ms, wait_ms, work_ms;
    uint64_t seed;
    int seconds; /* 0: until SIGTERM */
    enum chaos_workload workload;
    enum chaos_control control;
    enum redlock_guard guard;
};

/* Fills settings from the arguments. Returns 0; 1 if --help was shown; or -1 after a sentence on
 * stderr. chaos_settings_free() in any case. */
int chaos_settings_read(struct chaos_settings *settings, int argc, char **argv);
void chaos_settings_free(struct chaos_settings *settings);

/* "none", "quorum1", ... Static. */
const char *chaos_control_name(enum chaos_control control);

#endif /* CHAOS_SETTINGS_H */
