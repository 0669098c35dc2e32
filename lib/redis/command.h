/* The commands of the protocol, written as RESP once for a whole fan-out.
 *
 * With one resource an acquire is SET with NX and PX, the specification's step 2. Release and
 * extend compare the value and act in one step, which Redis offers as a script: sent by its hash
 * (EVALSHA), and whole (EVAL) to a node that answers NOSCRIPT.
 *
 * If a node has a native command for it, a release of one key uses that: DELIFEQ (Valkey 9), DELEX
 * (Redis 8.4). It does what the script does at half the cost for the node. An error reply to it
 * says nothing about the key, and the script is sent instead: native.h. Extensions stay scripts:
 * SET with IFEQ shortens a life and is refused when memory is full, PEXPIRE compares no value.
 *
 * With several resources each command is one script over all keys. A node sets all of them or none,
 * renews all or none, and that is its one vote, so the core needs no change. Why two locks still
 * cannot hold one resource: a grant means that a quorum of nodes have this value under *each* key
 * of the lock; two locks that share a resource would therefore share a node with two values under
 * one key. That also holds against locks of one resource and plain clients, since the keys are the
 * same. A script runs alone on its node, and looks at all keys before it sets the first, so a
 * refusal or an error (a key of another type) leaves nothing behind.
 *
 * With a fence the acquire is that script, too; it sets the fence's counters (core/fence.h) in the
 * same step. A counter is under "libredlock:fence:" and the resource, one for each resource of the
 * lock, and outlives the key by the retention. A repair is the same script with the fence as its
 * floor; an extension sets the fence again, so that counters last as long as a hold.
 *
 * Can a counter be the key of a lock? Not of ours: resources that begin like counters are refused.
 * Nor of another library's: pottery and RedLock.net prefix names with "redlock:", rueidislock with
 * a prefix and a number, the others with nothing. None uses "libredlock:".
 *
 * A lock's script is sent whole the first time on a connection, then by its hash. A node that
 * forgets it afterwards (SCRIPT FLUSH) answers NOSCRIPT, and the script is sent whole again, behind
 * everything that was sent meanwhile. Extensions, releases and raises may run so late: they do
 * nothing where the value is gone. An acquire must not run after its own release, since its keys
 * would stay until their ttl ends: its sender decides first (node.h, `again`).
 *
 * The scripts are in lib/redis/scripts/, one in each file, which says what it does and why; the
 * build computes their SHA-1. Their comments are not sent. The bytes that are sent belong to a
 * version: unit/command has their hashes, and live/scripts compares them with those that a real
 * node computes.
 *
 * The value is the token, and behind it, if there is one, a colon and the holder's name.
 *
 * The line. The waiters for a resource stand in a line on one node, its home: a ZSET under
 * "libredlock:line:{" resource "}", which only the scripts name and which is not declared as a key,
 * so that a node that forbids it does not refuse a vote or a release because of it. A member of the
 * line is the value of its client's next attempt. A release replaces its own value by the next one,
 * on every node if it knows that (it passes the key), else only at home; or it leaves "reserved".
 * All of these expire. TAKE is SET for the client that has the turn: it overwrites reservations and
 * its own key, and nothing else.
 *
 * Can the line let two hold? No. A value is replaced only after its owner has given it up, and is
 * never sent again: RELEASE_LINE compares it. JOIN writes over nothing and over reservations, LEAVE
 * only over its own value, which no attempt was made with. So a vote stands until its life ends or
 * its owner gives it up, even if the line is lost, or nodes disagree on its order. The core decides
 * what counts as a vote (core/lock.h, 7).
 *
 * Can a holder's value be a reservation? A value begins with a token of 40 hex digits.
 *
 * Readers. A shared lock sends the same commands, with the mode as an argument. On a node that
 * readers hold the resource's key is "redlock:shared", and each reader has a lease: its value in a
 * ZSET under "libredlock:readers:{" resource "}" with the lease's end as its score. Can a reader
 * and a writer both hold? No. A reader's vote is a lease, and the key stands as long as the last
 * lease lives: both end at the same ms, and no script ends or shortens what another's lease needs.
 * The key refuses SET NX, TAKE and the clients of other libraries, without changes to them. A lease
 * is given only where the key is absent, reserved or shared, so a token refuses it; a lease is
 * extended only while it lives; a release ends its own lease and no other. So a yes to a reader
 * stands, as long as it is counted on, against every writer, and a writer's against every reader,
 * and two quorums share a node. Readers do not exclude each other. When a reader becomes a writer
 * (UPGRADE), or a writer a reader (EXTEND, shared, that converts), its vote changes in one step on
 * each node: at no moment is it without one. scripts/part_readers.lua and each of the scripts argue
 * why they do so.
 *
 * The following may be inconsistent, lost or forged: the intent ("libredlock:intent:{r}", a writer
 * waits, so new readers are kept off), the readers' line ("libredlock:line:shared:{r}"),
 * "reserved:shared" (for any reader whose turn it is) and the client that wants to upgrade
 * ("libredlock:upgrade:{r}"). Like the line, they affect order only, and are no votes.
 */
#ifndef RL_REDIS_COMMAND_H
#define RL_REDIS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "redis/command_data.h"

#define RL_COMMAND_WIRE_MAX 1024 /* room for a step of the handshake */

/* The bytes that a release needs beyond those of its acquire: by the hash of its script, and whole.
 * An acquire reserves them, so that its release does not fail for lack of memory. */
#define RL_COMMAND_RELEASE_MORE 320
#define RL_COMMAND_RELEASE_WHOLE 8256

/* Room for every command with this target, whole scripts and the terminating zero included. */
size_t rl_command_room(const struct rl_target *target);

/* Writes the command and a terminating zero (hiredis looks past the end). Returns its length. wire
 * has rl_command_room() bytes. */
size_t rl_command_format(char *wire, const struct rl_request *request);

/* As rl_command_format() for any list of arguments; 0 if it does not fit into capacity. */
size_t rl_command_format_args(char *wire, size_t capacity, const char *const *args, size_t count);

/* Whether a command takes the lock, so that it must not run behind its own release. */
bool rl_command_acquires(enum rl_command_kind kind);

/* Whether a command gives up what a lock or a place has, so that a clogged node still accepts
 * it. */
bool rl_command_releases(enum rl_command_kind kind);

/* Whether it runs a script. */
bool rl_command_is_script(enum rl_command_kind kind);

/* Whether it is a release that may serve the next waiter. */
bool rl_command_hands_on(enum rl_command_kind kind);

/* Whether it is a RELEASE that only some servers know. */
bool rl_command_is_native_release(enum rl_command_kind kind);

/* The script of a scripted kind, and its SHA-1 in hex. */
const char *rl_command_script(enum rl_command_kind kind);
const char *rl_command_script_sha1(enum rl_command_kind kind);

/* All scripts, for tests: number index, and its SHA-1; NULL when there are no more. */
const char *rl_command_script_at(size_t index, const char **sha1);

#endif
