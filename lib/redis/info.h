/* Parses INFO, a server's report about itself.
 *
 * Happy path: rl_info_read() finds nine fields among some two hundred, in one pass, and allocates
 * nothing: its result has a fixed size, so that it can run inside hiredis's reader.
 *
 * Failure modes: the other side may send any text. A field that is missing or repeated, or whose
 * value Redis would not write, sets `problem`; then no other field is reliable. Bytes beyond the
 * length are never read, a zero byte is an ordinary byte, and numbers that are too large become the
 * largest.
 */
#ifndef RL_REDIS_INFO_H
#define RL_REDIS_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RL_INFO_ID_LEN 40
#define RL_INFO_VERSION(major, minor) ((uint32_t)(major) << 16 | (uint32_t)(minor))

struct rl_info {
    char run_id[RL_INFO_ID_LEN + 1]; /* of this start of the server */
    char replid[RL_INFO_ID_LEN + 1]; /* of the history of its data */
    uint64_t uptime_s;               /* by the server's wall clock; 0 if that went back */
    uint64_t maxmemory;
    bool is_replica;
    bool is_loading;
    uint64_t flushes;  /* see rl_info_flushes(); INFO does not have it */
    bool evicts;       /* maxmemory is set, and the policy is not noeviction */
    uint32_t redis;    /* RL_INFO_VERSION() of redis_version, and of valkey_version; 0: missing, */
    uint32_t valkey;   /* or not understood, which is no `problem` */
    const char *field; /* the field with the problem; static */
    const char *problem; /* a clause, e.g. "is missing"; NULL: all of the above is known */
};

/* One line "name:value", not terminated. */
struct rl_info_line {
    const char *name;
    const char *value;
    size_t name_length;
    size_t value_length;
};

/* Resets info: nothing is known yet. */
void rl_info_init(struct rl_info *info);

/* Returns whether everything was found. */
bool rl_info_read(struct rl_info *info, const char *text, size_t length);

/* How often, by the section commandstats, all keys of a database were deleted or swapped since the
 * server's start, or since CONFIG RESETSTAT. */
uint64_t rl_info_flushes(const char *text, size_t length);

/* Whether the server's version should have this native release command, native.h. */
bool rl_info_has_delifeq(const struct rl_info *info);
bool rl_info_has_delex(const struct rl_info *info);

/* Finds the next line with a name in the text from *at to end, and moves *at behind it. Lines end
 * with CR, LF or both. False: there is none. */
bool rl_info_next(const char **at, const char *end, struct rl_info_line *line);

#endif
