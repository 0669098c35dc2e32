/* The commands that the protocol sends, written as RESP once for a whole fan-out.
 *
 * With one resource an acquire is SET with NX and PX, the specification's step 2. Release and
 * extend compare the value and act in one step, which Redis offers as a script: sent by its hash
 * (EVALSHA), and whole (EVAL) to a node that answers NOSCRIPT.
 *
 * Where a node has a command for it, a release of one key is that: DELIFEQ (Valkey 9), DELEX (Redis
 * 8.4). It does what the script does, and costs the node half. An error in answer to it says
 * nothing about the key, and the script goes out in its place: native.h. Extensions stay scripts:
 * SET with IFEQ shortens a life and is refused when memory is full, PEXPIRE compares no value.
 *
 * With several resources each command is one script over all keys. A node sets all of them or none,
 * renews all or none, and that is its one vote, so the core needs no change. Why two still cannot
 * hold one resource: a grant means that a quorum of nodes have this value under *each* key of the
 * lock; two locks that share a resource therefore share a node that would have two values under one
 * key. That holds against locks of one resource and plain clients as well, since the keys are the
 * same. A script runs alone on its node, and looks at all keys before it sets the first, so a
 * refusal or an error (a key of another type) leaves nothing behind.
 *
 * With a fence the acquire is that script, too, which sets the fence's counters (core/fence.h) in
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
 * A lock's script goes out whole the first time on a connection, then by its hash. A node that
 * forgets it afterwards (SCRIPT FLUSH) answers NOSCRIPT, and the script goes out whole again,
 * behind whatever was sent meanwhile. Extensions, releases and raises may: they do nothing where
 * the value is gone. An acquire may not run behind its own release, its keys would stay until their
 * ttl ends: its sender decides first (node.h, `again`).
 *
 * The scripts are lib/redis/scripts/, one in each file, which says what it does and why; the build
 * takes their SHA-1. Their comments do not go on the wire. The bytes that do are part of a version:
 * unit/command has their hashes, and live/scripts compares them with what a real node computes.
 *
 * The value is the token, and behind it, if there is one, a colon and the holder's name.
 *
 * The line. Who waits for a resource stands in a line on one node, its home: a ZSET under
 * "libredlock:line:{" resource "}", named by the scripts alone and not declared as a key, since a
 * node that forbids it must not refuse a vote or a release for that. A member of the line is the
 * value of its client's next attempt. A release writes the value that comes next where its own was,
 * on every node if it knows it (it passes the key), else at home alone; or it leaves "reserved".
 * All of these end by themselves. TAKE is SET for who has the turn: it overwrites reservations, and
 * nothing else but its own key.
 *
 * Can the line let two hold? No. A value that is replaced is one that its owner has given up and
 * never sends again: RELEASE_LINE compares it. JOIN writes over nothing and over reservations,
 * LEAVE only where its own value is, which no attempt was made with. So a vote stands until its
 * life ends or its owner gives it up, whatever is in the line: lost, or of another opinion on who
 * is first. What votes are is the core's to say (core/lock.h, 7).
 *
 * Can a holder's value be a reservation? A value begins with a token of 40 hex digits.
 *
 * Readers. A lock that is shared sends the same commands, with the mode as an argument. On
 * a node that readers hold the resource's key is "redlock:shared", and each reader has a lease, its
 * value in a ZSET under "libredlock:readers:{" resource "}" with the lease's end as its score. Can
 * a reader and a writer both hold? No. A reader's vote is a lease, and the key stands as long as
 * the last lease lives: both end at the same ms, and no script ends or shortens what another's
 * lease needs. SET NX, TAKE and the clients of other libraries are refused by the key, with no
 * change to them. A lease is given only where the key is absent, reserved or shared, so a token
 * refuses it; it is extended only while it lives; a release ends its own lease and no other. So a
 * yes to a reader stands, as long as it is counted on, against every writer, and a writer's against
 * every reader, and two quorums share a node. Readers do not exclude each other. Who was a reader
 * and becomes a writer (UPGRADE), or the reverse (EXTEND, shared, that converts), has its
 * vote changed in one step on each node: at no moment it has none. That the scripts do so is argued
 * in scripts/part_readers.lua and in each of them.
 *
 * Of two minds, lost or forged: the intent ("libredlock:intent:{r}", a writer waits, so new readers
 * do not come in), the readers' line ("libredlock:line:shared:{r}"), "reserved:shared" (for any
 * reader whose turn it is) and who wants to upgrade ("libredlock:upgrade:{r}") are order, as the
 * line is, and no vote.
 */
#ifndef RL_REDIS_COMMAND_H
#define RL_REDIS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "redis/command_data.h"

#define RL_COMMAND_WIRE_MAX 1024 /* room for a step of the handshake */

/* What a release takes beyond the bytes of its acquire: by the hash of its script, and whole. An
 * acquire reserves that behind itself, so that its release does not fail for want of memory. */
#define RL_COMMAND_RELEASE_MORE 320
#define RL_COMMAND_RELEASE_WHOLE 8256

/* Room for every command with this target, whole scripts and the terminating zero included. */
size_t rl_command_room(const struct rl_target *target);

/* Writes the command and a terminating zero (hiredis looks past the end). Returns its length. wire
 * has rl_command_room() bytes. */
size_t rl_command_format(char *wire, const struct rl_command *command);

/* As rl_command_format() for any list of arguments; 0 if it does not fit into capacity. */
size_t rl_command_format_args(char *wire, size_t capacity, const char *const *args, size_t count);

/* Whether a command takes the lock, so that it must not run behind its own release. */
bool rl_command_acquires(enum rl_command_kind kind);

/* Whether a command gives up what a lock or a place has, so that a busy node takes it before
 * others. */
bool rl_command_releases(enum rl_command_kind kind);

/* Whether it runs a script. */
bool rl_command_is_script(enum rl_command_kind kind);

/* Whether it is a release that may serve who waits. */
bool rl_command_hands_on(enum rl_command_kind kind);

/* Whether it is a RELEASE that only some servers know. */
bool rl_command_is_native_release(enum rl_command_kind kind);

/* The script of a kind that is one, and its SHA-1 in hex. */
const char *rl_command_script(enum rl_command_kind kind);
const char *rl_command_script_sha1(enum rl_command_kind kind);

/* All scripts, for tests: number index, and its SHA-1; NULL when there are no more. */
const char *rl_command_script_at(size_t index, const char **sha1);

#endif
