/* A driver: the code that knows sockets, loops and users, and acts for a lock's core. rl_drive()
 * steps the core and carries out everything that the step asks for, in one order for all drivers;
 * the client's driver is lock/step.c.
 *
 * Happy path: an event, its step, its actions.
 *
 * Failure modes: a command that cannot be sent is a failed vote at once, so a round is not held up
 * by it; a release that cannot be sent becomes pending, but only where the key may be, since a
 * release that is not needed would displace one that is; a token that cannot be generated ends the
 * acquire. A silent node is left out of an attempt: a SET would only queue up behind the unanswered
 * request, and be one more key to clean up when a stopped node goes on. Nor is a silent node sent a
 * release that it cannot need: each attempt of each lock would queue one more there, and one slow
 * node would fill the memory of all its clients.
 *
 * Which releases are not needed? Those of a token that is not on the node and cannot get there: the
 * node is not in may_hold of this step (lock.h, 2). Only the SETs of an attempt, a repair or a
 * plant set keys: an extension and a raise of a fence only touch a key that has the token. Each
 * attempt has its own token, so commands of earlier attempts cannot set it. And may_hold has every
 * node that a SET or a repair with this token was sent to, unless the node answered that the
 * command did not run; a command that could not be sent is not counted there, and was not appended
 * to a connection either. A token that was taken over, or is another client's, may be on any node.
 *
 * Can a key be orphaned by the order? No: releases go first, with the token of this step; an
 * attempt that begins later in the same step generates another. Can a success be reported after a
 * loss? No: the ends of operations are recorded before the loss, and drivers run on_lost before the
 * callbacks.
 */
#ifndef RL_CORE_DRIVER_H
#define RL_CORE_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/call.h"
#include "core/lock.h"

enum rl_token { RL_TOKEN_FAILED, RL_TOKEN_GIVEN, RL_TOKEN_LATER };

enum rl_op_kind { RL_OP_ACQUIRE, RL_OP_EXTEND, RL_OP_RELEASE, RL_OPS };

/* The driver's duties. `feed` may be called inside another call to rl_drive() of the same lock;
 * everything else does not step any lock.
 *   - `oldest_ns`: when the oldest unanswered request of the node was sent, RL_NEVER if there is
 *     none, 0 if so much is unsent that the node must not be sent more;
 *   - `stepped`: the step is over, nothing is done yet: for traces and checks;
 *   - `fan_out`: `send` follows for each of these nodes, with the same command of the same round;
 *   - `send`: 0, and its outcome will come (call.h); or why it was not sent, and none will;
 *   - `owe`: a release of the present token is pending for the node, and was not sent;
 *   - `ended`: an operation is over, its callback is to run;
 *   - `renewed`: the watchdog has extended, or tried to;
 *   - `lost`: the hold is over, on_lost is to run;
 *   - `tell`: feed RL_EV_TELL when the acquire's callback can run, soon;
 *   - `generate_token`: a token that was never used before, and of the attempt's event the floor
 *     (0 will do if the acquire does not fence), the place, if the attempt is to be by TAKE and
 *     its turn has none, and the lease; or that there is no randomness; or that it is not known yet
 *     what to request from the nodes: RL_EV_READY or RL_EV_NONE follows, not within the call,
 *     unless the acquire ends. The core calls again when the node timeout is over;
 *   - `token_failed`: for lack of a token the acquire has just ended as cancelled;
 *   - `feed`: complete the event (time, randomness, nodes) and call rl_drive() with it. */
struct rl_driver {
    uint64_t (*oldest_ns)(struct rl_lock *lock, uint32_t node);
    void (*stepped)(struct rl_lock *lock, const struct rl_event *event,
                    const struct rl_actions *actions);
    void (*fan_out)(struct rl_lock *lock, enum rl_call_kind kind, uint32_t round, uint32_t nodes);
    int16_t (*send)(struct rl_lock *lock, enum rl_call_kind kind, uint32_t round, uint32_t node);
    void (*owe)(struct rl_lock *lock, uint32_t node);
    void (*ended)(struct rl_lock *lock, enum rl_op_kind op, enum rl_result result);
    void (*renewed)(struct rl_lock *lock, enum rl_result result);
    void (*lost)(struct rl_lock *lock, enum rl_result why);
    void (*tell)(struct rl_lock *lock);
    enum rl_token (*generate_token)(struct rl_lock *lock, char token[RL_TOKEN_LEN],
                                    struct rl_event *attempt);
    void (*token_failed)(struct rl_lock *lock);
    void (*feed)(struct rl_lock *lock, struct rl_event *event);
};

/* Steps the core with a complete event, and carries out all that the step asks for. event->up loses
 * the nodes that are left out. Returns whether the event was a late vote. */
bool rl_drive(struct rl_lock *lock, struct rl_event *event, const struct rl_driver *driver);

/* Whether a node is silent: its oldest request is unanswered for longer than the node timeout. */
bool rl_is_silent(const struct rl_rules *rules, uint64_t oldest_ns, uint64_t now_ns);

#endif
