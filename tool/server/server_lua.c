/* See server_lua.h. Each run has a state of its own: nothing is left behind for the next one. */
#include "server/server_lua.h"

#include <assert.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

#include "server/sha1.h"

struct run { /* what redis.call() needs to know */
    struct server_connection *connection;
    uint64_t now_us;
};

/* -- Replies as values -- */

static const char *push_reply(lua_State *lua, const char *at);

static const char *push_array(lua_State *lua, const char *at, long count) {
    lua_createtable(lua, (int)count, 0);
    for (long i = 1; i <= count; i++) {
        at = push_reply(lua, at);
        lua_rawseti(lua, -2, (int)i);
    }
    return at;
}

static void push_tagged(lua_State *lua, const char *tag, const char *text, size_t length) {
    lua_createtable(lua, 0, 1);
    lua_pushlstring(lua, text, length);
    lua_setfield(lua, -2, tag);
}

/* The server's own replies are whole and right. Returns what is behind this one. */
static const char *push_reply(lua_State *lua, const char *at) {
    const char *end = strstr(at, "\r\n");
    assert(end != NULL);
    const long number = strtol(at + 1, NULL, 10);
    const char *behind = end + 2;
    luaL_checkstack(lua, 4, "a reply is too deep");
    switch (*at) {
        case ':':
            lua_pushnumber(lua, (lua_Number)strtoll(at + 1, NULL, 10));
            break;
        case '+':
            push_tagged(lua, "ok", at + 1, (size_t)(end - at - 1));
            break;
        case '-':
            push_tagged(lua, "err", at + 1, (size_t)(end - at - 1));
            break;
        case '$':
            if (number < 0) {
                lua_pushboolean(lua, 0);
            } else {
                lua_pushlstring(lua, behind, (size_t)number);
                behind += number + 2;
            }
            break;
        default:
            assert(*at == '*');
            if (number < 0) {
                lua_pushboolean(lua, 0);
            } else {
                behind = push_array(lua, behind, number);
            }
    }
    return behind;
}

/* -- Values as replies -- */

static void append_line(struct bytes *out, char sign, const char *text) {
    bytes_append(out, &sign, 1);
    for (const char *c = text; *c != '\0'; c++) {
        bytes_append(out, *c == '\r' || *c == '\n' ? " " : c, 1);
    }
    bytes_append_text(out, "\r\n");
}

static void append_value(lua_State *lua, struct bytes *out);

/* A table with "ok" or "err" is a line; any other is an array, up to its first nil. */
static void append_table(lua_State *lua, struct bytes *out) {
    static const char *const tags[] = {"ok", "err"};
    for (int i = 0; i < 2; i++) {
        lua_getfield(lua, -1, tags[i]);
        if (lua_isstring(lua, -1)) {
            append_line(out, i == 0 ? '+' : '-', lua_tostring(lua, -1));
            lua_pop(lua, 1);
            return;
        }
        lua_pop(lua, 1);
    }
    int count = 0;
    for (bool more = true; more; count += more) {
        lua_rawgeti(lua, -1, count + 1);
        more = !lua_isnil(lua, -1);
        lua_pop(lua, 1);
    }
    bytes_append_number(out, '*', count);
    for (int i = 1; i <= count; i++) {
        lua_rawgeti(lua, -1, i);
        append_value(lua, out);
        lua_pop(lua, 1);
    }
}

static void append_value(lua_State *lua, struct bytes *out) {
    size_t length = 0;
    const char *text = NULL;
    switch (lua_type(lua, -1)) {
        case LUA_TNUMBER:
            bytes_append_number(out, ':', (long long)lua_tonumber(lua, -1));
            break;
        case LUA_TSTRING:
            text = lua_tolstring(lua, -1, &length);
            bytes_append_number(out, '$', (long long)length);
            bytes_append(out, text, length);
            bytes_append_text(out, "\r\n");
            break;
        case LUA_TBOOLEAN:
            bytes_append_text(out, lua_toboolean(lua, -1) ? ":1\r\n" : "$-1\r\n");
            break;
        case LUA_TTABLE:
            append_table(lua, out);
            break;
        default:
            bytes_append_text(out, "$-1\r\n");
    }
}

/* -- The table "redis" -- */

static int call_command(lua_State *lua, bool raises) {
    const struct run *run = lua_touserdata(lua, lua_upvalueindex(1));
    struct resp_command command = {.count = (size_t)lua_gettop(lua)};
    if (command.count == 0 || command.count > RESP_ARGS_MAX) {
        return luaL_error(lua, "Please specify at least one argument for this redis.call() call");
    }
    for (int i = 1; i <= (int)command.count; i++) {
        if (!lua_isstring(lua, i)) { /* true of numbers as well */
            return luaL_error(lua, "Lua redis lib command arguments must be strings or integers");
        }
        struct resp_arg *arg = &command.args[i - 1];
        arg->data = lua_tolstring(lua, i, &arg->length);
    }
    struct bytes *output = &run->connection->output;
    const size_t before = output->length;
    server_execute(run->connection, &command, run->now_us);
    bytes_append(output, "", 1); /* strstr() looks for an end */
    push_reply(lua, output->data + before);
    output->length = before;
    if (raises && lua_istable(lua, -1)) {
        lua_getfield(lua, -1, "err");
        if (lua_isstring(lua, -1)) {
            return lua_error(lua);
        }
        lua_pop(lua, 1);
    }
    return 1;
}

static int redis_call(lua_State *lua) {
    return call_command(lua, true);
}

static int redis_pcall(lua_State *lua) {
    return call_command(lua, false);
}

static int redis_reply(lua_State *lua) {
    lua_createtable(lua, 0, 1);
    lua_pushvalue(lua, 1);
    lua_setfield(lua, -2, lua_tostring(lua, lua_upvalueindex(1)));
    return 1;
}

static int redis_sha1hex(lua_State *lua) {
    size_t length = 0;
    char hex[SHA1_HEX_SIZE];
    const char *text = luaL_checklstring(lua, 1, &length);
    sha1_hex(text, length, hex);
    lua_pushstring(lua, hex);
    return 1;
}

static int redis_nothing(lua_State *lua) {
    (void)lua;
    return 0;
}

static void set_redis(lua_State *lua, struct run *run) {
    static const struct {
        const char *name;
        lua_CFunction function;
    } calls[] = {{"call", redis_call}, {"pcall", redis_pcall}};
    static const char *const replies[][2] = {{"error_reply", "err"}, {"status_reply", "ok"}};
    static const char *const ignored[] = {"log", "replicate_commands", "set_repl"};
    lua_newtable(lua);
    for (size_t i = 0; i < 2; i++) {
        lua_pushlightuserdata(lua, run);
        lua_pushcclosure(lua, calls[i].function, 1);
        lua_setfield(lua, -2, calls[i].name);
        lua_pushstring(lua, replies[i][1]);
        lua_pushcclosure(lua, redis_reply, 1);
        lua_setfield(lua, -2, replies[i][0]);
    }
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) {
        lua_pushcfunction(lua, redis_nothing);
        lua_setfield(lua, -2, ignored[i]);
    }
    lua_pushcfunction(lua, redis_sha1hex);
    lua_setfield(lua, -2, "sha1hex");
    lua_setglobal(lua, "redis");
}

/* -- A run -- */

static void set_list(lua_State *lua, const char *name, const struct resp_arg *args, size_t count) {
    lua_createtable(lua, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        lua_pushlstring(lua, args[i].data, args[i].length);
        lua_rawseti(lua, -2, (int)i + 1);
    }
    lua_setglobal(lua, name);
}

static void open_libraries(lua_State *lua) {
    static const luaL_Reg libraries[] = {{"", luaopen_base},
                                         {LUA_TABLIBNAME, luaopen_table},
                                         {LUA_STRLIBNAME, luaopen_string},
                                         {LUA_MATHLIBNAME, luaopen_math}};
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        lua_pushcfunction(lua, libraries[i].func);
        lua_pushstring(lua, libraries[i].name);
        lua_call(lua, 1, 0);
    }
}

/* What was raised: a text of Lua's, or a reply of redis.call()'s. */
static void append_error(lua_State *lua, struct bytes *out, bool compiles) {
    if (lua_istable(lua, -1)) {
        lua_getfield(lua, -1, "err");
    }
    const char *error = lua_tostring(lua, -1);
    if (!compiles) {
        lua_pushfstring(lua, "ERR Error compiling script (new function): %s", error);
    } else if (error == NULL) {
        lua_pushliteral(lua, "ERR unknown error");
    } else if (strncmp(error, "user_script:", 12) == 0) {
        lua_pushfstring(lua, "ERR %s", error);
    }
    append_line(out, '-', lua_tostring(lua, -1));
}

void server_lua(struct server_connection *connection, const struct bytes *text,
                const struct resp_command *command, size_t keys, uint64_t now_us) {
    struct run run = {connection, now_us};
    lua_State *lua = luaL_newstate();
    if (lua == NULL) {
        abort();
    }
    open_libraries(lua);
    set_redis(lua, &run);
    set_list(lua, "KEYS", command->args + 3, keys);
    set_list(lua, "ARGV", command->args + 3 + keys, command->count - 3 - keys);
    int status = luaL_loadbuffer(lua, text->data, text->length, "@user_script");
    bool compiles = status == 0;
    status = compiles ? lua_pcall(lua, 0, 1, 0) : status;
    if (status == 0) {
        append_value(lua, &connection->output);
    } else {
        append_error(lua, &connection->output, compiles);
    }
    lua_close(lua);
}
