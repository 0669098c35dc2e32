/* Lua 5.1, as Redis has it: one state for all servers of the process, which are in one thread.
 *
 * A script gets KEYS, ARGV, redis.call() and its like, and the libraries base, table, string and
 * math, without functions that would make two runs differ. A command that it calls runs on the
 * server at once, and its reply is pushed as Lua's value; what the script returns becomes its
 * reply. An error that redis.call() raises ends the script, and what it has done stays done;
 * redis.pcall() returns it.
 *
 * Failure modes: a script that cannot be compiled, or raises an error, is answered with that error,
 * in Redis's words. A script that does not end is not stopped. Out of memory ends the program. The
 * libraries cjson, cmsgpack, struct and bit are not there. */
#include <assert.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/server_parts.h"

#define ARGS_MAX 2048 /* of a command in a script: EXISTS gets 1,024 slots */
#define HANDLER 1     /* its place on the stack */

static lua_State *machine;

/* The running script. */
static struct {
    struct call *call;
    bool has_written;
} run;

/* -- Values as replies -- */

static void reply_value(struct call *call);

/* The text of a field of the table on top of the stack, or NULL; it is pushed. No metatable is
 * asked: its error would end the program. */
static const char *push_field(const char *name, size_t *length) {
    lua_pushstring(machine, name);
    lua_rawget(machine, -2);
    return lua_tolstring(machine, -1, length);
}

/* A table with "err" or "ok" is a line; any other is an array, up to its first nil. */
static void reply_table(struct call *call) {
    size_t length = 0;
    const char *text = push_field("err", &length);
    if (text != NULL) {
        reply_error_line(call, text, length);
        lua_pop(machine, 1);
        return;
    }
    lua_pop(machine, 1);
    text = push_field("ok", &length);
    if (text != NULL) {
        reply_status(call, text);
    }
    lua_pop(machine, 1);
    if (text != NULL) {
        return;
    }
    int count = 0;
    for (bool more = true; more; count += more) {
        lua_rawgeti(machine, -1, count + 1);
        more = !lua_isnil(machine, -1);
        lua_pop(machine, 1);
    }
    reply_array(call, (size_t)count);
    for (int i = 1; i <= count; i++) {
        lua_rawgeti(machine, -1, i);
        reply_value(call);
        lua_pop(machine, 1);
    }
}

/* The value on top of the stack. */
static void reply_value(struct call *call) {
    size_t length = 0;
    const char *text = NULL;
    double number;
    if (!lua_checkstack(machine, 4)) { /* a table that contains itself */
        reply_error(call, "ERR reached lua stack limit");
        return;
    }
    switch (lua_type(machine, -1)) {
        case LUA_TNUMBER:
            number = lua_tonumber(machine, -1);
            bool fits = number > -9.2e18 && number < 9223372036854775807.0;
            reply_number(call, fits ? (long long)number : INT64_MIN); /* if not: as x86 has it */
            break;
        case LUA_TSTRING:
            text = lua_tolstring(machine, -1, &length);
            reply_bulk(call, text, length);
            break;
        case LUA_TBOOLEAN:
            if (lua_toboolean(machine, -1)) {
                reply_number(call, 1);
            } else {
                reply_nil(call);
            }
            break;
        case LUA_TTABLE:
            reply_table(call);
            break;
        default:
            reply_nil(call);
    }
}

/* -- redis.call() -- */

/* Numbers become text; newer servers write whole ones as integers. */
static void write_number(lua_State *lua, int at) {
    char text[40];
    const double number = lua_tonumber(lua, at);
    const bool may_be_whole =
        run.call->server->words != SERVER_REDIS_7 && number > -9e18 && number < 9e18;
    const double rest = may_be_whole ? number - (double)(long long)number : 1;
    const int length = rest < 0 || rest > 0
                           ? snprintf(text, sizeof text, "%.17g", number)
                           : snprintf(text, sizeof text, "%lld", (long long)number);
    lua_pushlstring(lua, text, (size_t)length);
    lua_replace(lua, at);
}

/* Reads the arguments of redis.call(). Returns NULL, or an error without '-'. */
static const char *read_args(lua_State *lua, struct resp_arg *args, int count) {
    if (count == 0) {
        return "ERR Please specify at least one argument for this redis.call() call";
    }
    if (count > ARGS_MAX) {
        return "ERR too many arguments for this server";
    }
    for (int i = 1; i <= count; i++) {
        const int type = lua_type(lua, i);
        if (type == LUA_TNUMBER) {
            write_number(lua, i);
        } else if (type != LUA_TSTRING) {
            return run.call->server->words == SERVER_VALKEY
                       ? "ERR Command arguments must be strings or integers"
                       : "ERR Lua redis lib command arguments must be strings or integers";
        }
        args[i - 1].data = lua_tolstring(lua, i, &args[i - 1].length);
    }
    return NULL;
}

static int call_command(lua_State *lua, bool raises) {
    static struct resp_arg args[ARGS_MAX];
    const struct call *outer = run.call;
    const int count = lua_gettop(lua);
    struct call call = {.server = outer->server,
                        .connection = outer->connection,
                        .args = args,
                        .count = (size_t)count,
                        .now_ms = outer->now_ms,
                        .now_us = outer->now_us,
                        .is_full = outer->is_full,
                        .lua = lua};
    const char *error = read_args(lua, args, count);
    if (error != NULL) {
        reply_error(&call, error);
    } else {
        call_in_script(&call, &run.has_written);
    }
    assert(lua_gettop(lua) == count + 1 && call.missing == 0);
    return call.failed && raises ? lua_error(lua) : 1;
}

static int redis_call(lua_State *lua) {
    return call_command(lua, true);
}

static int redis_pcall(lua_State *lua) {
    return call_command(lua, false);
}

/* -- The rest of the table "redis" -- */

/* Takes the text up to the first zero byte, and strips line ends around what follows the first
 * word. */
static int redis_error_reply(lua_State *lua) {
    const char *text = luaL_checkstring(lua, 1);
    text += text[0] == '-';
    size_t code = strcspn(text, " ");
    const bool has_code = text[code] == ' ';
    const char *rest = has_code ? text + code + 1 : text;
    rest += strspn(rest, "\r\n");
    size_t length = strlen(rest);
    while (length > 0 && strchr("\r\n", rest[length - 1]) != NULL) {
        length--;
    }
    lua_createtable(lua, 0, 1);
    lua_pushlstring(lua, has_code ? text : "ERR", has_code ? code : 3);
    lua_pushliteral(lua, " ");
    lua_pushlstring(lua, rest, length);
    lua_concat(lua, 3);
    lua_setfield(lua, -2, "err");
    return 1;
}

static int redis_status_reply(lua_State *lua) {
    size_t length = 0;
    const char *text = luaL_checklstring(lua, 1, &length);
    push_tagged(lua, "ok", text, length);
    return 1;
}

static int redis_sha1hex(lua_State *lua) {
    size_t length = 0;
    char hex[RL_SHA1_LEN + 1];
    const char *text = luaL_checklstring(lua, 1, &length);
    rl_sha1_hex(text, length, hex);
    lua_pushstring(lua, hex);
    return 1;
}

static int redis_nothing(lua_State *lua) {
    (void)lua;
    return 0;
}

/* -- The state -- */

static int write_global(lua_State *lua) {
    return luaL_error(lua, "Attempt to modify a readonly table");
}

static int read_global(lua_State *lua) {
    return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'",
                      lua_tostring(lua, 2));
}

/* Turns the raised value into a table, with the line that raised it. */
static int handle_error(lua_State *lua) {
    lua_Debug at;
    bool is_there = lua_getstack(lua, 1, &at) != 0 && lua_getinfo(lua, "Sl", &at) != 0;
    if (is_there && strcmp(at.what, "C") == 0) {
        is_there = lua_getstack(lua, 2, &at) != 0 && lua_getinfo(lua, "Sl", &at) != 0;
    }
    if (!lua_istable(lua, 1)) {
        const char *text = lua_tostring(lua, 1);
        lua_pushfstring(lua, "ERR %s", text != NULL ? text : "unknown error");
        push_tagged(lua, "err", lua_tostring(lua, -1), lua_objlen(lua, -1));
        lua_replace(lua, 1);
    }
    lua_settop(lua, 1);
    if (is_there) {
        lua_pushinteger(lua, at.currentline);
        lua_setfield(lua, 1, "line");
    }
    return 1;
}

static void open_libraries(void) {
    static const luaL_Reg libraries[] = {{"", luaopen_base},
                                         {LUA_TABLIBNAME, luaopen_table},
                                         {LUA_STRLIBNAME, luaopen_string},
                                         {LUA_MATHLIBNAME, luaopen_math}};
    static const char *const removed[] = {"print", "loadfile", "dofile", "collectgarbage"};
    static const char *const random[] = {"random", "randomseed"};
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        lua_pushcfunction(machine, libraries[i].func);
        lua_pushstring(machine, libraries[i].name);
        lua_call(machine, 1, 0);
    }
    for (size_t i = 0; i < sizeof removed / sizeof removed[0]; i++) {
        lua_pushnil(machine);
        lua_setglobal(machine, removed[i]);
    }
    lua_getglobal(machine, LUA_MATHLIBNAME);
    for (size_t i = 0; i < sizeof random / sizeof random[0]; i++) {
        lua_pushnil(machine);
        lua_setfield(machine, -2, random[i]);
    }
    lua_pop(machine, 1);
}

static void open_redis(void) {
    static const luaL_Reg functions[] = {{"call", redis_call},
                                         {"pcall", redis_pcall},
                                         {"error_reply", redis_error_reply},
                                         {"status_reply", redis_status_reply},
                                         {"sha1hex", redis_sha1hex},
                                         {"log", redis_nothing},
                                         {"replicate_commands", redis_nothing},
                                         {"set_repl", redis_nothing}};
    static const luaL_Reg globals[] = {{"__newindex", write_global}, {"__index", read_global}};
    lua_newtable(machine);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        lua_pushcfunction(machine, functions[i].func);
        lua_setfield(machine, -2, functions[i].name);
    }
    lua_setglobal(machine, "redis");
    lua_newtable(machine);
    for (size_t i = 0; i < sizeof globals / sizeof globals[0]; i++) {
        lua_pushcfunction(machine, globals[i].func);
        lua_setfield(machine, -2, globals[i].name);
    }
    lua_setmetatable(machine, LUA_GLOBALSINDEX);
}

static void begin(void) {
    machine = luaL_newstate();
    if (machine == NULL) {
        abort();
    }
    open_libraries();
    open_redis();
    lua_pushcfunction(machine, handle_error);
    assert(lua_gettop(machine) == HANDLER);
}

void lua_end(void) {
    if (machine != NULL) {
        lua_close(machine);
        machine = NULL;
    }
}

/* -- A script -- */

bool lua_compile(struct call *call, struct script *script, const struct bytes *text) {
    if (machine == NULL) {
        begin();
    }
    if (luaL_loadbuffer(machine, text->data, text->length, "@user_script") == 0) {
        script->function = luaL_ref(machine, LUA_REGISTRYINDEX);
        return true;
    }
    reply_error_format(call, "ERR Error compiling script (new function): %s",
                       lua_tostring(machine, -1));
    lua_settop(machine, HANDLER);
    return false;
}

void lua_forget(struct script *script) {
    if (script->function != 0) {
        luaL_unref(machine, LUA_REGISTRYINDEX, script->function);
        script->function = 0;
    }
}

static void set_list(const char *name, const struct resp_arg *args, size_t count) {
    lua_pushstring(machine, name);
    lua_createtable(machine, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        lua_pushlstring(machine, args[i].data, args[i].length);
        lua_rawseti(machine, -2, (int)i + 1);
    }
    lua_rawset(machine, LUA_GLOBALSINDEX);
}

/* The table that handle_error() has made. */
static void reply_raised(struct call *call, const struct script *script) {
    const bool is_valkey = call->server->words == SERVER_VALKEY;
    lua_getfield(machine, -1, "err");
    const char *error = lua_tostring(machine, -1);
    lua_getfield(machine, -2, "line");
    reply_error_format(call, "%s script: %s%son @user_script:%d.",
                       error != NULL ? error : "ERR unknown error", is_valkey ? "" : script->sha1,
                       is_valkey ? "" : ", ", (int)lua_tointeger(machine, -1));
}

void lua_run(struct call *call, const struct script *script, size_t keys) {
    assert(lua_gettop(machine) == HANDLER && script->function != 0);
    run.call = call;
    run.has_written = false;
    set_list("KEYS", call->args + 3, keys);
    set_list("ARGV", call->args + 3 + keys, call->count - 3 - keys);
    lua_rawgeti(machine, LUA_REGISTRYINDEX, script->function);
    if (lua_pcall(machine, 0, 1, HANDLER) == 0) {
        reply_value(call);
    } else {
        reply_raised(call, script);
    }
    lua_settop(machine, HANDLER);
}
