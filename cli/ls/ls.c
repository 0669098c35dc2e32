/* See ls.h. */
#include "ls/ls.h"

#include <string.h>

#include "exits.h"
#include "ls/json.h"
#include "ls/table.h"
#include "redlock/redlock.h"
#include "say.h"
#include "scan/order.h"
#include "scan/scan.h"
#include "tool/utf8.h"

#define SAMPLES 3 /* of a node's clock, one after the other */

static int show(struct rl_sweep *sweep, const struct rl_args *args) {
    rl_list_sort(&sweep->list, (enum rl_list_order)args->sort);
    if (args->json) {
        rl_json_print(sweep, args->waiting);
    } else {
        rl_table_print(sweep, args->waiting);
    }
    if (!rl_sweep_has_quorum(sweep)) {
        return rl_fail(RL_EXIT_NO_QUORUM,
                       "%zu of %zu nodes could be read, %zu are needed to see who holds a lock",
                       sweep->whole, sweep->n, sweep->n / 2 + 1);
    }
    return RL_EXIT_OK;
}

int rl_cmd_ls(struct rl_args *args) {
    const struct rl_read_options options = {.prefix = args->prefix != NULL ? args->prefix : "",
                                            .keys_max = (uint64_t)args->keys_max,
                                            .samples = SAMPLES};
    struct rl_scan scan;
    struct rl_sweep sweep = {0};
    if (args->n_words > 0 || args->child != NULL) {
        const char *word = args->n_words > 0 ? args->words[0] : "--";
        char shown[64];
        return rl_fail(RL_EXIT_USAGE,
                       "ls: \"%s\" is one argument too many; --prefix %s lists what begins so, and "
                       "redlock status %s shows one lock",
                       tool_utf8_clean(word, strlen(word), shown, sizeof shown), shown, shown);
    }
    if (strlen(options.prefix) > REDLOCK_RESOURCE_MAX) {
        return rl_fail(RL_EXIT_USAGE, "--prefix is longer than %d bytes", REDLOCK_RESOURCE_MAX);
    }
    int status = rl_scan_open(&scan, args, &options);
    if (status == 0) {
        rl_scan_sweep(&scan, &sweep);
        status = show(&sweep, args);
    }
    rl_sweep_free(&sweep);
    rl_scan_close(&scan);
    return status;
}

int rl_ls_names(struct rl_args *args, void (*each)(void *data, const char *name, size_t length),
                void *data) {
    const struct rl_read_options options = {
        .prefix = "", .keys_max = (uint64_t)args->keys_max, .samples = 1};
    struct rl_scan scan;
    struct rl_sweep sweep = {0};
    const struct rl_lock *last = NULL; /* a lock and a semaphore may have one name */
    int status = rl_scan_open(&scan, args, &options);
    if (status == 0) {
        rl_scan_sweep(&scan, &sweep);
        for (size_t i = 0; i < sweep.list.n; i++) {
            const struct rl_lock *lock = &sweep.list.locks[i];
            bool is_again = last != NULL && last->length == lock->length &&
                            memcmp(last->name, lock->name, lock->length) == 0;
            if (lock->class != RL_LOCK_KICKED && !is_again) {
                each(data, lock->name, lock->length);
                last = lock;
            }
        }
    }
    rl_sweep_free(&sweep);
    rl_scan_close(&scan);
    return status;
}
