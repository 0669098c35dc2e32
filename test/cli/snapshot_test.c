/* The states that status --watch takes for unsettled: a lock or a slot is on its way to a waiting
 * client. */
#include "watch/room.h"

#include <stdio.h>

#include "unit/check.h"

/* The snapshot that follows one in which `kind` is held and, if `waits`, a client waits in line.
 * The nodes now report no holder, no reservation and no waiting client. */
static bool is_unsettled_after(enum rl_item_kind kind, bool waits, enum rl_item_kind waiting) {
    static struct rl_found found;
    struct rl_item items[] = {{.kind = kind, .id = "1", .number = 2}, {.kind = waiting, .id = "2"}};
    const struct rl_snapshot old = {.items = items, .n = waits ? 2 : 1};
    struct rl_snapshot now;
    memset(&found, 0, sizeof found);
    found.line.is_known = found.permits_line.is_known = found.slots.is_known = true;
    rl_snapshot_take(&now, &found, &old);
    const bool is_unsettled = now.is_unsettled;
    rl_snapshot_free(&now);
    return is_unsettled;
}

static void waits_for_the_next_holder(void **state) {
    (void)state;
    assert_true(is_unsettled_after(RL_ITEM_LOCK, true, RL_ITEM_WAITS));
    assert_true(is_unsettled_after(RL_ITEM_LOCK, true, RL_ITEM_WAITS_TO_READ));
    assert_true(is_unsettled_after(RL_ITEM_SLOT, true, RL_ITEM_WAITS_FOR_PERMITS));
}

static void says_at_once_what_nobody_waited_for(void **state) {
    (void)state;
    assert_false(is_unsettled_after(RL_ITEM_LOCK, false, RL_ITEM_WAITS));
    assert_false(is_unsettled_after(RL_ITEM_LOCK, true, RL_ITEM_WAITS_FOR_PERMITS));
    assert_false(is_unsettled_after(RL_ITEM_SLOT, true, RL_ITEM_WAITS));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_for_the_next_holder),
        cmocka_unit_test(says_at_once_what_nobody_waited_for),
    };
    return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
