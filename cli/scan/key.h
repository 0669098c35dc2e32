/* What a key on a node is, by its name alone: a lock's own, or what libredlock keeps beside it.
 *
 *     NAME                              the lock; also another library's, or no lock at all
 *     libredlock:fence:NAME             its counter
 *     libredlock:readers:{NAME}         who reads it
 *     libredlock:line:{NAME}            who waits for it; line:shared: to read it; line:permits:
 *                                       for permits of it
 *     libredlock:permits:{NAME}         how many permits there are
 *     libredlock:slot:I:{NAME}          permit number I, which has a counter as a lock has
 *     libredlock:kicks:{NAME}           who was kicked (kick_note.h)
 *     libredlock:...                    anything else: order alone, or a newer redlock's
 *
 * No resource's name begins with "libredlock:" (lib/redis/command.h). Pure.
 *
 * Failure mode: a name that begins so and is none of these is RL_KEY_BESIDE, and is not read. */
#ifndef RL_CLI_SCAN_KEY_H
#define RL_CLI_SCAN_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rl_key_kind {
    RL_KEY_LOCK,
    RL_KEY_FENCE,
    RL_KEY_READERS,
    RL_KEY_LINE,
    RL_KEY_LINE_SHARED,
    RL_KEY_LINE_PERMITS,
    RL_KEY_PERMITS,
    RL_KEY_SLOT,
    RL_KEY_SLOT_FENCE,
    RL_KEY_KICKS,
    RL_KEY_BESIDE,
};

struct rl_key {
    enum rl_key_kind kind;
    uint16_t slot;        /* RL_KEY_SLOT, RL_KEY_SLOT_FENCE */
    const char *resource; /* its name, within the key's */
    size_t length;
};

/* name: any bytes. key refers to them. */
void rl_key_read(const char *name, size_t length, struct rl_key *key);

#endif
