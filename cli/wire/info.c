/* See info.h. */
#include "wire/info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/info.h"
#include "tool/utf8.h"

const char *rl_wire_info_text(const char *info, const char *name, char out[RL_WIRE_TEXT_MAX]) {
    const size_t length = strlen(name);
    const char *at = info, *end = info + strlen(info);
    struct rl_info_line line;
    out[0] = '\0';
    while (rl_info_next(&at, end, &line)) {
        if (line.name_length == length && memcmp(line.name, name, length) == 0) {
            return tool_utf8_clean(line.value, line.value_length, out, RL_WIRE_TEXT_MAX);
        }
    }
    return out;
}

int64_t rl_wire_info_number(const char *info, const char *name) {
    char text[RL_WIRE_TEXT_MAX];
    return strtoll(rl_wire_info_text(info, name, text), NULL, 10);
}

void rl_wire_info_server(const char *info, char server[RL_WIRE_TEXT_MAX],
                         char version[RL_WIRE_TEXT_MAX]) {
    bool is_valkey = strcmp(rl_wire_info_text(info, "server_name", server), "valkey") == 0;
    snprintf(server, RL_WIRE_TEXT_MAX, is_valkey ? "Valkey" : "Redis");
    rl_wire_info_text(info, is_valkey ? "valkey_version" : "redis_version", version);
}
