/* What INFO says, field by field: "name:value", read as the library reads it (redis/info.h). Of a
 * field that a server does not have the text is empty and the number 0. */
#ifndef RL_CLI_WIRE_INFO_H
#define RL_CLI_WIRE_INFO_H

#include <stdint.h>

#include "wire/wire.h"

/* The first RL_WIRE_TEXT_MAX - 1 bytes, fit for a terminal. Returns out. */
const char *rl_wire_info_text(const char *info, const char *name, char out[RL_WIRE_TEXT_MAX]);
int64_t rl_wire_info_number(const char *info, const char *name);

/* "Redis" or "Valkey", and its own version. */
void rl_wire_info_server(const char *info, char server[RL_WIRE_TEXT_MAX],
                         char version[RL_WIRE_TEXT_MAX]);

#endif
