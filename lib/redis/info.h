/* What a server says of itself: the answer to INFO, read.
 *
 * Happy path: rl_info_read() finds nine fields among some two hundred, in one pass, and allocates
 * nothing: what it keeps has a fixed size, so that it can run inside hiredis's reader.
 *
 * Failure modes: the text is whatever the other side likes to send. A field that is missing, that
 * is there twice, or whose value is not what Redis writes leaves `problem` set, and then nothing of
 * the rest is to be relied on. Bytes behind the length are never looked at, a zero byte is a byte
 * like others, numbers that are too large stop at the largest.
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
    bool evicts;       /* maxmemory is set, and the policy is not noeviction */
    uint32_t redis;    /* RL_INFO_VERSION() of redis_version, and of valkey_version; 0: not said, */
    uint32_t valkey;   /* or not understood, which is no problem */
    const char *field; /* what `problem` is about; static */
    const char *problem; /* a clause, e.g. "is missing"; NULL: all of the above is known */
};

/* One line "name:value", not terminated. */
struct rl_info_line {
    const char *name;
    const char *value;
    size_t name_length;
    size_t value_length;
};

/* Nothing is known yet. */
void rl_info_init(struct rl_info *info);

/* Returns whether everything was found. */
bool rl_info_read(struct rl_info *info, const char *text, size_t length);

/* By its version the server should have that command in place of the release's script, native.h. */
bool rl_info_has_delifeq(const struct rl_info *info);
bool rl_info_has_delex(const struct rl_info *info);

/* The next line that has a name, of the text from *at to end; moves *at behind it. Lines end with
 * CR, LF or both. False: there is none. */
bool rl_info_next(const char **at, const char *end, struct rl_info_line *line);

#endif
