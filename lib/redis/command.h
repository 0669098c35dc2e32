/* The commands that the protocol sends, written as RESP once for a whole fan-out.
 *
 * SET and its NX and PX options are the specification's step 2. Release and extend compare the
 * token and act in one step, which Redis offers as a script: sent by its hash (EVALSHA), and whole
 * (EVAL) to a node that answers NOSCRIPT.
 */
#ifndef RL_REDIS_COMMAND_H
#define RL_REDIS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RL_COMMAND_TOKEN_LEN 40

enum rl_command_kind {
    RL_COMMAND_SET,      /* SET resource token NX PX ttl: OK, or nil */
    RL_COMMAND_EXTEND,   /* compare and pexpire, never to a shorter life: 1, or 0 */
    RL_COMMAND_RELEASE,  /* compare and delete: 1, or 0 */
    RL_COMMAND_HANDSHAKE /* a step of the handshake, see handshake.h */
};

struct rl_command {
    enum rl_command_kind kind;
    bool whole_script; /* EVAL rather than EVALSHA */
    uint32_t ttl_ms;   /* SET and EXTEND */
    const void *resource;
    size_t resource_length;
    const char *token; /* RL_COMMAND_TOKEN_LEN bytes */
};

/* Room for any command with a resource of REDLOCK_RESOURCE_MAX bytes, and its terminating zero. */
#define RL_COMMAND_WIRE_MAX 1536

/* Writes the command and a terminating zero (hiredis looks past the end). Returns its length. wire
 * has room for RL_COMMAND_WIRE_MAX bytes. */
size_t rl_command_format(char *wire, const struct rl_command *command);

/* As rl_command_format() for any list of arguments; 0 if it does not fit into capacity. */
size_t rl_command_format_args(char *wire, size_t capacity, const char *const *args, size_t count);

/* The script of EXTEND or RELEASE, and its SHA-1 in hex. */
const char *rl_command_script(enum rl_command_kind kind);
const char *rl_command_script_sha1(enum rl_command_kind kind);

#endif
