/* Users, AUTH, and what an ACL forbids. A user has all rights except those that are forbidden. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/server_parts.h"

struct server_user {
    char *name;
    char *password; /* NULL: any will do */
    bool is_on;
    uint64_t denied;     /* commands, a bit each: rule_index() */
    char *keys_with;     /* NULL: all keys */
    char *channels_with; /* NULL: all channels */
};

static void replace(char **text, const char *with) {
    char *copy = with != NULL ? strdup(with) : NULL;
    if (with != NULL && copy == NULL) {
        abort();
    }
    free(*text);
    *text = copy;
}

static struct server_user *find(const struct server *server, const void *name, size_t length) {
    for (uint32_t i = 0; i < server->n_users; i++) {
        struct server_user *user = server->users[i];
        if (strlen(user->name) == length && memcmp(user->name, name, length) == 0) {
            return user;
        }
    }
    return NULL;
}

struct server_user *server_add_user(struct server *server, const char *name, const char *password) {
    struct server_user *user = find(server, name, strlen(name));
    if (user == NULL) {
        user = calloc(1, sizeof *user);
        server->users =
            realloc(server->users, (server->n_users + 1) * sizeof(struct server_user *));
        if (user == NULL || server->users == NULL) {
            abort();
        }
        server->users[server->n_users++] = user;
        replace(&user->name, name);
    }
    replace(&user->password, password);
    user->is_on = true;
    return user;
}

void make_default_user(struct server *server) {
    server_add_user(server, "default", NULL);
}

void server_set_password(struct server *server, const char *user, const char *password) {
    struct server_user *standard = server_add_user(server, "default", NULL);
    if (user != NULL && password != NULL) {
        standard->is_on = false;
        server_add_user(server, user, password);
    } else {
        replace(&standard->password, password);
    }
}

void free_users(struct server *server) {
    for (uint32_t i = 0; i < server->n_users; i++) {
        struct server_user *user = server->users[i];
        server_allow_all(user);
        free(user->name);
        free(user->password);
        free(user);
    }
    free(server->users);
}

struct server_user *user_without_password(struct server *server) {
    struct server_user *user = server->users[0];
    return user->is_on && user->password == NULL ? user : NULL;
}

/* -- What is forbidden -- */

void server_deny(struct server_user *user, const char *command) {
    const struct rule *rule = rule_of(command);
    assert(rule != NULL);
    user->denied |= UINT64_C(1) << rule_index(rule);
}

void server_deny_keys(struct server_user *user, const char *but_with_prefix) {
    replace(&user->keys_with, but_with_prefix);
}

void server_deny_channels(struct server_user *user, const char *but_with_prefix) {
    replace(&user->channels_with, but_with_prefix);
}

void server_allow_all(struct server_user *user) {
    user->denied = 0;
    replace(&user->keys_with, NULL);
    replace(&user->channels_with, NULL);
}

static bool begins(const struct resp_arg *text, const char *prefix) {
    return prefix == NULL ||
           (text->length >= strlen(prefix) && memcmp(text->data, prefix, strlen(prefix)) == 0);
}

enum denial denial_of(const struct server_user *user, const struct rule *rule) {
    bool is_denied = (user->denied >> rule_index(rule) & 1) != 0;
    return is_denied ? DENIED_COMMAND : DENIED_NOTHING;
}

bool may_use_key(const struct server_user *user, const struct resp_arg *key) {
    return begins(key, user->keys_with);
}

bool may_use_channel(const struct server_user *user, const struct resp_arg *channel) {
    return begins(channel, user->channels_with);
}

void reply_denial(struct call *call, enum denial denial, const char *name) {
    const bool old = call->server->words == SERVER_REDIS_7;
    const char *user = call->connection->user->name;
    if (denial == DENIED_COMMAND && old) {
        reply_error_format(call, "NOPERM this user has no permissions to run the '%s' command",
                           name);
    } else if (denial == DENIED_COMMAND) {
        reply_error_format(call, "NOPERM User %s has no permissions to run the '%s' command", user,
                           name);
    } else {
        const char *what = denial == DENIED_KEY ? "key" : "channel";
        reply_error_format(call,
                           old ? "NOPERM this user has no permissions to access one of the %ss used"
                                 " as arguments"
                               : "NOPERM No permissions to access a %s",
                           what);
    }
}

const char *script_denial(const struct call *call, enum denial denial, const char *name,
                          char text[256]) {
    if (call->server->words == SERVER_REDIS_7) {
        return denial != DENIED_KEY
                   ? "ERR The user executing the script can't run this command or subcommand"
                   : "ERR The user executing the script can't access at least one of the keys"
                     " mentioned in the command arguments";
    }
    if (denial != DENIED_COMMAND) {
        snprintf(text, 256, "ERR ACL failure in script: No permissions to access a %s",
                 denial == DENIED_KEY ? "key" : "channel");
        return text;
    }
    snprintf(text, 256,
             "ERR ACL failure in script: User %s has no permissions to run the '%s' command",
             call->connection->user->name, name);
    return text;
}

/* -- AUTH -- */

void do_auth(struct call *call) {
    const struct server_user *standard = call->server->users[0];
    const struct resp_arg *password = &call->args[call->count - 1];
    struct resp_arg name = {standard->name, strlen(standard->name)};
    if (call->count > 3) {
        reply_error(call, "ERR syntax error");
        return;
    }
    if (call->count == 2 && standard->password == NULL && standard->is_on) {
        reply_error(call,
                    "ERR AUTH <password> called without any password configured for the"
                    " default user. Are you sure your configuration is correct?");
        return;
    }
    if (call->count == 3) {
        name = call->args[1];
    }
    struct server_user *user = find(call->server, name.data, name.length);
    bool is_right =
        user != NULL && user->is_on &&
        (user->password == NULL || (strlen(user->password) == password->length &&
                                    memcmp(user->password, password->data, password->length) == 0));
    if (!is_right) {
        reply_error(call, "WRONGPASS invalid username-password pair or user is disabled.");
        return;
    }
    call->connection->user = user;
    reply_status(call, "OK");
}
