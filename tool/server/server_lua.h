/* Lua 5.1, as Redis has it, for scripts that are not the library's: server->interpreter.
 *
 * Happy path: a script gets KEYS, ARGV, redis.call(), redis.pcall(), redis.error_reply(),
 * redis.status_reply(), redis.sha1hex() and the libraries base, table, string and math; a command
 * that it calls is run by the server as if the connection had sent it, and its reply becomes a
 * value of Lua's as in Redis. What the script returns becomes the reply.
 *
 * Failure modes: a script that cannot be compiled, or raises an error, is answered with that error.
 * One that runs for ever does so: it is the user's own, on the user's own machine. The libraries
 * cjson, struct and bit are not there. */
#ifndef SERVER_SERVER_LUA_H
#define SERVER_SERVER_LUA_H

#include "server/server.h"

server_interpreter server_lua;

#endif
