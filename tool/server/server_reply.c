/* A command's reply: RESP appended to the connection's output, or, if a script has called it, a
 * value on Lua's stack, converted as Redis does. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <lua.h>

#include "server/server_parts.h"

/* Adds the value that was just pushed to the array below it, if that is incomplete. */
static void end_value(struct call *call) {
    if (call->missing > 0) {
        const int next = (int)lua_objlen(call->lua, -2) + 1;
        lua_rawseti(call->lua, -2, next);
        call->missing--;
    }
}

void push_tagged(struct lua_State *lua, const char *tag, const char *text, size_t length) {
    lua_createtable(lua, 0, 1);
    lua_pushlstring(lua, text, length);
    lua_setfield(lua, -2, tag);
}

void reply_bulk(struct call *call, const void *data, size_t length) {
    if (call->lua != NULL) {
        lua_pushlstring(call->lua, data, length);
        end_value(call);
        return;
    }
    struct bytes *output = &call->connection->output;
    bytes_append_number(output, '$', (long long)length);
    bytes_append(output, data, length);
    bytes_append(output, "\r\n", 2);
}

void reply_nil(struct call *call) {
    if (call->lua != NULL) {
        lua_pushboolean(call->lua, 0);
        end_value(call);
        return;
    }
    bytes_append(&call->connection->output, "$-1\r\n", 5);
}

void reply_number(struct call *call, long long number) {
    if (call->lua != NULL) {
        lua_pushnumber(call->lua, (lua_Number)number);
        end_value(call);
        return;
    }
    bytes_append_number(&call->connection->output, ':', number);
}

void reply_array(struct call *call, size_t count) {
    if (call->lua != NULL) {
        lua_createtable(call->lua, (int)count, 0);
        call->missing = count;
        return;
    }
    bytes_append_number(&call->connection->output, '*', (long long)count);
}

void reply_status(struct call *call, const char *text) {
    if (call->lua != NULL) {
        push_tagged(call->lua, "ok", text, strlen(text));
        return;
    }
    struct bytes *output = &call->connection->output;
    bytes_append(output, "+", 1);
    bytes_append_text(output, text);
    bytes_append(output, "\r\n", 2);
}

void reply_error_line(struct call *call, const char *text, size_t length) {
    call->failed = true;
    if (call->lua != NULL) {
        push_tagged(call->lua, "err", text, length);
        return;
    }
    struct bytes *output = &call->connection->output;
    bytes_append(output, "-", 1);
    size_t from = output->length;
    bytes_append(output, text, length);
    for (size_t i = from; i < output->length; i++) {
        char *c = &output->data[i];
        *c = (char)(*c == '\r' || *c == '\n' ? ' ' : *c);
    }
    bytes_append(output, "\r\n", 2);
}

void reply_error(struct call *call, const char *text) {
    reply_error_line(call, text, strlen(text));
}

void reply_error_format(struct call *call, const char *format, ...) {
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    reply_error(call, text);
}

void reply_wrong_number(struct call *call, const char *name) {
    reply_error_format(call, "ERR wrong number of arguments for '%s' command", name);
}
