/* A driver: what a lock's core needs done by code that knows sockets, loops and users. rl_drive()
 * steps the core and has everything done that the step asks for, in one order for all drivers; the
 * client's is lock/step.c.
 *
 * Happy path: an event, its step, its actions.
 *
 * Failure modes: a command that cannot be sent is a failed vote at once, so a round is not held up
 * by it; a release that cannot be sent becomes pending, but only where the key may be, since a
 * release that is not needed would displace one that is; a token that cannot be generated ends the
 * acquire. A node that is silent is left out of an attempt: a SET would only queue up behind the
 * request that it does not answer, and be one more key to clean up when a stopped node goes on.
 * Nor is a silent node sent a release that it cannot need: for each attempt of each lock one more
 * would queue up there, and one slow node would fill the memory of all who use it.
 *
 * Which releases are those? The ones of a token that is not there and cannot come to be there: the
 * node is not in may_hold of this step (lock.h, 2). Keys are set by SETs, of an attempt or a
 * repair, and by nothing else: an extension and a raise of a fence only touch a key that has the
 * token. Each attempt has a token of its own, so what earlier ones sent sets none of this one. And
 * may_hold has every node that a SET or a repair with this token was sent to, unless it answered
 * that this did not run; one that could not be sent is not there, and was not appended to a
 * connection either. Of a token that was taken over, or is another client's, all nodes may have it.
 *
 * Can a key be orphaned by the order? Releases go first, with the token of this step: an attempt
 * that begins later in the same step would have generated another. Can a success be reported after
 * a loss? The ends of operations are noted before the loss, and drivers run on_lost before the
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
 *   - `oldest_ns`: when the oldest request was sent that the node has not answered, RL_NEVER if
 *     there is none, 0 if so much lies unsent that the node is not to be sent more;
 *   - `stepped`: the step is over, nothing is done yet: to look at, for traces and checks;
 *   - `fan_out`: `send` follows for each of these nodes, with the same command of the same round;
 *   - `send`: 0, and its outcome will come (call.h); or why it was not sent, and none will;
 *   - `owe`: a release of the present token is pending for the node (RL_RELEASE_UNANSWERED);
 *   - `ended`: an operation is over, its callback is to run;
 *   - `renewed`: the watchdog has extended, or tried to;
 *   - `lost`: the hold is over, on_lost is to run;
 *   - `tell`: feed RL_EV_TELL when the acquire's callback can run, soon;
 *   - `generate_token`: a token that was never used before, and of the attempt's event the floor
 *     (0 will do if the acquire does not fence), the place, if the attempt is to be by TAKE and
 *     its turn has none, and the lease; or that there is no randomness; or that it is not known
 *     yet what to ask the nodes for: RL_EV_READY or RL_EV_NONE follows, not within the call,
 *     unless the acquire ends. It is asked again when a node's time to answer is over;
 *   - `token_failed`: for want of a token the acquire has just ended as cancelled;
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

/* The step of a complete event, and all that it asks for. event->up loses the nodes that are left
 * out. Returns whether it was a late vote. */
bool rl_drive(struct rl_lock *lock, struct rl_event *event, const struct rl_driver *driver);

/* Whether a node is silent: its oldest request is out for longer than a vote is waited for. */
bool rl_is_silent(const struct rl_rules *rules, uint64_t oldest_ns, uint64_t now_ns);

#endif
