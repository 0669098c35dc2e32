/* The commands that the protocol sends, written as RESP once for a whole fan-out.
 *
 * With one resource an acquire is SET with NX and PX, the specification's step 2. Release and
 * extend compare the value and act in one step, which Redis offers as a script: sent by its hash
 * (EVALSHA), and whole (EVAL) to a node that answers NOSCRIPT.
 *
 * With several resources each command is one script over all keys. A node sets all of them or none,
 * renews all or none, and that is its one vote, so the core needs no change. Why two still cannot
 * hold one resource: a grant means that a quorum of nodes have this value under *each* key of the
 * lock; two locks that share a resource therefore share a node that would have two values under one
 * key. That holds against locks of one resource and plain clients as well, since the keys are the
 * same. A script runs alone on its node, and looks at all keys before it sets the first, so a
 * refusal or an error (a key of another type) leaves nothing behind.
 *
 * With a fence the acquire is a script as well, which sets the fence's counters (core/fence.h) in
 * the same step. A counter is under "libredlock:fence:" and the resource, one for each resource of
 * the lock, and outlives the key by the retention. A repair is the same script with the fence as
 * its floor; an extension puts the fence in place again, so that counters last as long as a hold
 * does.
 *
 * Can a counter be the key of a lock? Not of ours: resources that begin as counters do are refused.
 * Nor of another library's lock by the names that it gives: pottery and RedLock.net put "redlock:"
 * in front of a name, rueidislock a prefix and a number, the others nothing. None puts
 * "libredlock:" there.
 *
 * A script goes out by its hash, and whole when that is answered NOSCRIPT. Then it runs behind
 * whatever was sent meanwhile. Extensions, releases and raises may: they do nothing where the value
 * is gone. An acquire may not run behind its own release, its keys would stay until their ttl ends:
 * whoever sent it is asked first (node.h, `again`).
 *
 * The value is the token, and behind it, if there is one, a colon and the holder's name.
 */
#ifndef RL_REDIS_COMMAND_H
#define RL_REDIS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RL_COMMAND_TOKEN_LEN 40
#define RL_COMMAND_COUNTER_PREFIX "libredlock:fence:"

struct rl_bytes {
    const void *data;
    size_t length;
};

/* What a lock is of. It does not change while a request refers to it. */
struct rl_target {
    const struct rl_bytes *resources;
    uint32_t n;
    uint8_t holder_length; /* 0: none */
    bool notifies;         /* a release is announced */
    uint32_t retention_ms; /* of the counters of fences */
    const char *holder;
};

enum rl_command_kind {
    RL_COMMAND_SET,      /* one resource, set where nothing is: OK, or nil */
    RL_COMMAND_SET_ALL,  /* several, set where nothing is under any of them: 1, or 0 */
    RL_COMMAND_FENCE,    /* the same, one or several, and their counters: the new counter, or 0 */
    RL_COMMAND_RAISE,    /* compare, and set the counters to the fence if none is above: 1, or 0 */
    RL_COMMAND_EXTEND,   /* compare and pexpire, never to a shorter life, and with a fence raise
                            the counters that are below: 1, or 0 */
    RL_COMMAND_RELEASE,  /* compare and delete: 1, or 0 */
    RL_COMMAND_READ,     /* who holds the one resource: see sighting.h, or nil; changes nothing */
    RL_COMMAND_HANDSHAKE /* a step of the handshake, see handshake.h */
};

struct rl_command {
    enum rl_command_kind kind;
    bool whole_script; /* EVAL rather than EVALSHA; of no meaning for SET */
    bool announces;    /* RELEASE: also publish, if the target notifies */
    uint32_t ttl_ms;   /* of the key, in commands that set or extend it */
    uint64_t counter;  /* FENCE: the least that is good; RAISE, EXTEND: the fence; 0: none */
    const struct rl_target *target;
    const char *token; /* RL_COMMAND_TOKEN_LEN bytes; of no meaning for READ */
};

#define RL_COMMAND_WIRE_MAX 1024 /* room for a step of the handshake */

/* Room for every command with this target, whole scripts and the terminating zero included. */
size_t rl_command_room(const struct rl_target *target);

/* Writes the command and a terminating zero (hiredis looks past the end). Returns its length. wire
 * has rl_command_room() bytes. */
size_t rl_command_format(char *wire, const struct rl_command *command);

/* As rl_command_format() for any list of arguments; 0 if it does not fit into capacity. */
size_t rl_command_format_args(char *wire, size_t capacity, const char *const *args, size_t count);

/* Whether a command takes the lock, so that it must not run behind its own release. */
bool rl_command_acquires(enum rl_command_kind kind);

/* The script of EXTEND or RELEASE for one resource, and its SHA-1 in hex. */
const char *rl_command_script(enum rl_command_kind kind);
const char *rl_command_script_sha1(enum rl_command_kind kind);

/* All scripts, for tests: number index, and its SHA-1; NULL when there are no more. */
const char *rl_command_script_at(size_t index, const char **sha1);

#endif
