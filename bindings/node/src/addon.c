/* See addon.h: the module, and the conversion of its values. */
#include "addon.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 9007199254740991.0 /* the largest whole number of JavaScript */

/* -- Values -- */

napi_value node_throw(napi_env env, int status, const char *text) {
    napi_throw_error(env, redlock_err_name(status), text);
    return NULL;
}

napi_value node_number(napi_env env, double number) {
    napi_value value = NULL;
    napi_create_double(env, number, &value);
    return value;
}

napi_value node_text(napi_env env, const char *text) {
    napi_value value = NULL;
    if (text != NULL) {
        napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &value);
    } else {
        napi_get_undefined(env, &value);
    }
    return value;
}

void node_args(napi_env env, napi_callback_info info, napi_value argv[NODE_ARGS_MAX]) {
    size_t argc = NODE_ARGS_MAX;
    napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
}

struct node_entry *node_read_entry(napi_env env, napi_callback_info info,
                                   napi_value argv[NODE_ARGS_MAX]) {
    napi_value own[NODE_ARGS_MAX];
    argv = argv != NULL ? argv : own;
    node_args(env, info, argv);
    struct node_client *client = node_read_client(env, argv[0]);
    uint32_t id = 0;
    napi_get_value_uint32(env, argv[1], &id);
    struct node_entry *entry = id < client->n_entries ? client->entries[id] : NULL;
    if (entry == NULL || (entry->lock == NULL && entry->election == NULL)) {
        node_throw(env, REDLOCK_ERR_NOT_HELD, "it is over");
        return NULL;
    }
    return entry;
}

/* -- Texts -- */

void node_texts_free(struct node_texts *texts) {
    while (texts->n > 0) {
        free(texts->items[--texts->n]);
    }
}

const char *node_read_text(napi_env env, napi_value value, const char *what, size_t *length,
                           struct node_texts *texts) {
    char why[96];
    size_t n = 0;
    if (napi_get_value_string_utf8(env, value, NULL, 0, &n) != napi_ok) {
        snprintf(why, sizeof why, "%s: not a string", what);
        node_throw(env, REDLOCK_ERR_INVALID, why);
        return NULL;
    }
    char *text = texts->n < NODE_TEXTS_MAX ? malloc(n + 1) : NULL;
    if (text == NULL) {
        node_throw(env, REDLOCK_ERR_NOMEM, "out of memory");
        return NULL;
    }
    texts->items[texts->n++] = text;
    napi_get_value_string_utf8(env, value, text, n + 1, &n);
    if (length != NULL) {
        *length = n;
    } else if (strlen(text) != n) {
        snprintf(why, sizeof why, "%s: has a zero byte", what);
        node_throw(env, REDLOCK_ERR_INVALID, why);
        return NULL;
    }
    return text;
}

bool node_read_list(napi_env env, napi_value value, const char *what, uint32_t max, uint32_t *n,
                    redlock_bytes *items, struct node_texts *texts) {
    bool is_array = false;
    char why[96];
    *n = 1;
    napi_is_array(env, value, &is_array);
    if (is_array) {
        napi_get_array_length(env, value, n);
    }
    if (*n < 1 || *n > max) {
        snprintf(why, sizeof why, "%s: %u, it must be 1 to %u", what, *n, max);
        node_throw(env, REDLOCK_ERR_INVALID, why);
        return false;
    }
    for (uint32_t i = 0; i < *n; i++) {
        napi_value item = value;
        if (is_array) {
            napi_get_element(env, value, i, &item);
        }
        items[i].data = node_read_text(env, item, what, &items[i].length, texts);
        if (items[i].data == NULL) {
            return false;
        }
    }
    return true;
}

/* -- Options -- */

/* The reason why the value is refused, or NULL. */
static const char *read_number(napi_env env, napi_value value, const struct node_option *option,
                               char *target) {
    double number;
    if (napi_get_value_double(env, value, &number) != napi_ok) {
        return "not a number";
    }
    if (option->kind == NODE_RATIO) {
        memcpy(target, &number, sizeof number);
        return NULL;
    }
    if (option->kind == NODE_LIMIT && isinf(number) && number > 0) {
        number = REDLOCK_NO_LIMIT;
    } else if (!(fabs(number) <= NUMBER_MAX) || floor(number) < number || number < 0) {
        return "not a whole number from 0 on";
    }
    int64_t ms = (int64_t)number;
    int32_t count = number <= INT32_MAX ? (int32_t)number : INT32_MAX;
    if (option->kind == NODE_COUNT) {
        memcpy(target, &count, sizeof count);
    } else {
        memcpy(target, &ms, sizeof ms);
    }
    return NULL;
}

static const char *read_guard(napi_env env, napi_value value, char *target) {
    char name[16] = "";
    napi_get_value_string_utf8(env, value, name, sizeof name, NULL);
    for (int guard = REDLOCK_GUARD_OFF; guard <= REDLOCK_GUARD_STRICT; guard++) {
        if (strcmp(name, redlock_guard_name((enum redlock_guard)guard)) == 0) {
            memcpy(target, &guard, sizeof guard);
            return NULL;
        }
    }
    return "not one of off, observed and strict";
}

static const char *read_flag(napi_env env, napi_value value, char *target) {
    bool flag = false;
    if (napi_get_value_bool(env, value, &flag) != napi_ok) {
        return "neither true nor false";
    }
    int number = flag;
    memcpy(target, &number, sizeof number);
    return NULL;
}

static bool read_option(napi_env env, napi_value value, const struct node_option *option,
                        char *target, struct node_texts *texts) {
    char why[128];
    const char *wrong;
    if (option->kind == NODE_TEXT) {
        const char *text = node_read_text(env, value, option->name, NULL, texts);
        memcpy(target, &text, sizeof text);
        return text != NULL;
    }
    if (option->kind == NODE_FLAG) {
        wrong = read_flag(env, value, target);
    } else if (option->kind == NODE_GUARD) {
        wrong = read_guard(env, value, target);
    } else {
        wrong = read_number(env, value, option, target);
    }
    if (wrong != NULL) {
        snprintf(why, sizeof why, "%s: %s", option->name, wrong);
        node_throw(env, REDLOCK_ERR_INVALID, why);
    }
    return wrong == NULL;
}

_Static_assert(sizeof(enum redlock_guard) == sizeof(int), "read_guard() writes an int");
_Static_assert(sizeof(enum redlock_mode) == sizeof(int), "read_flag() writes an int");

bool node_read_options(napi_env env, napi_value pairs, const struct node_option *table,
                       void *target, struct node_texts *texts) {
    uint32_t n = 0;
    napi_get_array_length(env, pairs, &n); /* undefined: 0 */
    for (uint32_t i = 0; i + 1 < n; i += 2) {
        napi_value row, value;
        uint32_t at = 0;
        napi_get_element(env, pairs, i, &row);
        napi_get_element(env, pairs, i + 1, &value);
        napi_get_value_uint32(env, row, &at);
        if (!read_option(env, value, &table[at], (char *)target + table[at].offset, texts)) {
            return false;
        }
    }
    return true;
}

/* -- The module -- */

/* A libuv with larger handles would write beyond ours. libuv promises the same size as long as its
 * major version is 1. */
static bool fits_libuv(void) {
    return uv_handle_size(UV_ASYNC) == sizeof(uv_async_t) &&
           uv_handle_size(UV_CHECK) == sizeof(uv_check_t) &&
           uv_handle_size(UV_IDLE) == sizeof(uv_idle_t) &&
           uv_handle_size(UV_POLL) == sizeof(uv_poll_t) &&
           uv_handle_size(UV_PREPARE) == sizeof(uv_prepare_t) &&
           uv_handle_size(UV_TIMER) == sizeof(uv_timer_t) &&
           uv_req_size(UV_GETADDRINFO) == sizeof(uv_getaddrinfo_t);
}

static void add_functions(napi_env env, napi_value exports, const node_function *function) {
    for (; function->name != NULL; function++) {
        napi_value value;
        napi_create_function(env, function->name, NAPI_AUTO_LENGTH, function->call, NULL, &value);
        napi_set_named_property(env, exports, function->name, value);
    }
}

static void add_names(napi_env env, napi_value exports, const char *name,
                      const struct node_option *option) {
    napi_value names;
    napi_create_array(env, &names);
    for (uint32_t i = 0; option[i].name != NULL; i++) {
        napi_set_element(env, names, i, node_text(env, option[i].name));
    }
    napi_set_named_property(env, exports, name, names);
}

NAPI_MODULE_INIT() {
#define NAME(name) #name,
    static const char *const events[] = {NODE_EVENTS(NAME)};
    napi_value names;
    if (!fits_libuv()) {
        return node_throw(env, REDLOCK_ERR_SYSTEM,
                          "libredlock was built for another libuv than Node.js has; build it anew "
                          "with the headers of this Node.js (bindings/node/build.sh)");
    }
    add_functions(env, exports, node_client_functions);
    add_functions(env, exports, node_lock_functions);
    add_functions(env, exports, node_election_functions);
    add_names(env, exports, "clientOptions", node_client_options);
    add_names(env, exports, "lockOptions", node_lock_options);
    add_names(env, exports, "electionOptions", node_election_options);
    napi_create_array(env, &names);
    for (uint32_t i = 0; i < NODE_N_EVENTS; i++) {
        napi_set_element(env, names, i, node_text(env, events[i]));
    }
    napi_set_named_property(env, exports, "events", names);
    napi_set_named_property(env, exports, "version", node_text(env, redlock_version()));
    return exports;
}
